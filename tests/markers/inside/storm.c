// SPDX-License-Identifier: LGPL-2.1-or-later
// Many threads run through a thousand sites while these are switched on and off. Each event carries its thread, a
// number that only counts when the arguments are evaluated, and that number's complement: no event is wrong, none comes
// twice, none is missing without being counted.
//
// The full size is STORM_THREADS=1000 STORM_TOGGLES=100000 (sites switched): half a minute as root, when the thread
// that asks and the agent's come before the others. Else each waits seconds for a processor, twice for each request,
// and this takes an hour: the agent itself needs 0.1 ms.
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "own_espy.h"
#include "espy/mark.h"

#define MAX_THREADS 1024

static struct {
	unsigned long evaluated;
	unsigned long seen, last;
	char pad[40];
} threads[MAX_THREADS];
static int stop;
static pthread_barrier_t begin;

static unsigned long next(unsigned int t)
{
	return ++threads[t].evaluated;
}

#define SITE(a, b, c)                                                                                                  \
	MARK(storm_site##a##b##c, "t=%u n=%lu c=%lu s=%s", t, next(t), ~threads[t].evaluated,                          \
	     "a string of some length");
#define TEN(a, b)                                                                                                      \
	SITE(a, b, 0)                                                                                                  \
	SITE(a, b, 1)                                                                                                  \
	SITE(a, b, 2) SITE(a, b, 3) SITE(a, b, 4) SITE(a, b, 5) SITE(a, b, 6) SITE(a, b, 7) SITE(a, b, 8)              \
		SITE(a, b, 9)
#define HUNDRED(a) TEN(a, 0) TEN(a, 1) TEN(a, 2) TEN(a, 3) TEN(a, 4) TEN(a, 5) TEN(a, 6) TEN(a, 7) TEN(a, 8) TEN(a, 9)

static void *hammer(void *arg)
{
	unsigned int t = (unsigned int)(uintptr_t)arg;

	pthread_barrier_wait(&begin);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		HUNDRED(0)
		HUNDRED(1) HUNDRED(2) HUNDRED(3) HUNDRED(4) HUNDRED(5) HUNDRED(6) HUNDRED(7) HUNDRED(8) HUNDRED(9)
	}
	return NULL;
}

static void record(void *ctx, const struct espy_chunk *chunk, const struct espy_mark_record *r)
{
	const uint64_t *a = (const uint64_t *)(r + 1);

	CHECK(r->size_busy == 16 + 3 * 8 + 8 + 24, "size %u", r->size_busy);
	CHECK(a[0] < MAX_THREADS && a[1] == ~a[2], "wrong arguments %lx %lx %lx", a[0], a[1], a[2]);
	CHECK(a[3] == 23 && !memcmp(a + 4, "a string of some length", 24), "wrong string");
	CHECK(a[1] <= __atomic_load_n(&threads[a[0]].evaluated, __ATOMIC_RELAXED), "an event that has not been");
	threads[a[0]].seen++;
}

static void *reader(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		if (!control_read(arg, 0, record, NULL))
			usleep(500); /* sleeps: until there is something to read */
	return NULL;
}

// How many sites are in another state than at the last call.
static long switched(const struct control *c)
{
	const struct espy_agent_site *s = (const void *)((const uint8_t *)c->area + ESPY_AGENT_SITES_OFF);
	static uint8_t before[1000];
	long n = 0;

	CHECK(c->area->nsites == 1000, "%u sites", c->area->nsites);
	for (int i = 0; i < 1000; i++) {
		CHECK(s[i].state == ESPY_SITE_ON || s[i].state == ESPY_SITE_OFF, "site %d: state %u", i, s[i].state);
		n += s[i].state != before[i];
		before[i] = (uint8_t)s[i].state;
	}
	return n;
}

int main(void)
{
	long n = scale("STORM_THREADS", 16), toggles = scale("STORM_TOGGLES", 40000), done = 0, requests = 0;
	long pause_us = scale("STORM_PAUSE", 30 * n); // between requests, so that all threads come to run
	struct espy_agent_open o = { .nchunks = 4096, .chunk_sz = 8192 };
	unsigned long evaluated = 0, seen = 0, missing, in_agent_us = 0;
	struct timespec from, to;
	pthread_t ids[MAX_THREADS], reading;
	struct control c;
	int e;

	CHECK(n > 0 && n <= MAX_THREADS, "%ld threads", n);
	e = control_attach(&c, getpid());
	CHECK(!e, "%s", strerror(-e));
	e = control_open(&c, &o);
	CHECK(!e, "%s", strerror(-e));
	// not before all are there: each that is created would have to wait until the others let it
	pthread_barrier_init(&begin, NULL, (unsigned int)n + 1);
	for (long i = 0; i < n; i++)
		CHECK(!pthread_create(&ids[i], NULL, hammer, (void *)i), "thread %ld", i);
	control_hurry(&c);
	pthread_create(&reading, NULL, reader, &c);
	pthread_barrier_wait(&begin);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (long i = 0; done < toggles; i++, requests++) {
		char pattern[32];

		usleep((unsigned int)pause_us); /* sleeps: the threads come to run; what is switched is counted */
		// a hundred, ten or one at a time; now and then all
		if (i % 16 == 0)
			snprintf(pattern, sizeof(pattern), "storm:*");
		else
			snprintf(pattern, sizeof(pattern), "storm:site%ld%s", i % 10, i % 3 ? "7*" : "*");
		e = control_on(&c, (uint32_t)(i % 7 + 1), pattern, NULL, 0);
		CHECK(e > 0, "on: %s", strerror(-e));
		CHECK(control_slot(&c)->ruled.refused == 0, "refused");
		in_agent_us += control_slot(&c)->took_ns / 1000;
		done += switched(&c);
		if (i % 5 == 4) {
			e = control_off(&c, i % 10 == 9 ? 0 : (uint32_t)(i % 7 + 1));
			CHECK(e >= 0, "off: %s", strerror(-e));
			in_agent_us += control_slot(&c)->took_ns / 1000;
			done += switched(&c);
			requests++;
		}
	}
	CHECK(control_off(&c, 0) >= 0, "off");
	clock_gettime(CLOCK_MONOTONIC, &to);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (long i = 0; i < n; i++)
		pthread_join(ids[i], NULL);
	pthread_join(reading, NULL);
	control_read(&c, 0, record, NULL);
	for (long i = 0; i < n; i++) {
		evaluated += threads[i].evaluated;
		seen += threads[i].seen;
	}
	missing = evaluated - seen - control_lost(&c);
	printf("%ld threads, %ld sites switched by %ld requests in %.1f s (%.2f s in the agent), %lu events: %lu seen, "
	       "%lu "
	       "lost, %lu under way when switched off\n",
	       n, done, requests, (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9,
	       (double)in_agent_us / 1e6, evaluated, seen, control_lost(&c), missing);
	CHECK(seen > 1000, "too few events to tell");
	CHECK(seen + control_lost(&c) <= evaluated, "more events than there were");
	// one for each thread each time that its site goes off while it is at its arguments
	CHECK(missing <= (unsigned long)(n * requests), "events are missing");
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
// A thousand threads and a ring of 4 MB, in which not even a chunk for each of them has room: they share. Signals come
// in between, and vfork children pass marks under their parents' threads. Each event is there once, from its thread,
// with its arguments, or counted as lost. MANY_FLAGS=6: all threads share. MANY_PAUSE=US: each sleeps after 64 events.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "own_espy.h"
#include "espy/mark.h"

#define MAX_THREADS 2000
#define MAX_EVENTS 4096
enum { NORMAL, HANDLER, CHILD, KINDS };

static struct one {
	uint32_t tid;
	volatile unsigned long passed[KINDS]; // marks
	unsigned long seen[KINDS];
	uint64_t bits[KINDS][MAX_EVENTS / 64];
	pthread_t id;
} ones[MAX_THREADS];
static long n_threads, n_events, pause_us;
static int running, stop;
static __thread struct one *me;
static char text[256];

static void handler(int sig)
{
	unsigned long n;

	if (!me || me->passed[HANDLER] == MAX_EVENTS)
		return;
	n = me->passed[HANDLER]++;
	MARK(many_event, "t=%lu kind=%d n=%lu c=%lu s=%.*s", (unsigned long)(me - ones), HANDLER, n, ~n, (int)(n % 200),
	     text);
}

static void child(void)
{
	unsigned long n = me->passed[CHILD];
	pid_t pid = vfork();

	if (!pid) {
		me->passed[CHILD]++;
		MARK(many_event, "t=%lu kind=%d n=%lu c=%lu s=%.*s", (unsigned long)(me - ones), CHILD, n, ~n, 3, text);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void *hammer(void *arg)
{
	me = arg;
	me->tid = (uint32_t)syscall(SYS_gettid);
	for (unsigned long n = 0; n < (unsigned long)n_events; n++) {
		me->passed[NORMAL] = n + 1;
		MARK(many_event, "t=%lu kind=%d n=%lu c=%lu s=%.*s", (unsigned long)(me - ones), NORMAL, n, ~n,
		     (int)(n % 200), text);
		if (n % 512 == 511 && me - ones < 40)
			child();
		if (n % 64 == 63 && pause_us)
			usleep((unsigned int)pause_us); /* sleeps: as its user wants */
		else if (n % 256 == 255)
			sched_yield();
	}
	__atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		usleep(20000); /* sleeps: signals still come, until it is told to end */
	return NULL;
}

static void record(void *ctx, const struct espy_chunk *chunk, const struct espy_mark_record *r)
{
	const struct control *c = ctx;
	const uint64_t *a = (const uint64_t *)(r + 1);
	uint64_t kind = (uint32_t)a[1], n = a[2], bit = (uint64_t)1 << n % 64;
	struct one *o;

	CHECK(a[0] < (uint64_t)n_threads && kind < KINDS && n == ~a[3] && n < MAX_EVENTS,
	      "wrong arguments %lx %lx %lx %lx", a[0], a[1], a[2], a[3]);
	o = &ones[a[0]];
	CHECK(c->tid == o->tid, "an event of thread %u from %u", o->tid, c->tid);
	CHECK(n < o->passed[kind], "an event that has not been");
	CHECK((uint32_t)a[4] == (kind == CHILD ? 3 : n % 200) && !memcmp(a + 5, text, (uint32_t)a[4]),
	      "wrong string of %u", (uint32_t)a[4]);
	if ((uint32_t)a[4] % 8)
		CHECK(((const uint8_t *)(a + 5))[(uint32_t)a[4]] == 0, "no zeros behind the string");
	CHECK(!(o->bits[kind][n / 64] & bit), "twice: thread %lu, kind %lu, %lu", a[0], kind, n);
	o->bits[kind][n / 64] |= bit;
	o->seen[kind]++;
}

static void *reader(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		if (!control_read(arg, 0, record, arg))
			usleep(200); /* sleeps: until there is something to read */
	return NULL;
}

int main(void)
{
	struct espy_agent_open o = { .nchunks = 256, .chunk_sz = 16384 };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	unsigned long passed[KINDS] = { 0 }, seen[KINDS] = { 0 }, all_passed = 0, all_seen = 0;
	struct control c;
	pthread_attr_t attr;
	pthread_t reading;
	int e;

	n_threads = scale("MANY_THREADS", 1000);
	n_events = scale("MANY_EVENTS", 4000);
	CHECK(n_threads > 0 && n_threads <= MAX_THREADS && n_events <= MAX_EVENTS, "sizes");
	pause_us = scale("MANY_PAUSE", 0);
	o.flags = (uint32_t)scale("MANY_FLAGS", ESPY_AGENT_SHARE);
	memset(text, 'x', sizeof(text) - 1);
	e = control_attach(&c, getpid());
	CHECK(!e, "%s", strerror(-e));
	CHECK(c.area->features & ESPY_AGENT_CAN_SHARE, "features");
	e = control_open(&c, &o);
	CHECK(!e, "%s", strerror(-e));
	CHECK(control_on(&c, 1, "many:*", NULL, 0) == 1, "on");
	sigaction(SIGUSR1, &sa, NULL);
	running = (int)n_threads;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_create(&reading, NULL, reader, &c);
	for (long i = 0; i < n_threads; i++)
		CHECK(!pthread_create(&ones[i].id, &attr, hammer, &ones[i]), "thread %ld", i);
	for (long i = 0; __atomic_load_n(&running, __ATOMIC_ACQUIRE); i++) {
		pthread_kill(ones[i % n_threads].id, SIGUSR1);
		if (i % 16 == 0)
			usleep(100); /* sleeps: the threads come to run; it goes on until all have ended */
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (long i = 0; i < n_threads; i++)
		pthread_join(ones[i].id, NULL);
	pthread_join(reading, NULL);
	control_read(&c, 0, record, &c);
	for (long i = 0; i < n_threads; i++)
		for (int k = 0; k < KINDS; k++) {
			passed[k] += ones[i].passed[k];
			seen[k] += ones[i].seen[k];
			all_passed += ones[i].passed[k];
			all_seen += ones[i].seen[k];
		}
	printf("%ld threads, %lu events, %lu in handlers, %lu in children: %lu seen (%lu in shared chunks), %lu lost, "
	       "%lu "
	       "chunks\n",
	       n_threads, passed[NORMAL], passed[HANDLER], passed[CHILD], all_seen, c.shared, control_lost(&c),
	       c.chunks);
	CHECK(seen[NORMAL] && seen[HANDLER] && seen[CHILD], "a kind is missing");
	CHECK(all_seen + control_lost(&c) == all_passed, "%ld events are neither seen nor counted",
	      (long)(all_passed - all_seen - control_lost(&c)));
	if (o.flags & ESPY_AGENT_SHARE_ALL)
		CHECK(c.shared == all_seen, "%lu of %lu in shared chunks", c.shared, all_seen);
	else if (o.flags)
		CHECK(c.shared > all_seen / 2, "%lu of %lu in shared chunks", c.shared, all_seen);
	return 0;
}

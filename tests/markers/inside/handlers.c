// SPDX-License-Identifier: LGPL-2.1-or-later
// Signal handlers with marks, nested, in the middle of marks: every event is there once, whole, or counted as lost, for
// each of two sessions.
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "own_espy.h"
#include "espy/mark.h"
#include "tests/wait.h"

static volatile unsigned long in_main, in_handler[2];
static struct session {
	struct control c;
	unsigned long seen[4];
} sessions[2];
static int stop;
static char text[200];

static void handler(int sig)
{
	int i = sig == SIGUSR2;
	unsigned long n = __atomic_add_fetch(&in_handler[i], 1, __ATOMIC_RELAXED); // handlers interrupt each other

	if (i)
		MARK(signal_second, "n=%lu c=%lu s=%s", n, ~n, text + 100);
	else
		MARK(signal_first, "n=%lu c=%lu", n, ~n);
	if (i == 0 && n % 3 == 0)
		raise(SIGUSR2);
}

static void record(void *ctx, const struct espy_chunk *chunk, const struct espy_mark_record *r)
{
	struct session *s = ctx;
	const uint64_t *a = (const uint64_t *)(r + 1);
	const char *name = control_name(&s->c, r->def);
	int kind = !strcmp(name, "signal_main")	    ? 0
		   : !strcmp(name, "signal_first")  ? 1
		   : !strcmp(name, "signal_second") ? 2
						    : 3;

	CHECK(a[0] == ~a[1], "%s: torn: %lx %lx", name, a[0], a[1]);
	if (kind == 0)
		CHECK(a[2] == 150 && !memcmp(a + 3, text + 49, 150), "torn string of %lu", a[2]);
	if (kind == 2)
		CHECK(a[2] == 99 && !memcmp(a + 3, text + 100, 99), "torn string of %lu", a[2]);
	s->seen[kind]++;
}

static void *shoot(void *arg)
{
	struct timespec pause = { .tv_nsec = 20000 };
	pthread_t target = *(pthread_t *)arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		pthread_kill(target, SIGUSR1);
		nanosleep(&pause, NULL); /* sleeps: signals at any moment; the marks go on by their number */
	}
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_NODEFER };
	struct espy_agent_open o = { .nchunks = 2048, .chunk_sz = 4096 };
	long n = scale("SIGNALS_MARKS", 3000000);
	pthread_t self_id = pthread_self(), shooter;
	unsigned long total;
	uint64_t end;
	int e;

	memset(text, 'x', sizeof(text) - 1);
	for (int i = 0; i < 2; i++) {
		e = control_attach(&sessions[i].c, getpid());
		CHECK(!e, "%s", strerror(-e));
		e = control_open(&sessions[i].c, &o);
		CHECK(!e, "%s", strerror(-e));
		CHECK(control_on(&sessions[i].c, 1, "signal:*", NULL, 0) == 4, "not all marks are found");
	}
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	end = wait_now_ms() + WAIT_LIMIT_MS;
	pthread_create(&shooter, NULL, shoot, &self_id);
	// the other thread may get little of the processor
	while ((long)in_main < n || ((in_handler[0] <= 50 || in_handler[1] <= 10) && wait_now_ms() < end)) {
		sigset_t block, old;

		for (int i = 0; i < 10000; i++) {
			in_main++;
			MARK(signal_main, "n=%lu c=%lu s=%s", in_main, ~in_main, text + 49);
			MARK(signal_numbers, "n=%lu c=%lu", in_main, ~in_main);
		}
		sigfillset(&block);
		pthread_sigmask(SIG_BLOCK, &block, &old);
		for (int i = 0; i < 2; i++)
			control_read(&sessions[i].c, 0, record, &sessions[i]);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	stop = 1;
	pthread_join(shooter, NULL);
	total = 2 * in_main + in_handler[0] + in_handler[1];
	CHECK(in_handler[0] > 50 && in_handler[1] > 10, "too few signals to tell");
	for (int i = 0; i < 2; i++) {
		const unsigned long *seen = sessions[i].seen, lost = control_lost(&sessions[i].c);
		unsigned long got;

		control_read(&sessions[i].c, 0, record, &sessions[i]);
		got = seen[0] + seen[1] + seen[2] + seen[3];
		printf("2 x %lu marks, %lu + %lu in handlers: %lu seen, %lu lost\n", in_main, in_handler[0],
		       in_handler[1], got, lost);
		CHECK(got + lost == total, "%lu events are neither seen nor counted", total - got - lost);
	}
	return 0;
}

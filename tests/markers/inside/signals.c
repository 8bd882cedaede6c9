// SPDX-License-Identifier: LGPL-2.1-or-later
// Signal handlers with marks, nested, in the middle of marks: every event is there once, whole, or counted as lost.
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "control.h"
#include "espy/mark.h"

static volatile unsigned long in_main, in_handler[2];
static unsigned long seen[3];
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
	struct control *c = ctx;
	const uint64_t *a = (const uint64_t *)(r + 1);
	const char *name = control_name(c, r->def);
	int kind = !strcmp(name, "signal_main") ? 0 : !strcmp(name, "signal_first") ? 1 : 2;

	CHECK(a[0] == ~a[1], "%s: torn: %lx %lx", name, a[0], a[1]);
	if (kind == 0)
		CHECK(a[2] == 150 && !memcmp(a + 3, text + 49, 150), "torn string of %lu", a[2]);
	if (kind == 2)
		CHECK(a[2] == 99 && !memcmp(a + 3, text + 100, 99), "torn string of %lu", a[2]);
	seen[kind]++;
}

static void *shoot(void *arg)
{
	struct timespec pause = { .tv_nsec = 20000 };
	pthread_t target = *(pthread_t *)arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		pthread_kill(target, SIGUSR1);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_NODEFER };
	struct espy_agent_open o = { .nchunks = 2048, .chunk_sz = 4096 };
	long n = scale("SIGNALS_MARKS", 3000000);
	pthread_t self_id = pthread_self(), shooter;
	unsigned long total, got;
	struct control c;
	int e;

	memset(text, 'x', sizeof(text) - 1);
	e = control_attach(&c, getpid());
	CHECK(!e, "%s", strerror(-e));
	e = control_open(&c, &o);
	CHECK(!e, "%s", strerror(-e));
	CHECK(control_on(&c, 1, "signal:*", NULL, 0) == 3, "not all marks are found");
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	pthread_create(&shooter, NULL, shoot, &self_id);
	while ((long)in_main < n) {
		sigset_t block, old;

		for (int i = 0; i < 10000; i++) {
			in_main++;
			MARK(signal_main, "n=%lu c=%lu s=%s", in_main, ~in_main, text + 49);
		}
		sigfillset(&block);
		pthread_sigmask(SIG_BLOCK, &block, &old);
		control_read(&c, 0, record, &c);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	stop = 1;
	pthread_join(shooter, NULL);
	control_read(&c, 0, record, &c);
	total = in_main + in_handler[0] + in_handler[1];
	got = seen[0] + seen[1] + seen[2];
	printf("%lu marks, %lu + %lu in handlers: %lu seen, %lu lost\n", in_main, in_handler[0], in_handler[1], got,
	       control_lost(&c));
	CHECK(in_handler[0] > 50 && in_handler[1] > 10, "too few signals to tell");
	CHECK(got + control_lost(&c) == total, "%lu events are neither seen nor counted",
	      total - got - control_lost(&c));
	return 0;
}

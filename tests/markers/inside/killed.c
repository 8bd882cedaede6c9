// SPDX-License-Identifier: LGPL-2.1-or-later
// A program of three threads is killed by SIGKILL again and again while it writes events; what it wrote is read then.
// Whatever is committed is whole, and at most one record for each thread is torn.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "own_espy.h"
#include "espy/agent.h"
#include "espy/mark.h"
#include "tests/wait.h"

static void *hammer(void *arg)
{
	for (unsigned long n = 1;; n++)
		MARK(killed_here, "t=%lu n=%lu c=%lu s=%s", (unsigned long)arg, n, ~n, "text of an event");
	return NULL;
}

static unsigned long last[3];

static void record(void *ctx, const struct espy_chunk *chunk, const struct espy_mark_record *r)
{
	const uint64_t *a = (const uint64_t *)(r + 1);

	CHECK(r->size_busy == 16 + 24 + 8 + 16, "size %u", r->size_busy);
	CHECK(a[0] < 3 && a[1] == ~a[2] && a[3] == 16 && !memcmp(a + 4, "text of an event", 16),
	      "a torn record: %lx %lx %lx", a[0], a[1], a[2]);
	++*(unsigned long *)ctx;
	last[a[0]] = a[1];
}

static unsigned long torn, seen;

static void once(int round)
{
	struct espy_agent_open o = { .nchunks = 64, .chunk_sz = 4096 };
	struct control c;
	pid_t pid = fork();
	int e;

	if (!pid) {
		pthread_t t;

		for (long i = 1; i < 3; i++)
			pthread_create(&t, NULL, hammer, (void *)i);
		hammer(NULL);
	}
	e = control_attach(&c, pid);
	CHECK(!e, "%s", strerror(-e));
	e = control_open(&c, &o);
	CHECK(!e, "%s", strerror(-e));
	CHECK(control_on(&c, 1, "killed:*", NULL, 0) == 1, "on");
	for (int i = 0; i < round % 7; i++) {
		wait_moment_us(200); /* sleeps: a moment of chance */
		control_read(&c, 0, record, &seen);
	}
	wait_moment_us((uint64_t)(rand() % 1500)); /* sleeps: a moment of chance */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	control_read(&c, 1, record, &seen);
	CHECK(c.torn <= (c.shared ? 0 : 3), "%lu torn records", c.torn);
	torn += c.torn;
	control_detach(&c);
}

int main(void)
{
	long rounds = scale("KILLED_ROUNDS", 50);

	for (long i = 0; i < rounds; i++)
		once((int)i);
	printf("killed %ld times, %lu events, %lu torn\n", rounds, seen, torn);
	CHECK(seen > 1000, "too few events to tell");
	return 0;
}

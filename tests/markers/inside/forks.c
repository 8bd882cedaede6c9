// SPDX-License-Identifier: LGPL-2.1-or-later
// fork with and without a session that follows, vfork, posix_spawn, and a child by a bare system call.
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "own_espy.h"
#include "espy/agent.h"
#include "espy/mark.h"

#define TAG 0x1234

static unsigned long seen;
static pid_t from;
static int strange;

static void record(void *ctx, const struct espy_chunk *chunk, const struct espy_mark_record *r)
{
	const uint64_t *a = (const uint64_t *)(r + 1);

	strange |= chunk->pid != (uint32_t)from || a[0] != ~a[1];
	seen++;
}

static unsigned long drain(struct control *c, pid_t pid)
{
	seen = 0;
	from = pid;
	strange = 0;
	control_read(c, 0, record, NULL);
	CHECK(!strange, "an event of somebody else");
	return seen;
}

__attribute__((noinline)) static void events(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		MARK(fork_event, "n=%lu c=%lu", i, ~i);
}

static void wait_for(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid && status == 0, "the child ended with %#x", status);
}

static void follow(struct control *c)
{
	struct control child;
	int go[2], e;
	pid_t pid;
	char b;

	CHECK(!pipe(go), "pipe");
	pid = fork();
	if (!pid) {
		events(1000);
		CHECK(read(go[0], &b, 1) == 1, "go");
		events(500);
		_exit(0);
	}
	e = control_attach(&child, pid);
	CHECK(!e, "attach to the child: %s", strerror(-e));
	CHECK(child.area->parent_pid == (uint32_t)getpid(), "parent %u", child.area->parent_pid);
	e = control_hold(&child, TAG);
	CHECK(!e, "hold: %s", strerror(-e));
	for (unsigned long n = 0; n < 1000;) {
		n += drain(&child, pid);
		CHECK(n <= 1000, "%lu events of 1000", n);
	}
	CHECK(write(go[1], "x", 1) == 1, "go");
	wait_for(pid);
	CHECK(drain(&child, pid) == 500, "after the session was taken over: %lu events", seen);
	CHECK(control_lost(&child) == 0, "lost %lu", control_lost(&child));
	CHECK(drain(c, getpid()) == 0, "events of the child in the ring of the parent");
	control_detach(&child);
	close(go[0]);
	close(go[1]);
}

static void all_kinds(struct control *c)
{
	char *const args[] = { "true", NULL };
	pid_t pid;

	// The child's agent begins while the child writes.
	for (int i = 0; i < 200; i++) {
		pid = fork();
		if (!pid) {
			events(20000);
			_exit(0);
		}
		wait_for(pid);
	}
	CHECK(drain(c, getpid()) == 0, "events of a child");
	pid = (pid_t)syscall(SYS_fork);
	if (!pid) {
		events(100); // without an agent: nothing, and no harm
		syscall(SYS_exit_group, 0);
	}
	wait_for(pid);
	CHECK(drain(c, getpid()) == 0, "events of a child by a bare call");
	pid = vfork();
	if (!pid) {
		MARK(fork_vfork, "n=%lu c=%lu", 1ul, ~1ul);
		_exit(0);
	}
	wait_for(pid);
	CHECK(drain(c, getpid()) == 1, "the event of a vfork child: %lu", seen);
	CHECK(!posix_spawnp(&pid, "true", NULL, NULL, args, environ), "spawn");
	wait_for(pid);
	events(10);
	CHECK(drain(c, getpid()) == 10, "the parent goes on: %lu", seen);
}

// A child by a bare call has no agent until it is asked to start one.
static void bare_start(void)
{
	struct control c;
	int go[2], e;
	pid_t pid;
	char b;

	CHECK(!pipe(go), "pipe");
	pid = (pid_t)syscall(SYS_fork);
	if (!pid) {
		CHECK(espy_agent_start() == 0, "start");
		CHECK(read(go[0], &b, 1) == 1, "go");
		events(50);
		_exit(0);
	}
	e = control_attach(&c, pid);
	CHECK(!e, "attach: %s", strerror(-e));
	CHECK(!control_open(&c, &(struct espy_agent_open){ 0 }), "open");
	CHECK(control_on(&c, 1, "fork:*", NULL, 0) == 2, "on");
	CHECK(write(go[1], "x", 1) == 1, "go");
	wait_for(pid);
	CHECK(drain(&c, pid) == 50, "%lu events", seen);
	control_detach(&c);
}

int main(void)
{
	struct espy_agent_open o = { .tag = TAG };
	struct control c;
	int e = control_attach(&c, getpid());

	CHECK(!e, "%s", strerror(-e));
	CHECK(!control_open(&c, &o), "open");
	CHECK(control_on(&c, 1, "fork:*", NULL, 0) == 2, "on");
	all_kinds(&c);
	bare_start();
	o.flags = ESPY_AGENT_FOLLOW;
	control_forget_ring(&c);
	CHECK(!control_open(&c, &o), "open again");
	CHECK(control_on(&c, 1, "fork:*", NULL, 0) == 2, "on");
	for (int i = 0; i < 20; i++)
		follow(&c);
	puts("fork, vfork, spawn, bare fork: every event once, in its own ring");
	return 0;
}

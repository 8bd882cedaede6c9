// SPDX-License-Identifier: LGPL-2.1-or-later
// Sites on which somebody else sits, espys that die, several espys at once, and other users.
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "own_espy.h"
#include "espy/mark.h"
#include "tests/wait.h"

__attribute__((noinline)) static void event(int i)
{
	MARK(state_event, "i=%d", i);
}

__attribute__((noinline)) static int is_on(void)
{
	return MARK_ENABLED(state_event);
}

static unsigned long seen;

static void record(void *ctx, const struct espy_chunk *chunk, const struct espy_mark_record *r)
{
	seen++;
}

// The site of a mark (EVENT or TEST) in the table of the agent.
static const struct espy_agent_site *site_of(struct control *c, const char *name, unsigned int what)
{
	const struct espy_agent_site *s = (const void *)((const char *)c->area + ESPY_AGENT_SITES_OFF);
	const struct espy_agent_def *d = (const void *)((const char *)c->area + ESPY_AGENT_DEFS_OFF);

	for (unsigned int i = 0; i < c->area->nsites; i++)
		if (d[s[i].def].what == what && !strcmp(control_name(c, s[i].def), name))
			return &s[i];
	CHECK(0, "no site of %s", name);
	return NULL;
}

static void poke(uint64_t addr, uint8_t byte)
{
	void *page = (void *)(addr & ~4095ull);

	CHECK(!mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC), "mprotect");
	*(volatile uint8_t *)addr = byte;
	CHECK(!mprotect(page, 8192, PROT_READ | PROT_EXEC), "mprotect");
}

static void breakpoints(struct control *c)
{
	const struct espy_agent_site *s;
	const uint8_t *code;

	CHECK(control_on(c, 1, "state:*", NULL, 0) == 2, "on");
	CHECK(control_off(c, 0) == 1, "off");
	s = site_of(c, "state_event", ESPY_MARK_EVENT);
	code = (const uint8_t *)s->addr;
	poke(s->addr, 0xcc); // as gdb or a uprobe
	CHECK(control_on(c, 1, "state:*", NULL, 0) == 2, "on");
	CHECK(s->state == ESPY_SITE_FOREIGN && control_slot(c)->ruled.refused == 1, "state %u", s->state);
	CHECK(code[0] == 0xcc && code[1] == 0x1f && code[2] == 0x44 && !code[3] && !code[4], "the breakpoint is gone");
	poke(s->addr, 0x0f); // it goes: the next request finds that out
	CHECK(control_on(c, 1, "state:*", NULL, 0) == 2 && s->state == ESPY_SITE_ON && code[0] == 0xe9, "state %u",
	      s->state);
	poke(s->addr, 0xcc); // on top of our jump
	CHECK(control_off(c, 0) == 1 && s->state == ESPY_SITE_FOREIGN && code[0] == 0xcc, "state %u", s->state);
	poke(s->addr, 0xe9);
	event(1); // still jumps, and is no event
	CHECK(control_read(c, 0, record, NULL) == 0, "an event after off");
	CHECK(control_on(c, 1, "state:*", NULL, 0) == 2 && s->state == ESPY_SITE_ON, "state %u", s->state);
	CHECK(control_off(c, 0) == 1 && s->state == ESPY_SITE_OFF && code[0] == 0x0f, "state %u", s->state);
}

static void killed_espy(void)
{
	int ready[2];
	pid_t self_pid = getpid(), pid;
	char b;

	CHECK(!pipe(ready), "pipe");
	pid = fork();
	if (!pid) {
		struct control c;
		int e = control_attach(&c, self_pid);

		CHECK(!e, "%s", strerror(-e));
		CHECK(!control_open(&c, &(struct espy_agent_open){ 0 }), "open");
		CHECK(control_on(&c, 1, "state:*", NULL, 0) == 2, "on");
		CHECK(write(ready[1], "x", 1) == 1, "ready");
		pause();
	}
	close(ready[1]);
	CHECK(read(ready[0], &b, 1) == 1, "the other espy");
	CHECK(is_on(), "not on");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK(WAIT_UNTIL(!is_on()), "the sites of a dead espy stay on");
}

static void several(struct control *one)
{
	struct control more[ESPY_AGENT_SESSIONS];
	unsigned int n = ESPY_AGENT_SESSIONS - 1;
	int e;

	for (unsigned int i = 0; i < n; i++) {
		e = control_attach(&more[i], getpid());
		CHECK(!e && more[i].slot == (int)i + 1, "%s", strerror(-e));
		CHECK(!control_open(&more[i], &(struct espy_agent_open){ .nchunks = 64 }), "open");
		CHECK(control_on(&more[i], 1, "state:event", NULL, 0) == 2, "on");
	}
	e = control_attach(&more[n], getpid());
	CHECK(e == -EBUSY, "a ninth session: %d", e);
	CHECK(control_on(one, 1, "state:event", NULL, 0) == 2, "on");
	for (int i = 0; i < 100; i++)
		event(i);
	CHECK(control_read(one, 0, record, NULL) == 100, "the first");
	for (unsigned int i = 0; i < n; i++) {
		CHECK(control_read(&more[i], 0, record, NULL) == 100 + i, "session %u", i);
		control_off(&more[i], 0);
		event(1);
		CHECK(control_read(&more[i], 0, record, NULL) == 0 && control_read(one, 0, record, NULL) == 1,
		      "one of them off");
		control_detach(&more[i]);
	}
	CHECK(is_on(), "off with somebody else");
	CHECK(control_off(one, 0) == 1 && !is_on(), "off");
}

// Another user, and a program that may not be looked into.
static void refused(void)
{
	pid_t self_pid = getpid(), pid;
	struct control c;
	int status;

	if (geteuid()) {
		puts("not root: other users are not tried");
		return;
	}
	pid = fork();
	if (!pid) {
		CHECK(!syscall(SYS_setgid, 65534) && !syscall(SYS_setuid, 65534), "setuid");
		_exit(control_attach_once(&c, self_pid) ? 0 : 1); // its agent has been there for long
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0, "another user gets in: %#x", status);
}

int main(void)
{
	struct control c;
	int e = control_attach(&c, getpid());

	CHECK(!e, "%s", strerror(-e));
	CHECK(!control_open(&c, &(struct espy_agent_open){ 0 }), "open");
	breakpoints(&c);
	several(&c);
	killed_espy();
	refused();
	puts("breakpoints, several espys, a dead espy, another user");
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a process comes to its agent: where the library is, whether it is in there already, and loading it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "arch/call_abi.h"
#include "base/clock.h"
#include "base/small_file.h"
#include "source/agent/agent_source.h"
#include "source/agent_inject.h"

#ifndef ESPY_AGENT_INSTALLED
#define ESPY_AGENT_INSTALLED "/usr/local/lib/libespy-agent.so"
#endif
#define PATIENCE_MS 60u /* with a process that the user has not named: it is tried again, and others must not wait */

static int real_path(const char *of, char *path, size_t size)
{
	char *real = realpath(of, NULL);
	int err = !real ? -errno : strlen(real) >= size ? -ENAMETOOLONG : access(real, R_OK) ? -errno : 0;

	if (!err)
		strcpy(path, real);
	free(real);
	return err;
}

int espy_agent__library(char *path, size_t size)
{
	/* From the folder of the program: a build tree, an installed one. */
	static const char *const beside[] = { "/../../agent/libespy-agent.so", "/../lib/libespy-agent.so",
					      "/../lib/" ESPY_ARCH_TRIPLET "/libespy-agent.so",
					      "/../lib64/libespy-agent.so", "/libespy-agent.so" };
	const char *given = getenv("ESPY_AGENT");
	char self[PATH_MAX], try[PATH_MAX + 64], *slash;
	ssize_t n;

	/* As it will stand in the maps of a process that loads it. */
	if (given && given[0] == '/')
		return real_path(given, path, size);
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n > 0) {
		self[n] = 0;
		slash = strrchr(self, '/');
		if (slash)
			*slash = 0;
		for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
			int err;

			snprintf(try, sizeof(try), "%s%s", self, beside[i]);
			err = real_path(try, path, size);
			if (err != -ENOENT && err != -ENOTDIR && err != -EACCES)
				return err;
		}
	}
	return real_path(ESPY_AGENT_INSTALLED, path, size);
}

static bool traced_by_us(pid_t pid)
{
	return espy_status_pid(pid, "TracerPid") == getpid();
}

void espy_agent_source__hide(struct espy_agent_source *s, pid_t tid)
{
	s->hidden[s->hidden_cnt++ % (sizeof(s->hidden) / sizeof(s->hidden[0]))] = tid;
}

static const char *why_not(int failed, char *text, size_t size)
{
	switch (failed) {
	case -EPERM:
		return "it is a set-user-id program, or one with capabilities of its own";
	case -ENOMEM:
	case -EAGAIN:
	case -EFBIG:
	case -EMFILE:
		snprintf(text, size, "%s (prlimit --pid shows its limits)", strerror(-failed));
		return text;
	default:
		return strerror(-failed);
	}
}

/* What comes of the process meanwhile is of our doing. */
static int load_agent(struct espy_agent_source *s, pid_t pid, const char *library, const struct espy_inject_how *how,
		      struct espy_inject_result *r)
{
	s->ours_from_ns = espy_now_ns();
	int err = espy_inject(pid, library, how, r);

	s->ours_until_ns = espy_now_ns();
	s->ours_tid = r->tid;
	if (r->born)
		espy_agent_source__hide(s, r->born);
	for (unsigned i = 0; i < r->left_cnt; i++) {
		while (s->left_cnt == sizeof(s->left) / sizeof(s->left[0]))
			espy_agent_source__let_go(s);
		s->left[s->left_cnt++] = r->left[i];
	}
	return err;
}

void espy_agent_source__let_go(struct espy_agent_source *s)
{
	s->left_cnt = espy_inject_let_go(s->left, s->left_cnt);
}

/* The library is loaded: its thread takes a moment to begin, in which it may wait for the kernel's grace periods. */
static int await_agent(struct espy_agent_source *s, struct espy_agent_process *p, const char *library,
		       const struct espy_inject_how *how)
{
	struct espy_inject_result r;
	char why[320] = "";
	int err = -ENOENT, failed = 0;
	bool asked = false;

	for (unsigned i = 0; i < 2500 && !failed && !espy_agent_turn__is_over(&s->turn); i++) {
		err = espy_agent__attach_while(&p->link, p->pid, &s->turn, why, sizeof(why));
		if (err != -ENOENT)
			break;
		if (i % 64 == 63)
			failed = espy_inject_failed(p->pid);
		if (failed == -ECANCELED &&
		    !asked) { /* ESPY_AGENT=off: it does not begin by itself, but if it is asked */
			asked = true;
			failed = 0;
			err = load_agent(s, p->pid, library, how, &r);
			if (err) {
				espy_agent_source__report(s, ESPY_REPORT_ERROR, "%s", r.why);
				return err;
			}
		}
		espy_agent_turn__pass(&s->turn, 2000000);
	}
	if (err == -ENOENT && espy_agent_turn__is_over(&s->turn))
		return -EINTR;
	if (failed)
		espy_agent_source__report(s, ESPY_REPORT_ERROR, "process %d: its agent could not start: %s",
					  (int)p->pid, why_not(failed, why, sizeof(why)));
	else if (err)
		espy_agent_source__report(s, ESPY_REPORT_ERROR,
					  "process %d: the agent was loaded, but does not answer: %s", (int)p->pid,
					  why[0]	  ? why
					  : err == -ESRCH ? "it has ended, or executed another program"
							  : strerror(-err));
	return failed ? -EOPNOTSUPP : err;
}

/* The agent is found, or loaded and then found. */
int espy_agent_process__get_agent(struct espy_agent_source *s, struct espy_agent_process *p, enum espy_agent_how how)
{
	struct espy_inject_result r;
	char why[320], library[PATH_MAX];
	int err = espy_agent__attach_while(&p->link, p->pid, &s->turn, why, sizeof(why));

	if (!err || err == -EPROTO || err == -ESRCH) {
		if (err && why[0])
			espy_agent_source__report(s, ESPY_REPORT_ERROR, "%s", why);
		else if (err)
			espy_agent_source__report(s, ESPY_REPORT_ERROR, "process %d is not there, or has ended",
						  (int)p->pid);
		return err;
	}
	/* A process that we trace ourselves cannot be given a library: it was, if it could be, when it started. */
	if (how == ESPY_AGENT_FIND || (how == ESPY_AGENT_LOAD && traced_by_us(p->pid)))
		return -ENOENT;
	/* One that has begun a moment ago may be about to start its own, and to call: it shall not be disturbed. */
	if (!s->eager && espy_inject_is_mapped(p->pid))
		return -ENOENT;
	err = espy_agent__library(library, sizeof(library));
	if (err) {
		espy_agent_source__report(
			s, ESPY_REPORT_ERROR,
			"the agent's library (libespy-agent.so) was not found: %s; ESPY_AGENT=/PATH tells where "
			"it is",
			strerror(-err));
		return err;
	}
	struct espy_inject_how how_to = { .held = how == ESPY_AGENT_LOAD_HELD,
					  .may_start_itself = !s->eager,
					  .patience_ms = s->eager ? 0 : PATIENCE_MS,
					  .turn = s->turn };

	err = load_agent(s, p->pid, library, &how_to, &r);
	/* Another espy may be loading it at this very moment: then it will be there. */
	for (unsigned i = 0; err == -EBUSY && i < 600 && !espy_agent_turn__is_over(&s->turn); i++) {
		espy_agent_turn__pass(&s->turn, 5000000);
		espy_agent_source__let_go(s); /* the tracer may be this thread, which left one behind */
		if (!espy_agent__attach_while(&p->link, p->pid, &s->turn, why, sizeof(why)))
			return 0;
		how_to.held = false;
		err = load_agent(s, p->pid, library, &how_to, &r);
	}
	if (err == -EALREADY)
		return -EAGAIN; /* the next look finds its agent */
	if (err == -EINTR)
		return err; /* the user asks it to end, and wants to hear no more */
	if (err) {
		espy_agent_source__report(s, ESPY_REPORT_ERROR, "%s", r.why);
		return err;
	}
	return await_agent(s, p, library, &how_to);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Loading a library into a running process. One of its threads is stopped for well under a millisecond at a point where
 * it holds none of the locks that dlopen() takes, calls dlopen() on a stack of its own, and goes on exactly where it
 * was. If espy dies at any moment in between, the thread still finds its way back by itself.
 */
#ifndef ESPY_SOURCE_AGENT_INJECT_H
#define ESPY_SOURCE_AGENT_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "source/agent_control.h"

/* A thread that this thread still traces, since it sleeps so that nothing can wake it. */
struct espy_inject_left {
	pid_t pid, tid;
};
#define ESPY_INJECT_LEFT_MAX 8u
/*
 * Lets go of those threads that have woken, and moves the others to the front. Returns how many these are. To be called again
 * and again until it returns 0: else a thread stops for ever as soon as it wakes.
 */
unsigned espy_inject_let_go(struct espy_inject_left *left, unsigned cnt);

struct espy_inject_result {
	uint64_t paused_ns;  /* how long threads stood, in all */
	uint64_t longest_ns; /* the longest single stop */
	unsigned tries;	     /* stops that it took to find a safe point */
	pid_t tid;	     /* the thread */
	pid_t born;	     /* 0, or the one that it made for the call; it has ended, or will in a moment */
	struct espy_inject_left left[ESPY_INJECT_LEFT_MAX];
	unsigned left_cnt;
	char why[320];	     /* after an error: what hinders it, and what can be done */
};

struct espy_inject_how {
	/* The process stands at its entry point, traced by the calling thread, and so it does afterwards
	 * (source/hold.h). */
	bool held;
	/*
	 * The process may be about to start an agent of its own. The constructor of that agent waits for espy with the dynamic
	 * loader's lock, for which a call of dlopen() would wait in turn.
	 */
	bool may_start_itself;
	uint32_t patience_ms;	     /* for so long a safe point is looked for; 0: eight seconds */
	struct espy_agent_turn turn; /* what is to be done now and then meanwhile */
};

/*
 * Does it; if the library is there already, calls its espy_agent_start(). -EALREADY: how->may_start_itself, and the library is
 * there since the process was looked at.
 */
int espy_inject(pid_t pid, const char *library, const struct espy_inject_how *how, struct espy_inject_result *r);

/* Returns whether the process maps an agent's library, under whatever path. */
bool espy_inject_is_mapped(pid_t pid);

/*
 * Returns -errno of the start of its agent; 0: none known; -ECANCELED: ESPY_AGENT=off, and the program has not asked
 * for it.
 */
int espy_inject_failed(pid_t pid);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Loading a library into a running process. One of its threads is stopped for well under a millisecond at a point where
 * it holds none of the locks that dlopen() takes, calls dlopen() on a stack of its own, and goes on exactly where it
 * was. If espy dies at any moment in between, the thread still finds its way back by itself.
 */
#ifndef ESPY_SOURCE_AGENT_INJECT_H
#define ESPY_SOURCE_AGENT_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "source/agent_control.h"

/* A thread that the calling thread still traces: it sleeps so that no signal can wake it. */
struct espy_inject_left {
	pid_t pid, tid;
};
#define ESPY_INJECT_LEFT_MAX 8u
/*
 * Lets go of the threads that have woken, and moves the others to the front. Returns the number of the others. The
 * caller calls it again and again until it returns 0: else a thread stops for ever as soon as it wakes.
 */
unsigned espy_inject_let_go(struct espy_inject_left *left, unsigned cnt);

struct espy_inject_result {
	uint64_t paused_ns;  /* how long threads stood, in all */
	uint64_t longest_ns; /* the longest single stop */
	unsigned tries;	     /* stops that it took to find a safe point */
	pid_t tid;	     /* the thread */
	pid_t born;	     /* the thread that `tid` made for the call, ended or about to end; 0: none */
	struct espy_inject_left left[ESPY_INJECT_LEFT_MAX];
	unsigned left_cnt;
	char why[320];	     /* after an error: the reason, and a way forward */
};

struct espy_inject_how {
	/* The process stands at its entry point, before and after, and the calling thread traces it (source/hold.h). */
	bool held;
	/*
	 * The process may be about to start an agent of its own. The constructor of that agent waits for espy with the dynamic
	 * loader's lock, for which a call of dlopen() would wait in turn.
	 */
	bool may_start_itself;
	uint32_t patience_ms;	     /* the time to find a safe point; 0: eight seconds */
	struct espy_agent_turn turn; /* work to do during waits */
};

/*
 * Loads the library. If the process has it already, calls its espy_agent_start(). Returns 0 or -errno. -EALREADY: with
 * how->may_start_itself the process has loaded the library itself meanwhile.
 */
int espy_inject(pid_t pid, const char *library, const struct espy_inject_how *how, struct espy_inject_result *r);

/* Returns whether the process maps an agent's library, under whatever path. */
bool espy_inject_is_mapped(pid_t pid);

/*
 * Returns the -errno of the start of the process's agent; 0: none known; -ECANCELED: ESPY_AGENT=off, and the program
 * has not asked for an agent.
 */
int espy_inject_failed(pid_t pid);

#endif

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

struct espy_inject_result {
	uint64_t paused_ns;  /* how long threads stood, in all */
	uint64_t longest_ns; /* the longest single stop */
	unsigned tries;	     /* stops that it took to find a safe point */
	pid_t tid;	     /* the thread */
	char why[320];	     /* after an error: what hinders it, and what can be done */
};

/*
 * Does it; if the library is there already, calls its espy_agent_start(). held: the process stands at its entry point
 * and is traced by the calling thread, and so it is afterwards (source/hold.h).
 */
int espy_inject(pid_t pid, const char *library, bool held, struct espy_inject_result *r);

#endif

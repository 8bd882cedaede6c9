/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The system calls that a process makes because the agent is put into it and works there, against seccomp filters. */
#ifndef ESPY_SOURCE_AGENT_SECCOMP_REQUIREMENTS_H
#define ESPY_SOURCE_AGENT_SECCOMP_REQUIREMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "source/agent/seccomp_verdict.h"

/* What depends on the process. */
struct espy_seccomp_requirements {
	pid_t own_pid;	 /* as it knows itself: in its own pid namespace */
	int bell;	 /* the signal that ends the call of dlopen(), see remote.h */
	bool libc_fstat; /* its libc looks at open files by fstat, else by newfstatat */
	bool by_memfd;	 /* the library is given to it as a descriptor */
};

/*
 * Each 0; or -EPERM: the text names the first call that is forbidden, and what would happen.
 * to_load: through a thread with these filters the agent is loaded, and its own thread inherits them.
 * to_hit: such a thread comes to a mark that is on.
 * to_fork: it forks, if it may: the child starts an agent of its own, or goes without, but must live.
 */
int espy_seccomp_requirements__to_load(const struct espy_seccomp_requirements *n, const struct espy_seccomp *s,
				       char *why, size_t why_sz);
int espy_seccomp_requirements__to_hit(const struct espy_seccomp_requirements *n, const struct espy_seccomp *s,
				      char *why, size_t why_sz);
int espy_seccomp_requirements__to_fork(const struct espy_seccomp_requirements *n, const struct espy_seccomp *s,
				       char *why, size_t why_sz);
/* May a thread with these filters be stopped in a sleep, and begin it again by what the kernel does for it? */
bool espy_seccomp_requirements__restart(const struct espy_seccomp *s);

#endif

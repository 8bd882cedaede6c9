/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes of espy's own, for work that may never end. espy can kill such a process, and does not wait for its end. It
 * runs in a copy of this process, so it takes no lock of the C library.
 */
#ifndef ESPY_BASE_OWN_PROCESS_H
#define ESPY_BASE_OWN_PROCESS_H

#include <sys/types.h>

/*
 * Begins one. As fork(): returns its number here, 0 there, -errno. No signal comes at its end, because SIGCHLD is for
 * the children that the user knows of: waitpid() needs __WALL.
 */
pid_t espy_own_process__begin(void);
/*
 * The first call in such a process: a name, no signals, a session of its own, an end no later than its parent's, and
 * `end` as descriptor 0, the only one. Otherwise it ends.
 */
void espy_own_process__settle(const char *name, int end);

/* Those that were told to end, or have been killed, and may be stuck in the kernel. */
#define ESPY_OWN_PROCESSES_STUCK 8u
struct espy_stuck_processes {
	pid_t v[ESPY_OWN_PROCESSES_STUCK];
	unsigned cnt;
};

/* Adds one; there must be room. Mostly it has ended by the next look. */
void espy_stuck_processes__add(struct espy_stuck_processes *s, pid_t pid);
/* Reaps those that have ended. Returns how many have not. */
unsigned espy_stuck_processes__reap(struct espy_stuck_processes *s);
/* The same for up to 100 ms. One that does not end by then has nothing of ours open, and init reaps it. */
void espy_stuck_processes__end(struct espy_stuck_processes *s);

#endif

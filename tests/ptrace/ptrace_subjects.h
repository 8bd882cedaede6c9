/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs that are traced by the tests of the ptrace source, and what they tell about themselves. */
#ifndef ESPY_TEST_PTRACE_SUBJECTS_H
#define ESPY_TEST_PTRACE_SUBJECTS_H

#include <stdatomic.h>
#include <sys/types.h>

#define SUBJECT_THREADS 50

/* Shared with the test: the truth. */
struct truth {
	atomic_int ready;
	atomic_int quit;
	atomic_int signals;		       /* caught */
	atomic_int ticks[SUBJECT_THREADS + 1]; /* by each thread */
	atomic_int eintr;		       /* calls that failed with EINTR and no signal of ours */
	atomic_int pids[4096];
	atomic_int pid_cnt;
	atomic_int stops_told; /* by the source, of tasks that have stopped */
};

/* Run subject `name`; returns its exit status. */
int subject_run(const char *name, struct truth *t, int n, char **argv);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs to be watched: the test runs itself with the name of one as its first argument. */
#ifndef ESPY_TEST_PROGRAMS_H
#define ESPY_TEST_PROGRAMS_H

#include <stdbool.h>
#include <sys/types.h>

/* All threads of a process, which are so many, sleep in this call. */
bool program_sleeps_in(pid_t pid, unsigned threads, int nr);
/* The result to exit with, or -1 if there is no such program. */
int run_program(const char *name, int argc, char **argv);
/* Rounds of what looks for rare moments: ROUNDS, else 1. */
unsigned program_rounds(void);
/* ROUNDS=N, for the environment of a program: it makes as many as the test expects. */
char *program_rounds_word(void);

#define CALLS_EACH 3000
#define STORM_CHILDREN ((int)(150u * program_rounds()))
#define MANY_CALLS ((int)(40000u * program_rounds()))
/* Numbered calls: close(NUMBERED + NUMBERED_STEP * writer + i). */
#define NUMBERED 0x10000000
#define NUMBERED_STEP 0x1000000
#define NUMBERED_EACH (20000u * program_rounds())
#define WRITERS 4

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starting the command where no source does it, and what it shall find in its environment. */
#ifndef ESPY_SOURCE_COMMAND_H
#define ESPY_SOURCE_COMMAND_H

#include <stddef.h>
#include <sys/types.h>
#include "source/source.h"

/* Returns when the child has executed the program: 0 and *pid; or -errno, and the child is reaped. */
int espy_command__start(const struct espy_command *cmd, pid_t *pid);
/*
 * env with these words ("NAME=VALUE") in it, instead of those of the same names. The array is the caller's, to be freed;
 * the strings stay those that were given. NULL: no memory.
 */
char **espy_command__env(char *const *env, char *const *words, size_t word_cnt);
/*
 * *word: LD_PRELOAD with the agent's library in front of what stands there in env already; allocated. -errno; that the
 * library was not found is said.
 */
int espy_command__preload(const struct espy_source_opts *o, const struct espy_inside_ops *inside, char *const *env,
			  char **word);

#endif

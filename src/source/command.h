/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starting the command where no source does it, and what it shall find in its environment. */
#ifndef ESPY_SOURCE_COMMAND_H
#define ESPY_SOURCE_COMMAND_H

#include <errno.h>
#include <stddef.h>
#include <sys/types.h>
#include "source/source.h"

/* After a call that a signal has broken off: is it to be made again? */
static inline bool espy_command__waits(const struct espy_command *cmd)
{
	return errno == EINTR && !(cmd->stop && *cmd->stop);
}

/* Reads what the child tells, until it has told all or closes its end. Returns how many bytes came, or -EINTR: `stop` is set. */
ssize_t espy_command__hear(const struct espy_command *cmd, int fd, void *buf, size_t size);
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

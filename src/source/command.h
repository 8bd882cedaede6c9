/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts the command when no source does, and makes its environment. */
#ifndef ESPY_SOURCE_COMMAND_H
#define ESPY_SOURCE_COMMAND_H

#include <errno.h>
#include <stddef.h>
#include <sys/types.h>
#include "source/source.h"

/* Returns, after a call that a signal has interrupted, whether to make it again. */
static inline bool espy_command__waits(const struct espy_command *cmd)
{
	return errno == EINTR && !(cmd->stop && *cmd->stop);
}

/*
 * Reads `size` bytes from the child, or until it closes its end. Returns the number of bytes, or -EINTR: `stop` is set.
 */
ssize_t espy_command__hear(const struct espy_command *cmd, int fd, void *buf, size_t size);
/* Becomes the command, in the child. If that fails, it writes the error to fail, a negative int, and ends. */
void espy_command__run(const struct espy_command *cmd, int fail) __attribute__((noreturn));
/*
 * Starts the command, and waits until it has executed the program. Returns 0 and *pid; or -errno, after it has reaped
 * the child.
 */
int espy_command__start(const struct espy_command *cmd, pid_t *pid);
/*
 * Returns env with these words ("NAME=VALUE") in place of words of the same names. The caller frees the array, but not
 * the strings: they belong to env and words. NULL: no memory.
 */
char **espy_command__env(char *const *env, char *const *words, size_t word_cnt);
/*
 * Makes the word LD_PRELOAD: the agent's library in front of the value in env. The caller frees *word. Returns 0 or
 * -errno; reports a missing library.
 */
int espy_command__preload(const struct espy_source_opts *o, const struct espy_inside_ops *inside, char *const *env,
			  char **word);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The processes that carry espy's text to the user's eyes: to watch them is to watch one's own watching, without an end. */
#ifndef ESPY_CLI_OUTPUT_READERS_H
#define ESPY_CLI_OUTPUT_READERS_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Finds the processes that read what is written to fd, a terminal or a pipe: the one at the other end of the pseudo-terminal
 * (tmux, script, sshd, an emulator), the readers of the pipe, and, as each of them writes to a terminal again, the readers of
 * that. Only those that this user may look at. Returns how many of them are in pids.
 */
#define ESPY_OUTPUT_READERS 8
size_t espy_output_readers(int fd, pid_t pids[ESPY_OUTPUT_READERS]);

#endif

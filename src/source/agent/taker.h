/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A process that takes the descriptors which callers send, and the connections whose descriptors were not taken. A
 * close of such a descriptor may last for ever: its file's server need not answer, and a connection may linger for its
 * peer. The reader gets only descriptors of memory (memfd), whose close never waits. The process closes the others when
 * it ends, and the reader does not wait for that.
 */
#ifndef ESPY_SOURCE_AGENT_TAKER_H
#define ESPY_SOURCE_AGENT_TAKER_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/own_process.h"

struct espy_taker {
	int ask;    /* a socket; of use while pid is not 0 */
	pid_t pid;  /* 0: there is none, it begins when needed */
	bool holds; /* it has descriptors to close */
	struct espy_stuck_processes stuck; /* processes whose end does not come */
};

/* Receives the next message of a connection. fds: the two descriptors of memory that came with it, or -1. 0 or -errno.
 */
int espy_taker__take(struct espy_taker *t, int connection, int fds[2]);
/* Closes a connection without a wait. -errno: it cannot be, and stays open, with no more to come. */
int espy_taker__hang_up(struct espy_taker *t, int connection);
/* Has all closed that was handed over. Call it when no connection that was hung up is open in this process any more. */
void espy_taker__flush(struct espy_taker *t);
void espy_taker__end(struct espy_taker *t);
/* Returns whether so many of them cannot end that no process may call any more. */
bool espy_taker__is_stuck(struct espy_taker *t);

#endif

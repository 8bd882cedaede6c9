/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by remote.c and remote_call.c alone. */
#ifndef ESPY_SOURCE_AGENT_REMOTE_PARTS_H
#define ESPY_SOURCE_AGENT_REMOTE_PARTS_H

#include <stdint.h>
#include <sys/types.h>
#include "source/agent/remote.h"

long espy_remote__trace(int request, pid_t tid, uintptr_t addr, const void *data);
/* The next stop of the thread. 0 and *status; -ETIMEDOUT; -ESRCH: it is gone. */
int espy_remote__wait_stop(struct espy_remote *r, int *status, uint64_t timeout_ns);
/* Lets the stopped thread go on, with that signal. */
int espy_remote__go(struct espy_remote *r, int request, int sig);
/* The general registers of the stopped thread: all that it takes to see where it stands. */
int espy_remote__read_regs(struct espy_remote *r);
/* All that a call changes besides, once for each stop. */
int espy_remote__read_rest(struct espy_remote *r);

#endif

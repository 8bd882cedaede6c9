/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A command held at its entry point: after the dynamic loader has mapped its libraries, before the first instruction of
 * the program. There marks are switched on, so that none is missed. It is our own child, and not yet running: nothing
 * that works is stopped.
 */
#ifndef ESPY_SOURCE_HOLD_H
#define ESPY_SOURCE_HOLD_H

#include <sys/types.h>

/* In the child, just before its execve: async-signal-safe. 0 or -errno. */
int espy_hold__child(void);
/* After its execve: 0 when it stands at its entry point; -ESRCH: it has ended; else -errno, and it runs free. */
int espy_hold__to_entry(pid_t pid);
/* Lets it go on, and go. */
void espy_hold__release(pid_t pid);

#endif

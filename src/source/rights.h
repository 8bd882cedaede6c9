/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tells whether the user of espy may trace a process. BPF programs and probes reach every process, and the kernel does
 * not check the user's right to each.
 */
#ifndef ESPY_SOURCE_RIGHTS_H
#define ESPY_SOURCE_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

/* Tells whether espy has its capabilities from its file (setcap), not from its user. */
bool espy_rights__are_borrowed(void);
/* Returns 0 if the user may trace the task, or the capabilities are the user's own; -EACCES; -ENOENT if it is gone. */
int espy_rights__check(pid_t pid);

#endif

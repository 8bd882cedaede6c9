/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whom the user of espy may trace, where the kernel itself does not ask: BPF and probes reach everyone. */
#ifndef ESPY_SOURCE_RIGHTS_H
#define ESPY_SOURCE_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

/* Tells whether espy's capabilities are those of its file (setcap), not of its user. */
bool espy_rights__are_borrowed(void);
/* Returns 0 if the user may trace the task, or the capabilities are the user's own; -EACCES; -ENOENT if it is gone. */
int espy_rights__check(pid_t pid);

#endif

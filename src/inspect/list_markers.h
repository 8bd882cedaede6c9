/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `espy list markers`; the other lists are in list.c. */
#ifndef ESPY_INSPECT_LIST_MARKERS_H
#define ESPY_INSPECT_LIST_MARKERS_H

#include <sys/types.h>
#include "cli/options.h"

/* Lists the markers of a program file, or (program NULL) of all files that a process has loaded. Returns the exit status. */
int espy_list_markers(const struct espy_cli *cli, const char *program, pid_t pid);

#endif

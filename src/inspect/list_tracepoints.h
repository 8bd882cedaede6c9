/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `espy list tracepoints`; the other lists are in list.c. */
#ifndef ESPY_INSPECT_LIST_TRACEPOINTS_H
#define ESPY_INSPECT_LIST_TRACEPOINTS_H

#include "cli/commands.h"

/* pattern: SYSTEM:NAME with `*` and `?`; a word without a colon is a system, NULL is all. Returns the exit status. */
int espy_list_tracepoints(const struct espy_cli *cli, const char *pattern);

#endif

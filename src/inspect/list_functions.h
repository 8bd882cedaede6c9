/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `espy list functions`; the other lists are in list.c. */
#ifndef ESPY_INSPECT_LIST_FUNCTIONS_H
#define ESPY_INSPECT_LIST_FUNCTIONS_H

#include "cli/options.h"

/* Lists the functions of a file that a probe can be set on; pattern NULL: all. Returns the exit status. */
int espy_list_functions(const struct espy_cli *cli, const char *file, const char *pattern, bool variables);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `espy list functions`; the other lists are in list.c. */
#ifndef ESPY_INSPECT_LIST_FUNCTIONS_H
#define ESPY_INSPECT_LIST_FUNCTIONS_H

#include "cli/options.h"

/* Lists the functions of a file that a probe can be set on; pattern NULL: all. Returns the exit status. */
int espy_list_functions(const struct espy_cli *cli, const char *file, const char *pattern, bool variables);
/* Puts a name that -u can fetch where a function begins, as its source declares it, or why -u cannot. ctx: a struct
 * espy_buf. */
void espy_list_put_variable(void *ctx, const char *name, const char *type, const char *why);

#endif

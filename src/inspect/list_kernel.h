/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `espy list functions kernel`. Private to src/inspect/. */
#ifndef ESPY_INSPECT_LIST_KERNEL_H
#define ESPY_INSPECT_LIST_KERNEL_H

#include <stdbool.h>
#include "cli/commands.h"

/* Lists functions of the kernel that fit the pattern (NULL: all), with their parameters if these are wanted. Returns
 * the exit status. */
int espy_list_kernel(const struct espy_cli *cli, const char *pattern, bool variables);

#endif

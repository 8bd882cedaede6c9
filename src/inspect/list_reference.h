/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `espy list` alone and `espy list --markdown`: the contents of the built-in descriptions. The other lists are in list.c. */
#ifndef ESPY_INSPECT_LIST_REFERENCE_H
#define ESPY_INSPECT_LIST_REFERENCE_H

#include <stdio.h>
#include "describe/image.h"

/* Writes a line for each kind of thing: how many are described. */
void espy_list_counts(FILE *out, const struct espy_image *img);
/* Writes the page of all calls, ioctl commands, socket options, netlink attributes and structs (Markdown). */
void espy_list_markdown(FILE *out, const struct espy_image *img);

#endif

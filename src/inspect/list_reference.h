/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `espy list` alone and `espy list --markdown`: what the built-in descriptions know; the other lists are in list.c. */
#ifndef ESPY_INSPECT_LIST_REFERENCE_H
#define ESPY_INSPECT_LIST_REFERENCE_H

#include <stdio.h>
#include "describe/image.h"

/* How much of each kind is described: a line each. */
void espy_list_counts(FILE *out, const struct espy_image *img);
/* The page of all calls, ioctl commands, socket options, netlink attributes and structs (Markdown). */
void espy_list_markdown(FILE *out, const struct espy_image *img);

#endif

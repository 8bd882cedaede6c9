/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the kernel calls the values of a tracepoint's fields: the tables of __print_flags() and __print_symbolic() in the line "print fmt" of its
 * format file.
 */
#ifndef ESPY_SOURCE_PRINT_FMT_H
#define ESPY_SOURCE_PRINT_FMT_H

#include <stdbool.h>
#include "base/buf.h"

/*
 * Appends the names that the values of a field have, as the format of a probe has them: "A=1|B=2"; of flags "|A=1|B=2",
 * in the order in which the kernel looks for them. print_fmt: the line. Nothing is appended if there are none, or none
 * that espy can read: some tables have names of numbers that the kernel's text does not tell.
 */
void espy_print_fmt__words(struct espy_buf *words, const char *print_fmt, const char *field);

/* Tells whether the kernel takes a number for an address. */
bool espy_print_fmt__is_address(const char *print_fmt, const char *field);

#endif

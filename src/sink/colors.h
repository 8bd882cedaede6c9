/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Colours in lines of text for a terminal. They are put into finished bytes on their way out, so that nothing that
 * makes lines or counts columns knows of them. A line may come in parts.
 */
#ifndef ESPY_SINK_COLORS_H
#define ESPY_SINK_COLORS_H

#include <stddef.h>
#include "base/buf.h"

struct espy_colors;

/*
 * Makes the colours of one output. spec: `key=SGR:key=SGR...` in place of the defaults, where SGR are the numbers of
 * the terminal's sequence ("1;31"); wrong parts are passed over; NULL: the defaults. Keys: syscall argname argval
 * comment const error punct retval. NULL: no memory.
 */
struct espy_colors *espy_colors__new(const char *spec);
/* The same colours for another output; from may be NULL, as the result is then. */
struct espy_colors *espy_colors__copy(const struct espy_colors *from);
void espy_colors__free(struct espy_colors *c);
/* Appends the n bytes of text to `to`, coloured. They go on where the last ones ended. */
void espy_colors__paint(struct espy_colors *c, struct espy_buf *to, const char *text, size_t n);

#endif

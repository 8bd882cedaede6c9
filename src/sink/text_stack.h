/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Call stacks as lines: " > /usr/lib/libc.so.6(read+0x1d) [0xf8cdd]". */
#ifndef ESPY_SINK_TEXT_STACK_H
#define ESPY_SINK_TEXT_STACK_H

#include <stdbool.h>
#include "base/buf.h"
#include "record/record.h"
#include "symbols/symbolizer.h"

/*
 * Appends a line for each frame of a STACK record, which is foreign; with source also where the code stands, if debug
 * information tells. Returns 0; -EBADMSG, and nothing appended: the record is damaged.
 */
int espy_text_stack(struct espy_buf *b, const struct espy_rec_stack *rec, struct espy_symbolizer *symbols, bool source);

#endif

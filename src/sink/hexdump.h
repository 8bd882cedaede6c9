/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* -e read=, -e write=: the bytes that a call moved through a descriptor, in hexadecimal and as text. */
#ifndef ESPY_SINK_HEXDUMP_H
#define ESPY_SINK_HEXDUMP_H

#include "describe/call_view.h"
#include "event/tokens.h"
#include "base/buf.h"
#include "filter/call_filter.h"

/* args: decoded in the manner BYTES, too. Writes nothing if the call has no such descriptor or moved nothing. */
void espy_hexdump__call(struct espy_buf *b, const struct espy_filter *f, const struct espy_call_view *v, struct espy_tokens args);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* -e read=, -e write=: the bytes that a call moved through a descriptor, in hexadecimal and as text. */
#ifndef ESPY_SESSION_DUMP_H
#define ESPY_SESSION_DUMP_H

#include "decode/decode.h"
#include "render/buf.h"
#include "session/filter.h"

/* Writes nothing if the call has no such descriptor or moved nothing. */
void espy_dump__call(struct espy_buf *b, const struct espy_filter *f, const struct espy_call_view *v);

#endif

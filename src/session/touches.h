/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* -P and --trace-fds: does a call touch one of these files or descriptors? */
#ifndef ESPY_SESSION_TOUCHES_H
#define ESPY_SESSION_TOUCHES_H

#include "decode/decode.h"
#include "render/text.h"
#include "session/filter.h"

/* True if a path argument is one of f->paths, or a descriptor refers to one of them or is one of f->fds. */
bool espy_touches__match(const struct espy_call_view *v, const struct espy_filter *f, const struct espy_resolver *r);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ESPY_TRACE_META_H
#define ESPY_TRACE_META_H

#include <stddef.h>

/* The last value of that name in the bytes of a META section (foreign bytes), with a NUL behind it; or NULL. */
const void *espy_trace_meta__find(const void *bytes, size_t size, const char *name, size_t *value_sz);

#endif

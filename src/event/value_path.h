/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finding a value among tokens by the path of its name: an argument, then ".field" and "[index]". A value behind a pointer is its
 * element 0. A field may be named by what stands behind one of its underscores: "iov_base" is also "base".
 */
#ifndef ESPY_EVENT_VALUE_PATH_H
#define ESPY_EVENT_VALUE_PATH_H

#include "event/tokens.h"

struct espy_value_path {
	const char *param; /* the argument's own name; NULL: `rest` begins at the outermost values, which are no arguments */
	const char *rest;  /* "", ".msg_iov[0].iov_base" */
	unsigned manner;   /* the tokens of this manner, enum espy_manner */
};

/* Calls fn with the index of each token to which the path leads, in order: of a value before and after the call both. */
void espy_value_path__each(const struct espy_tokens *t, const struct espy_value_path *p, void (*fn)(void *ctx, uint32_t i), void *ctx);
/* Returns whether a field of this name may be called so. */
bool espy_value_path__is_field(const char *name, const char *word, size_t len);

#endif

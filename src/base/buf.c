/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Apart from the functions that append: each line of the renderers has them, and they hardly ever call this. */
#include "base/buf.h"

bool espy_buf__grow(struct espy_buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap * 2 : 4096;

	while (cap - b->len < n)
		cap *= 2;

	char *p = realloc(b->data, cap);
	if (!p) {
		b->failed = true;
		return false;
	}
	b->data = p;
	b->cap = cap;
	return true;
}

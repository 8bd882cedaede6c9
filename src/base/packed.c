/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/packed.h"

#include <stdlib.h>
#include <zstd.h>

void *espy_packed__open(const struct espy_packed *p, size_t *size)
{
	const unsigned long long whole = ZSTD_getFrameContentSize(p->bytes, p->size);
	char *to = whole < ZSTD_CONTENTSIZE_ERROR ? malloc((size_t)whole + 1) : NULL;

	if (!to)
		return NULL;
	*size = ZSTD_decompress(to, (size_t)whole, p->bytes, p->size);
	if (ZSTD_isError(*size)) {
		free(to);
		return NULL;
	}
	to[*size] = 0;
	return to;
}

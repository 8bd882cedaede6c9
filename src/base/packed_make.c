/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The side of packed.h that only tools of the build need. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "base/packed.h"

/* Slow to make, as the build can afford, and as quick to unpack as any other level. */
#define LEVEL 19

void *espy_packed__make(const void *bytes, size_t size, size_t *packed_size)
{
	const size_t room = ZSTD_compressBound(size);
	void *to = malloc(room);

	*packed_size = to ? ZSTD_compress(to, room, bytes, size, LEVEL) : 0;
	if (to && !ZSTD_isError(*packed_size))
		return to;
	free(to);
	return NULL;
}

void espy_packed__write_words(FILE *f, const char *name, const void *bytes, size_t size)
{
	fprintf(f, "static const uint64_t %s[] = {", name);
	for (size_t i = 0; i < size; i += 8) {
		unsigned long long w = 0;

		memcpy(&w, (const char *)bytes + i, size - i < 8 ? size - i : 8);
		fprintf(f, "%s0x%llx,", i % 64 ? "" : "\n", w);
	}
	fputs("\n};\n", f);
}

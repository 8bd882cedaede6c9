/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/primer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* primer-1.block (u32 size of its records, the block) and descriptions-1.zst, made C files by the build */
extern const uint8_t espy_primer_1[], espy_descriptions_1[];
extern const size_t espy_primer_1_sz, espy_descriptions_1_sz;

uint32_t espy_primer(const uint8_t **block, size_t *block_sz)
{
	uint32_t records_sz;

	memcpy(&records_sz, espy_primer_1, sizeof(records_sz));
	*block = espy_primer_1 + sizeof(records_sz);
	*block_sz = espy_primer_1_sz - sizeof(records_sz);
	return records_sz;
}

int espy_descriptions__load(uint8_t **image, size_t *size)
{
	const unsigned long long whole = ZSTD_getFrameContentSize(espy_descriptions_1, espy_descriptions_1_sz);
	uint8_t *data = malloc(whole);

	if (!data)
		return -ENOMEM;
	if (ZSTD_decompress(data, whole, espy_descriptions_1, espy_descriptions_1_sz) != whole) {
		free(data);
		return -ENOMEM; /* the bytes are ours: nothing else can fail */
	}
	*image = data;
	*size = whole;
	return 0;
}

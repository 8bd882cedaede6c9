/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: packed records. The bytes are once a block, packed, coded or mixed (what unpacks must, packed and
 * unpacked again, be the same), once the columns of one, each preceded by its length, and once records (which must come
 * back as they were).
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/record.h"
#include "trace/pack.h"

#define RAW_MAX 65536u
#define COLUMNS 16u
#define COLUMNS_CODED 17u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One for mixed blocks: it would forget the primer at each other block. */
static struct espy_pack *plain, *mixed;
static ZSTD_CCtx *cctx;
static ZSTD_DCtx *dctx;
static uint64_t raw[RAW_MAX / 8], again[RAW_MAX / 8];
static uint8_t bytes[2 * RAW_MAX];

static void there_and_back(bool careful, const void *records, size_t size)
{
	const void *packed;
	size_t packed_sz;
	int err = espy_pack__records(careful ? mixed : plain, cctx, 3, careful, records, size, &packed, &packed_sz);

	if (err == -E2BIG && (!packed_sz || packed_sz > sizeof(bytes)))
		return;
	if (err && err != -E2BIG)
		abort();
	memcpy(bytes, packed, packed_sz);
	if (espy_pack__unpack(careful ? mixed : plain, dctx, careful ? PACK_MIXED : PACK_PACKED, bytes, packed_sz,
			      again, size) ||
	    memcmp(records, again, size))
		abort();
}

/* Sizes that are true in front of columns that are arbitrary. */
static void from_columns(enum espy_packing how, const uint8_t *data, size_t size, size_t raw_sz)
{
	const unsigned columns = how == PACK_PACKED ? COLUMNS : COLUMNS_CODED;
	uint8_t lens[COLUMNS_CODED];
	size_t at = 0, sum = 0;

	if (size < columns)
		return;
	memcpy(lens, data, columns);
	data += columns;
	size -= columns;
	for (unsigned i = 0; i < columns; i++) {
		size_t n = lens[i] & 0x7f;

		if (n > size - sum)
			n = size - sum;
		bytes[at++] = (uint8_t)n;
		bytes[at++] = (uint8_t)n;
		sum += n;
	}
	memcpy(bytes + at, data, sum);
	if (!espy_pack__unpack(how == PACK_MIXED ? mixed : plain, dctx, how, bytes, at + sum, raw, raw_sz))
		there_and_back(how != PACK_PACKED, raw, raw_sz);
}

/* Any bytes as records: sizes are made to fit. */
static void from_records(bool careful, const uint8_t *data, size_t size)
{
	size_t at = 0;

	size &= ~(size_t)7;
	if (size > RAW_MAX)
		size = RAW_MAX;
	memcpy(raw, data, size);
	while (size - at >= sizeof(struct espy_rec)) {
		struct espy_rec *rec = (struct espy_rec *)((uint8_t *)raw + at);

		rec->size = 24 + (rec->size & 0xf8);
		if (rec->size > size - at || size - at - rec->size < sizeof(*rec))
			rec->size = (uint32_t)(size - at);
		at += rec->size;
	}
	if (at)
		there_and_back(careful, raw, at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!plain) {
		plain = espy_pack__new(true);
		mixed = espy_pack__new(true);
		cctx = ZSTD_createCCtx();
		dctx = ZSTD_createDCtx();
	}
	if (size < 3)
		return 0;
	const size_t raw_sz = 8u * (1 + (data[1] | data[2] << 8) % (RAW_MAX / 8));

	const enum espy_packing how = (enum espy_packing)(data[0] / 3 % 3);
	const bool careful = how != PACK_PACKED;

	switch (data[0] % 3) {
	case 0:
		if (!espy_pack__unpack(how == PACK_MIXED ? mixed : plain, dctx, how, data + 3, size - 3, raw, raw_sz))
			there_and_back(careful, raw, raw_sz);
		break;
	case 1:
		from_columns(how, data + 3, size - 3, raw_sz > 4096 ? (raw_sz % 4096 + 8) & ~(size_t)7 : raw_sz);
		break;
	default:
		from_records(careful, data + 3, size - 3);
	}
	return 0;
}

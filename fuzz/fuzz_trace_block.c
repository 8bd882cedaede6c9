/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: records as columns. The bytes are once the columns as they stand in a file, once columns without their sizes,
 * each preceded by its length (what unpacks must, packed and unpacked again, be the same), and once records, which must
 * come back as they were.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/record.h"
#include "trace/columns.h"

#define RAW_MAX 65536u
#define COLUMNS_MAX (8u * RAW_MAX)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct espy_columns_pack *pack;
static uint64_t raw[RAW_MAX / 8], again[RAW_MAX / 8];
static uint8_t bytes[COLUMNS_MAX + 8];

static void there_and_back(const void *records, size_t size)
{
	size_t at = 0, n;
	int err = espy_columns_pack__records(pack, records, size);

	if (err == -E2BIG)
		return;
	if (err)
		abort();
	for (unsigned i = 0; i < COLUMNS; i++, at += n) {
		const void *column = espy_columns_pack__column(pack, i, &n);

		if (n > COLUMNS_MAX - at)
			abort();
		memcpy(bytes + at, column, n);
	}
	if (espy_columns_unpack(bytes, at, again, size) || memcmp(records, again, size))
		abort();
}

/* Sizes that are true in front of columns that are arbitrary. */
static size_t lay_columns(const uint8_t *data, size_t size)
{
	size_t at = ESPY_COLUMN_SIZES, from = COLUMNS;

	if (size < COLUMNS)
		return 0;
	for (unsigned i = 0; i < COLUMNS; i++) {
		const size_t left = size - from;
		const uint32_t n = data[i] < left ? data[i] : (uint32_t)left;

		memcpy(bytes + 4 * i, &n, 4);
		memcpy(bytes + at, data + from, n);
		at += n;
		from += n;
	}
	return at;
}

/* Any bytes as records: sizes are made to fit. */
static void from_records(const uint8_t *data, size_t size)
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
			rec->size = (uint32_t)(size - at) & 0xfffff;
		at += rec->size;
	}
	if (at)
		there_and_back(raw, at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!pack)
		pack = espy_columns_pack__new();
	if (size < 3)
		return 0;
	const size_t raw_sz = 8u * (1 + (data[1] | data[2] << 8) % (RAW_MAX / 8));
	size_t n = size - 3;

	switch (data[0] % 3) {
	case 0:
		n = n < COLUMNS_MAX ? n : COLUMNS_MAX;
		memcpy(bytes, data + 3, n);
		break;
	case 1:
		n = lay_columns(data + 3, n);
		break;
	default:
		from_records(data + 3, n);
		return 0;
	}
	if (!espy_columns_unpack(bytes, n, raw, raw_sz))
		there_and_back(raw, raw_sz);
	return 0;
}

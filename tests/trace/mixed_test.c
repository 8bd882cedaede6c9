/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mixed blocks: what they are made with is frozen, and all that they have of their own comes back as it was. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "record/record.h"
#include "trace/crc32c.h"
#include "trace/pack.h"
#include "trace/primer.h"
#include "trace/tick.h"

#define BYTES_MAX (4u << 20)
/* of src/trace/primer-1.block and descriptions-1.zst: never to be changed */
#define PRIMER_RECORDS 109464
#define PRIMER_CRC 0x9378d3b6u
#define DESCRIPTIONS_CRC 0xc7be3c27u

static uint8_t *bytes;
static size_t used;

/* A record: its fixed part, and one item with some bytes if it is a call. */
static void add_call(unsigned nr, uint32_t tid, uint64_t enter_ns, uint64_t time_ns, const void *item, uint32_t len)
{
	const uint32_t size = 48 + (item ? 8 + ((len + 7) & ~7u) : 0);
	struct espy_rec rec = { size, ESPY_REC_EXIT, 1 | ESPY_RF_ENTER_NS, (uint16_t)nr, tid, tid, time_ns };
	const struct espy_item it = { .op = 1, .len = len };
	uint8_t *to = bytes + used;

	assert_true(used + size <= BYTES_MAX);
	memset(to, 0, size);
	memcpy(to, &rec, sizeof(rec));
	memcpy(to + 32, &enter_ns, 8);
	if (item) {
		memcpy(to + 48, &it, sizeof(it));
		memcpy(to + 56, item, len);
	}
	used += size;
}

static void add_comm(uint32_t tid, uint64_t time_ns)
{
	const struct espy_rec_fact f = { { 48, ESPY_REC_FACT, 0, 0, tid, tid, time_ns }, ESPY_FACT_COMM, 0, 5, 0 };

	memcpy(bytes + used, &f, sizeof(f));
	memcpy(bytes + used + sizeof(f), "name\0\0\0", 8);
	used += 48;
}

/* Returns the size of the block. */
static size_t there_and_back(void)
{
	struct espy_pack *p = espy_pack__new(false), *u = espy_pack__new(false);
	ZSTD_CCtx *cctx = ZSTD_createCCtx();
	ZSTD_DCtx *dctx = ZSTD_createDCtx();
	uint8_t *raw = malloc(used);
	const void *packed;
	size_t size;

	/* twice: the second time nothing of the first must be left */
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(espy_pack__records(p, cctx, 3, true, bytes, used, &packed, &size), 0);
		memset(raw, 0xaa, used);
		assert_int_equal(espy_pack__unpack(u, dctx, PACK_MIXED, packed, size, raw, used), 0);
		assert_memory_equal(raw, bytes, used);
	}
	free(raw);
	ZSTD_freeCCtx(cctx);
	ZSTD_freeDCtx(dctx);
	espy_pack__free(p);
	espy_pack__free(u);
	used = 0;
	return size;
}

/* Files have been written with them: with other bytes none of these could be read. */
static void test_frozen(void **state)
{
	const uint8_t *block;
	uint8_t *image;
	size_t size;

	assert_int_equal(espy_primer(&block, &size), PRIMER_RECORDS);
	assert_int_equal(espy_crc32c(0, block, size), PRIMER_CRC);
	assert_int_equal(espy_descriptions__load(&image, &size), 0);
	assert_int_equal(espy_crc32c(0, image, size), DESCRIPTIONS_CRC);
	free(image);
}

/* Times of a clock that moves in steps of so many ns. */
static void add_steps(double step, unsigned n)
{
	double at = 1e6;
	unsigned seed = 1;

	for (unsigned i = 0; i < n; i++) {
		seed = seed * 1103515245 + 12345;
		const double enter = at + step * (20 + (seed >> 16) % 200),
			     end = enter + step * (30 + (seed >> 8) % 100);

		add_call(39, 7, (uint64_t)enter, (uint64_t)end, NULL, 0);
		at = end;
	}
}

static void test_steps(void **state)
{
	const double steps[] = { 1, 10.01489, 25.03, 83.3 };
	size_t sizes[4];

	for (unsigned i = 0; i < 4; i++) {
		add_steps(steps[i], 2000);
		const uint32_t tick = espy_tick__find(bytes, used);

		if (i == 1 || i == 2)
			assert_true(tick > steps[i] * (1 << TICK_BITS) * 0.9999 &&
				    tick < steps[i] * (1 << TICK_BITS) * 1.0001);
		else
			assert_int_equal(tick, 0); /* a step that is not used does no harm */
		sizes[i] = there_and_back();
	}
	/* with steps it takes hardly more than with steps of 1 ns, though the times are longer */
	assert_true(sizes[1] < sizes[0] * 5 / 4);
}

static void test_odd_times(void **state)
{
	add_call(1, 7, 1000, 2000, NULL, 0);
	add_call(1, 8, 5, 900, NULL, 0); /* earlier than what was before */
	add_call(1, 7, UINT64_MAX, 0, NULL, 0);
	add_call(1, 7, 3000, 3000 + (1ull << 40), NULL, 0);
	add_comm(7, 4000 + (1ull << 40));
	add_comm(7, 4000 + (1ull << 40));
	add_call(1, 7, 3500 + (1ull << 40), 4000 + (1ull << 40), NULL, 0); /* as told before it */
	add_comm(7, 9000 + (1ull << 40));
	add_call(1, 7, 4500 + (1ull << 40), 9999 + (1ull << 40), NULL, 0); /* not as told */
	add_comm(9, 0);
	for (unsigned i = 0; i < 64; i++)
		add_call(2, 7, (1ull << 41) + (1ull << i), (1ull << 41) + (2ull << i), NULL, 0);
	there_and_back();
	add_steps(10.01489, 300);
	for (unsigned i = 0; i < 64; i++)
		add_call(2, 7, (1ull << 41) + (1ull << i), (1ull << 41) + (2ull << i), NULL, 0);
	there_and_back();
}

/* More bytes of items than are coded, each of another kind; and those that are directory entries, or claim to be. */
static void test_items(void **state)
{
	uint8_t item[4096];
	unsigned seed = 5;

	for (unsigned i = 0; i < 400; i++) {
		const uint32_t len = i * 37 % sizeof(item);

		for (uint32_t k = 0; k < len; k++)
			item[k] = i % 3 ? (uint8_t) "a path/of/a/file "[(k + i) % 17]
					: (uint8_t)((seed = seed * 1103515245 + 12345) >> 16);
		if (len && i % 3 == 1)
			item[len - 1] = 0;
		add_call(i % 5 ? 2 : 217, 7, 1000 * i, 1000 * i + 500, item, len);
	}
	there_and_back();
	for (unsigned i = 0; i < 50; i++) {
		uint32_t at = 0;

		for (unsigned e = 0; e < 30; e++, at += 32) {
			const struct {
				uint64_t inode, place;
				uint16_t len;
				uint8_t type;
				char name[13];
			} entry = { 1000 + e, e * 0x9e3779b97f4a7c15u, (uint16_t)(i == 7 && e == 3 ? 5 : 32), 8,
				    "a name" };

			memcpy(item + at, &entry, 32);
		}
		add_call(217, 7, 1000 * i, 1000 * i + 500, item, at - i % 4);
	}
	there_and_back();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frozen),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_odd_times),
		cmocka_unit_test(test_items),
	};

	bytes = malloc(BYTES_MAX);
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(bytes);
	return failed;
}

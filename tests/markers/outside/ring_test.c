/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reader of the agent's ring: what a good writer leaves, what a dead one leaves, what a hostile one leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <cmocka.h>
#include "record/mark_values.h"
#include "record/record.h"
#include "source/agent/mark_ring.h"

enum { CHUNK = 4096, CHUNKS = 64, DATA = 8192, SIZE = DATA + CHUNK * CHUNKS };
static const struct espy_agent_opened opened = { .chunk_sz = CHUNK, .nchunks = CHUNKS };

static uint8_t *make(void)
{
	uint8_t *map = calloc(1, SIZE);
	struct espy_ring *head = (void *)map;

	*head = (struct espy_ring){
		.magic = ESPY_RING_MAGIC, .abi = ESPY_AGENT_ABI, .chunk_sz = CHUNK, .nchunks = CHUNKS, .data_off = DATA
	};
	memset(map + ESPY_RING_FREE_OFF, 0xff, CHUNKS / 8);
	return map;
}

static struct espy_chunk *take_chunk(uint8_t *map, unsigned i, uint64_t seq)
{
	struct espy_chunk *c = (void *)(map + DATA + i * CHUNK);

	map[ESPY_RING_FREE_OFF + i / 8] &= (uint8_t) ~(1u << i % 8);
	memset(c, 0, CHUNK);
	c->tid = 100 + i;
	c->seq = seq;
	return c;
}

static uint32_t add(struct espy_chunk *c, uint32_t pos, uint64_t time, uint64_t value)
{
	struct espy_mark_record r = { .size_busy = 24, .def = 1, .time = time };

	memcpy((uint8_t *)c + pos, &r, sizeof(r));
	memcpy((uint8_t *)c + pos + sizeof(r), &value, 8);
	return pos + 24;
}

static bool is_free(const uint8_t *map, unsigned i)
{
	return map[ESPY_RING_FREE_OFF + i / 8] >> i % 8 & 1;
}

static void test_good(void **state)
{
	uint8_t *map = make(), args[CHUNK];
	struct espy_agent_ring r;
	uint64_t v;

	(void)state;
	assert_int_equal(espy_agent_ring__open(&r, map, SIZE, &opened), 0);
	struct espy_chunk *c = take_chunk(map, 3, 7);
	uint32_t pos = add(c, ESPY_CHUNK_HEAD, 10, 1111);

	espy_agent_ring__look(&r);
	assert_int_equal(r.cursor_cnt, 1);
	assert_true(r.cursors[0].ready);
	assert_int_equal(r.cursors[0].tid, 103);
	assert_int_equal(espy_agent_ring__take(&r, &r.cursors[0], args), 8);
	memcpy(&v, args, 8);
	assert_int_equal(v, 1111);
	assert_false(r.cursors[0].ready);
	pos = add(c, pos, 11, 2222);
	c->end = pos;
	c->closed = 1;
	espy_agent_ring__look(&r);
	assert_true(r.cursors[0].ready);
	assert_false(is_free(map, 3));
	espy_agent_ring__take(&r, &r.cursors[0], args);
	assert_true(is_free(map, 3));
	espy_agent_ring__look(&r);
	assert_int_equal(r.cursor_cnt, 0);
	/* The same chunk again, with a new number. */
	c = take_chunk(map, 3, 8);
	add(c, ESPY_CHUNK_HEAD, 20, 3333);
	espy_agent_ring__look(&r);
	assert_int_equal(r.cursor_cnt, 1);
	assert_int_equal(r.damaged + r.torn, 0);
	espy_agent_ring__close(&r);
	free(map);
}

static void test_unfinished(void **state)
{
	uint8_t *map = make();
	struct espy_agent_ring r;
	struct espy_mark_record rec = { .size_busy = 24 | ESPY_RECORD_BUSY };

	(void)state;
	assert_int_equal(espy_agent_ring__open(&r, map, SIZE, &opened), 0);
	struct espy_chunk *c = take_chunk(map, 0, 1);

	memcpy((uint8_t *)c + ESPY_CHUNK_HEAD, &rec, sizeof(rec));
	espy_agent_ring__look(&r);
	assert_int_equal(r.cursor_cnt, 1);
	assert_false(r.cursors[0].ready);
	/* Its writer is dead: it is counted, once, and the chunk is free. */
	espy_agent_ring__bury(&r);
	assert_int_equal(r.torn, 1);
	assert_true(is_free(map, 0));
	espy_agent_ring__close(&r);
	free(map);
}

static uint32_t add_shared(struct espy_chunk *c, uint32_t pos, uint32_t tid, uint64_t time, uint64_t value)
{
	struct espy_shared_record r = { .mark = { .size_busy = 32, .def = 1, .time = time }, .tid = tid };

	memcpy((uint8_t *)c + pos, &r, sizeof(r));
	memcpy((uint8_t *)c + pos + sizeof(r), &value, 8);
	return pos + 32;
}

static void test_shared(void **state)
{
	uint8_t *map = make(), args[CHUNK];
	struct espy_agent_ring r;
	uint64_t v;

	(void)state;
	assert_int_equal(espy_agent_ring__open(&r, map, SIZE, &opened), 0);
	struct espy_chunk *c = take_chunk(map, 5, 1);
	uint32_t pos = add_shared(c, ESPY_CHUNK_HEAD, 200, 10, 1111);

	c->kind = ESPY_CHUNK_SHARED;
	/* It looks like a record, but is above the end: somebody was interrupted there. */
	c->end = ESPY_CHUNK_HEAD;
	espy_agent_ring__look(&r);
	assert_int_equal(r.cursor_cnt, 1);
	assert_false(r.cursors[0].ready);
	c->end = pos;
	for (unsigned i = 0; i < 2; i++) {
		espy_agent_ring__look(&r);
		assert_true(r.cursors[0].ready);
		assert_int_equal(r.cursors[0].tid, 200 + i);
		assert_int_equal(r.cursors[0].time, 10 + i);
		pos = add_shared(c, pos, 201 + i, 11 + i, 2222 + i);
		if (!i)
			c->end = pos;
		assert_int_equal(espy_agent_ring__take(&r, &r.cursors[0], args), 8);
		memcpy(&v, args, 8);
		assert_int_equal(v, i ? 2222 : 1111);
		assert_int_equal(r.cursors[0].ready, !i);
	}
	assert_false(is_free(map, 5));
	c->closed = 1;
	espy_agent_ring__look(&r);
	assert_int_equal(r.cursor_cnt, 0);
	assert_true(is_free(map, 5));
	/* A writer that is dead leaves nothing torn, whatever is above the end. */
	c = take_chunk(map, 6, 2);
	c->kind = ESPY_CHUNK_SHARED;
	c->end = ESPY_CHUNK_HEAD;
	memset((uint8_t *)c + ESPY_CHUNK_HEAD, 0xff, 100);
	espy_agent_ring__look(&r);
	espy_agent_ring__bury(&r);
	assert_true(is_free(map, 6));
	assert_int_equal(r.damaged + r.torn, 0);
	espy_agent_ring__close(&r);
	free(map);
}

/* An end and sizes that cannot be. */
static void test_shared_nonsense(void **state)
{
	static const struct {
		uint32_t end, size;
	} bad[] = {
		{ 0, 32 },     { 63, 32 },   { CHUNK + 8, 32 }, { 0xffffffff, 32 }, { CHUNK, CHUNK },	{ 72, 32 },
		{ CHUNK, 16 }, { CHUNK, 0 }, { CHUNK, 33 },	{ 96, 40 },	    { CHUNK, 24u | 1 }, { 95, 32 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint8_t *map = make();
		struct espy_agent_ring r;
		struct espy_chunk *c = take_chunk(map, 63, 5);

		assert_int_equal(espy_agent_ring__open(&r, map, SIZE, &opened), 0);
		add_shared(c, ESPY_CHUNK_HEAD, 1, 1, 1);
		memcpy((uint8_t *)c + ESPY_CHUNK_HEAD, &bad[i].size, 4);
		c->kind = ESPY_CHUNK_SHARED;
		c->end = bad[i].end;
		espy_agent_ring__look(&r);
		assert_int_equal(r.cursor_cnt, 0);
		assert_int_equal(r.damaged, 1);
		espy_agent_ring__look(&r);
		assert_int_equal(r.damaged, 1);
		espy_agent_ring__close(&r);
		free(map);
	}
}

static void test_sizes(void **state)
{
	static const uint32_t bad[] = { 8, 12, 20, CHUNK, 0x7ffffff8, 0xfffffff8, 26 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint8_t *map = make();
		struct espy_agent_ring r;
		struct espy_mark_record rec = { .size_busy = bad[i] };

		assert_int_equal(espy_agent_ring__open(&r, map, SIZE, &opened), 0);
		memcpy((uint8_t *)take_chunk(map, 63, 5) + ESPY_CHUNK_HEAD, &rec, sizeof(rec));
		espy_agent_ring__look(&r);
		assert_int_equal(r.cursor_cnt, 0);
		assert_int_equal(r.damaged, 1);
		espy_agent_ring__look(&r); /* its number was seen: it is not begun again */
		assert_int_equal(r.damaged, 1);
		espy_agent_ring__close(&r);
		free(map);
	}
}

static void test_heads(void **state)
{
	struct espy_agent_ring r;
	struct espy_agent_opened o = opened;

	(void)state;
	uint8_t *map = make();
	struct espy_ring *head = (void *)map;

	assert_int_equal(espy_agent_ring__open(&r, map, SIZE - 1, &opened), -EPROTO);
	assert_int_equal(espy_agent_ring__open(&r, map, 100, &opened), -EPROTO);
	o.nchunks = 65;
	assert_int_equal(espy_agent_ring__open(&r, map, SIZE, &o), -EPROTO);
	o = (struct espy_agent_opened){ .chunk_sz = 4097, .nchunks = 1 };
	assert_int_equal(espy_agent_ring__open(&r, map, SIZE, &o), -EPROTO);
	/* A record that filled it would not fit where it is copied to. */
	uint8_t *large = calloc(1, DATA + (1u << 18));

	memcpy(large, map, sizeof(struct espy_ring));
	o = (struct espy_agent_opened){ .chunk_sz = 1u << 18, .nchunks = 1 };
	assert_int_equal(espy_agent_ring__open(&r, large, DATA + (1u << 18), &o), -EPROTO);
	free(large);
	head->data_off = 4096;
	assert_int_equal(espy_agent_ring__open(&r, map, SIZE, &opened), -EPROTO);
	head->data_off = 0xfffff000;
	assert_int_equal(espy_agent_ring__open(&r, map, SIZE, &opened), -EPROTO);
	head->data_off = DATA;
	head->magic = 0;
	assert_int_equal(espy_agent_ring__open(&r, map, SIZE, &opened), -EPROTO);
	free(map);
}

/* Garbage that changes between looks: every look ends, nothing is touched outside (run under the sanitizers). */
static void test_garbage(void **state)
{
	uint64_t seed = 88172645463325252ull;
	static uint8_t args[CHUNK];

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		uint8_t *map = make();
		struct espy_agent_ring r;

		assert_int_equal(espy_agent_ring__open(&r, map, SIZE, &opened), 0);
		for (unsigned look = 0; look < 20; look++) {
			for (unsigned k = 0; k < 2000; k++) {
				seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
				size_t at = 4096 + (seed >> 20) % (SIZE - 4096 - 8);
				uint64_t v = seed % 3 ? seed % 200 & ~7ull : seed;

				memcpy(map + (at & ~7ull), &v, 8);
			}
			espy_agent_ring__look(&r);
			assert_true(r.cursor_cnt <= CHUNKS);
			for (size_t i = 0; i < r.cursor_cnt; i++)
				for (unsigned n = 0; n < 1000 && r.cursors[i].ready && !r.cursors[i].over; n++) {
					uint32_t len = espy_agent_ring__take(&r, &r.cursors[i], args);

					assert_true(len <= CHUNK);
					espy_mark_values__check(args, len, (const uint8_t[]){ 7, 1, 8 }, 3);
				}
		}
		espy_agent_ring__bury(&r);
		espy_agent_ring__close(&r);
		free(map);
	}
}

static void test_args(void **state)
{
	uint64_t w[4] = { 5, 3, 0, 0 };

	(void)state;
	assert_true(espy_mark_values__check(w, 8, (const uint8_t[]){ 1 }, 1));
	assert_false(espy_mark_values__check(w, 16, (const uint8_t[]){ 1 }, 1));
	assert_false(espy_mark_values__check(w, 8, (const uint8_t[]){ 1, 1 }, 2));
	assert_false(espy_mark_values__check(w, 8, (const uint8_t[]){ 0 }, 1));
	assert_false(espy_mark_values__check(w, 8, (const uint8_t[]){ 99 }, 1));
	assert_true(espy_mark_values__check(w, 16, (const uint8_t[]){ 7 }, 1));
	assert_false(espy_mark_values__check(w, 8, (const uint8_t[]){ 7 }, 1));
	w[0] = 0xffffffff;
	assert_false(espy_mark_values__check(w, 32, (const uint8_t[]){ 7 }, 1));
	w[0] = 5ull | 9ull << 32; /* a state that does not exist */
	assert_false(espy_mark_values__check(w, 16, (const uint8_t[]){ 7 }, 1));
	assert_true(espy_mark_values__check(w, 0, NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	cmocka_unit_test(test_unfinished),
		cmocka_unit_test(test_shared),	cmocka_unit_test(test_shared_nonsense),
		cmocka_unit_test(test_sizes),	cmocka_unit_test(test_heads),
		cmocka_unit_test(test_garbage), cmocka_unit_test(test_args),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

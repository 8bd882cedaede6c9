/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Items put together from MORE records: in place of shorter ones, beside others, and whatever the records claim. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "state/long_items.h"

#define TID 7u
#define EXIT ESPY_ITEM_AT_EXIT
#define NO_ITEM 0xffffu

static struct espy_long_items l;
static struct espy_call_view v;
static struct {
	struct espy_item head;
	char bytes[16];
} items[8];

/* Appends an item whose bytes are all `c` to the view. */
static void have(unsigned op, unsigned index, unsigned len, char c)
{
	const unsigned i = v.item_cnt;

	items[i].head = (struct espy_item){
		.op = (uint8_t)op, .status = EXIT | ESPY_ITEM_TRUNCATED, .index = (uint16_t)index, .len = len
	};
	memset(items[i].bytes, c, sizeof(items[i].bytes));
	if (v.ops[op].first[1] == NO_ITEM)
		v.ops[op].first[1] = (uint16_t)i;
	v.items[v.item_cnt++] = &items[i].head;
}

/* Two buffers of operation 0, and one of operation 1. */
static int setup(void **state)
{
	(void)state;
	v.item_cnt = 0;
	v.op_cnt = 2;
	v.tid = TID;
	memset(v.ops, 0xff, sizeof(v.ops));
	have(0, 0, 8, 'a');
	have(0, 1, 8, 'b');
	have(1, 0, 16, 'c');
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	espy_long_items__free(&l);
	return 0;
}

/* Adds a record whose bytes are all `c`. claim: the length that it tells. */
static void add_claim(uint32_t tid, unsigned op, unsigned index, uint64_t from, size_t len, char c, uint32_t claim)
{
	struct espy_rec_more *rec = calloc(1, sizeof(*rec) + len);

	rec->rec = (struct espy_rec){ .size = (uint32_t)(sizeof(*rec) + len), .type = ESPY_REC_MORE, .tid = tid };
	rec->from = from;
	rec->item = (struct espy_item){ .op = (uint8_t)op, .status = EXIT, .index = (uint16_t)index, .len = claim };
	memset(rec + 1, c, len);
	espy_long_items__add(&l, rec);
	free(rec);
}

static void add(unsigned op, unsigned index, uint64_t from, size_t len, char c)
{
	add_claim(TID, op, index, from, len, c, (uint32_t)len);
}

/* The item has `len` bytes, which begin and end with these. */
static void expect(unsigned op, unsigned index, unsigned len, char first, char last)
{
	const struct espy_item *it = espy_call_view__item(&v, op, index, true);

	assert_non_null(it);
	assert_int_equal(it->len, len);
	assert_int_equal(((const char *)(it + 1))[0], first);
	assert_int_equal(((const char *)(it + 1))[len - 1], last);
}

static void expect_unchanged(void)
{
	espy_long_items__join(&l, &v);
	assert_int_equal(v.item_cnt, 3);
	expect(0, 0, 8, 'a', 'a');
	expect(0, 1, 8, 'b', 'b');
	expect(1, 0, 16, 'c', 'c');
}

static void joins(void **state)
{
	(void)state;
	add(0, 1, 8, 8, 'x');
	add(0, 1, 16, 100000, 'y');
	espy_long_items__join(&l, &v);
	expect(0, 0, 8, 'a', 'a');
	expect(0, 1, 100016, 'b', 'y');
	expect(1, 0, 16, 'c', 'c');
	assert_int_equal(espy_call_view__item(&v, 0, 1, true)->status, EXIT); /* whole by now */
	espy_long_items__forget(&l, TID);
	assert_int_equal(l.cnt, 0);
	assert_int_equal(l.bytes, 0);
}

static void adds_missing_items(void **state)
{
	(void)state;
	add(0, 2, 0, 24, 'n');
	espy_long_items__join(&l, &v);
	assert_int_equal(v.item_cnt, 4);
	expect(0, 1, 8, 'b', 'b');
	expect(0, 2, 24, 'n', 'n');
	expect(1, 0, 16, 'c', 'c');
}

/* An item of 0 bytes stands for one that found no room. */
static void fills_empty_items(void **state)
{
	(void)state;
	items[1].head.len = 0;
	add(0, 1, 0, 24, 'n');
	espy_long_items__join(&l, &v);
	assert_int_equal(v.item_cnt, 3);
	expect(0, 1, 24, 'n', 'n');
}

static void begins_anew(void **state)
{
	(void)state;
	add(0, 0, 8, 8, 'x');
	add(0, 0, 16, 8, 'y');
	add(0, 0, 8, 8, 'z'); /* read again */
	assert_int_equal(l.cnt, 1);
	espy_long_items__join(&l, &v);
	expect(0, 0, 16, 'a', 'z');
}

static void believes_nothing(void **state)
{
	(void)state;
	add(0, 0, 9, 8, 'x'); /* behind other bytes than the record's */
	add(2, 0, 0, 8, 'x'); /* no such operation */
	add_claim(TID + 1, 0, 0, 8, 8, 'x', 8);
	add_claim(TID, 0, 1, 8, 8, 'x', 9); /* more than there is */
	add_claim(TID, 0, 1, UINT64_MAX - 4, 8, 'x', 8);
	add_claim(TID, 0, 1, ESPY_MORE_MOST - 4, 8, 'x', 8);
	expect_unchanged();
	/* a gap ends the item */
	add(1, 0, 16, 8, 'x');
	add(1, 0, 32, 8, 'y');
	espy_long_items__join(&l, &v);
	expect(1, 0, 24, 'c', 'x');
}

/* No stream makes more than 64 MB of them. */
static void is_bounded(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4000; i++)
		add_claim(i, 0, i & 0xff, 0, ESPY_MORE_PIECE, 'x', ESPY_MORE_PIECE);
	assert_true(l.bytes <= 64u << 20);
	assert_true(l.cnt > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(joins, setup, teardown),
		cmocka_unit_test_setup_teardown(adds_missing_items, setup, teardown),
		cmocka_unit_test_setup_teardown(fills_empty_items, setup, teardown),
		cmocka_unit_test_setup_teardown(begins_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(believes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(is_bounded, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records to views: what a record that lies may say, and which item is found for what. */
#include "render_harness.h"
#include <errno.h>

static const char text[] = "write(fd fd, buf in bytes[count], count usize)\n"
			   "struct iov_in { iov_base in bytes[iov_len]  iov_len usize }\n"
			   "writev(fd fd, iov in iov_in[vlen], vlen usize)\n";
static const char calls[] = "0 read 3 desc\n1 write 3 desc\n20 writev 3 desc\n";

static int setup(void **state)
{
	return harness_new(state, text, "", calls);
}

static int init(struct harness *k)
{
	return espy_call_view__init(&k->view, &k->img, NULL, (struct espy_rec *)k->rec);
}

static void good_record(struct harness *k)
{
	harness_exit(k, "write", 3, 1, 0x1000, 3);
	harness_item(k, 0, ESPY_ITEM_OK, 0, "abc", 3);
}

static void test_view(void **state)
{
	struct harness *k = *state;

	good_record(k);
	assert_int_equal(init(k), 0);
	assert_int_equal(k->view.nargs, 3);
	assert_int_equal(k->view.args[1], 0x1000);
	assert_int_equal(k->view.item_cnt, 1);
	const struct espy_item *it = espy_call_view__item(&k->view, 0, 0, false);
	assert_non_null(it);
	assert_memory_equal(it + 1, "abc", 3);
	assert_null(espy_call_view__item(&k->view, 0, 0, true));
	assert_null(espy_call_view__item(&k->view, 0, 1, false));
	assert_null(espy_call_view__item(&k->view, 200, 0, false));
}

static void test_lying_sizes(void **state)
{
	struct harness *k = *state;
	struct espy_rec *r = (struct espy_rec *)k->rec;

	good_record(k);
	r->size = 24;
	assert_int_equal(init(k), -EBADMSG);
	good_record(k);
	r->size += 4;
	assert_int_equal(init(k), -EBADMSG);
	good_record(k);
	r->size = ESPY_REC_MAX + 8;
	assert_int_equal(init(k), -EBADMSG);
	good_record(k);
	r->flags |= 7; /* seven arguments */
	assert_int_equal(init(k), -EBADMSG);
	good_record(k);
	r->size = 48; /* three arguments do not fit */
	assert_int_equal(init(k), -EBADMSG);
	good_record(k);
	r->type = ESPY_REC_ENTER; /* in the place of an exit record */
	assert_int_equal(init(k), -EBADMSG);
}

static void test_lying_items(void **state)
{
	struct harness *k = *state;
	struct espy_item *it = (struct espy_item *)(k->rec + 32 + 24);

	good_record(k);
	it->len = 9;
	assert_int_equal(init(k), -EBADMSG);
	good_record(k);
	it->len = UINT32_MAX;
	assert_int_equal(init(k), -EBADMSG);
	good_record(k);
	it->op = 1; /* the plan has one operation */
	assert_int_equal(init(k), -EBADMSG);
	good_record(k);
	it->status = 9;
	assert_int_equal(init(k), -EBADMSG);
}

static void test_all_truncations(void **state)
{
	struct harness *k = *state;

	good_record(k);
	size_t whole = k->len;
	for (size_t n = 0; n < whole; n++) {
		((struct espy_rec *)k->rec)->size = (uint32_t)n;
		int r = init(k);
		assert_true(r == 0 || r == -EBADMSG);
	}
}

static void test_two_records(void **state)
{
	struct harness *k = *state;

	/* the enter record's bytes stand, unless they could not be read then */
	harness_enter(k, "write", 1, 0x1000, 3);
	harness_item(k, 0, ESPY_ITEM_FAULT, 0, "", 0);
	harness_exit(k, "write", 3, 1, 0x2000, 3);
	harness_item(k, 0, ESPY_ITEM_OK, 0, "abc", 3);
	assert_int_equal(
		espy_call_view__init(&k->view, &k->img, (struct espy_rec *)k->enter, (struct espy_rec *)k->rec), 0);
	assert_int_equal(k->view.args[1], 0x1000);
	const struct espy_item *it = espy_call_view__item(&k->view, 0, 0, false);
	assert_non_null(it);
	assert_int_equal(it->len, 3);

	((struct espy_rec *)k->enter)->nr = 0;
	assert_int_equal(
		espy_call_view__init(&k->view, &k->img, (struct espy_rec *)k->enter, (struct espy_rec *)k->rec),
		-EBADMSG);
}

static void test_items_by_index(void **state)
{
	struct harness *k = *state;
	const uint64_t vec[] = { 0x2000, 1, 0x3000, 1, 0x4000, 1 };

	harness_exit(k, "writev", 3, 1, 0x1000, 3);
	harness_item(k, 0, ESPY_ITEM_OK, 0, vec, sizeof(vec));
	harness_item(k, 1, ESPY_ITEM_OK, 0, "a", 1);
	harness_item(k, 1, ESPY_ITEM_OK, 2, "c", 1); /* the second one had no room */
	assert_int_equal(init(k), 0);
	assert_non_null(espy_call_view__item(&k->view, 1, 0, false));
	assert_null(espy_call_view__item(&k->view, 1, 1, false));
	const struct espy_item *it = espy_call_view__item(&k->view, 1, 2, false);
	assert_non_null(it);
	assert_memory_equal(it + 1, "c", 1);
}

static void test_many_items(void **state)
{
	struct harness *k = *state;

	harness_exit(k, "writev", 3, 1, 0x1000, 3);
	for (unsigned i = 0; i < ESPY_VIEW_MAX_ITEMS + 5; i++)
		harness_item(k, 1, ESPY_ITEM_OK, i, "x", 1);
	assert_int_equal(init(k), 0);
	assert_int_equal(k->view.item_cnt, ESPY_VIEW_MAX_ITEMS);
	assert_int_equal(k->view.item_dropped, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_view),	     cmocka_unit_test(test_lying_sizes),
		cmocka_unit_test(test_lying_items),  cmocka_unit_test(test_all_truncations),
		cmocka_unit_test(test_two_records),  cmocka_unit_test(test_items_by_index),
		cmocka_unit_test(test_many_items),
	};
	return cmocka_run_group_tests(tests, setup, harness_free);
}

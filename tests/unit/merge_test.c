/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Merging streams by time: order, runs, promises, the window, and what comes too late. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include "record/merge.h"

#define WINDOW 100u

/* An input: times to come, of which some are there already; then a promise. */
struct input {
	uint64_t times[64];
	size_t at, there;
	uint64_t promise;
	unsigned peeks;
};

static bool peek(void *in, uint64_t *time_ns)
{
	struct input *i = in;

	i->peeks++;
	if (i->at < i->there) {
		*time_ns = i->times[i->at];
		return true;
	}
	*time_ns = i->promise;
	return false;
}

static void put(struct input *i, uint64_t time)
{
	i->times[i->there++] = time;
}

static void begin(struct espy_merge *m, struct input *in, size_t n)
{
	void *inputs[16];

	for (size_t i = 0; i < n; i++)
		inputs[i] = &in[i];
	assert_int_equal(espy_merge__init(m, peek, inputs, n, WINDOW), 0);
}

/* Takes what is due; 0: nothing. */
static uint64_t next(struct espy_merge *m, uint64_t now)
{
	struct input *i = espy_merge__next(m, now);

	return i ? i->times[i->at++] : 0;
}

static void order_of_time(void **state)
{
	struct input in[3] = { { .promise = 1000 }, { .promise = 1000 }, { .promise = 1000 } };
	struct espy_merge m;

	(void)state;
	put(&in[0], 1), put(&in[0], 4), put(&in[0], 5), put(&in[0], 9);
	put(&in[1], 2), put(&in[1], 3), put(&in[1], 8);
	put(&in[2], 6), put(&in[2], 7), put(&in[2], 10);
	begin(&m, in, 3);
	for (uint64_t t = 1; t <= 10; t++)
		assert_int_equal(next(&m, 20), t);
	assert_int_equal(next(&m, 20), 0);
	assert_int_equal(next(&m, 20), 0);
	assert_int_equal(m.late, 0);
	espy_merge__free(&m);
}

static void equal_times_in_order_of_inputs(void **state)
{
	struct input in[3] = { { .promise = 9 }, { .promise = 9 }, { .promise = 9 } };
	struct espy_merge m;

	(void)state;
	for (int i = 2; i >= 0; i--)
		put(&in[i], 5), put(&in[i], 5);
	begin(&m, in, 3);
	for (int i = 0; i < 6; i++) {
		struct input *from = espy_merge__next(&m, 6);

		assert_ptr_equal(from, &in[i / 2]);
		from->at++;
	}
	espy_merge__free(&m);
}

static void a_record_waits_for_a_promise(void **state)
{
	struct input in[2] = { { .promise = 10 }, { .promise = 10 } };
	struct espy_merge m;

	(void)state;
	put(&in[0], 8), put(&in[0], 10), put(&in[0], 12);
	begin(&m, in, 2);
	assert_int_equal(next(&m, 12), 8);
	assert_int_equal(next(&m, 12), 10); /* what is promised is not before it */
	assert_int_equal(next(&m, 12), 0);
	/* Something that came in between goes first. */
	put(&in[1], 11);
	assert_int_equal(next(&m, 12), 0); /* nobody has looked */
	espy_merge__look(&m);
	assert_int_equal(next(&m, 12), 11);
	assert_int_equal(next(&m, 12), 0);
	in[1].promise = 13;
	espy_merge__look(&m);
	assert_int_equal(next(&m, 12), 12);
	assert_int_equal(m.late, 0);
	espy_merge__free(&m);
}

static void the_window_ends_the_wait(void **state)
{
	struct input in[3] = { { .promise = 0 }, { .promise = 0 }, { .promise = 0 } };
	struct espy_merge m;

	(void)state;
	put(&in[1], 50), put(&in[1], 70);
	put(&in[2], 60);
	begin(&m, in, 3);
	assert_int_equal(next(&m, 50 + WINDOW - 1), 0);
	assert_int_equal(next(&m, 50 + WINDOW), 50);
	assert_int_equal(next(&m, 50 + WINDOW), 0);
	assert_int_equal(next(&m, 70 + WINDOW), 60);
	assert_int_equal(next(&m, 70 + WINDOW), 70);
	assert_int_equal(m.late, 0);
	/* It does come, much too late: at once, and counted. */
	put(&in[0], 40), put(&in[0], 80);
	espy_merge__look(&m);
	assert_int_equal(next(&m, 70 + WINDOW), 40);
	assert_int_equal(m.late, 1);
	assert_int_equal(next(&m, 80 + WINDOW), 80);
	assert_int_equal(m.late, 1);
	espy_merge__free(&m);
}

/* The order of one input is its own, whatever its times say. */
static void inputs_are_not_sorted(void **state)
{
	struct input in[2] = { { .promise = 100 }, { .promise = 100 } };
	struct espy_merge m;

	(void)state;
	put(&in[0], 10), put(&in[0], 7), put(&in[0], 11);
	put(&in[1], 9), put(&in[1], 12);
	begin(&m, in, 2);
	assert_int_equal(next(&m, 20), 9);
	assert_int_equal(next(&m, 20), 10);
	assert_int_equal(next(&m, 20), 7);
	assert_int_equal(m.late, 1);
	assert_int_equal(next(&m, 20), 11);
	assert_int_equal(next(&m, 20), 12);
	espy_merge__free(&m);
}

/* In a run of records from one input nobody else is asked. */
static void runs_are_cheap(void **state)
{
	struct input in[8] = { { .promise = 1000 } };
	struct espy_merge m;
	unsigned peeks = 0;

	(void)state;
	for (int i = 1; i < 8; i++)
		in[i].promise = 1000;
	for (uint64_t t = 1; t <= 50; t++)
		put(&in[3], t);
	begin(&m, in, 8);
	for (uint64_t t = 1; t <= 50; t++)
		assert_int_equal(next(&m, 60), t);
	for (int i = 0; i < 8; i++)
		peeks += in[i].peeks;
	assert_int_equal(peeks, 8 + 49);
	espy_merge__free(&m);
}

static void one_and_none(void **state)
{
	struct input in[1] = { { .promise = 0 } };
	struct espy_merge m;

	(void)state;
	put(&in[0], 3);
	begin(&m, in, 1);
	assert_int_equal(next(&m, 3), 3);
	assert_int_equal(next(&m, 3), 0);
	espy_merge__free(&m);
	begin(&m, in, 0);
	assert_null(espy_merge__next(&m, 3));
	espy_merge__look(&m);
	espy_merge__free(&m);
}

/*
 * Many inputs that grow at random: everything comes, once, in order, although looks are rare. runs: now and then more
 * is taken of the same input, without the others being asked.
 */
static void any_order(bool runs)
{
	struct input in[16] = { { .promise = 0 } };
	uint64_t clock = 1, last = 0;
	size_t taken = 0, all = 0;
	struct espy_merge m;

	srand(7);
	begin(&m, in, 16);
	while (all < 800 || taken < all) {
		uint64_t t;

		for (int n = rand() % 20; n > 0 && all < 800; n--) {
			struct input *i = &in[rand() % 16];

			if (i->there < 64) {
				put(i, ++clock);
				all++;
			}
		}
		clock++;
		for (int i = 0; i < 16; i++)
			in[i].promise = clock;
		espy_merge__look(&m);
		for (struct input *i; (i = espy_merge__next(&m, clock));) {
			const uint64_t until = espy_merge__until(&m);
			int more = runs ? rand() % 8 : 0;

			do {
				t = i->times[i->at++];
				assert_true(t > last);
				last = t;
				taken++;
			} while (more-- && i->at < i->there && i->times[i->at] < until);
		}
		assert_int_equal(taken, all);
	}
	assert_int_equal(m.late, 0);
	espy_merge__free(&m);
}

static void at_random(void **state)
{
	(void)state;
	any_order(false);
	any_order(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_of_time),
		cmocka_unit_test(equal_times_in_order_of_inputs),
		cmocka_unit_test(a_record_waits_for_a_promise),
		cmocka_unit_test(the_window_ends_the_wait),
		cmocka_unit_test(inputs_are_not_sorted),
		cmocka_unit_test(runs_are_cheap),
		cmocka_unit_test(one_and_none),
		cmocka_unit_test(at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

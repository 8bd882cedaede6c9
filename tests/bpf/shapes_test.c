/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which calls the hot path of the source `bpf` can copy, and while which arguments are NULL (load/shapes.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "source/bpf/bpf_source.h"

static const struct espy_op sent = { .kind = ESPY_OP_BYTES,
				     .when = ESPY_OP_ENTER,
				     .src = 1,
				     .b_kind = ESPY_LEN_ARG,
				     .b_ref = ESPY_REF(2, 3, 0),
				     .elem = 1,
				     .cap = 512 };
static const struct espy_op to = { .kind = ESPY_OP_BYTES,
				   .when = ESPY_OP_ENTER,
				   .src = 4,
				   .b_kind = ESPY_LEN_ARG,
				   .b_ref = ESPY_REF(5, 2, 1),
				   .elem = 1,
				   .cap = 4096 };
static const struct espy_op received = { .kind = ESPY_OP_BYTES,
					 .when = ESPY_OP_EXIT | ESPY_OP_ON_OK,
					 .src = 1,
					 .a_kind = ESPY_LEN_RET,
					 .b_kind = ESPY_LEN_ARG,
					 .b_ref = ESPY_REF(2, 3, 0),
					 .elem = 1,
					 .cap = 256 };
static const struct espy_op room = {
	.kind = ESPY_OP_BYTES, .when = ESPY_OP_ENTER | ESPY_OP_EXIT, .src = 5, .elem = 4, .cap = 4
};
static const struct espy_op from = { .kind = ESPY_OP_BYTES,
				     .when = ESPY_OP_EXIT | ESPY_OP_ON_OK,
				     .src = 4,
				     .a_kind = ESPY_LEN_OPVAL,
				     .a_ref = ESPY_REF(1, 2, 1),
				     .elem = 1,
				     .cap = 4096 };

static struct espy_fast choose(const struct espy_op *ops, uint8_t cnt, uint8_t flags, bool raw)
{
	const struct espy_plan plan = { .op_cnt = cnt, .nargs = 6, .flags = flags };
	struct espy_fast fast;

	bpf_tables__choose_shape(&fast, &plan, ops, raw);
	return fast;
}

static void test_whole(void **state)
{
	struct espy_fast f = choose(&sent, 1, 0, false);

	(void)state;
	assert_int_equal(f.shape, ESPY_SHAPE_BUF);
	assert_int_equal(f.nulls, 0);
}

static void test_without_address(void **state)
{
	const struct espy_op sendto[] = { sent, to }, recvfrom[] = { received, room, from };
	struct espy_fast f = choose(sendto, 2, 0, false);

	(void)state;
	assert_int_equal(f.shape, ESPY_SHAPE_BUF);
	assert_int_equal(f.arg, 1);
	assert_int_equal(f.nulls, 1 << 4);
	f = choose(recvfrom, 3, ESPY_PLAN_NEEDS_ENTER, false);
	assert_int_equal(f.shape, ESPY_SHAPE_BUF);
	assert_int_equal(f.op, 0);
	assert_int_equal(f.nulls, 1 << 4 | 1 << 5);
}

/* What is read twice has no shape, nor what replaces the image; of a raw call there is nothing to read. */
/* A short buffer that the call changes: the hot path reads it twice. */
static void test_both(void **state)
{
	const struct espy_op counted = { .kind = ESPY_OP_BYTES,
					 .when = ESPY_OP_ENTER | ESPY_OP_EXIT | ESPY_OP_ON_OK,
					 .src = 0,
					 .a_kind = ESPY_LEN_ARG,
					 .a_ref = ESPY_REF(1, 2, 0),
					 .elem = 8,
					 .cap = 4096 };
	const struct espy_op polled[] = { counted, to }, twice[] = { room, counted }, accept[] = { room, from };
	struct espy_op op = room;
	struct espy_fast f = choose(&room, 1, ESPY_PLAN_NEEDS_ENTER, false);

	(void)state;
	assert_int_equal(f.shape, ESPY_SHAPE_BOTH);
	assert_int_equal(f.arg, 5);
	assert_int_equal(f.max_cnt, 1);
	assert_int_equal(f.nulls, 0);
	assert_int_equal(f.flags, 0);
	f = choose(polled, 2, ESPY_PLAN_NEEDS_ENTER, false);
	assert_int_equal(f.shape, ESPY_SHAPE_BOTH);
	assert_int_equal(f.arg, 0);
	assert_int_equal(f.nulls, 1 << 4);
	assert_int_equal(f.flags, ESPY_FAST_ON_OK | ESPY_FAST_LEN_ARG | ESPY_FAST_ARG32);
	assert_int_equal(f.len_arg, 1);
	/* accept() without an address. */
	f = choose(accept, 2, ESPY_PLAN_NEEDS_ENTER, false);
	assert_int_equal(f.shape, ESPY_SHAPE_BOTH);
	assert_int_equal(f.nulls, 1 << 4);
	/* Two of them: only while one is NULL. */
	f = choose(twice, 2, ESPY_PLAN_NEEDS_ENTER, false);
	assert_int_equal(f.shape, ESPY_SHAPE_BOTH);
	assert_int_equal(f.nulls, 1 << 5);
	op.elem = op.cap = ESPY_BPF_SHORT + 1;
	assert_int_equal(choose(&op, 1, ESPY_PLAN_NEEDS_ENTER, false).shape, ESPY_SHAPE_GENERAL);
	op = room;
	op.when |= ESPY_OP_ON_ERR;
	assert_int_equal(choose(&op, 1, ESPY_PLAN_NEEDS_ENTER, false).shape, ESPY_SHAPE_GENERAL);
	op = counted;
	op.b_kind = ESPY_LEN_RET;
	assert_int_equal(choose(&op, 1, ESPY_PLAN_NEEDS_ENTER, false).shape, ESPY_SHAPE_GENERAL);
}

static void test_none(void **state)
{
	const struct espy_op sendto[] = { sent, to };

	(void)state;
	assert_int_equal(choose(&from, 1, 0, false).shape, ESPY_SHAPE_GENERAL);
	assert_int_equal(choose(sendto, 2, ESPY_PLAN_NEW_IMAGE | ESPY_PLAN_NEEDS_ENTER, false).shape,
			 ESPY_SHAPE_GENERAL);
	assert_int_equal(choose(sendto, 2, 0, true).shape, ESPY_SHAPE_REGS);
	assert_int_equal(choose(sendto, 2, ESPY_PLAN_NEW_IMAGE, true).shape, ESPY_SHAPE_GENERAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_without_address),
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

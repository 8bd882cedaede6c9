/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan runner, one operation at a time: every kind of it, faults in the middle, lengths from registers. */
#include "plan_run_harness.h"

static void bytes_of_fixed_size(void **state)
{
	struct bench *b = *state;
	const struct espy_op ops[] = { { .kind = ESPY_OP_BYTES, IN, .src = 1, .elem = 12, .cap = 64 } };

	poke(b, MEM + 16, "twelve bytes", 12);
	b->run.args[1] = MEM + 16;
	run_ops(b, ops, 1);
	assert_int_equal(count(b), 1);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, "twelve bytes", 12);
	assert_int_equal(b->out.size, 8 + 16);
	assert_memory_equal(b->out.data + 20, "\0\0\0\0", 4);
}

static void null_and_cap_zero_make_no_item(void **state)
{
	struct bench *b = *state;
	const struct espy_op ops[] = { { .kind = ESPY_OP_BYTES, IN, .src = 0, .elem = 4, .cap = 4 },
				       { .kind = ESPY_OP_CSTR, IN, .src = 1, .elem = 1, .cap = 0 } };

	b->run.args[1] = MEM;
	run_ops(b, ops, 2);
	assert_int_equal(b->out.size, 0);
	assert_int_equal(b->mem.reads, 0);
}

static void only_its_phase_and_outcome(void **state)
{
	struct bench *b = *state;
	const struct espy_op ops[] = {
		{ .kind = ESPY_OP_BYTES, IN, .elem = 1, .cap = 1 },
		{ .kind = ESPY_OP_BYTES, OUT, .elem = 1, .cap = 1 },
		{ .kind = ESPY_OP_BYTES, .when = ESPY_OP_EXIT | ESPY_OP_ON_ERR, .elem = 1, .cap = 1 },
		{ .kind = ESPY_OP_BYTES,
		  .when = ESPY_OP_ENTER | ESPY_OP_EXIT | ESPY_OP_ON_OK | ESPY_OP_ON_ERR,
		  .elem = 1,
		  .cap = 1 },
	};
	struct espy_item nothing[1] = { { 0 } };

	b->run.args[0] = MEM;
	run_ops(b, ops, 4);
	assert_int_equal(count(b), 2);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, "", 1);
	expect_item(b, 1, 3, ESPY_ITEM_OK, 0, "", 1);

	b->run.at_exit = true;
	b->run.enter_items = nothing; /* there was an entry, of no items */
	run_ops(b, ops, 4);
	assert_int_equal(count(b), 2);
	expect_item(b, 0, 1, AT_EXIT, 0, "", 1);
	expect_item(b, 1, 3, AT_EXIT, 0, "", 1);

	b->run.ret = -EFAULT;
	run_ops(b, ops, 4);
	assert_int_equal(count(b), 2);
	expect_item(b, 0, 2, AT_EXIT, 0, "", 1);
	expect_item(b, 1, 3, AT_EXIT, 0, "", 1);

	/* The exit alone: what the call reads is read there, and not marked. */
	b->run.enter_items = NULL;
	run_ops(b, ops, 4);
	assert_int_equal(count(b), 3);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, "", 1);

	/* After a successful execve there is nothing left of the old image. */
	b->run.ret = 0;
	b->run.plan_flags = ESPY_PLAN_NEW_IMAGE;
	run_ops(b, ops, 4);
	assert_int_equal(count(b), 0);
}

static void lengths_from_registers(void **state)
{
	struct bench *b = *state;
	const struct espy_op read_op[] = {
		{ .kind = ESPY_OP_BYTES, OUT, .src = 1, .a_kind = ESPY_LEN_RET, B_ARG(2), .elem = 1, .cap = 32 }
	};
	const struct espy_op s32_op[] = { { .kind = ESPY_OP_BYTES,
					    IN,
					    .src = 1,
					    .b_kind = ESPY_LEN_ARG,
					    .b_ref = ESPY_REF(2, 2, 1),
					    .elem = 8,
					    .cap = 4096 } };
	const struct espy_op fdset[] = { { .kind = ESPY_OP_BYTES,
					   IN,
					   .src = 1,
					   .b_kind = ESPY_LEN_ARG,
					   .b_ref = ESPY_REF(0, 2, 1) | ESPY_REF_BITS,
					   .elem = 1,
					   .cap = 4096 } };
	const struct espy_op constant[] = { { .kind = ESPY_OP_BYTES,
					      IN,
					      .src = 1,
					      .a_kind = ESPY_LEN_CONST,
					      .a_ref = ESPY_REF(3, 0, 0),
					      B_ARG(2),
					      .elem = 4,
					      .cap = 4096 } };

	poke(b, MEM, "0123456789abcdefghijklmnopqrstuvwxyz", 36);
	b->run.at_exit = true;
	b->run.args[1] = MEM;
	b->run.args[2] = 100;
	b->run.ret = 5;
	run_ops(b, read_op, 1);
	expect_item(b, 0, 0, AT_EXIT, 0, "01234", 5);
	b->run.ret = 33; /* more than the cap */
	run_ops(b, read_op, 1);
	expect_item(b, 0, 0, ESPY_ITEM_TRUNCATED | AT_EXIT, 0, "0123456789abcdefghijklmnopqrstuv", 32);
	b->run.ret = 32;
	run_ops(b, read_op, 1);
	expect_item(b, 0, 0, AT_EXIT, 0, NULL, 32);
	b->run.ret = 0;
	run_ops(b, read_op, 1);
	expect_item(b, 0, 0, AT_EXIT, 0, NULL, 0);
	b->run.ret = 1000; /* a kernel that says more than there was room for */
	b->run.args[2] = 4;
	run_ops(b, read_op, 1);
	expect_item(b, 0, 0, AT_EXIT, 0, "0123", 4);

	b->run.at_exit = false;
	b->run.args[2] = 0xdeadbeef00000002ull; /* the upper half is junk */
	run_ops(b, s32_op, 1);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, "0123456789abcdef", 16);
	b->run.args[2] = 0x80000000u; /* negative: nothing */
	run_ops(b, s32_op, 1);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, NULL, 0);
	b->run.args[2] = 0x7fffffff; /* 16 GiB: the cap */
	run_ops(b, s32_op, 1);
	expect_item(b, 0, 0, ESPY_ITEM_TRUNCATED, 0, NULL, 4096);

	b->run.args[0] = 65;
	run_ops(b, fdset, 1);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, "0123456789abcdef", 16);
	b->run.args[0] = 1;
	run_ops(b, fdset, 1);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, "01234567", 8);

	b->run.args[2] = ~0ull; /* times 4 is more than 64 bits hold */
	run_ops(b, constant, 1);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, "0123456789ab", 12);
}

/* All bits of the reference are the number, those that mean something elsewhere, too. */
static void large_constants(void **state)
{
	struct bench *b = *state;
	struct espy_op op[] = { { .kind = ESPY_OP_BYTES, IN, .src = 1, .b_kind = ESPY_LEN_CONST, .elem = 1, .cap = 1u << 20 } };
	static const uint16_t sizes[] = { 4095, 4096, 5001, 0x4000, 0x8000, 0xc003 };

	b->run.args[1] = MEM;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const bool fits = sizes[i] <= MEM_SZ;

		op[0].b_ref = sizes[i];
		run_ops(b, op, 1);
		expect_item(b, 0, 0, fits ? ESPY_ITEM_OK : ESPY_ITEM_FAULT, 0, NULL, fits ? sizes[i] : MEM_SZ);
	}
}

static void faults_leave_a_prefix(void **state)
{
	struct bench *b = *state;
	const struct espy_op bytes[] = { { .kind = ESPY_OP_BYTES, IN, .src = 0, B_ARG(1), .elem = 1, .cap = 4096 } };
	const struct espy_op str[] = { { .kind = ESPY_OP_CSTR, IN, .src = 0, .elem = 1, .cap = 4096 } };

	poke(b, MEM_END - 5, "12345", 5);
	b->run.args[0] = MEM_END - 5;
	b->run.args[1] = 6;
	run_ops(b, bytes, 1);
	expect_item(b, 0, 0, ESPY_ITEM_FAULT, 0, "12345", 5);
	b->run.args[1] = 5;
	run_ops(b, bytes, 1);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, "12345", 5);
	run_ops(b, str, 1);
	expect_item(b, 0, 0, ESPY_ITEM_FAULT, 0, "12345", 5);
	b->run.args[0] = MEM_END;
	run_ops(b, bytes, 1);
	expect_item(b, 0, 0, ESPY_ITEM_FAULT, 0, NULL, 0);
	run_ops(b, str, 1);
	expect_item(b, 0, 0, ESPY_ITEM_FAULT, 0, NULL, 0);
	b->run.args[0] = ~0ull;
	run_ops(b, str, 1);
	expect_item(b, 0, 0, ESPY_ITEM_FAULT, 0, NULL, 0);
}

static void strings(void **state)
{
	struct bench *b = *state;
	struct espy_op op = { .kind = ESPY_OP_CSTR, IN, .src = 0, .elem = 1, .cap = 4096 };

	poke(b, MEM + 4095, "across a page\0", 14);
	b->run.args[0] = MEM + 4095;
	run_ops(b, &op, 1);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, "across a page", 14);
	op.cap = 13; /* all but the NUL */
	run_ops(b, &op, 1);
	expect_item(b, 0, 0, ESPY_ITEM_TRUNCATED, 0, "across a page", 13);
	op.cap = 14;
	run_ops(b, &op, 1);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, "across a page", 14);
	/* A NUL on the last byte of memory. */
	poke(b, MEM_END - 4, "end", 4);
	b->run.args[0] = MEM_END - 4;
	run_ops(b, &op, 1);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, "end", 4);
	/* Longer than several chunks. */
	memset(b->mem.bytes, 'x', 3000);
	b->mem.bytes[3000] = 0;
	op.cap = 4096;
	b->run.args[0] = MEM;
	run_ops(b, &op, 1);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, NULL, 3001);
	/* A buffer whose size is given: it ends there, whatever stands behind. */
	op.b_kind = ESPY_LEN_ARG;
	op.b_ref = ESPY_REF(1, 3, 0);
	b->run.args[1] = 10;
	run_ops(b, &op, 1);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, "xxxxxxxxxx", 10);
}

static void vector_of_strings(void **state)
{
	struct bench *b = *state;
	struct espy_op ops[] = {
		{ .kind = ESPY_OP_PTRVEC, IN, .src = 1, .elem = 8, .cap = 4096 },
		{ .kind = ESPY_OP_CSTR, IN, .src = ESPY_OP_SRC_OP | 0, .flags = ESPY_OPF_EACH, .elem = 1, .cap = 33 },
	};

	poke(b, MEM + 0x100, "first", 6);
	poke(b, MEM + 0x200, "second", 7);
	poke64(b, MEM, MEM + 0x100);
	poke64(b, MEM + 8, 0x1234); /* not mapped */
	poke64(b, MEM + 16, MEM + 0x200);
	b->run.args[1] = MEM;
	run_ops(b, ops, 2);
	assert_int_equal(count(b), 4);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, NULL, 32);
	expect_item(b, 1, 1, ESPY_ITEM_OK, 0, "first", 6);
	expect_item(b, 2, 1, ESPY_ITEM_FAULT, 1, NULL, 0);
	expect_item(b, 3, 1, ESPY_ITEM_OK, 2, "second", 7);

	ops[0].cap = 16; /* two of them */
	run_ops(b, ops, 2);
	assert_int_equal(count(b), 3);
	expect_item(b, 0, 0, ESPY_ITEM_TRUNCATED, 0, NULL, 16);

	/* 32 bits wide, and unaligned at that. */
	ops[0].elem = 4;
	ops[0].cap = 4096;
	ops[1].flags |= ESPY_OPF_PTR32;
	poke32(b, MEM + 0xffd, (uint32_t)(MEM + 0x100));
	poke32(b, MEM + 0x1001, (uint32_t)(MEM + 0x200));
	poke32(b, MEM + 0x1005, 0);
	b->run.args[1] = MEM + 0xffd;
	run_ops(b, ops, 2);
	assert_int_equal(count(b), 3);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, NULL, 12);
	expect_item(b, 1, 1, ESPY_ITEM_OK, 0, "first", 6);
	expect_item(b, 2, 1, ESPY_ITEM_OK, 1, "second", 7);

	/* Without an end, into a hole: whole pointers of the prefix are followed. */
	ops[0].elem = 8;
	ops[1].flags = ESPY_OPF_EACH;
	poke64(b, MEM_END - 12, MEM + 0x100);
	poke32(b, MEM_END - 4, 0x11111111);
	b->run.args[1] = MEM_END - 12;
	run_ops(b, ops, 2);
	assert_int_equal(count(b), 2);
	expect_item(b, 0, 0, ESPY_ITEM_FAULT, 0, NULL, 12);
	expect_item(b, 1, 1, ESPY_ITEM_OK, 0, "first", 6);
}

static void iovec_in_and_out(void **state)
{
	struct bench *b = *state;
	const struct espy_op writev[] = {
		{ .kind = ESPY_OP_BYTES, IN, .src = 1, B_ARG(2), .elem = 16, .cap = 64 * 16 },
		{ .kind = ESPY_OP_BYTES,
		  IN,
		  .src = ESPY_OP_SRC_OP | 0,
		  .flags = ESPY_OPF_EACH,
		  .b_kind = ESPY_LEN_FIELD,
		  .b_ref = ESPY_REF(8, 3, 0),
		  .elem = 1,
		  .cap = 4 },
	};
	const struct espy_op readv[] = {
		writev[0],
		{ .kind = ESPY_OP_BYTES,
		  OUT,
		  .src = ESPY_OP_SRC_OP | 0,
		  .flags = ESPY_OPF_EACH,
		  .a_kind = ESPY_LEN_SPREAD,
		  .b_kind = ESPY_LEN_FIELD,
		  .b_ref = ESPY_REF(8, 3, 0),
		  .elem = 1,
		  .cap = 32 },
	};
	unsigned char enter[256];
	uint32_t enter_sz;

	poke(b, MEM + 0x100, "aaabbbbbcc", 10);
	poke64(b, MEM, MEM + 0x100);
	poke64(b, MEM + 8, 3);
	poke64(b, MEM + 16, MEM + 0x103);
	poke64(b, MEM + 24, 5);
	poke64(b, MEM + 32, MEM + 0x108);
	poke64(b, MEM + 40, 2);
	b->run.args[1] = MEM;
	b->run.args[2] = 3;
	run_ops(b, writev, 2);
	assert_int_equal(count(b), 4);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, NULL, 48);
	expect_item(b, 1, 1, ESPY_ITEM_OK, 0, "aaa", 3);
	expect_item(b, 2, 1, ESPY_ITEM_TRUNCATED, 1, "bbbb", 4);
	expect_item(b, 3, 1, ESPY_ITEM_OK, 2, "cc", 2);

	run_ops(b, readv, 2);
	assert_int_equal(count(b), 1);
	enter_sz = b->out.size;
	memcpy(enter, b->out.data, enter_sz);
	/* The program has changed the vector since: the entry is what counted. */
	poke64(b, MEM, 0x666);
	b->run.at_exit = true;
	b->run.enter_items = (const void *)enter;
	b->run.enter_items_sz = enter_sz;
	b->run.ret = 6;
	run_ops(b, readv, 2);
	assert_int_equal(count(b), 3);
	expect_item(b, 0, 1, AT_EXIT, 0, "aaa", 3);
	expect_item(b, 1, 1, AT_EXIT, 1, "bbb", 3);
	expect_item(b, 2, 1, AT_EXIT, 2, NULL, 0);
}

/* sendmmsg: messages, their vectors, the buffers of all vectors counted through. */
static void messages(void **state)
{
	struct bench *b = *state;
	const struct espy_op ops[] = {
		{ .kind = ESPY_OP_BYTES, IN, .src = 1, B_ARG(2), .elem = 64, .cap = 64 * 8 },
		{ .kind = ESPY_OP_BYTES,
		  IN,
		  .src = ESPY_OP_SRC_OP | 0,
		  .flags = ESPY_OPF_EACH,
		  .src_off = 16,
		  .b_kind = ESPY_LEN_FIELD,
		  .b_ref = ESPY_REF(24, 3, 0),
		  .elem = 16,
		  .cap = 160 },
		{ .kind = ESPY_OP_BYTES,
		  IN,
		  .src = ESPY_OP_SRC_OP | 1,
		  .flags = ESPY_OPF_EACH | ESPY_OPF_MSG_EACH,
		  .b_kind = ESPY_LEN_FIELD,
		  .b_ref = ESPY_REF(8, 3, 0),
		  .elem = 1,
		  .cap = 32 },
	};

	poke(b, MEM + 0x800, "onetwothree", 11);
	poke64(b, MEM + 16, MEM + 0x400); /* message 0: two elements */
	poke64(b, MEM + 24, 2);
	poke64(b, MEM + 64 + 16, 0);		/* message 1: no vector */
	poke64(b, MEM + 128 + 16, MEM + 0x500); /* message 2: one element */
	poke64(b, MEM + 128 + 24, 1);
	poke64(b, MEM + 0x400, MEM + 0x800);
	poke64(b, MEM + 0x408, 3);
	poke64(b, MEM + 0x410, 0); /* NULL, counted all the same */
	poke64(b, MEM + 0x418, 3);
	poke64(b, MEM + 0x500, MEM + 0x806);
	poke64(b, MEM + 0x508, 5);
	b->run.args[1] = MEM;
	b->run.args[2] = 3;
	run_ops(b, ops, 3);
	assert_int_equal(count(b), 5);
	expect_item(b, 1, 1, ESPY_ITEM_OK, 0, NULL, 32);
	expect_item(b, 2, 1, ESPY_ITEM_OK, 2, NULL, 16);
	expect_item(b, 3, 2, ESPY_ITEM_OK, 0, "one", 3);
	expect_item(b, 4, 2, ESPY_ITEM_OK, 2, "three", 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(bytes_of_fixed_size),
		T(null_and_cap_zero_make_no_item),
		T(only_its_phase_and_outcome),
		T(lengths_from_registers),
		T(large_constants),
		T(faults_leave_a_prefix),
		T(strings),
		T(vector_of_strings),
		T(iovec_in_and_out),
		T(messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

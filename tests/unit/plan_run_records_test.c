/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan runner on whole plans: operations that depend on others, records that are full, memory and records that lie. */
#include "plan_run_harness.h"

/* getsockname: min of the length after (in memory) and the one before. */
static void value_of_another_operation(void **state)
{
	struct bench *b = *state;
	const struct espy_op ops[] = {
		{ .kind = ESPY_OP_BYTES,
		  .when = ESPY_OP_ENTER | ESPY_OP_EXIT | ESPY_OP_ON_OK,
		  .src = 2,
		  .elem = 4,
		  .cap = 4 },
		{ .kind = ESPY_OP_BYTES,
		  OUT,
		  .src = 1,
		  .a_kind = ESPY_LEN_OPVAL,
		  .a_ref = ESPY_REF(0, 2, 1),
		  .b_kind = ESPY_LEN_OPVAL,
		  .b_ref = ESPY_REF(0, 2, 1),
		  .elem = 1,
		  .cap = 128 },
	};
	unsigned char enter[64];
	uint32_t enter_sz;

	poke(b, MEM, "address.........", 16);
	poke32(b, MEM + 64, 10);
	b->run.args[1] = MEM;
	b->run.args[2] = MEM + 64;
	run_ops(b, ops, 2);
	assert_int_equal(count(b), 1);
	enter_sz = b->out.size;
	memcpy(enter, b->out.data, enter_sz);
	b->run.at_exit = true;
	b->run.enter_items = (const void *)enter;
	b->run.enter_items_sz = enter_sz;
	poke32(b, MEM + 64, 7);
	run_ops(b, ops, 2);
	assert_int_equal(count(b), 2);
	expect_item(b, 1, 1, AT_EXIT, 0, "address", 7);
	poke32(b, MEM + 64, 16);
	run_ops(b, ops, 2);
	expect_item(b, 1, 1, AT_EXIT, 0, "address...", 10);
	poke32(b, MEM + 64, (uint32_t)-3);
	run_ops(b, ops, 2);
	expect_item(b, 1, 1, AT_EXIT, 0, NULL, 0);

	/* The number was not readable: what depends on it does not run, and says so. */
	b->run.args[2] = 0x99;
	b->run.at_exit = false;
	b->run.enter_items = NULL;
	run_ops(b, ops, 2);
	expect_item(b, 0, 0, ESPY_ITEM_FAULT, 0, NULL, 0);
	enter_sz = b->out.size;
	memcpy(enter, b->out.data, enter_sz);
	b->run.at_exit = true;
	b->run.enter_items = (const void *)enter;
	b->run.enter_items_sz = enter_sz;
	run_ops(b, ops, 2);
	expect_item(b, 0, 0, ESPY_ITEM_FAULT | AT_EXIT, 0, NULL, 0);
	expect_item(b, 1, 1, ESPY_ITEM_NOT_RUN | AT_EXIT, 0, NULL, 0);
}

/* recvmsg: the length of the name is a field that the call overwrites. */
static void field_before_and_after(void **state)
{
	struct bench *b = *state;
	const struct espy_op ops[] = {
		{ .kind = ESPY_OP_BYTES,
		  .when = ESPY_OP_ENTER | ESPY_OP_EXIT | ESPY_OP_ON_OK,
		  .src = 1,
		  .elem = 16,
		  .cap = 16 },
		{ .kind = ESPY_OP_BYTES,
		  OUT,
		  .src = ESPY_OP_SRC_OP | 0,
		  .a_kind = ESPY_LEN_FIELD,
		  .a_ref = ESPY_REF(8, 2, 1),
		  .b_kind = ESPY_LEN_FIELD,
		  .b_ref = ESPY_REF(8, 2, 1),
		  .elem = 1,
		  .cap = 128 },
	};
	unsigned char enter[64];

	poke(b, MEM + 0x100, "0123456789", 10);
	poke64(b, MEM, MEM + 0x100);
	poke32(b, MEM + 8, 8);
	b->run.args[1] = MEM;
	run_ops(b, ops, 2);
	b->run.enter_items_sz = b->out.size;
	memcpy(enter, b->out.data, b->out.size);
	b->run.enter_items = (const void *)enter;
	b->run.at_exit = true;
	poke32(b, MEM + 8, 4);
	run_ops(b, ops, 2);
	expect_item(b, 1, 1, AT_EXIT, 0, "0123", 4);
	poke32(b, MEM + 8, 28);
	run_ops(b, ops, 2);
	expect_item(b, 1, 1, AT_EXIT, 0, "01234567", 8);
	b->run.enter_items = NULL; /* the exit alone: only what is there now */
	run_ops(b, ops, 2);
	expect_item(b, 1, 1, ESPY_ITEM_OK | AT_EXIT, 0, NULL, 28);
}

static void source_that_faulted(void **state)
{
	struct bench *b = *state;
	const struct espy_op ops[] = {
		{ .kind = ESPY_OP_BYTES, IN, .src = 0, .elem = 56, .cap = 56 },
		{ .kind = ESPY_OP_BYTES, IN, .src = ESPY_OP_SRC_OP | 0, .src_off = 0, .elem = 4, .cap = 4 },
		{ .kind = ESPY_OP_BYTES, IN, .src = ESPY_OP_SRC_OP | 0, .src_off = 16, .elem = 4, .cap = 4 },
	};

	poke64(b, MEM_END - 8, MEM);
	b->run.args[0] = MEM_END - 8;
	run_ops(b, ops, 3);
	assert_int_equal(count(b), 3);
	expect_item(b, 0, 0, ESPY_ITEM_FAULT, 0, NULL, 8);
	expect_item(b, 1, 1, ESPY_ITEM_OK, 0, NULL, 4);
	expect_item(b, 2, 2, ESPY_ITEM_NOT_RUN, 0, NULL, 0);
	b->run.args[0] = 0; /* not given at all */
	run_ops(b, ops, 3);
	assert_int_equal(count(b), 0);
}

static void stack_pointer(void **state)
{
	struct bench *b = *state;
	const struct espy_op ops[] = {
		{ .kind = ESPY_OP_BYTES, IN, .src = ESPY_OP_SRC_SP, .src_off = 296, .elem = 8, .cap = 8 }
	};

	poke(b, MEM + 296, "sigmask!", 8);
	run_ops(b, ops, 1);
	assert_int_equal(count(b), 0);
	b->run.sp = MEM;
	run_ops(b, ops, 1);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, "sigmask!", 8);
}

static void record_is_full(void **state)
{
	struct bench *b = *state;
	const struct espy_op ops[] = {
		{ .kind = ESPY_OP_BYTES, IN, .src = 0, .elem = 20, .cap = 64 },
		{ .kind = ESPY_OP_BYTES, IN, .src = 0, .elem = 20, .cap = 64 },
		{ .kind = ESPY_OP_BYTES, IN, .src = 0, .elem = 20, .cap = 64 },
		{ .kind = ESPY_OP_BYTES, IN, .src = 0, .elem = 20, .cap = 64 },
	};

	b->run.args[0] = MEM;
	b->out.max = 32 + 24; /* one, and 16 bytes of the next */
	run_ops(b, ops, 4);
	assert_int_equal(count(b), 2);
	expect_item(b, 0, 0, ESPY_ITEM_OK, 0, NULL, 20);
	expect_item(b, 1, 1, ESPY_ITEM_TRUNCATED, 0, NULL, 16);
	assert_int_equal(b->out.size, b->out.max);
	b->out.max = 32 + 8; /* one, and the header of the next */
	run_ops(b, ops, 4);
	assert_int_equal(count(b), 2);
	expect_item(b, 1, 1, ESPY_ITEM_NOT_RUN, 0, NULL, 0);
	assert_int_equal(b->out.size, b->out.max);
	b->out.max = 0;
	run_ops(b, ops, 4);
	assert_int_equal(b->out.size, 0);
}

/* Plans that no compiler makes and numbers that a program may give: bounded, whatever they say. */
static void hostile(void **state)
{
	struct bench *b = *state;
	struct espy_op ops[ESPY_PLAN_MAX_OPS];
	unsigned seed = 12345, round, i;
	unsigned char *raw = (unsigned char *)ops;

	b->run.at_exit = true;
	for (round = 0; round < 20000; round++) {
		for (i = 0; i < sizeof(ops); i++) {
			seed = seed * 1103515245 + 12345;
			raw[i] = (unsigned char)(seed >> 16);
		}
		for (i = 0; i < ESPY_PLAN_MAX_OPS; i++) {
			ops[i].kind = 1 + ops[i].kind % 3;
			ops[i].a_kind %= 8;
			ops[i].b_kind %= 8;
			ops[i].elem %= round & 1 ? 64 : UINT32_MAX;
			ops[i].cap %= 512;
			ops[i].src = i && ops[i].src & 1 ? ESPY_OP_SRC_OP | (ops[i].src >> 1) % 16 : ops[i].src % 8;
			ops[i].src_off %= 32;
		}
		for (i = 0; i < 6; i++)
			b->run.args[i] = i & 1 ? seed >> i * 3 : MEM + (seed >> i) % (MEM_SZ + 16);
		for (i = 0; i < MEM_SZ; i += 8)
			if (!(round % 100))
				poke64(b, MEM + i, i % 24 ? MEM + (i * 7919) % MEM_SZ : i);
		b->run.ret = (int64_t)(seed % 3 ? seed % 1000 : -(seed % 5000));
		b->run.at_exit = round & 2;
		b->out.max = (round % 5 ? 4096 : seed % 300) & ~7u;
		run_ops(b, ops, ESPY_PLAN_MAX_OPS);
		assert_true(b->out.size <= b->out.max);
	}
}

static void index_is_bounded(void **state)
{
	struct bench *b = *state;
	const struct espy_op ops[] = {
		{ .kind = ESPY_OP_BYTES, IN, .src = 0, B_ARG(1), .elem = 1, .cap = MEM_SZ },
		{ .kind = ESPY_OP_BYTES,
		  IN,
		  .src = ESPY_OP_SRC_OP | 0,
		  .flags = ESPY_OPF_EACH | ESPY_OPF_PTR32,
		  .elem = 1,
		  .cap = 1 },
	};
	const struct espy_item *it;
	unsigned i;

	/* Stride 1 and a pointer of 4 bytes: overlapping elements, each looked at once. */
	for (i = 0; i < MEM_SZ; i++)
		b->mem.bytes[i] = 0x10;
	b->run.args[0] = MEM;
	b->run.args[1] = MEM_SZ;
	run_ops(b, ops, 2);
	assert_true(b->out.size <= ESPY_REC_MAX);
	for (i = 0, it = nth(b, 1); it; it = espy_item__next(it, (const void *)b->out.data, b->out.size))
		assert_int_equal(it->index, i++);
	assert_true(i > 1000);
}

/* A whole image of one call, and records made from registers. */
static void whole_records(void **state)
{
	struct bench *b = *state;
	const struct espy_op ops[] = {
		{ .kind = ESPY_OP_CSTR, IN, .src = 0, .elem = 1, .cap = 33 },
		{ .kind = ESPY_OP_BYTES, OUT, .src = 1, .elem = 4, .cap = 4 },
	};
	const struct espy_plan plans[] = { { .first_op = 0, .op_cnt = 2, .nargs = 2, .flags = ESPY_PLAN_DESCRIBED } };
	const struct espy_syscall syscalls[] = { { .call = ESPY_NONE, .nargs = 3 }, { .call = 0, .nargs = 3 } };
	const struct espy_call_plan call_plans[] = { { 0 }, { .plan = 0, .key_arg1 = 0xff } };
	const struct espy_call calls[] = { { .plan = 0 } };
	const struct espy_image img = { .syscalls = syscalls,
					.syscall_cnt = 2,
					.call_plans = call_plans,
					.calls = calls,
					.call_cnt = 1,
					.plans = plans,
					.plan_cnt = 1,
					.ops = ops,
					.op_cnt = 2 };
	struct espy_call_set set = { .image = &img, .ops = ops, .wanted = { 2 } };
	struct espy_call_regs regs = { .abi = ESPY_ABI_I386,
				       .nr = 1,
				       .args = { MEM, MEM + 64, 3, 4, 5, 6 },
				       .tid = 7,
				       .tgid = 8,
				       .time_ns = 1000 };
	const struct espy_rec_call *call = (const void *)b->out.data;
	const struct espy_item *it;
	unsigned char *enter;
	size_t sz;

	assert_false(espy_call_set__wants(&set, 0));
	assert_true(espy_call_set__wants(&set, 1));
	assert_false(espy_call_set__wants(&set, 5000));
	assert_true(espy_call_set__wants(NULL, 5000));

	poke(b, MEM, "name", 5);
	poke(b, MEM + 64, "outs", 4);
	assert_int_equal(espy_plan_run__enter(&b->out, &set, &regs, &b->reader), 0);
	assert_int_equal(call->rec.type, ESPY_REC_ENTER);
	assert_int_equal(call->rec.size, b->out.size);
	assert_int_equal(call->rec.flags, 2);
	assert_int_equal(call->rec.abi, ESPY_ABI_I386);
	assert_int_equal(call->rec.tid, 7);
	it = espy_rec__items(&call->rec, &sz);
	assert_int_equal(sz, 16);
	assert_string_equal((const char *)(it + 1), "name");
	enter = malloc(b->out.size);
	memcpy(enter, b->out.data, b->out.size);

	regs.enter_ns = 1000;
	regs.time_ns = 2000;
	regs.ip = 0x401000;
	regs.ret = 3;
	memset(b->mem.bytes, 'Z', 5); /* changed by another thread: the EXIT tells what the ENTER saw */
	assert_int_equal(espy_plan_run__exit(&b->out, &set, &regs, (const void *)enter, &b->reader), 0);
	assert_int_equal(call->rec.type, ESPY_REC_EXIT);
	assert_int_equal(call->rec.flags, 2 | ESPY_RF_ENTER_NS | ESPY_RF_IP);
	assert_int_equal(call->rec.abi, ESPY_ABI_I386);
	assert_int_equal(call->ret, 3);
	assert_int_equal(((const uint64_t *)(call + 1))[0], 1000);
	assert_int_equal(((const uint64_t *)(call + 1))[1], 0x401000);
	assert_int_equal(((const uint64_t *)(call + 1))[3], MEM + 64);
	it = espy_rec__items(&call->rec, &sz);
	assert_int_equal(sz, 32);
	assert_string_equal((const char *)(it + 1), "name");
	it = espy_item__next(it, it, sz);
	assert_int_equal(it->status, AT_EXIT);
	assert_memory_equal(it + 1, "outs", 4);

	/* It does not return: what it was given still stands there. */
	regs.no_return = true;
	assert_int_equal(espy_plan_run__exit(&b->out, &set, &regs, (const void *)enter, NULL), 0);
	assert_true(call->rec.flags & ESPY_RF_NO_RETURN);
	espy_rec__items(&call->rec, &sz);
	assert_int_equal(sz, 16);
	regs.no_return = false;

	/* -e raw: registers as the kernel takes them, no memory. */
	set.raw[0] = 2;
	b->mem.reads = 0;
	assert_int_equal(espy_plan_run__enter(&b->out, &set, &regs, &b->reader), 0);
	assert_int_equal(ESPY_REC_NARGS(call->rec.flags), 3);
	assert_int_equal(b->mem.reads, 0);
	set.raw[0] = 0;

	/* Not described; beyond the table; an ABI without a set. */
	regs.nr = 0;
	assert_int_equal(espy_plan_run__enter(&b->out, &set, &regs, &b->reader), 0);
	assert_int_equal(ESPY_REC_NARGS(call->rec.flags), 3);
	regs.nr = 0xffffffffu;
	assert_int_equal(espy_plan_run__enter(&b->out, &set, &regs, &b->reader), 0);
	assert_int_equal(call->rec.nr, ESPY_NR_UNKNOWN);
	assert_int_equal(ESPY_REC_NARGS(call->rec.flags), 6);
	regs.nr = 1;
	assert_int_equal(espy_plan_run__enter(&b->out, NULL, &regs, &b->reader), 0);
	assert_int_equal(ESPY_REC_NARGS(call->rec.flags), 6);
	b->out.max = 40;
	assert_int_equal(espy_plan_run__enter(&b->out, NULL, &regs, &b->reader), -ENOBUFS);
	free(enter);
}

static void foreign_items_are_checked(void **state)
{
	_Alignas(8) unsigned char mem[64] = { 0 };
	struct espy_item *it = (void *)mem;
	struct espy_rec *rec = (void *)mem;
	size_t sz;

	(void)state;
	it->len = 1000;
	assert_null(espy_item__first(it, sizeof(mem)));
	it->len = 56;
	assert_non_null(espy_item__first(it, sizeof(mem)));
	assert_null(espy_item__next(it, it, sizeof(mem)));
	it->len = UINT32_MAX;
	assert_null(espy_item__first(it, sizeof(mem)));
	memset(mem, 0, sizeof(mem));
	*rec = (struct espy_rec){ .type = ESPY_REC_EXIT, .size = 32, .flags = 6 };
	assert_null(espy_rec__items(rec, &sz));
	rec->type = ESPY_REC_FORK;
	assert_null(espy_rec__items(rec, &sz));
	assert_null(espy_rec__items(NULL, &sz));
}

/* The real reader, on ourselves: partial reads at the end of a mapping, by both ways, and with a look at the pages first. */
static void memory_of_a_task(void **state)
{
	struct espy_late_pages late = { 0 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *map = mmap(NULL, page * 40, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *buf = malloc(page * 40);
	struct espy_task_mem m;
	uint64_t at = (uint64_t)(uintptr_t)map;
	int way;

	(void)state;
	assert_true(map != MAP_FAILED);
	memset(map, 'm', page * 40);
	munmap(map + page * 37, page);
	for (way = 0; way < 4; way++) {
		espy_task_mem__init(&m, getpid(), way & 2 ? &late : NULL);
		m.no_readv = way & 1;
		assert_int_equal(espy_task_mem__read(&m, at, buf, page * 40), page * 37);
		assert_int_equal(espy_task_mem__read(&m, at + page * 37 - 3, buf, 10), 3);
		assert_memory_equal(buf, "mmm", 3);
		assert_int_equal(espy_task_mem__read(&m, at + page * 37, buf, 10), 0);
		assert_int_equal(espy_task_mem__read(&m, at, buf, 7), 7);
		assert_int_equal(espy_task_mem__read(&m, ~0ull - 2, buf, 100), 0);
		assert_int_equal(espy_task_mem__read(&m, 0xffff800000000000ull, buf, 8), 0);
		/* A page that nobody has touched, behind one that is there. */
		munmap(map + page * 39, page);
		assert_ptr_equal(mmap(map + page * 39, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), map + page * 39);
		assert_int_equal(espy_task_mem__read(&m, at + page * 39 - 1, buf, 3), 3);
		assert_memory_equal(buf, "m\0", 3);
		espy_task_mem__close(&m);
	}
	espy_late_pages__end(&late);
	munmap(map, page * 40);
	free(buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(value_of_another_operation),
		T(field_before_and_after),
		T(source_that_faulted),
		T(stack_pointer),
		T(record_is_full),
		T(hostile),
		T(index_is_bounded),
		T(whole_records),
		T(foreign_items_are_checked),
		T(memory_of_a_task),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

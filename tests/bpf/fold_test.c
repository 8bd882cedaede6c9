/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program that was made smaller by what the configuration decides does what it did before: random programs run in an
 * interpreter, whole and folded, from the same registers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "source/bpf/load/fold.h"

#define FD 77
#define BASE 0x40000000ull /* where the interpreter sees the constants */
#define SIZE 32
#define MOST 96
#define STEPS 2000

static uint8_t constants[SIZE];
static uint64_t seed;

static uint32_t any(uint32_t limit)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % limit;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x9e3779b97f4a7c15ull + (hash >> 29);
}

/* ---- the interpreter */

struct run {
	uint64_t reg[11];
	uint64_t effects; /* a sum of all stores and calls, in their order */
	size_t back[8];
	uint64_t kept[8][4]; /* r6 to r9 of the callers */
	unsigned int depth, steps;
};

static uint64_t compute(uint8_t op, uint64_t a, uint64_t b, unsigned int bits)
{
	switch (op) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << (b & (bits - 1));
	case BPF_RSH:
		return a >> (b & (bits - 1));
	case BPF_MUL:
		return a * b;
	default:
		return b; /* BPF_MOV */
	}
}

static bool holds(uint8_t op, uint64_t a, uint64_t b, bool narrow)
{
	const int64_t x = narrow ? (int32_t)a : (int64_t)a, y = narrow ? (int32_t)b : (int64_t)b;

	a = narrow ? (uint32_t)a : a;
	b = narrow ? (uint32_t)b : b;
	return op == BPF_JA || (op == BPF_JEQ && a == b) || (op == BPF_JNE && a != b) || (op == BPF_JGT && a > b) ||
	       (op == BPF_JGE && a >= b) || (op == BPF_JLT && a < b) || (op == BPF_JLE && a <= b) || (op == BPF_JSET && a & b) ||
	       (op == BPF_JSGT && x > y) || (op == BPF_JSGE && x >= y) || (op == BPF_JSLT && x < y) || (op == BPF_JSLE && x <= y);
}

static uint64_t load(uint64_t at, unsigned int size)
{
	uint64_t value = 0;

	if (at < BASE || at - BASE > SIZE - size)
		return mix(at, size);
	memcpy(&value, constants + (at - BASE), size);
	return value;
}

static void call(struct run *r, const struct bpf_insn *i)
{
	for (unsigned int k = 1; k <= 5; k++) {
		r->effects = mix(r->effects, r->reg[k]);
		r->reg[k] = 0xdeadbeef;
	}
	r->effects = mix(r->effects, (uint64_t)i->imm);
	r->reg[0] = r->effects;
}

/* Runs one instruction. Returns where to go on. */
static size_t step(struct run *r, const struct bpf_insn *insns, size_t at)
{
	static const unsigned int sizes[] = { 4, 2, 1, 8 };
	const struct bpf_insn *i = &insns[at];
	const uint8_t cls = BPF_CLASS(i->code);
	const bool narrow = cls == BPF_ALU || cls == BPF_JMP32;
	const uint64_t b = BPF_SRC(i->code) == BPF_X ? r->reg[i->src_reg] : (uint64_t)(int64_t)i->imm;
	uint64_t a = r->reg[i->dst_reg];

	switch (cls) {
	case BPF_ALU:
	case BPF_ALU64:
		a = compute(BPF_OP(i->code), narrow ? (uint32_t)a : a, narrow ? (uint32_t)b : b, narrow ? 32 : 64);
		r->reg[i->dst_reg] = narrow ? (uint32_t)a : a;
		return at + 1;
	case BPF_LD:
		r->reg[i->dst_reg] = i->src_reg ? BASE + (uint32_t)i[1].imm : (uint32_t)i->imm | (uint64_t)(uint32_t)i[1].imm << 32;
		return at + 2;
	case BPF_LDX:
		r->reg[i->dst_reg] = load(r->reg[i->src_reg] + (uint64_t)(int64_t)i->off, sizes[BPF_SIZE(i->code) >> 3]);
		return at + 1;
	case BPF_STX:
		r->effects = mix(mix(mix(r->effects, a), r->reg[i->src_reg]), (uint64_t)i->off);
		return at + 1;
	}
	if (i->code == (BPF_JMP | BPF_CALL) && i->src_reg == BPF_PSEUDO_CALL) {
		memcpy(r->kept[r->depth], r->reg + 6, sizeof(r->kept[0]));
		r->reg[0] = r->reg[6] = r->reg[7] = r->reg[8] = r->reg[9] = 0xdeadbeef;
		r->back[r->depth++] = at + 1;
		return at + 1 + (size_t)(int64_t)i->imm;
	}
	if (i->code == (BPF_JMP | BPF_CALL)) {
		call(r, i);
		return at + 1;
	}
	if (i->code == (BPF_JMP | BPF_EXIT)) {
		for (unsigned int k = 1; k <= 5; k++)
			r->reg[k] = 0xdeadbeef;
		if (!r->depth)
			return SIZE_MAX;
		memcpy(r->reg + 6, r->kept[--r->depth], sizeof(r->kept[0]));
		return r->back[r->depth];
	}
	return at + 1 + (holds(BPF_OP(i->code), a, b, narrow) ? (size_t)(int64_t)i->off : 0);
}

static bool run(struct run *r, const struct bpf_insn *insns, size_t cnt)
{
	size_t at = 0;

	while (at != SIZE_MAX && r->steps++ < STEPS) {
		assert_true(at < cnt);
		at = step(r, insns, at);
	}
	return at == SIZE_MAX;
}

/* ---- random programs */

struct made {
	struct bpf_insn insns[MOST];
	size_t cnt, second; /* where the function begins that the first one calls */
};

static void put(struct made *m, uint8_t code, unsigned int dst, unsigned int src, int off, int32_t imm)
{
	m->insns[m->cnt++] = (struct bpf_insn){
		.code = code, .dst_reg = dst & 15, .src_reg = src & 15, .off = (int16_t)off, .imm = imm
	};
}

static void put_arithmetic(struct made *m)
{
	static const uint8_t ops[] = { BPF_ADD, BPF_SUB, BPF_AND, BPF_OR, BPF_XOR, BPF_LSH, BPF_RSH, BPF_MUL, BPF_MOV, BPF_MOV };
	const uint8_t cls = any(2) ? BPF_ALU : BPF_ALU64;

	put(m, cls | ops[any(10)] | (any(2) ? BPF_X : BPF_K), any(10), 0, 0, 0);
	if (BPF_SRC(m->insns[m->cnt - 1].code) == BPF_X)
		m->insns[m->cnt - 1].src_reg = any(10) & 15;
	else
		m->insns[m->cnt - 1].imm = any(3) ? (int32_t)any(4) : (int32_t)any(UINT32_MAX);
}

static void put_constant(struct made *m)
{
	static const uint8_t sizes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };
	const unsigned int reg = any(10);

	put(m, BPF_LD | BPF_DW | BPF_IMM, reg, any(5) ? BPF_PSEUDO_MAP_VALUE : 0, 0, FD);
	put(m, 0, 0, 0, 0, (int32_t)any(SIZE));
	if (any(4))
		put(m, BPF_LDX | BPF_MEM | sizes[any(4)], any(10), reg, (int)any(8), 0);
}

/* A jump; its target is chosen when the length of the function is known. */
static void put_jump(struct made *m)
{
	static const uint8_t ops[] = { BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSET, BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE };

	if (!any(8))
		put(m, BPF_JMP | BPF_JA, 0, 0, 0, 0);
	else if (any(2))
		put(m, (any(2) ? BPF_JMP : BPF_JMP32) | ops[any(11)] | BPF_K, any(10), 0, 0, (int32_t)any(3));
	else
		put(m, (any(2) ? BPF_JMP : BPF_JMP32) | ops[any(11)] | BPF_X, any(10), any(10), 0, 0);
}

static bool second_half(const struct made *m, size_t at)
{
	return at && m->insns[at - 1].code == (BPF_LD | BPF_DW | BPF_IMM);
}

static void aim_jumps(struct made *m, size_t from, size_t end)
{
	for (size_t i = from; i < end; i++) {
		size_t to;

		if (!bpf_code__is_jump(&m->insns[i]) || second_half(m, i))
			continue;
		do /* seldom back */
			to = any(12) ? i + 1 + any((uint32_t)(end - i - 1)) : from + any((uint32_t)(end - from));
		while (second_half(m, to));
		m->insns[i].off = (int16_t)((int64_t)to - (int64_t)i - 1);
	}
}

static void put_function(struct made *m, size_t most, bool calls)
{
	const size_t from = m->cnt;

	while (m->cnt < most) {
		switch (any(8)) {
		case 0:
		case 1:
			put_constant(m);
			break;
		case 2:
		case 3:
			put_jump(m);
			break;
		case 4:
			if (any(2))
				put(m, BPF_JMP | BPF_CALL, 0, calls && any(2) ? BPF_PSEUDO_CALL : 0, 0, 5);
			else
				put(m, BPF_STX | BPF_MEM | BPF_DW, any(10), any(10), -8, 0);
			break;
		default:
			put_arithmetic(m);
		}
	}
	put(m, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	aim_jumps(m, from, m->cnt);
}

static void make(struct made *m)
{
	m->cnt = 0;
	put_function(m, 10 + any(50), true);
	m->second = m->cnt;
	put_function(m, m->cnt + 2 + any(12), false);
	for (size_t i = 0; i < m->second; i++)
		if (bpf_code__is_call(&m->insns[i]) && !second_half(m, i))
			m->insns[i].imm = (int32_t)((int64_t)m->second - (int64_t)i - 1);
}

static void compare(const struct made *m, const struct bpf_code *folded)
{
	for (unsigned int k = 0; k < 4; k++) {
		struct run before = { .effects = k }, after;

		for (unsigned int r = 0; r < 11; r++)
			before.reg[r] = k ? any(k == 1 ? 3 : UINT32_MAX) : 0;
		after = before;
		if (!run(&before, m->insns, m->cnt))
			continue; /* a loop without end */
		assert_true(run(&after, folded->insns, folded->cnt));
		assert_int_equal(before.reg[0], after.reg[0]);
		assert_int_equal(before.effects, after.effects);
		assert_true(after.steps <= before.steps);
	}
}

static void test_same_effects(void **state)
{
	const struct bpf_constants known = { .fd = FD, .bytes = constants, .size = SIZE };
	size_t before = 0, after = 0;

	(void)state;
	for (seed = 1; seed < 20000; ) {
		const uint64_t start = seed;
		struct made m;
		struct bpf_insn insns[MOST];
		struct bpf_func_info funcs[2] = { { 0, 1 }, { 0, 2 } };
		struct bpf_code code = { .insns = insns, .funcs = funcs, .func_cnt = 2 };

		for (unsigned int i = 0; i < SIZE; i++)
			constants[i] = (uint8_t)(any(3) ? any(2) : any(256));
		make(&m);
		assert_true(m.cnt <= MOST);
		memcpy(insns, m.insns, sizeof(insns));
		code.cnt = m.cnt;
		funcs[1].insn_off = (uint32_t)m.second;
		assert_int_equal(bpf_code__fold(&code, &known), 0);
		assert_true(code.cnt <= m.cnt && code.func_cnt >= 1 && !funcs[0].insn_off);
		if (code.func_cnt == 2)
			assert_true(funcs[1].type_id == 2 && funcs[1].insn_off < code.cnt &&
				    insns[funcs[1].insn_off - 1].code != (BPF_LD | BPF_DW | BPF_IMM));
		compare(&m, &code);
		before += m.cnt;
		after += code.cnt;
		seed = start + 1;
	}
	/* Random code is mostly needless code. */
	assert_true(after < before / 2);
	assert_true(after > before / 20);
}

/* The branch that the configuration rules out is gone, and what only it needed; the function that only it calls, too. */
static void test_decided(void **state)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 2, .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = FD },
		{ .imm = 4 },
		{ .code = BPF_LDX | BPF_MEM | BPF_B, .dst_reg = 3, .src_reg = 2, .off = 1 },
		{ .code = BPF_JMP32 | BPF_JEQ | BPF_K, .dst_reg = 3, .imm = 0, .off = 1 },
		{ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 2 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 7 },
		{ .code = BPF_JMP | BPF_EXIT },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 8 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct bpf_func_info funcs[] = { { 0, 1 }, { 7, 2 } };
	struct bpf_code code = { .insns = insns, .cnt = 9, .funcs = funcs, .func_cnt = 2 };
	const struct bpf_constants known = { .fd = FD, .bytes = constants, .size = SIZE };

	(void)state;
	memset(constants, 1, sizeof(constants));
	constants[5] = 0;
	assert_int_equal(bpf_code__fold(&code, &known), 0);
	assert_int_equal(code.cnt, 2);
	assert_int_equal(code.func_cnt, 1);
	assert_int_equal(insns[0].imm, 7);
	assert_int_equal(insns[1].code, BPF_JMP | BPF_EXIT);
}

/* An instruction that is not known leaves the program as it is. */
static void test_unknown(void **state)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_JMP32 | BPF_JA, .imm = 1 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 7 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct bpf_code code = { .insns = insns, .cnt = 3 };
	const struct bpf_constants known = { .fd = FD, .bytes = constants, .size = SIZE };

	(void)state;
	assert_true(bpf_code__fold(&code, &known) < 0);
	assert_int_equal(code.cnt, 3);
	insns[0] = (struct bpf_insn){ .code = BPF_JMP | BPF_JA, .off = 100 };
	assert_true(bpf_code__fold(&code, &known) < 0);
	assert_int_equal(insns[0].off, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_effects),
		cmocka_unit_test(test_decided),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

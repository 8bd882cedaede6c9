/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Follows constants through a program, once from its begin to its end. Jumps lead forward but for loops: what is known
 * at the target of a forward jump is what all ways to it agree in, and at the target of a backward jump nothing is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "source/bpf/load/fold.h"

#define REGS 11

enum kind { UNKNOWN, NUMBER, CONSTANTS /* a pointer to the constants; the value is the offset */ };

/* What is known at an instruction. `seen`: a way leads there. */
struct known {
	bool seen;
	uint8_t kind[REGS];
	uint64_t value[REGS];
};

struct follow {
	const struct bpf_code *code;
	const struct bpf_constants *constants;
	uint8_t *marks;
	bool *from_behind;     /* targets of backward jumps, and begins of functions */
	uint32_t *at;	       /* the place of a target of forward jumps in `known`, plus one */
	struct known *known;
};

bool bpf_code__is_jump(const struct bpf_insn *insn)
{
	const uint8_t cls = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	return (cls == BPF_JMP || cls == BPF_JMP32) && op != BPF_CALL && op != BPF_EXIT;
}

bool bpf_code__is_goto(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_JA);
}

bool bpf_code__is_exit(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_EXIT);
}

bool bpf_code__is_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
}

bool bpf_code__names_function(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_DW | BPF_IMM) && insn->src_reg == BPF_PSEUDO_FUNC;
}

static bool is_double(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_DW | BPF_IMM);
}

/* Finds the targets; false: an instruction that is not known here, or a target outside of the program. */
static bool find_targets(struct follow *f, size_t *forward)
{
	const size_t n = f->code->cnt;

	for (size_t i = 0; i < n; i++) {
		const struct bpf_insn *insn = &f->code->insns[i];
		const bool calls = bpf_code__is_call(insn) || bpf_code__names_function(insn);
		int64_t to = (int64_t)i + 1 + (calls ? insn->imm : insn->off);

		if (bpf_code__is_jump(insn) && BPF_OP(insn->code) == BPF_JA && !bpf_code__is_goto(insn))
			return false; /* a far jump */
		if (bpf_code__is_jump(insn) && BPF_OP(insn->code) > BPF_JSLE)
			return false; /* a jump of a kind that came later */
		if (calls || bpf_code__is_jump(insn)) {
			if (to < 0 || to >= (int64_t)n)
				return false;
			if (calls || (size_t)to <= i)
				f->from_behind[to] = true;
			else if (!f->at[to])
				f->at[to] = (uint32_t)++*forward;
		}
		if (is_double(insn)) {
			if (i + 1 == n)
				return false;
			f->marks[++i] = BPF_FOLD_HALF;
		}
	}
	return true;
}

static void forget(struct known *k, unsigned int reg)
{
	if (reg < REGS)
		k->kind[reg] = UNKNOWN;
}

static void set_number(struct known *k, unsigned int reg, uint64_t value)
{
	if (reg >= REGS)
		return;
	k->kind[reg] = NUMBER;
	k->value[reg] = value;
}

/* What two ways agree in. */
static void meet(struct known *at, const struct known *k)
{
	if (!at->seen) {
		*at = *k;
		return;
	}
	for (unsigned int r = 0; r < REGS; r++)
		if (at->kind[r] != k->kind[r] || at->value[r] != k->value[r])
			at->kind[r] = UNKNOWN;
}

/* The number that an instruction works with beside its target; false: it is not known. */
static bool operand(const struct known *k, const struct bpf_insn *insn, uint64_t *value)
{
	if (BPF_SRC(insn->code) == BPF_K) {
		*value = (uint64_t)(int64_t)insn->imm;
		return true;
	}
	if (insn->src_reg >= REGS || k->kind[insn->src_reg] != NUMBER)
		return false;
	*value = k->value[insn->src_reg];
	return true;
}

static bool compute(uint8_t op, uint64_t a, uint64_t b, unsigned int bits, uint64_t *out)
{
	switch (op) {
	case BPF_ADD:
		*out = a + b;
		return true;
	case BPF_SUB:
		*out = a - b;
		return true;
	case BPF_AND:
		*out = a & b;
		return true;
	case BPF_OR:
		*out = a | b;
		return true;
	case BPF_XOR:
		*out = a ^ b;
		return true;
	case BPF_LSH:
		*out = a << (b & (bits - 1));
		return true;
	case BPF_RSH:
		*out = a >> (b & (bits - 1));
		return true;
	default:
		return false;
	}
}

static void follow_arithmetic(struct known *k, const struct bpf_insn *insn)
{
	const bool narrow = BPF_CLASS(insn->code) == BPF_ALU;
	const uint8_t op = BPF_OP(insn->code);
	const unsigned int dst = insn->dst_reg;
	uint64_t a, b, out;

	if (dst >= REGS)
		return;
	if (op == BPF_MOV && BPF_SRC(insn->code) == BPF_X && !insn->off && !narrow && insn->src_reg < REGS) {
		k->kind[dst] = k->kind[insn->src_reg];
		k->value[dst] = k->value[insn->src_reg];
		return;
	}
	if (insn->off || !operand(k, insn, &b)) {
		forget(k, dst);
		return;
	}
	if (op == BPF_MOV) {
		set_number(k, dst, narrow ? (uint32_t)b : b);
		return;
	}
	if (op == BPF_ADD && k->kind[dst] == CONSTANTS && !narrow) {
		k->value[dst] += b;
		return;
	}
	a = k->value[dst];
	if (k->kind[dst] != NUMBER || !compute(op, narrow ? (uint32_t)a : a, narrow ? (uint32_t)b : b, narrow ? 32 : 64, &out))
		forget(k, dst);
	else
		set_number(k, dst, narrow ? (uint32_t)out : out);
}

/* A load from the constants becomes their value, if that fits into the instruction. */
static void follow_load(struct follow *f, struct known *k, size_t i)
{
	static const uint8_t sizes[] = { [BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8 };
	struct bpf_insn *insn = &f->code->insns[i];
	const size_t size = sizes[BPF_SIZE(insn->code) >> 3];
	uint64_t value = 0, off;

	if (BPF_MODE(insn->code) != BPF_MEM || insn->src_reg >= REGS || k->kind[insn->src_reg] != CONSTANTS) {
		forget(k, insn->dst_reg);
		return;
	}
	off = k->value[insn->src_reg] + (uint64_t)(int64_t)insn->off;
	if (off > f->constants->size || size > f->constants->size - off) {
		forget(k, insn->dst_reg);
		return;
	}
	memcpy(&value, (const uint8_t *)f->constants->bytes + off, size);
	set_number(k, insn->dst_reg, value);
	if (value > UINT32_MAX)
		f->marks[i] |= BPF_FOLD_PURE;
	else /* the narrow one clears the upper half */
		*insn = (struct bpf_insn){ .code = (value > INT32_MAX ? BPF_ALU : BPF_ALU64) | BPF_MOV | BPF_K,
					   .dst_reg = insn->dst_reg,
					   .imm = (int32_t)(uint32_t)value };
}

static void follow_double(const struct follow *f, struct known *k, size_t i)
{
	const struct bpf_insn *insn = &f->code->insns[i];

	if (insn->dst_reg >= REGS)
		return;
	forget(k, insn->dst_reg);
	if (insn->src_reg == BPF_PSEUDO_MAP_VALUE && insn->imm == f->constants->fd) {
		k->kind[insn->dst_reg] = CONSTANTS;
		k->value[insn->dst_reg] = (uint32_t)insn[1].imm;
	} else if (!insn->src_reg) {
		set_number(k, insn->dst_reg, (uint32_t)insn->imm | (uint64_t)(uint32_t)insn[1].imm << 32);
	}
}

static bool holds(uint8_t op, uint64_t a, uint64_t b, bool narrow)
{
	const int64_t sa = narrow ? (int32_t)a : (int64_t)a, sb = narrow ? (int32_t)b : (int64_t)b;

	if (narrow) {
		a = (uint32_t)a;
		b = (uint32_t)b;
	}
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSET:
		return a & b;
	case BPF_JSGT:
		return sa > sb;
	case BPF_JSGE:
		return sa >= sb;
	case BPF_JSLT:
		return sa < sb;
	default:
		return sa <= sb;
	}
}

/* Decides a jump where it can. Returns whether the way goes on behind it. */
static bool follow_jump(struct follow *f, struct known *k, size_t i)
{
	struct bpf_insn *insn = &f->code->insns[i];
	const size_t to = (size_t)((int64_t)i + 1 + insn->off);
	uint64_t b;

	if (!bpf_code__is_goto(insn) && insn->dst_reg < REGS && k->kind[insn->dst_reg] == NUMBER && operand(k, insn, &b)) {
		if (!holds(BPF_OP(insn->code), k->value[insn->dst_reg], b, BPF_CLASS(insn->code) == BPF_JMP32)) {
			f->marks[i] |= BPF_FOLD_GONE;
			return true;
		}
		*insn = (struct bpf_insn){ .code = BPF_JMP | BPF_JA, .off = insn->off };
	}
	if (to > i && f->at[to])
		meet(&f->known[f->at[to] - 1], k);
	return !bpf_code__is_goto(insn);
}

/* Follows one instruction. Returns whether the way goes on behind it. */
static bool follow_one(struct follow *f, struct known *k, size_t i)
{
	const struct bpf_insn *insn = &f->code->insns[i];

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		follow_arithmetic(k, insn);
		return true;
	case BPF_LDX:
		follow_load(f, k, i);
		return true;
	case BPF_LD:
		follow_double(f, k, i);
		return true;
	case BPF_STX:
		if (BPF_MODE(insn->code) == BPF_ATOMIC) { /* may give back what was there */
			forget(k, insn->src_reg);
			forget(k, BPF_REG_0);
		}
		return true;
	case BPF_ST:
		return true;
	default:
		if (bpf_code__is_exit(insn))
			return false;
		if (bpf_code__is_jump(insn))
			return follow_jump(f, k, i);
		for (unsigned int r = BPF_REG_0; r <= BPF_REG_5; r++)
			forget(k, r);
		return true;
	}
}

static void follow_all(struct follow *f)
{
	static const struct known nothing = { .seen = true };
	struct known now = nothing;
	bool on = true;

	for (size_t i = 0; i < f->code->cnt; i++) {
		if (f->marks[i] & BPF_FOLD_HALF)
			continue;
		if (f->at[i] && f->known[f->at[i] - 1].seen) {
			if (on)
				meet(&f->known[f->at[i] - 1], &now);
			now = f->known[f->at[i] - 1];
			on = true;
		}
		if (f->from_behind[i]) {
			now = nothing;
			on = true;
		}
		/* What no way has led to may still be the target of a jump that is gone: it is taken out later. */
		if (on)
			on = follow_one(f, &now, i);
	}
}

static int fold(struct bpf_code *code, const struct bpf_constants *constants, uint8_t *marks)
{
	struct follow f = { .code = code, .constants = constants, .marks = marks };
	size_t forward = 0;
	int err = 0;

	f.from_behind = calloc(code->cnt, sizeof(*f.from_behind));
	f.at = calloc(code->cnt, sizeof(*f.at));
	if (!f.from_behind || !f.at)
		err = -ENOMEM;
	else if (!find_targets(&f, &forward))
		err = -EOPNOTSUPP;
	if (!err) {
		f.known = calloc(forward + 1, sizeof(*f.known));
		if (f.known)
			follow_all(&f);
		else
			err = -ENOMEM;
	}
	free(f.from_behind);
	free(f.at);
	free(f.known);
	return err;
}

int bpf_code__fold(struct bpf_code *code, const struct bpf_constants *constants)
{
	struct bpf_code folded = *code;
	uint8_t *marks = calloc(code->cnt ? code->cnt : 1, 1);
	int err = -ENOMEM;

	folded.insns = malloc(code->cnt * sizeof(*code->insns) + 1);
	folded.funcs = malloc(code->func_cnt * sizeof(*code->funcs) + 1);
	if (marks && folded.insns && folded.funcs) {
		memcpy(folded.insns, code->insns, code->cnt * sizeof(*code->insns));
		if (code->func_cnt)
			memcpy(folded.funcs, code->funcs, code->func_cnt * sizeof(*code->funcs));
		err = fold(&folded, constants, marks);
		err = err ? err : bpf_dead_code__mark(&folded, marks);
		err = err ? err : bpf_dead_code__take_out(&folded, marks);
	}
	if (!err) {
		memcpy(code->insns, folded.insns, folded.cnt * sizeof(*code->insns));
		if (folded.func_cnt)
			memcpy(code->funcs, folded.funcs, folded.func_cnt * sizeof(*code->funcs));
		code->cnt = folded.cnt;
		code->func_cnt = folded.func_cnt;
	}
	free(folded.insns);
	free(folded.funcs);
	free(marks);
	return err;
}

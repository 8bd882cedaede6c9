/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds instructions of a BPF program that do nothing, and closes the gaps that they leave. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "source/bpf/load/fold.h"

#define GONE(i) (marks[i] & BPF_FOLD_GONE)
#define BIT(reg) (1u << ((reg) & 15))
#define ARGS 0x3eu /* r1 to r5 */

static size_t target_of(const struct bpf_code *code, size_t i)
{
	const struct bpf_insn *insn = &code->insns[i];

	return (size_t)((int64_t)i + 1 + (bpf_code__is_jump(insn) ? insn->off : insn->imm));
}

static size_t width(const uint8_t *marks, size_t cnt, size_t i)
{
	return i + 1 < cnt && marks[i + 1] & BPF_FOLD_HALF ? 2 : 1;
}

/* Marks what cannot be reached. */
static int drop_unreachable(const struct bpf_code *code, uint8_t *marks)
{
	uint32_t *todo = malloc((code->cnt + 1) * sizeof(*todo));
	bool *reached = calloc(code->cnt + 1, sizeof(*reached));
	size_t n = 0;

	if (!todo || !reached) {
		free(todo);
		free(reached);
		return -ENOMEM;
	}
#define REACH(at)                                        \
	do {                                             \
		if ((at) < code->cnt && !reached[at]) {  \
			reached[at] = true;              \
			todo[n++] = (uint32_t)(at);      \
		}                                        \
	} while (0)
	REACH((size_t)0);
	while (n) {
		const size_t i = todo[--n];
		const struct bpf_insn *insn = &code->insns[i];

		if (!GONE(i) && (bpf_code__is_jump(insn) || bpf_code__is_call(insn) || bpf_code__names_function(insn)))
			REACH(target_of(code, i));
		if (GONE(i) || (!bpf_code__is_goto(insn) && !bpf_code__is_exit(insn)))
			REACH(i + width(marks, code->cnt, i));
	}
#undef REACH
	for (size_t i = 0; i < code->cnt; i++)
		if (!reached[i] && !(marks[i] & BPF_FOLD_HALF))
			marks[i] |= BPF_FOLD_GONE;
	free(todo);
	free(reached);
	return 0;
}

/* The registers that an instruction reads, and those that it sets whatever they were. */
static void effects(const struct bpf_insn *insn, uint32_t *reads, uint32_t *sets)
{
	const bool from_reg = BPF_SRC(insn->code) == BPF_X;

	*reads = *sets = 0;
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		*sets = BIT(insn->dst_reg);
		*reads = (from_reg ? BIT(insn->src_reg) : 0) | (BPF_OP(insn->code) == BPF_MOV ? 0 : BIT(insn->dst_reg));
		break;
	case BPF_LD:
		*sets = BIT(insn->dst_reg);
		break;
	case BPF_LDX:
		*sets = BIT(insn->dst_reg);
		*reads = BIT(insn->src_reg);
		break;
	case BPF_ST:
		*reads = BIT(insn->dst_reg);
		break;
	case BPF_STX: /* an atomic one may also compare with r0 */
		*reads = BIT(insn->dst_reg) | BIT(insn->src_reg) | BIT(BPF_REG_0);
		break;
	default:
		if (bpf_code__is_exit(insn)) {
			*reads = BIT(BPF_REG_0);
		} else if (bpf_code__is_jump(insn)) {
			if (!bpf_code__is_goto(insn))
				*reads = BIT(insn->dst_reg) | (from_reg ? BIT(insn->src_reg) : 0);
		} else {
			*sets = BIT(BPF_REG_0) | ARGS;
			*reads = ARGS;
		}
	}
}

/* Tells whether an instruction does nothing but set its register. */
static bool only_sets(const struct bpf_insn *insn, uint8_t mark)
{
	const uint8_t cls = BPF_CLASS(insn->code);

	return cls == BPF_ALU || cls == BPF_ALU64 || mark & BPF_FOLD_PURE ||
	       (cls == BPF_LD && !bpf_code__names_function(insn));
}

/* Marks instructions that set a register which nobody reads. Returns how many; live: room for a word each. */
static size_t drop_unused(const struct bpf_code *code, uint8_t *marks, uint16_t *live)
{
	size_t dropped = 0;
	bool changed = true;

	memset(live, 0, (code->cnt + 1) * sizeof(*live));
	while (changed) {
		changed = false;
		for (size_t i = code->cnt; i-- > 0;) {
			const struct bpf_insn *insn = &code->insns[i];
			uint32_t reads, sets, after = 0;

			if (marks[i] & BPF_FOLD_HALF)
				continue;
			if (GONE(i) || (!bpf_code__is_goto(insn) && !bpf_code__is_exit(insn)))
				after = live[i + width(marks, code->cnt, i)];
			if (!GONE(i)) {
				if (bpf_code__is_jump(insn))
					after |= live[target_of(code, i)];
				effects(insn, &reads, &sets);
				after = (after & ~sets) | reads;
			}
			changed |= live[i] != after;
			live[i] = (uint16_t)after;
		}
	}
	for (size_t i = code->cnt; i-- > 0;) {
		const struct bpf_insn *insn = &code->insns[i];

		if (marks[i] & (BPF_FOLD_HALF | BPF_FOLD_GONE) || !only_sets(insn, marks[i]) ||
		    live[i + width(marks, code->cnt, i)] & BIT(insn->dst_reg))
			continue;
		marks[i] |= BPF_FOLD_GONE;
		dropped++;
	}
	return dropped;
}

/* The first instruction from i on that stays. */
static size_t stays(const struct bpf_code *code, const uint8_t *marks, size_t i)
{
	while (i < code->cnt && marks[i] & (BPF_FOLD_HALF | BPF_FOLD_GONE))
		i++;
	return i;
}

/* Marks jumps to where the way goes on anyway. */
static size_t drop_idle_jumps(const struct bpf_code *code, uint8_t *marks)
{
	size_t dropped = 0;

	for (size_t i = code->cnt; i-- > 0;) {
		if (GONE(i) || marks[i] & BPF_FOLD_HALF || !bpf_code__is_jump(&code->insns[i]) ||
		    stays(code, marks, target_of(code, i)) != stays(code, marks, i + 1))
			continue;
		marks[i] |= BPF_FOLD_GONE;
		dropped++;
	}
	return dropped;
}

int bpf_dead_code__mark(const struct bpf_code *code, uint8_t *marks)
{
	uint16_t *live = malloc((code->cnt + 1) * sizeof(*live));
	int err = live ? drop_unreachable(code, marks) : -ENOMEM;

	while (!err && drop_unused(code, marks, live) + drop_idle_jumps(code, marks))
		;
	free(live);
	return err;
}

int bpf_dead_code__take_out(struct bpf_code *code, const uint8_t *marks)
{
	uint32_t *to = malloc((code->cnt + 1) * sizeof(*to));
	size_t n = 0, funcs = 0;

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < code->cnt; i++) {
		const bool gone = GONE(i) || (marks[i] & BPF_FOLD_HALF && GONE(i - 1));

		to[i] = (uint32_t)n;
		n += !gone;
	}
	to[code->cnt] = (uint32_t)n;
	for (size_t i = 0; i < code->cnt; i++) {
		struct bpf_insn insn = code->insns[i];
		const bool half = marks[i] & BPF_FOLD_HALF;

		if (to[i + 1] == to[i])
			continue;
		if (!half && bpf_code__is_jump(&insn))
			insn.off = (int16_t)((int32_t)to[target_of(code, i)] - (int32_t)to[i] - 1);
		else if (!half && (bpf_code__is_call(&insn) || bpf_code__names_function(&insn)))
			insn.imm = (int32_t)to[target_of(code, i)] - (int32_t)to[i] - 1;
		code->insns[to[i]] = insn;
	}
	for (size_t k = 0; k < code->func_cnt; k++) {
		const size_t at = code->funcs[k].insn_off;

		/* A function begins with an instruction that stays, or is gone to its end. */
		if (at >= code->cnt || (GONE(at) && stays(code, marks, at) == code->cnt) ||
		    (k + 1 < code->func_cnt && code->funcs[k + 1].insn_off <= code->cnt &&
		     to[at] == to[code->funcs[k + 1].insn_off]))
			continue;
		code->funcs[funcs] = code->funcs[k];
		code->funcs[funcs++].insn_off = to[at];
	}
	code->cnt = n;
	code->func_cnt = funcs;
	free(to);
	return 0;
}

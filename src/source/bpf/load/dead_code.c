/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Leaves out of a program what its configuration rules out, before the kernel sees it. The kernel would find the same,
 * but it copies, hashes and checks the whole program first, and moves all that stands behind each part that it takes
 * out.
 *
 * Configuration is read through one map, which nobody writes after the start. So what a load from there yields is
 * known, and with it where some jumps lead. The code is followed from its first instruction along the ways that remain,
 * with what is known of the registers; where ways meet, that is known which is the same on all. What was never met
 * goes.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "source/bpf/load/dead_code.h"

#define REGS 11

/* What is known of a register. */
struct known {
	enum { UNKNOWN, NUMBER, CONF } what;
	uint64_t v; /* the number, or the offset in the configuration */
};

/* Of an instruction. A jump of the last two is decided: it always jumps, or never. */
enum { LIVE = 1, TARGET = 2, QUEUED = 4, ALWAYS = 8, NEVER = 16 };

struct pass {
	struct bpf_code *code;
	const struct bpf_conf_map *conf;
	uint8_t *marks;
	uint32_t *at;	 /* of a target, its number among targets; at last the new place of each instruction */
	uint32_t *queue; /* targets to follow the code from */
	size_t queued;
	struct known (*regs)[REGS]; /* at each target that was met, on all ways that lead there */
};

static bool is_jump(const struct bpf_insn *in)
{
	const uint8_t class = BPF_CLASS(in->code), op = BPF_OP(in->code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL && op != BPF_EXIT;
}

static bool is_wide(const struct bpf_insn *in)
{
	return in->code == (BPF_LD | BPF_IMM | BPF_DW);
}

/* Where a call or the address of a function leads, or -1. */
static int64_t function_of(const struct bpf_insn *insns, size_t i)
{
	const struct bpf_insn *in = &insns[i];

	if ((in->code == (BPF_JMP | BPF_CALL) && in->src_reg == BPF_PSEUDO_CALL) ||
	    (is_wide(in) && in->src_reg == BPF_PSEUDO_FUNC))
		return (int64_t)i + in->imm + 1;
	return -1;
}

/* Where a jump leads. The long one of 32 bits (cpu v4) is not known here. */
static int64_t target_of(const struct bpf_insn *insns, size_t i)
{
	return insns[i].code == (BPF_JMP32 | BPF_JA) ? -1 : (int64_t)i + insns[i].off + 1;
}

/* Returns how many places the code leads to, or 0: one is not within it. */
static size_t number_targets(struct pass *p)
{
	const struct bpf_insn *insns = p->code->insns;
	const size_t n = p->code->insn_cnt;
	size_t cnt = 0;

	p->marks[0] |= TARGET;
	for (size_t i = 0; i < n; i++) {
		int64_t to = is_jump(&insns[i]) ? target_of(insns, i) : function_of(insns, i);

		if (is_jump(&insns[i]) || to != -1) {
			if (to < 0 || to >= (int64_t)n)
				return 0;
			p->marks[to] |= TARGET;
		}
		if (is_wide(&insns[i]) && ++i >= n)
			return 0;
	}
	for (size_t i = 0; i < n; i++)
		if (p->marks[i] & TARGET)
			p->at[i] = (uint32_t)cnt++;
	return cnt;
}

static bool holds(uint8_t op, uint64_t a, uint64_t b, bool *known)
{
	*known = true;
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
	default: /* signed comparisons are not of the configuration */
		*known = false;
		return false;
	}
}

/* ALWAYS or NEVER of a conditional jump, or 0. */
static uint8_t decide(const struct bpf_insn *in, const struct known *regs)
{
	const struct known a = regs[in->dst_reg];
	const struct known b =
		BPF_SRC(in->code) == BPF_X ? regs[in->src_reg] : (struct known){ NUMBER, (uint64_t)(int64_t)in->imm };
	const uint64_t mask = BPF_CLASS(in->code) == BPF_JMP32 ? UINT32_MAX : UINT64_MAX;
	bool known, yes;

	if (BPF_OP(in->code) == BPF_JA || a.what != NUMBER || b.what != NUMBER)
		return 0;
	yes = holds(BPF_OP(in->code), a.v & mask, b.v & mask, &known);
	return !known ? 0 : yes ? ALWAYS : NEVER;
}

/* What a load from the configuration yields. */
static struct known load(const struct pass *p, const struct bpf_insn *in, const struct known *from)
{
	static const uint8_t sizes[] = { [BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8 };
	const size_t size = sizes[BPF_SIZE(in->code) >> 3];
	const uint64_t off = from->v + (uint64_t)(int64_t)in->off;
	struct known to = { NUMBER, 0 };

	if (BPF_MODE(in->code) != BPF_MEM || from->what != CONF || off > p->conf->size || size > p->conf->size - off)
		return (struct known){ UNKNOWN, 0 };
	memcpy(&to.v, p->conf->bytes + off, size); /* little-endian, as all machines that espy runs on */
	return to;
}

static struct known result_of(const struct bpf_insn *in, const struct known *regs)
{
	const bool wide = BPF_CLASS(in->code) == BPF_ALU64;
	struct known to = { UNKNOWN, 0 };

	if (BPF_OP(in->code) == BPF_MOV && !in->off)
		to = BPF_SRC(in->code) == BPF_X ? regs[in->src_reg]
						: (struct known){ NUMBER, (uint64_t)(int64_t)in->imm };
	if (wide)
		return to;
	to.v &= UINT32_MAX;
	return to.what == NUMBER ? to : (struct known){ UNKNOWN, 0 };
}

/* Takes over what an instruction does to the registers. */
static void step(const struct pass *p, size_t i, struct known *regs)
{
	const struct bpf_insn *in = &p->code->insns[i];

	switch (BPF_CLASS(in->code)) {
	case BPF_LD:
		regs[in->dst_reg] = (struct known){ UNKNOWN, 0 };
		if (is_wide(in) && in->src_reg == BPF_PSEUDO_MAP_VALUE && in->imm == p->conf->fd)
			regs[in->dst_reg] = (struct known){ CONF, (uint32_t)in[1].imm };
		else if (!is_wide(in)) /* of packets: changes more than one */
			memset(regs, 0, REGS * sizeof(*regs));
		return;
	case BPF_LDX:
		regs[in->dst_reg] = load(p, in, &regs[in->src_reg]);
		return;
	case BPF_ALU:
	case BPF_ALU64:
		regs[in->dst_reg] = result_of(in, regs);
		return;
	case BPF_STX: /* an atomic one may bring a value back */
		if (BPF_MODE(in->code) == BPF_ATOMIC)
			regs[0].what = regs[in->src_reg].what = UNKNOWN;
		return;
	case BPF_JMP:
		if (BPF_OP(in->code) == BPF_CALL)
			memset(regs, 0, 6 * sizeof(*regs)); /* r0 to r5 */
		return;
	}
}

/* A way with these registers leads to a target: it is followed from there if that tells anything new. */
static void arrive(struct pass *p, size_t at, const struct known *regs)
{
	struct known *all = p->regs[p->at[at]];
	bool news = !(p->marks[at] & LIVE);

	for (size_t r = 0; r < REGS; r++) {
		if (!(p->marks[at] & (LIVE | QUEUED))) {
			all[r] = regs[r];
		} else if (all[r].what != UNKNOWN && (all[r].what != regs[r].what || all[r].v != regs[r].v)) {
			all[r].what = UNKNOWN;
			news = true;
		}
	}
	if (!news || p->marks[at] & QUEUED)
		return;
	p->marks[at] |= QUEUED;
	p->queue[p->queued++] = (uint32_t)at;
}

/* Follows the code from a target to where it ends or comes to another. */
static void follow(struct pass *p, size_t from)
{
	const struct bpf_insn *insns = p->code->insns;
	const struct known unknown[REGS] = { { UNKNOWN, 0 } };
	struct known regs[16] = { { UNKNOWN, 0 } }; /* a register is four bits */
	size_t i = from;

	memcpy(regs, p->regs[p->at[from]], sizeof(p->regs[0]));
	p->marks[from] &= ~QUEUED;
	for (; i < p->code->insn_cnt; i++) {
		const struct bpf_insn *in = &insns[i];

		if (i != from && p->marks[i] & TARGET) {
			arrive(p, i, regs);
			return;
		}
		p->marks[i] = (p->marks[i] & ~(ALWAYS | NEVER)) | LIVE;
		if (is_jump(in)) {
			const uint8_t way = BPF_OP(in->code) == BPF_JA ? ALWAYS : decide(in, regs);

			p->marks[i] |= way;
			if (way != NEVER)
				arrive(p, (size_t)target_of(insns, i), regs);
			if (way == ALWAYS)
				return;
			continue;
		}
		if (in->code == (BPF_JMP | BPF_EXIT))
			return;
		if (function_of(insns, i) >= 0)
			arrive(p, (size_t)function_of(insns, i), unknown);
		step(p, i, regs);
		if (is_wide(in))
			p->marks[++i] |= LIVE;
	}
}

/* Does a jump lead over dead code only? */
static bool leads_on(const struct pass *p, size_t i)
{
	const int64_t to = target_of(p->code->insns, i);

	if (to <= (int64_t)i)
		return false;
	for (int64_t k = (int64_t)i + 1; k < to; k++)
		if (p->marks[k] & LIVE)
			return false;
	return true;
}

/*
 * Gives each instruction its new place: one that goes has that of the next that stays, which is where its jump or its
 * end leads.
 */
static size_t give_places(struct pass *p)
{
	struct bpf_insn *insns = p->code->insns;
	size_t to = 0;

	for (size_t i = 0; i < p->code->insn_cnt; i++) {
		const bool jumps = p->marks[i] & LIVE && is_jump(&insns[i]);

		p->at[i] = (uint32_t)to;
		if (jumps && p->marks[i] & ALWAYS)
			insns[i] = (struct bpf_insn){ .code = BPF_JMP | BPF_JA, .off = insns[i].off };
		if (jumps && (p->marks[i] & NEVER || (insns[i].code == (BPF_JMP | BPF_JA) && leads_on(p, i))))
			p->marks[i] &= ~LIVE;
		to += p->marks[i] & LIVE;
		if (is_wide(&insns[i])) {
			p->at[i + 1] = (uint32_t)to;
			to += p->marks[++i] & LIVE;
		}
	}
	return to;
}

static void close_gaps(struct pass *p)
{
	struct bpf_code *code = p->code;
	struct bpf_insn *insns = code->insns;
	const size_t left = give_places(p);
	size_t funcs = 0;

	for (size_t i = 0; i < code->insn_cnt; i++) {
		const bool wide = is_wide(&insns[i]);
		struct bpf_insn in = insns[i], second = insns[wide ? i + 1 : i];
		const uint32_t at = p->at[i];

		if (p->marks[i] & LIVE) {
			if (is_jump(&in))
				in.off = (int16_t)(p->at[target_of(insns, i)] - at - 1);
			else if (function_of(insns, i) >= 0)
				in.imm = (int32_t)(p->at[function_of(insns, i)] - at - 1);
			insns[at] = in; /* never behind i */
			if (wide)
				insns[at + 1] = second;
		}
		i += wide;
	}
	for (size_t i = 0; i < code->func_cnt; i++) {
		const uint32_t off = code->funcs[i].insn_off;

		if (off < code->insn_cnt && p->marks[off] & LIVE)
			code->funcs[funcs++] = (struct bpf_func_info){ p->at[off], code->funcs[i].type_id };
	}
	code->func_cnt = funcs;
	code->insn_cnt = left;
}

int bpf_drop_dead_code(struct bpf_code *code, const struct bpf_conf_map *conf)
{
	const struct known unknown[REGS] = { { UNKNOWN, 0 } };
	struct pass p = { .code = code, .conf = conf };
	size_t targets;
	int err = -ENOMEM;

	p.marks = calloc(code->insn_cnt + 1, sizeof(*p.marks));
	p.at = calloc(code->insn_cnt + 1, sizeof(*p.at));
	targets = p.marks && p.at ? number_targets(&p) : 0;
	p.queue = calloc(targets + 1, sizeof(*p.queue));
	p.regs = calloc(targets + 1, sizeof(*p.regs));
	if (p.marks && p.at && p.queue && p.regs)
		err = targets ? 0 : -EINVAL;
	if (!err) {
		arrive(&p, 0, unknown);
		while (p.queued)
			follow(&p, p.queue[--p.queued]);
		close_gaps(&p);
	}
	free(p.marks);
	free(p.at);
	free(p.queue);
	free(p.regs);
	return err;
}

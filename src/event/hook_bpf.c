/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Classic BPF programs, by the macros of linux/filter.h. */
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "event/hook_impl.h"

static const struct espy_hook_name classes[] = { { BPF_LD, "BPF_LD" },   { BPF_LDX, "BPF_LDX" }, { BPF_ST, "BPF_ST" },
				       { BPF_STX, "BPF_STX" }, { BPF_ALU, "BPF_ALU" }, { BPF_JMP, "BPF_JMP" },
				       { BPF_RET, "BPF_RET" }, { BPF_MISC, "BPF_MISC" } };
static const struct espy_hook_name sizes[] = { { BPF_W, "BPF_W" }, { BPF_H, "BPF_H" }, { BPF_B, "BPF_B" }, { 0x18, "BPF_DW" } };
static const struct espy_hook_name modes[] = { { BPF_IMM, "BPF_IMM" }, { BPF_ABS, "BPF_ABS" }, { BPF_IND, "BPF_IND" },
				     { BPF_MEM, "BPF_MEM" }, { BPF_LEN, "BPF_LEN" }, { BPF_MSH, "BPF_MSH" },
				     { 0xc0, "BPF_XADD" } };
static const struct espy_hook_name alu_ops[] = { { BPF_ADD, "BPF_ADD" }, { BPF_SUB, "BPF_SUB" }, { BPF_MUL, "BPF_MUL" },
				       { BPF_DIV, "BPF_DIV" }, { BPF_OR, "BPF_OR" },   { BPF_AND, "BPF_AND" },
				       { BPF_LSH, "BPF_LSH" }, { BPF_RSH, "BPF_RSH" }, { BPF_NEG, "BPF_NEG" },
				       { BPF_MOD, "BPF_MOD" }, { BPF_XOR, "BPF_XOR" }, { 0xb0, "BPF_MOV" },
				       { 0xc0, "BPF_ARSH" },   { 0xd0, "BPF_END" } };
static const struct espy_hook_name jmp_ops[] = { { BPF_JA, "BPF_JA" }, { BPF_JEQ, "BPF_JEQ" }, { BPF_JGT, "BPF_JGT" },
				       { BPF_JGE, "BPF_JGE" }, { BPF_JSET, "BPF_JSET" }, { 0x50, "BPF_JNE" },
				       { 0x60, "BPF_JSGT" },   { 0x70, "BPF_JSGE" },   { 0x80, "BPF_CALL" },
				       { 0x90, "BPF_EXIT" },   { 0xa0, "BPF_JLT" },    { 0xb0, "BPF_JLE" },
				       { 0xc0, "BPF_JSLT" },   { 0xd0, "BPF_JSLE" } };
static const struct espy_hook_name sources[] = { { BPF_K, "BPF_K" }, { BPF_X, "BPF_X" } };
static const struct espy_hook_name ret_values[] = { { BPF_K, "BPF_K" }, { BPF_X, "BPF_X" }, { BPF_A, "BPF_A" } };
static const struct espy_hook_name misc_ops[] = { { BPF_TAX, "BPF_TAX" }, { BPF_TXA, "BPF_TXA" } };
static const struct espy_hook_name seccomp_actions[] = {
	{ SECCOMP_RET_KILL_PROCESS, "SECCOMP_RET_KILL_PROCESS" },
	{ SECCOMP_RET_KILL_THREAD, "SECCOMP_RET_KILL_THREAD" },
	{ SECCOMP_RET_TRAP, "SECCOMP_RET_TRAP" },
	{ SECCOMP_RET_ERRNO, "SECCOMP_RET_ERRNO" },
	{ SECCOMP_RET_USER_NOTIF, "SECCOMP_RET_USER_NOTIF" },
	{ SECCOMP_RET_TRACE, "SECCOMP_RET_TRACE" },
	{ SECCOMP_RET_LOG, "SECCOMP_RET_LOG" },
	{ SECCOMP_RET_ALLOW, "SECCOMP_RET_ALLOW" },
};
static const struct espy_hook_name ancillary[] = {
	{ SKF_AD_PROTOCOL, "SKF_AD_PROTOCOL" },
	{ SKF_AD_PKTTYPE, "SKF_AD_PKTTYPE" },
	{ SKF_AD_IFINDEX, "SKF_AD_IFINDEX" },
	{ SKF_AD_NLATTR, "SKF_AD_NLATTR" },
	{ SKF_AD_NLATTR_NEST, "SKF_AD_NLATTR_NEST" },
	{ SKF_AD_MARK, "SKF_AD_MARK" },
	{ SKF_AD_QUEUE, "SKF_AD_QUEUE" },
	{ SKF_AD_HATYPE, "SKF_AD_HATYPE" },
	{ SKF_AD_RXHASH, "SKF_AD_RXHASH" },
	{ SKF_AD_CPU, "SKF_AD_CPU" },
	{ SKF_AD_ALU_XOR_X, "SKF_AD_ALU_XOR_X" },
	{ SKF_AD_VLAN_TAG, "SKF_AD_VLAN_TAG" },
	{ SKF_AD_VLAN_TAG_PRESENT, "SKF_AD_VLAN_TAG_PRESENT" },
	{ SKF_AD_PAY_OFFSET, "SKF_AD_PAY_OFFSET" },
	{ SKF_AD_RANDOM, "SKF_AD_RANDOM" },
	{ SKF_AD_VLAN_TPID, "SKF_AD_VLAN_TPID" },
};
static const struct espy_hook_name bases[] = {
	{ (uint32_t)SKF_AD_OFF, "SKF_AD_OFF" },
	{ (uint32_t)SKF_NET_OFF, "SKF_NET_OFF" },
	{ (uint32_t)SKF_LL_OFF, "SKF_LL_OFF" },
};
#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static void show_part(struct espy_walk *w, const struct espy_hook_name *names, size_t n, uint32_t value)
{
	espy_hook_part(w);
	espy_hook_named(w, names, n, value, "BPF_???");
}

static void show_code(struct espy_walk *w, uint16_t code)
{
	uint32_t left = 0;
	const uint32_t open = espy_hook_open_join(w, code);

	show_part(w, classes, LEN(classes), BPF_CLASS(code));
	switch (BPF_CLASS(code)) {
	case BPF_LD:
	case BPF_LDX:
		show_part(w, sizes, LEN(sizes), BPF_SIZE(code));
		show_part(w, modes, LEN(modes), BPF_MODE(code));
		break;
	case BPF_ST:
	case BPF_STX:
		left = code & ~7u;
		break;
	case BPF_ALU:
		show_part(w, sources, LEN(sources), BPF_SRC(code));
		show_part(w, alu_ops, LEN(alu_ops), BPF_OP(code));
		break;
	case BPF_JMP:
		show_part(w, sources, LEN(sources), BPF_SRC(code));
		show_part(w, jmp_ops, LEN(jmp_ops), BPF_OP(code));
		break;
	case BPF_RET:
		show_part(w, ret_values, LEN(ret_values), BPF_RVAL(code));
		left = code & ~(7u | 0x18u);
		break;
	case BPF_MISC:
		show_part(w, misc_ops, LEN(misc_ops), BPF_MISCOP(code));
		left = code & ~0xffu;
		break;
	}
	if (left) {
		espy_hook_part(w);
		espy_hook_word(w, "BPF_???", left, ESPY_TOKF_UNKNOWN);
	}
	espy_walk_close(w, open);
}

static void show_seccomp_ret(struct espy_walk *w, uint32_t k)
{
	const uint32_t open = espy_hook_open_join(w, k);

	espy_hook_part(w);
	espy_hook_named(w, seccomp_actions, LEN(seccomp_actions), k & SECCOMP_RET_ACTION_FULL, "SECCOMP_RET_???");
	if (k & SECCOMP_RET_DATA) {
		espy_hook_part(w);
		espy_hook_number(w, &espy_number_hex, k & SECCOMP_RET_DATA);
	}
	espy_walk_close(w, open);
}

/* Shows where a socket filter loads from, if that lies before the packet. */
static bool show_place(struct espy_walk *w, uint32_t k)
{
	size_t i = 0;

	while (i < LEN(bases) && k < bases[i].value)
		i++;
	if (i == LEN(bases))
		return false;
	const uint32_t open = espy_hook_open_sum(w, k);

	show_part(w, &bases[i], 1, bases[i].value);
	espy_hook_part(w);
	if (i)
		espy_hook_number(w, &espy_number_dec, k - bases[i].value);
	else
		espy_hook_named(w, ancillary, LEN(ancillary), k - bases[i].value, "SKF_AD_???");
	espy_walk_close(w, open);
	return true;
}

/* Shows the operand of a statement by what the kind of the program makes of it. */
static void show_operand(struct espy_walk *w, const struct sock_filter *f, bool seccomp)
{
	if (seccomp && BPF_CLASS(f->code) == BPF_RET)
		show_seccomp_ret(w, f->k);
	else if (seccomp || BPF_CLASS(f->code) != BPF_LD || BPF_MODE(f->code) != BPF_ABS || !show_place(w, f->k))
		espy_hook_number(w, &espy_number_hex, f->k);
}

static void show_insn(struct espy_walk *w, const struct sock_filter *f, bool seccomp)
{
	const bool jump = f->jt || f->jf;
	const uint32_t open = espy_hook_open_call(w, jump ? "BPF_JUMP" : "BPF_STMT", f->code, 0);

	espy_hook_part(w);
	show_code(w, f->code);
	espy_hook_part(w);
	if (!jump) {
		show_operand(w, f, seccomp);
	} else {
		espy_hook_number(w, &espy_number_hex, f->k);
		espy_hook_part(w);
		espy_hook_number(w, &espy_number_hex, f->jt);
		espy_hook_part(w);
		espy_hook_number(w, &espy_number_hex, f->jf);
	}
	espy_walk_close(w, open);
}

static bool insn(struct espy_walk *w, const struct espy_hooked *v, bool seccomp)
{
	struct sock_filter f;

	if (!v->bytes || v->len < sizeof(f))
		return false;
	memcpy(&f, v->bytes, sizeof(f));
	show_insn(w, &f, seccomp);
	return true;
}

bool espy_hook_bpf_insn(struct espy_walk *w, const struct espy_hooked *v)
{
	return insn(w, v, false);
}

bool espy_hook_bpf_insn_seccomp(struct espy_walk *w, const struct espy_hooked *v)
{
	return insn(w, v, true);
}

static void show_program(struct espy_walk *w, const struct espy_hooked *v, bool seccomp)
{
	const size_t size = sizeof(struct sock_filter);
	const uint32_t open = espy_walk_open(w, ESPY_GROUP_ARRAY, NULL, 0);

	for (size_t off = 0; off + size <= v->len; off += size) {
		struct sock_filter f;
		memcpy(&f, v->bytes + off, size);
		espy_walk_role(w, ESPY_ROLE_ELEM, "");
		show_insn(w, &f, seccomp);
	}
	if (v->want != UINT64_MAX && v->len / size < v->want / size)
		espy_walk_elided(w, w->mem->fault ? ESPY_ELIDED_FAULT : ESPY_ELIDED_MORE, v->addr + v->len / size * size);
	espy_walk_close(w, open);
}

/* Shows a program. Of one that stands among other bytes, up to their end, only the address is shown without -v. */
static bool program(struct espy_walk *w, const struct espy_hooked *v, bool seccomp)
{
	if (!v->bytes)
		return false;
	const bool inside = v->type->len_a == ESPY_NONE && v->type->len_b == ESPY_NONE;
	const struct espy_ways ways = espy_walk_part(w);
	if (inside && espy_walk_take(w, &ways, ESPY_MANNERS_BRIEF))
		espy_walk_address(w, v->addr);
	if (espy_walk_take(w, &ways, inside ? ~(unsigned)ESPY_MANNERS_BRIEF : ~0u))
		show_program(w, v, seccomp);
	espy_walk_join(w, &ways);
	return true;
}

bool espy_hook_bpf_filter(struct espy_walk *w, const struct espy_hooked *v)
{
	return program(w, v, false);
}

bool espy_hook_seccomp_filter(struct espy_walk *w, const struct espy_hooked *v)
{
	return program(w, v, true);
}

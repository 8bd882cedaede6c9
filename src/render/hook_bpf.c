/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Classic BPF programs, as the macros of linux/filter.h write them. */
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "render/impl.h"

struct name {
	uint32_t value;
	const char *name;
};

static const struct name classes[] = { { BPF_LD, "BPF_LD" },   { BPF_LDX, "BPF_LDX" }, { BPF_ST, "BPF_ST" },
				       { BPF_STX, "BPF_STX" }, { BPF_ALU, "BPF_ALU" }, { BPF_JMP, "BPF_JMP" },
				       { BPF_RET, "BPF_RET" }, { BPF_MISC, "BPF_MISC" } };
static const struct name sizes[] = { { BPF_W, "BPF_W" }, { BPF_H, "BPF_H" }, { BPF_B, "BPF_B" } };
static const struct name modes[] = { { BPF_IMM, "BPF_IMM" }, { BPF_ABS, "BPF_ABS" }, { BPF_IND, "BPF_IND" },
				     { BPF_MEM, "BPF_MEM" }, { BPF_LEN, "BPF_LEN" }, { BPF_MSH, "BPF_MSH" } };
static const struct name alu_ops[] = { { BPF_ADD, "BPF_ADD" }, { BPF_SUB, "BPF_SUB" }, { BPF_MUL, "BPF_MUL" },
				       { BPF_DIV, "BPF_DIV" }, { BPF_OR, "BPF_OR" },   { BPF_AND, "BPF_AND" },
				       { BPF_LSH, "BPF_LSH" }, { BPF_RSH, "BPF_RSH" }, { BPF_NEG, "BPF_NEG" },
				       { BPF_MOD, "BPF_MOD" }, { BPF_XOR, "BPF_XOR" } };
static const struct name jmp_ops[] = { { BPF_JA, "BPF_JA" }, { BPF_JEQ, "BPF_JEQ" }, { BPF_JGT, "BPF_JGT" },
				       { BPF_JGE, "BPF_JGE" }, { BPF_JSET, "BPF_JSET" } };
static const struct name sources[] = { { BPF_K, "BPF_K" }, { BPF_X, "BPF_X" } };
static const struct name ret_values[] = { { BPF_K, "BPF_K" }, { BPF_X, "BPF_X" }, { BPF_A, "BPF_A" } };
static const struct name misc_ops[] = { { BPF_TAX, "BPF_TAX" }, { BPF_TXA, "BPF_TXA" } };
static const struct name seccomp_actions[] = {
	{ SECCOMP_RET_KILL_PROCESS, "SECCOMP_RET_KILL_PROCESS" },
	{ SECCOMP_RET_KILL_THREAD, "SECCOMP_RET_KILL_THREAD" },
	{ SECCOMP_RET_TRAP, "SECCOMP_RET_TRAP" },
	{ SECCOMP_RET_ERRNO, "SECCOMP_RET_ERRNO" },
	{ SECCOMP_RET_USER_NOTIF, "SECCOMP_RET_USER_NOTIF" },
	{ SECCOMP_RET_TRACE, "SECCOMP_RET_TRACE" },
	{ SECCOMP_RET_LOG, "SECCOMP_RET_LOG" },
	{ SECCOMP_RET_ALLOW, "SECCOMP_RET_ALLOW" },
};
#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static void put_part(struct espy_text *t, const struct name *names, size_t n, uint32_t value, const char *unknown)
{
	for (size_t i = 0; i < n; i++) {
		if (names[i].value == value) {
			espy_buf__puts(t->b, names[i].name);
			return;
		}
	}
	espy_buf__hex(t->b, value);
	espy_text_comment(t);
	espy_buf__puts(t->b, unknown);
	espy_text_comment_end(t);
}

/* Of a code that has begun. */
static void put_next(struct espy_text *t, const struct name *names, size_t n, uint32_t value)
{
	espy_buf__putc(t->b, '|');
	put_part(t, names, n, value, "BPF_???");
}

static void put_code(struct espy_text *t, uint16_t code)
{
	struct espy_buf *b = t->b;
	uint32_t left = code & ~0xffu;

	put_part(t, classes, LEN(classes), BPF_CLASS(code), "BPF_???");
	switch (BPF_CLASS(code)) {
	case BPF_LD:
	case BPF_LDX:
		put_next(t, sizes, LEN(sizes), BPF_SIZE(code));
		put_next(t, modes, LEN(modes), BPF_MODE(code));
		break;
	case BPF_ST:
	case BPF_STX:
		left = code & ~7u;
		break;
	case BPF_ALU:
		put_next(t, sources, LEN(sources), BPF_SRC(code));
		put_next(t, alu_ops, LEN(alu_ops), BPF_OP(code));
		break;
	case BPF_JMP:
		put_next(t, sources, LEN(sources), BPF_SRC(code));
		put_next(t, jmp_ops, LEN(jmp_ops), BPF_OP(code));
		break;
	case BPF_RET:
		put_next(t, ret_values, LEN(ret_values), BPF_RVAL(code));
		left = code & ~(7u | 0x18u);
		break;
	case BPF_MISC:
		put_next(t, misc_ops, LEN(misc_ops), BPF_MISCOP(code));
		break;
	}
	if (left) {
		espy_buf__putc(b, '|');
		espy_buf__hex(b, left);
		espy_text_comment(t);
		espy_buf__puts(b, "BPF_???");
		espy_text_comment_end(t);
	}
}

static void put_seccomp_ret(struct espy_text *t, uint32_t k)
{
	put_part(t, seccomp_actions, LEN(seccomp_actions), k & SECCOMP_RET_ACTION_FULL, "SECCOMP_RET_???");
	if (k & SECCOMP_RET_DATA) {
		espy_buf__putc(t->b, '|');
		espy_buf__hex(t->b, k & SECCOMP_RET_DATA);
	}
}

static void put_insn(struct espy_text *t, const struct sock_filter *f, bool seccomp)
{
	struct espy_buf *b = t->b;
	bool jump = BPF_CLASS(f->code) == BPF_JMP || f->jt || f->jf;

	espy_buf__puts(b, jump ? "BPF_JUMP(" : "BPF_STMT(");
	put_code(t, f->code);
	espy_buf__put(b, ", ", 2);
	if (seccomp && f->code == (BPF_RET | BPF_K))
		put_seccomp_ret(t, f->k);
	else
		espy_buf__hex(b, f->k);
	if (jump) {
		espy_buf__put(b, ", ", 2);
		espy_buf__hex(b, f->jt);
		espy_buf__put(b, ", ", 2);
		espy_buf__hex(b, f->jf);
	}
	espy_buf__putc(b, ')');
}

bool espy_text_bpf_insn(struct espy_text *t, const struct espy_value *v, bool seccomp)
{
	struct sock_filter f;

	if (!v->bytes || v->len < sizeof(f))
		return false;
	memcpy(&f, v->bytes, sizeof(f));
	put_insn(t, &f, seccomp);
	return true;
}

void espy_text_bpf_filter(struct espy_text *t, const struct espy_value *v, bool seccomp)
{
	struct espy_buf *b = t->b;
	size_t insn = sizeof(struct sock_filter);

	espy_buf__putc(b, '[');
	for (size_t off = 0; off + insn <= v->len; off += insn) {
		struct sock_filter f;
		memcpy(&f, v->bytes + off, insn);
		if (off)
			espy_buf__put(b, ", ", 2);
		put_insn(t, &f, seccomp);
	}
	if (v->want != UINT64_MAX && v->len / insn < v->want / insn)
		espy_buf__puts(b, v->len >= insn ? ", ..." : "...");
	espy_buf__putc(b, ']');
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A filter is a classic BPF program whose jumps go forward only. So one pass from the first instruction to the last
 * sees every way through it: each instruction has the state in which it is reached, and where two ways meet the state
 * keeps what both know. With all arguments known there is one way, and the answer is the kernel's.
 */
#include "source/agent/seccomp_verdict.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include "arch/traced_call.h"

/* At most 32768 instructions in all of them are what the kernel takes. */
#define FILTERS_MAX 8192u
#define ACTION(ret) ((int32_t)((ret)&SECCOMP_RET_ACTION_FULL))

/* ---- 32 bits, some of which may be unknown */

struct word {
	uint32_t value; /* 0 where it is unknown */
	uint32_t unknown;
};

static struct word known(uint32_t value)
{
	return (struct word){ value, 0 };
}

static struct word join(struct word a, struct word b)
{
	const uint32_t unknown = a.unknown | b.unknown | (a.value ^ b.value);

	return (struct word){ a.value & ~unknown, unknown };
}

/* false: it ends the filter, with 0 */
static bool calculate(unsigned op, struct word a, struct word b, struct word *result)
{
	const bool all_known = !a.unknown && !b.unknown;
	uint32_t v = 0, u = ~0u;

	switch (op) {
	case BPF_AND:
		v = a.value & b.value;
		u = (a.unknown & (b.value | b.unknown)) | (b.unknown & a.value);
		break;
	case BPF_OR:
		v = a.value | b.value;
		u = (a.unknown | b.unknown) & ~v;
		break;
	case BPF_XOR:
		u = a.unknown | b.unknown;
		v = (a.value ^ b.value) & ~u;
		break;
	case BPF_LSH:
		if (!b.unknown) {
			v = a.value << (b.value & 31);
			u = a.unknown << (b.value & 31);
		}
		break;
	case BPF_RSH:
		if (!b.unknown) {
			v = a.value >> (b.value & 31);
			u = a.unknown >> (b.value & 31);
		}
		break;
	case BPF_DIV:
		if (!b.unknown && !b.value)
			return false;
		if (all_known) {
			v = a.value / b.value;
			u = 0;
		}
		break;
	default: /* carries reach bits that were known */
		if (!all_known)
			break;
		u = 0;
		v = op == BPF_ADD ? a.value + b.value : op == BPF_SUB ? a.value - b.value : a.value * b.value;
	}
	*result = (struct word){ v, u };
	return true;
}

enum answer { NO, YES, PERHAPS };

static enum answer compare(unsigned op, struct word a, struct word b)
{
	const uint32_t a_max = a.value | a.unknown, b_max = b.value | b.unknown;
	struct word both;

	switch (op) {
	case BPF_JEQ:
		if ((a.value ^ b.value) & ~(a.unknown | b.unknown))
			return NO;
		return a.unknown | b.unknown ? PERHAPS : YES;
	case BPF_JGT:
		return a.value > b_max ? YES : a_max <= b.value ? NO : PERHAPS;
	case BPF_JGE:
		return a.value >= b_max ? YES : a_max < b.value ? NO : PERHAPS;
	default: /* BPF_JSET */
		calculate(BPF_AND, a, b, &both);
		return both.value ? YES : both.unknown ? PERHAPS : NO;
	}
}

/* ---- one filter */

struct state {
	bool reached;
	struct word a, x, mem[BPF_MEMWORDS];
};

struct run {
	struct word data[16]; /* struct seccomp_data */
	struct state *at;     /* one for each instruction */
	unsigned cnt;
	uint32_t verdict;
	bool any;
};

static void returns(struct run *r, struct word value)
{
	const uint32_t ret = value.unknown ? SECCOMP_RET_KILL_PROCESS : value.value;

	/* Two ways to an error that is not the same one: which it is, is not known. */
	if (r->any && ACTION(ret) == ACTION(r->verdict) && ret != r->verdict)
		r->verdict &= SECCOMP_RET_ACTION_FULL;
	else if (!r->any || ACTION(ret) < ACTION(r->verdict))
		r->verdict = ret;
	r->any = true;
}

static void goes_to(struct run *r, const struct state *s, uint64_t to)
{
	struct state *at;

	if (to >= r->cnt) {
		returns(r, known(SECCOMP_RET_KILL_PROCESS));
		return;
	}
	at = &r->at[to];
	if (!at->reached) {
		*at = *s;
		return;
	}
	at->a = join(at->a, s->a);
	at->x = join(at->x, s->x);
	for (size_t i = 0; i < BPF_MEMWORDS; i++)
		at->mem[i] = join(at->mem[i], s->mem[i]);
}

/* A load, a store, a calculation: the state behind it. false: it ends here. */
static bool step(struct run *r, const struct sock_filter *f, struct state *s)
{
	const struct word operand = BPF_SRC(f->code) == BPF_X ? s->x : known(f->k);

	switch (f->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		if (f->k % 4 || f->k / 4 >= sizeof(r->data) / sizeof(r->data[0]))
			return false;
		s->a = r->data[f->k / 4];
		return true;
	case BPF_LD | BPF_W | BPF_LEN:
		s->a = known(sizeof(struct seccomp_data));
		return true;
	case BPF_LDX | BPF_W | BPF_LEN:
		s->x = known(sizeof(struct seccomp_data));
		return true;
	case BPF_LD | BPF_IMM:
		s->a = known(f->k);
		return true;
	case BPF_LDX | BPF_IMM:
		s->x = known(f->k);
		return true;
	case BPF_LD | BPF_MEM:
	case BPF_LDX | BPF_MEM:
		if (f->k >= BPF_MEMWORDS)
			return false;
		*(BPF_CLASS(f->code) == BPF_LD ? &s->a : &s->x) = s->mem[f->k];
		return true;
	case BPF_ST:
	case BPF_STX:
		if (f->k >= BPF_MEMWORDS)
			return false;
		s->mem[f->k] = f->code == BPF_ST ? s->a : s->x;
		return true;
	case BPF_MISC | BPF_TAX:
		s->x = s->a;
		return true;
	case BPF_MISC | BPF_TXA:
		s->a = s->x;
		return true;
	case BPF_ALU | BPF_NEG:
		return calculate(BPF_SUB, known(0), s->a, &s->a);
	case BPF_ALU | BPF_DIV | BPF_X:
		/* The way on which it is 0 ends here. */
		if (!s->x.value && s->x.unknown)
			returns(r, known(SECCOMP_RET_KILL_THREAD));
		return calculate(BPF_DIV, s->a, s->x, &s->a);
	case BPF_ALU | BPF_LSH | BPF_K:
	case BPF_ALU | BPF_RSH | BPF_K:
		return f->k < 32 && calculate(BPF_OP(f->code), s->a, operand, &s->a);
	case BPF_ALU | BPF_LSH | BPF_X:
	case BPF_ALU | BPF_RSH | BPF_X:
	case BPF_ALU | BPF_ADD | BPF_K:
	case BPF_ALU | BPF_ADD | BPF_X:
	case BPF_ALU | BPF_SUB | BPF_K:
	case BPF_ALU | BPF_SUB | BPF_X:
	case BPF_ALU | BPF_MUL | BPF_K:
	case BPF_ALU | BPF_MUL | BPF_X:
	case BPF_ALU | BPF_DIV | BPF_K:
	case BPF_ALU | BPF_AND | BPF_K:
	case BPF_ALU | BPF_AND | BPF_X:
	case BPF_ALU | BPF_OR | BPF_K:
	case BPF_ALU | BPF_OR | BPF_X:
	case BPF_ALU | BPF_XOR | BPF_K:
	case BPF_ALU | BPF_XOR | BPF_X:
		return calculate(BPF_OP(f->code), s->a, operand, &s->a);
	default:
		return false;
	}
}

static void execute(struct run *r, const struct sock_filter *f, unsigned pc)
{
	struct state s = r->at[pc];

	switch (f->code) {
	case BPF_RET | BPF_K:
		returns(r, known(f->k));
		break;
	case BPF_RET | BPF_A:
		returns(r, s.a);
		break;
	case BPF_JMP | BPF_JA:
		goes_to(r, &s, (uint64_t)pc + 1 + f->k);
		break;
	case BPF_JMP | BPF_JEQ | BPF_K:
	case BPF_JMP | BPF_JEQ | BPF_X:
	case BPF_JMP | BPF_JGT | BPF_K:
	case BPF_JMP | BPF_JGT | BPF_X:
	case BPF_JMP | BPF_JGE | BPF_K:
	case BPF_JMP | BPF_JGE | BPF_X:
	case BPF_JMP | BPF_JSET | BPF_K:
	case BPF_JMP | BPF_JSET | BPF_X: {
		const enum answer is = compare(BPF_OP(f->code), s.a, BPF_SRC(f->code) == BPF_X ? s.x : known(f->k));

		if (is != NO)
			goes_to(r, &s, (uint64_t)pc + 1 + f->jt);
		if (is != YES)
			goes_to(r, &s, (uint64_t)pc + 1 + f->jf);
		break;
	}
	default:
		if (step(r, f, &s))
			goes_to(r, &s, (uint64_t)pc + 1);
		else
			returns(r, known(SECCOMP_RET_KILL_THREAD));
	}
}

uint32_t espy_seccomp__run(const struct sock_filter *insns, unsigned cnt, const struct espy_seccomp_call *call)
{
	struct run r = { .cnt = cnt, .verdict = SECCOMP_RET_KILL_PROCESS };

	if (!cnt || cnt > BPF_MAXINSNS)
		return SECCOMP_RET_KILL_PROCESS;
	r.at = calloc(cnt, sizeof(*r.at));
	if (!r.at)
		return SECCOMP_RET_KILL_PROCESS;
	r.data[0] = known(call->nr);
	r.data[1] = known(espy_arch_audits[ESPY_AUDIT_NATIVE].audit);
	r.data[2] = r.data[3] = (struct word){ 0, ~0u }; /* where it is made from */
	for (size_t i = 0; i < 6; i++) {
		const uint64_t unknown = call->unknown[i], value = call->args[i] & ~unknown;

		r.data[4 + 2 * i] = (struct word){ (uint32_t)value, (uint32_t)unknown };
		r.data[5 + 2 * i] = (struct word){ (uint32_t)(value >> 32), (uint32_t)(unknown >> 32) };
	}
	r.at[0].reached = true;
	for (unsigned pc = 0; pc < cnt; pc++)
		if (r.at[pc].reached)
			execute(&r, &insns[pc], pc);
	free(r.at);
	return r.verdict;
}

uint32_t espy_seccomp__verdict(const struct espy_seccomp *s, const struct espy_seccomp_call *call)
{
	uint32_t verdict = SECCOMP_RET_ALLOW;

	for (size_t i = s->cnt; i-- > 0;) {
		const uint32_t ret = espy_seccomp__run(s->v[i].insns, s->v[i].cnt, call);

		if (ACTION(ret) < ACTION(verdict))
			verdict = ret;
	}
	return verdict;
}

bool espy_seccomp__allows(uint32_t verdict)
{
	const uint32_t action = verdict & SECCOMP_RET_ACTION_FULL;

	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

/* ---- the filters of a task */

static long get_filter(pid_t tid, size_t i, struct sock_filter *to)
{
	const long cnt = ptrace((enum __ptrace_request)PTRACE_SECCOMP_GET_FILTER, tid, (void *)i, to);

	return cnt < 0 ? -errno : cnt;
}

int espy_seccomp__read(struct espy_seccomp *s, pid_t tid)
{
	*s = (struct espy_seccomp){ 0 };
	for (;;) {
		long cnt = get_filter(tid, s->cnt, NULL);
		struct espy_seccomp_filter *v;

		if (cnt == -ENOENT)
			return 0;
		if (cnt >= 0 && (!cnt || cnt > BPF_MAXINSNS || s->cnt >= FILTERS_MAX))
			cnt = -E2BIG;
		v = cnt < 0 ? NULL : realloc(s->v, (s->cnt + 1) * sizeof(*v));
		if (v) {
			s->v = v;
			v[s->cnt] =
				(struct espy_seccomp_filter){ calloc((size_t)cnt, sizeof(*v->insns)), (unsigned)cnt };
			if (v[s->cnt++].insns)
				/* A stopped task installs none: it is as long as it was. */
				cnt = get_filter(tid, s->cnt - 1, v[s->cnt - 1].insns);
			else
				cnt = -ENOMEM;
		} else if (cnt >= 0) {
			cnt = -ENOMEM;
		}
		if (cnt < 0) {
			espy_seccomp__free(s);
			return (int)cnt;
		}
	}
}

void espy_seccomp__free(struct espy_seccomp *s)
{
	for (size_t i = 0; i < s->cnt; i++)
		free(s->v[i].insns);
	free(s->v);
	*s = (struct espy_seccomp){ 0 };
}

bool espy_seccomp__same(const struct espy_seccomp *a, const struct espy_seccomp *b)
{
	if (a->cnt != b->cnt)
		return false;
	for (size_t i = 0; i < a->cnt; i++)
		if (a->v[i].cnt != b->v[i].cnt ||
		    memcmp(a->v[i].insns, b->v[i].insns, a->v[i].cnt * sizeof(*a->v[i].insns)))
			return false;
	return true;
}

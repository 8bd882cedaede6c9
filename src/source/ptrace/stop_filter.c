/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A seccomp filter that lets unwanted calls pass, so that only the wanted calls stop.
 *
 * When it is used. A task cannot be rid of a filter, and where no tracer listens the kernel answers the filtered calls
 * with ENOSYS. So the filter harms a program that outlives the trace, were it only because the tracer was killed with
 * -9. It is used by itself only where tasks die with the tracer (kill_on_exit), and else when it was asked for
 * (use_seccomp). Never:
 *   - on attach: a filter cannot be put into a running process from outside;
 *   - without follow: children would have the filter and no tracer;
 *   - if all calls are wanted: each would stop anyway;
 *   - if the kernel refuses it: the command is started again without, which is said once.
 * Without CAP_SYS_ADMIN the kernel wants no_new_privs. That changes what set-user-ID programs can do, but not more than
 * an unprivileged tracer does: under one they gain no privilege either. It stays when the trace has ended.
 *
 * The program uses only what the kernel can evaluate ahead (load of arch and nr, compares, constant answers): since
 * Linux 5.11 calls that are let pass then cost a look in a bitmap. So it is a tree of compares over ranges of numbers.
 */
#include "ptrace_source.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of one ABI; a number that is wanted for a value of its first argument only. */
struct wish {
	const struct espy_call_set *set;
	const struct espy_arch_call *extra;
};

struct builder {
	struct sock_filter *prog;
	size_t n, max;
	bool full;
};

static size_t put(struct builder *b, struct sock_filter insn)
{
	if (b->n == b->max) {
		b->full = true;
		return 0;
	}
	b->prog[b->n] = insn;
	return b->n++;
}

/* Makes a jump that was put before lead to here. */
static void land(struct builder *b, size_t jump)
{
	if (!b->full)
		b->prog[jump].k = (uint32_t)(b->n - jump - 1);
}

bool espy_ptrace__may_filter(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = { 0 };

	return !syscall(SYS_capget, &h, d) && (d[0].effective >> CAP_SYS_ADMIN & 1);
}

bool espy_ptrace__filter_useful(const struct espy_ptrace *p)
{
	unsigned abi, i, wanted = 0;

	if (!p->opts.follow || !(p->opts.stops.seccomp || (p->opts.stops.kill_on_exit && espy_ptrace__may_filter())))
		return false;
	for (abi = 0; abi < ESPY_ABI_CNT; abi++) {
		const struct espy_call_set *set = espy_ptrace__set(p, abi);

		if (!set)
			continue;
		if (set->all_wanted)
			return false;
		for (i = 0; i < ESPY_MAX_SYSCALLS / 64; i++)
			wanted += (unsigned)__builtin_popcountll(set->wanted[i]);
	}
	/* An ABI that was not set is recorded whole; a program that uses none of its calls pays nothing for that. */
	return wanted > 0 && espy_ptrace__set(p, ESPY_ABI_NATIVE);
}

static bool wishes(const struct wish *w, uint32_t nr)
{
	const struct espy_arch_call *c;

	for (c = w->extra; c->nr != UINT32_MAX; c++)
		if (c->nr == nr)
			return true;
	return espy_call_set__wants_any(w->set, nr);
}

/* Returns the call if nr stops for one value of its first argument only; else NULL. */
static const struct espy_arch_call *conditional(const struct wish *w, uint32_t nr)
{
	const struct espy_arch_call *c;

	for (c = w->extra; c->nr != UINT32_MAX; c++)
		if (c->nr == nr && c->arg0 != UINT32_MAX && !espy_call_set__wants(w->set, nr))
			return c;
	return NULL;
}

#define INSN(c, k_) ((struct sock_filter){ .code = (c), .k = (k_) })
#define RET_TRACE INSN(BPF_RET | BPF_K, SECCOMP_RET_TRACE | ESPY_FILTER_MARK)
#define RET_ALLOW INSN(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void put_answer(struct builder *b, const struct wish *w, uint32_t nr)
{
	const struct espy_arch_call *c = conditional(w, nr);

	if (c) {
		put(b, INSN(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])));
		put(b, (struct sock_filter){ .code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 0, .jf = 1, .k = c->arg0 });
		put(b, RET_TRACE);
		put(b, RET_ALLOW);
	} else {
		put(b, wishes(w, nr) ? RET_TRACE : RET_ALLOW);
	}
}

/* starts[lo..hi): first numbers of ranges with one answer each. The tree answers for them all. */
static void put_tree(struct builder *b, const struct wish *w, const uint32_t *starts, size_t lo, size_t hi,
		     uint32_t bit)
{
	size_t mid = lo + (hi - lo) / 2, jump;

	if (hi - lo == 1) {
		put_answer(b, w, starts[lo]);
		return;
	}
	/* A conditional jump reaches 255 instructions; a plain one reaches all. */
	put(b, (struct sock_filter){ .code = BPF_JMP | BPF_JGE | BPF_K, .jt = 0, .jf = 1, .k = starts[mid] | bit });
	jump = put(b, INSN(BPF_JMP | BPF_JA, 0));
	put_tree(b, w, starts, lo, mid, bit);
	land(b, jump);
	put_tree(b, w, starts, mid, hi, bit);
}

/* Puts the numbers of one ABI, from 0 to the end of the table and all behind. */
static void put_abi(struct builder *b, const struct wish *w, uint32_t bit)
{
	uint32_t starts[ESPY_MAX_SYSCALLS + 1], nr;
	size_t n = 0;

	for (nr = 0; nr <= ESPY_MAX_SYSCALLS; nr++)
		if (!nr || conditional(w, nr) || conditional(w, nr - 1) || wishes(w, nr) != wishes(w, nr - 1))
			starts[n++] = nr;
	put_tree(b, w, starts, 0, n, bit);
}

static struct wish wish_of(const struct espy_ptrace *p, enum espy_abi abi)
{
	return (struct wish){ .set = espy_ptrace__set(p, abi), .extra = espy_arch__filter_calls(abi) };
}

/* Puts the calls of one audit architecture. Behind them the next one begins. */
static void put_audit(struct builder *b, const struct espy_ptrace *p, const struct espy_arch_audit *a)
{
	size_t next, tagged = 0;
	struct wish w = wish_of(p, a->abi);

	put(b, (struct sock_filter){ .code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 1, .k = a->audit });
	next = put(b, INSN(BPF_JMP | BPF_JA, 0));
	put(b, INSN(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
	/* -1, which has all bits, is no call's number and falls behind either table. */
	if (a->tagged != ESPY_ABI_CNT) {
		put(b, (struct sock_filter){ .code = BPF_JMP | BPF_JGE | BPF_K, .jt = 0, .jf = 1, .k = ESPY_ABI_TAG });
		tagged = put(b, INSN(BPF_JMP | BPF_JA, 0));
	}
	put_abi(b, &w, 0);
	if (a->tagged != ESPY_ABI_CNT) {
		land(b, tagged);
		w = wish_of(p, a->tagged);
		put_abi(b, &w, ESPY_ABI_TAG);
	}
	land(b, next);
}

int espy_ptrace__filter_build(const struct espy_ptrace *p, struct sock_filter *prog, size_t max)
{
	struct builder b = { .prog = prog, .max = max };

	put(&b, INSN(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
	for (unsigned i = 0; i < ESPY_AUDIT_CNT; i++)
		put_audit(&b, p, &espy_arch_audits[i]);
	put(&b, RET_TRACE); /* an architecture that we do not know: rather one stop too many */
	return b.full ? -E2BIG : (int)b.n;
}

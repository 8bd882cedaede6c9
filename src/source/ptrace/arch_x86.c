/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the ptrace source must know of x86: ABIs, registers, and the few numbers it cannot get from a table. */
#include "ptrace_source.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/elf.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/user.h>

#define X32_BIT 0x40000000u

enum espy_abi espy_arch__abi(uint32_t audit_arch, uint64_t *nr)
{
	*nr &= 0xffffffffu; /* the kernel takes the number from the low half */
	if (audit_arch == AUDIT_ARCH_I386)
		return ESPY_ABI_I386;
	/* syscall(-1) has the bit as well and is no x32 call */
	if ((*nr & X32_BIT) && !(*nr & 0x80000000u)) {
		*nr &= ~(uint64_t)X32_BIT;
		return ESPY_ABI_X32;
	}
	return ESPY_ABI_X86_64;
}

uint32_t espy_arch__audit(enum espy_abi abi, uint32_t *nr_bit)
{
	*nr_bit = abi == ESPY_ABI_X32 ? X32_BIT : 0;
	return abi == ESPY_ABI_I386 ? AUDIT_ARCH_I386 : AUDIT_ARCH_X86_64;
}

int espy_arch__set_call(const struct espy_ptask *t, uint32_t nr)
{
	const uint64_t bit = t->regs.abi == ESPY_ABI_X32 && nr != UINT32_MAX ? X32_BIT : 0;
	const uint64_t value = nr == UINT32_MAX ? UINT64_MAX : nr | bit;

	return ptrace(PTRACE_POKEUSER, t->tid, offsetof(struct user_regs_struct, orig_rax), value) ? -errno : 0;
}

int espy_arch__set_result(const struct espy_ptask *t, int64_t result)
{
	return ptrace(PTRACE_POKEUSER, t->tid, offsetof(struct user_regs_struct, rax), result) ? -errno : 0;
}

/*
 * Calls that make tasks, by number: their flags are in a register, or in memory, or follow from the call.
 * Others (a new one) are not known, and the record says so with 0.
 */
enum flags_in { FLAGS_IN_ARG0 = 1, FLAGS_IN_MEMORY, FLAGS_CONST };
struct maker {
	uint32_t nr;
	enum flags_in in;
	uint64_t flags;
};
static const struct maker makers_64[] = {
	{ 56, FLAGS_IN_ARG0, 0 },			       /* clone */
	{ 57, FLAGS_CONST, SIGCHLD },			       /* fork */
	{ 58, FLAGS_CONST, CLONE_VM | CLONE_VFORK | SIGCHLD }, /* vfork */
	{ 435, FLAGS_IN_MEMORY, 0 },			       /* clone3 */
	{ UINT32_MAX, FLAGS_CONST, 0 },
};
static const struct maker makers_32[] = {
	{ 120, FLAGS_IN_ARG0, 0 },
	{ 2, FLAGS_CONST, SIGCHLD },
	{ 190, FLAGS_CONST, CLONE_VM | CLONE_VFORK | SIGCHLD },
	{ 435, FLAGS_IN_MEMORY, 0 },
	{ UINT32_MAX, FLAGS_CONST, 0 },
};

struct user_regs_32 {
	uint32_t ebx, ecx, edx, esi, edi, ebp, eax, ds, es, fs, gs, orig_eax, eip, cs, eflags, esp, ss;
};

uint64_t espy_arch__clone_flags(struct espy_ptask *t, int event)
{
	union {
		struct user_regs_struct r64;
		struct user_regs_32 r32;
	} regs;
	struct iovec iov = { .iov_base = &regs, .iov_len = sizeof(regs) };
	const struct maker *m = makers_64;
	uint64_t nr, arg0, flags;

	(void)event;
	if (ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_PRSTATUS, &iov))
		return 0;
	if (iov.iov_len == sizeof(regs.r32)) {
		nr = regs.r32.orig_eax;
		arg0 = regs.r32.ebx;
		m = makers_32;
	} else {
		nr = regs.r64.orig_rax & ~(uint64_t)X32_BIT;
		arg0 = regs.r64.rdi;
	}
	/* A 64-bit program may use int 0x80 too: what the entry stop told is surer than the width of the registers. */
	if (t->in_call) {
		nr = t->regs.nr;
		arg0 = t->regs.args[0];
		m = t->regs.abi == ESPY_ABI_I386 ? makers_32 : makers_64;
	}
	while (m->nr != UINT32_MAX && m->nr != nr)
		m++;
	switch (m->in) {
	case FLAGS_IN_ARG0:
		return arg0;
	case FLAGS_IN_MEMORY:
		if (espy_task_mem__read(&t->mem, arg0, &flags, sizeof(flags)) == sizeof(flags))
			return flags;
		return 0;
	case FLAGS_CONST:
		break;
	}
	return m->flags;
}

/* seccomp; prctl(PR_SET_SECCOMP) */
static const struct espy_arch_call filter_calls_64[] = { { 317, UINT32_MAX },
							 { 157, PR_SET_SECCOMP },
							 { UINT32_MAX, 0 } };
static const struct espy_arch_call filter_calls_32[] = { { 354, UINT32_MAX },
							 { 172, PR_SET_SECCOMP },
							 { UINT32_MAX, 0 } };

const struct espy_arch_call *espy_arch__filter_calls(enum espy_abi abi)
{
	return abi == ESPY_ABI_I386 ? filter_calls_32 : filter_calls_64;
}

bool espy_arch__installs_filter(const struct espy_call_regs *regs, bool *all_threads)
{
	const struct espy_arch_call *c = espy_arch__filter_calls(regs->abi);
	bool is_seccomp = regs->nr == c[0].nr;

	*all_threads = is_seccomp && (regs->args[1] & SECCOMP_FILTER_FLAG_TSYNC);
	if (is_seccomp)
		return (uint32_t)regs->args[0] == SECCOMP_SET_MODE_FILTER ||
		       (uint32_t)regs->args[0] == SECCOMP_SET_MODE_STRICT;
	return regs->nr == c[1].nr && (uint32_t)regs->args[0] == c[1].arg0;
}

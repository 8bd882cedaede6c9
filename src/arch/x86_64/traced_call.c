/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/traced_call.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/elf.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include "arch/x86_64/calls.h"

const struct espy_arch_audit espy_arch_audits[ESPY_AUDIT_CNT] = {
	[ESPY_AUDIT_NATIVE] = { AUDIT_ARCH_X86_64, ESPY_ABI_X86_64, ESPY_ABI_X32 },
	[ESPY_AUDIT_COMPAT] = { AUDIT_ARCH_I386, ESPY_ABI_I386, ESPY_ABI_CNT },
};

enum espy_abi espy_arch__abi(uint32_t audit_arch, uint64_t *nr)
{
	*nr &= 0xffffffffu; /* the kernel takes the number from the low half */
	if (audit_arch == AUDIT_ARCH_I386)
		return ESPY_ABI_I386;
	/* syscall(-1) has the bit as well and is no x32 call */
	if ((*nr & ESPY_ABI_TAG) && !(*nr & 0x80000000u)) {
		*nr &= ~(uint64_t)ESPY_ABI_TAG;
		return ESPY_ABI_X32;
	}
	return ESPY_ABI_X86_64;
}

int espy_arch__set_call(pid_t tid, enum espy_abi abi, uint32_t nr)
{
	const uint64_t bit = abi == ESPY_ABI_X32 && nr != UINT32_MAX ? ESPY_ABI_TAG : 0;
	const uint64_t value = nr == UINT32_MAX ? UINT64_MAX : nr | bit;

	return ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, orig_rax), value) ? -errno : 0;
}

int espy_arch__set_result(pid_t tid, int64_t result)
{
	return ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, rax), result) ? -errno : 0;
}

struct user_regs_32 {
	uint32_t ebx, ecx, edx, esi, edi, ebp, eax, ds, es, fs, gs, orig_eax, eip, cs, eflags, esp, ss;
};

int espy_arch__get_call(pid_t tid, enum espy_abi *abi, uint64_t *nr, uint64_t *arg0)
{
	union {
		struct user_regs_struct r64;
		struct user_regs_32 r32;
	} regs;
	struct iovec iov = { .iov_base = &regs, .iov_len = sizeof(regs) };

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &iov))
		return -errno;
	if (iov.iov_len == sizeof(regs.r32)) {
		*abi = ESPY_ABI_I386;
		*nr = regs.r32.orig_eax;
		*arg0 = regs.r32.ebx;
	} else {
		*abi = ESPY_ABI_X86_64;
		*nr = regs.r64.orig_rax & ~(uint64_t)ESPY_ABI_TAG;
		*arg0 = regs.r64.rdi;
	}
	return 0;
}

bool espy_arch__is_probe_call(enum espy_abi abi, uint32_t nr)
{
	return abi == ESPY_ABI_X86_64 && (nr == ESPY_NR_URETPROBE || nr == ESPY_NR_UPROBE);
}

struct maker {
	uint32_t nr;
	enum espy_arch_flags_in in;
	uint64_t flags;
};
static const struct maker makers_64[] = {
	{ ESPY_NR_CLONE, ESPY_FLAGS_IN_ARG0, 0 },
	{ ESPY_NR_FORK, ESPY_FLAGS_CONST, SIGCHLD },
	{ ESPY_NR_VFORK, ESPY_FLAGS_CONST, CLONE_VM | CLONE_VFORK | SIGCHLD },
	{ ESPY_NR_CLONE3, ESPY_FLAGS_AT_ARG0, 0 },
	{ UINT32_MAX, ESPY_FLAGS_CONST, 0 },
};
static const struct maker makers_32[] = {
	{ ESPY_NR32_CLONE, ESPY_FLAGS_IN_ARG0, 0 },
	{ ESPY_NR32_FORK, ESPY_FLAGS_CONST, SIGCHLD },
	{ ESPY_NR32_VFORK, ESPY_FLAGS_CONST, CLONE_VM | CLONE_VFORK | SIGCHLD },
	{ ESPY_NR32_CLONE3, ESPY_FLAGS_AT_ARG0, 0 },
	{ UINT32_MAX, ESPY_FLAGS_CONST, 0 },
};

enum espy_arch_flags_in espy_arch__task_flags(enum espy_abi abi, uint64_t nr, uint64_t *flags)
{
	const struct maker *m = abi == ESPY_ABI_I386 ? makers_32 : makers_64;

	while (m->nr != UINT32_MAX && m->nr != nr)
		m++;
	*flags = m->flags;
	return m->in;
}

static const struct espy_arch_call filter_calls_64[] = { { ESPY_NR_SECCOMP, UINT32_MAX },
							 { ESPY_NR_PRCTL, PR_SET_SECCOMP },
							 { UINT32_MAX, 0 } };
static const struct espy_arch_call filter_calls_32[] = { { ESPY_NR32_SECCOMP, UINT32_MAX },
							 { ESPY_NR32_PRCTL, PR_SET_SECCOMP },
							 { UINT32_MAX, 0 } };

const struct espy_arch_call *espy_arch__filter_calls(enum espy_abi abi)
{
	return abi == ESPY_ABI_I386 ? filter_calls_32 : filter_calls_64;
}

bool espy_arch__installs_filter(enum espy_abi abi, uint32_t nr, const uint64_t args[6], bool *all_threads)
{
	const struct espy_arch_call *c = espy_arch__filter_calls(abi);
	const bool is_seccomp = nr == c[0].nr;

	*all_threads = is_seccomp && (args[1] & SECCOMP_FILTER_FLAG_TSYNC);
	if (is_seccomp)
		return (uint32_t)args[0] == SECCOMP_SET_MODE_FILTER || (uint32_t)args[0] == SECCOMP_SET_MODE_STRICT;
	return nr == c[1].nr && (uint32_t)args[0] == c[1].arg0;
}

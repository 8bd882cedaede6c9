/* SPDX-License-Identifier: GPL-2.0-only */
/* See arch/machine_regs.bpf.h. */
#ifndef ESPY_ARCH_X86_64_REGS_BPF_H
#define ESPY_ARCH_X86_64_REGS_BPF_H

#include "arch/call_abi.h"
#include "arch/machine_regs.h"

#define ARCH_INLINE static inline __attribute__((always_inline)) /* libbpf's headers come later */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* The user's registers. */
struct pt_regs {
#define REG(name, member) unsigned long member;
	ESPY_REGISTERS(REG)
#undef REG
};

struct thread_info {
	u32 status;
};

struct thread_struct {
	unsigned long fsbase;
};

#pragma clang attribute pop

/* Is the task in a 32-bit call? */
#define IS_COMPAT(task) ((task)->thread_info.status & 0x0002) /* TS_COMPAT */

/* Where the task keeps its thread-local memory: C libraries put it at the end of a thread's stack. */
#define THREAD_POINTER(task) ((task)->thread.fsbase)

/* The number of a call, with the bit of a tagged one. */
ARCH_INLINE u64 call_nr(const struct pt_regs *regs)
{
	return regs->orig_ax;
}

/* An argument of a call: of a native or tagged one, and of a 32-bit one. */
ARCH_INLINE u64 reg_arg(const struct pt_regs *regs, u32 i)
{
	switch (i) {
	case 0: return regs->di;
	case 1: return regs->si;
	case 2: return regs->dx;
	case 3: return regs->r10;
	case 4: return regs->r8;
	default: return regs->r9;
	}
}
ARCH_INLINE u32 compat_arg(const struct pt_regs *regs, u32 i)
{
	switch (i) {
	case 0: return regs->bx;
	case 1: return regs->cx;
	case 2: return regs->dx;
	case 3: return regs->si;
	case 4: return regs->di;
	default: return regs->bp;
	}
}

/* An argument of a function at its entry: in the order of ESPY_REG_ARGS. */
ARCH_INLINE u64 function_arg(const struct pt_regs *regs, u32 i)
{
	return i == 3 ? regs->cx : reg_arg(regs, i);
}
/* What the stack pointer was at the entry of a function that has just returned: the return address has been taken from the stack. */
ARCH_INLINE u64 entry_sp(const struct pt_regs *regs)
{
	return regs->sp - 8;
}

/* Right behind a call the kernel leaves the place to go on at in a second register, too; elsewhere something else is there. */
ARCH_INLINE bool is_behind_call(const struct pt_regs *regs)
{
	return regs->cx == regs->ip;
}

#undef ARCH_INLINE

#endif

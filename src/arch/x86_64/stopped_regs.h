/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See arch/machine_stopped.h. */
#ifndef ESPY_ARCH_X86_64_STOPPED_REGS_H
#define ESPY_ARCH_X86_64_STOPPED_REGS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>
#include "arch/machine_regs.h"

/* Reads the registers of a stopped task, and writes them. 0, or -errno. */
static inline int espy_stopped__get(pid_t tid, struct user_regs_struct *r)
{
	return ptrace(PTRACE_GETREGS, tid, NULL, r) ? -errno : 0;
}
static inline int espy_stopped__set(pid_t tid, const struct user_regs_struct *r)
{
	return ptrace(PTRACE_SETREGS, tid, NULL, r) ? -errno : 0;
}

/* The same registers, copied by the kernel, in the order of enum espy_reg: struct user_regs_struct begins so. */
static inline void espy_stopped__of(struct user_regs_struct *r, const uint64_t regs[ESPY_REG_CNT])
{
	memset(r, 0, sizeof(*r));
	memcpy(r, regs, ESPY_REG_CNT * sizeof(*regs));
}

static inline uint64_t espy_stopped__ip(const struct user_regs_struct *r)
{
	return r->rip;
}
static inline void espy_stopped__set_ip(struct user_regs_struct *r, uint64_t ip)
{
	r->rip = ip;
}
static inline uint64_t espy_stopped__sp(const struct user_regs_struct *r)
{
	return r->rsp;
}
/* Returns the number of the call that the task is in; below 0: it is in none. */
static inline int64_t espy_stopped__call(const struct user_regs_struct *r)
{
	return (int64_t)r->orig_rax;
}
/* Tells whether the task executes 64-bit code. */
static inline bool espy_stopped__is_native(const struct user_regs_struct *r)
{
	return (r->cs & 0xffff) == 0x33; /* the kernel's segment of such code */
}

#define ESPY_DWARF_REGS 17
#define ESPY_DWARF_SP 7	 /* the stack pointer, in 64-bit code */
#define ESPY_DWARF_RA 16 /* the return address */
/* Gives the registers by their DWARF numbers, from 0 on (System V ABI of x86-64, of i386 for 32-bit code). Returns how
 * many. */
static inline unsigned espy_stopped__by_dwarf(const struct user_regs_struct *r, uint64_t regs[ESPY_DWARF_REGS])
{
	const uint64_t native[ESPY_DWARF_REGS] = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
						   r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
						   r->r12, r->r13, r->r14, r->r15, r->rip };
	const uint64_t compat[] = { r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi, r->rip };
	const unsigned cnt = espy_stopped__is_native(r) ? ESPY_DWARF_REGS : sizeof(compat) / sizeof(compat[0]);

	for (unsigned i = 0; i < cnt; i++)
		regs[i] = cnt == ESPY_DWARF_REGS ? native[i] : compat[i];
	return cnt;
}

#endif

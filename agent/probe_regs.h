/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The registers of a hit, on the stack as in enum espy_reg. For trampoline.S and return_stubs.S. x86-64. */
#ifndef ESPY_AGENT_PROBE_REGS_H
#define ESPY_AGENT_PROBE_REGS_H

#define REGS (21 * 8)

	/* Keeps the general registers but %rax and %rsp. */
	.macro	keep_registers
	movq	%r15, 0(%rsp)
	movq	%r14, 8(%rsp)
	movq	%r13, 16(%rsp)
	movq	%r12, 24(%rsp)
	movq	%rbp, 32(%rsp)
	movq	%rbx, 40(%rsp)
	movq	%r11, 48(%rsp)
	movq	%r10, 56(%rsp)
	movq	%r9, 64(%rsp)
	movq	%r8, 72(%rsp)
	movq	%rcx, 88(%rsp)
	movq	%rdx, 96(%rsp)
	movq	%rsi, 104(%rsp)
	movq	%rdi, 112(%rsp)
	.endm

	/* Gives back those that C code changes, but %rax and %rdx. */
	.macro	give_back_registers
	movq	48(%rsp), %r11
	movq	56(%rsp), %r10
	movq	64(%rsp), %r9
	movq	72(%rsp), %r8
	movq	88(%rsp), %rcx
	movq	104(%rsp), %rsi
	movq	112(%rsp), %rdi
	.endm

#endif

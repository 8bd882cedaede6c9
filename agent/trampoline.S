/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From a mark's cold block (include/espy/mark.h) into the agent. x86-64.
 *
 * The cold block has lowered %rsp by 128 for the red zone and called us: %rax = arguments, %r11 = the mark. It knows of
 * no other register that changes, so we keep them all. C code behind it is compiled for general registers only, and does
 * without the alignment of the stack that others expect (event_monotonic makes it).
 */
	.text

	.globl	espy_agent_hook
	.hidden	espy_agent_hook
	.type	espy_agent_hook, @function
	.p2align 6
espy_agent_hook:
	.cfi_startproc
	/* The caller's %rsp was 128 higher before it called: unwinding goes on there. */
	.cfi_def_cfa %rsp, 8 + 128
	.cfi_offset %rip, -8 - 128
	endbr64
	.irp	reg, rdi, rsi, rdx, rcx, r8, r9, r10
	pushq	%\reg
	.cfi_adjust_cfa_offset 8
	.endr
	movq	%rax, %rdi
	movq	%r11, %rsi
	call	espy_agent_event
	.irp	reg, r10, r9, r8, rcx, rdx, rsi, rdi
	popq	%\reg
	.cfi_adjust_cfa_offset -8
	.endr
	ret
	.cfi_endproc
	.size	espy_agent_hook, . - espy_agent_hook

/* void espy_agent_keep_fpu(fn, a, b): fn(a, b) may use any register; the program gets its own back. */
	.globl	espy_agent_keep_fpu
	.hidden	espy_agent_keep_fpu
	.type	espy_agent_keep_fpu, @function
	.p2align 4
espy_agent_keep_fpu:
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq	%rbx
	.cfi_offset %rbx, -24
	movq	%rdi, %rcx
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movl	espy_agent_xsave_sz(%rip), %ebx
	testl	%ebx, %ebx
	jz	2f
	movl	%ebx, %edx
	subq	%rdx, %rsp
	andq	$-64, %rsp
	/* xrstor refuses a header that is not zero where xsave does not write it */
	xorl	%eax, %eax
	movq	%rax, 512(%rsp)
	movq	%rax, 520(%rsp)
	movq	%rax, 528(%rsp)
	movq	%rax, 536(%rsp)
	movq	%rax, 544(%rsp)
	movq	%rax, 552(%rsp)
	movq	%rax, 560(%rsp)
	movq	%rax, 568(%rsp)
	movl	espy_agent_xsave_mask(%rip), %eax
	movl	espy_agent_xsave_mask+4(%rip), %edx
	xsave64	(%rsp)
	cld
	call	*%rcx
	movl	espy_agent_xsave_mask(%rip), %eax
	movl	espy_agent_xsave_mask+4(%rip), %edx
	xrstor64 (%rsp)
	jmp	3f
2:	subq	$512, %rsp
	andq	$-64, %rsp
	fxsave64 (%rsp)
	cld
	call	*%rcx
	fxrstor64 (%rsp)
3:	movq	-8(%rbp), %rbx
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	espy_agent_keep_fpu, . - espy_agent_keep_fpu

/* Every way in begins with endbr64, and every call returns: the object says so, or the library could not. */
#ifdef __CET__
#include <cet.h>
#endif
	.section .note.GNU-stack,"",@progbits

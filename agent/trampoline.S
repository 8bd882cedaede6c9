/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From the program into the agent, and back. x86-64.
 *
 * First: from a mark's cold block (include/espy/mark.h).
 *
 * The cold block has lowered %rsp by 128 for the red zone and called us: %rax = arguments, %r11 = the mark. It knows of
 * no other register that changes, so we keep them all. C code behind it is compiled for general registers only, and does
 * without the alignment of the stack that others expect (event_monotonic makes it).
 */
#include "probe_regs.h"

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

/*
 * From the trampoline of a probe: %rax = the jump. The trampoline has lowered %rsp by 128 for the red zone and pushed %rax
 * before it jumped here. Behind us it pops %rax, and does what the jump has displaced. So every register and the flags are
 * the program's own again. The registers stand on the stack as in enum espy_reg; whoever unwinds goes on from there as if
 * the program had been interrupted at the place of the probe.
 *
 * We are jumped to, and jump back: a call without a return would mislead the processor about the calls that are not over.
 * If espy_agent_probe() has exchanged the return address for that of a stub (return_stubs.S), we jump to the stub with the
 * stack as it was before the call of the function. The stub calls what the jump has displaced.
 */
	/* all but %rax, which is used */
	.macro	restore
	give_back_registers
	movq	96(%rsp), %rdx
	/* popfq would take as long as all the rest: an addition makes the overflow, sahf the others */
	movl	144(%rsp), %eax
	btl	$11, %eax
	setc	%al
	movb	144(%rsp), %ah
	addb	$0x7f, %al
	sahf
	.endm

	.globl	espy_agent_probe_enter
	.hidden	espy_agent_probe_enter
	.type	espy_agent_probe_enter, @function
	.p2align 6
espy_agent_probe_enter:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa %rsp, 8 + 128
	.cfi_undefined %rip
	endbr64
	leaq	-REGS-8(%rsp), %rsp
	.cfi_adjust_cfa_offset REGS+8
	keep_registers
	movq	REGS+8(%rsp), %rcx
	movq	%rcx, 80(%rsp)			/* ax */
	movq	8(%rax), %rcx
	movq	%rcx, 128(%rsp)			/* ip: the place of the jump */
	movq	16(%rax), %rcx
	movq	%rcx, REGS(%rsp)		/* where we go from here */
	.cfi_offset %rip, 128 - REGS - 144
	leaq	REGS+144(%rsp), %rcx
	movq	%rcx, 152(%rsp)			/* sp */
	pushfq
	.cfi_adjust_cfa_offset 8
	popq	144(%rsp)
	.cfi_adjust_cfa_offset -8
	movq	%rax, %rdi
	movq	%rsp, %rsi
	testb	$4, 145(%rsp)			/* the direction of string instructions */
	jnz	3f
1:	call	espy_agent_probe
	testb	$4, 145(%rsp)
	jnz	4f
2:	testl	%eax, %eax
	jnz	5f
	restore
	leaq	REGS+8(%rsp), %rsp
	.cfi_adjust_cfa_offset -REGS-8
	.cfi_undefined %rip
	notrack jmp *-8(%rsp)			/* no signal handler writes so near below */
	.cfi_adjust_cfa_offset REGS+8
	.cfi_offset %rip, 128 - REGS - 144
3:	cld
	jmp	1b
4:	std
	jmp	2b
5:	restore
	movq	80(%rsp), %rax
	leaq	REGS+144+8(%rsp), %rsp
	.cfi_def_cfa_offset 0
	.cfi_offset %rip, -8
	notrack jmp *-8(%rsp)
	.cfi_endproc
	.size	espy_agent_probe_enter, . - espy_agent_probe_enter

/* Every way in begins with endbr64, and every call returns: the object says so, or the library could not. */
#ifdef __CET__
#include <cet.h>
#endif
	.section .note.GNU-stack,"",@progbits

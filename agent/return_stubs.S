/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where probed functions return to. x86-64.
 *
 * A function whose return is probed returns to a stub: each call that is not over has a stub of its own, and
 * espy_agent_frames has the true address at the same index. So a return needs no order: calls that longjmp or an
 * exception has left, and fibres, disturb no other.
 *
 * Whoever unwinds the stack (exceptions, backtrace(3), a debugger) comes to a stub as to a caller. The table for that says:
 * its caller is at the true address. Each stub ends with the distance to where that stands, so that the table needs no
 * address.
 *
 * A processor remembers the calls that it has made, and looks for the caller there. So the stub calls the function, as
 * the caller has done, and two returns lead back. A function that has pushed something before its probe cannot be called
 * so: the stub's address is put in the place of the true one, the function returns to where the processor does not expect
 * it, and a jump leads to the caller.
 */
#include "probe_regs.h"

#define STUBS 8192 /* RETURNS, STUB_SZ, STUB_CALL_SZ and struct frame in probe_return.c */
#define STUB_SZ 32
#define FRAME_SZ 128
#define FRAME_BODY 8

	.section .text.espy_stubs, "ax", @progbits
	.globl	espy_agent_stubs
	.hidden	espy_agent_stubs
	.type	espy_agent_stubs, @function
	.p2align 6
	.skip	63, 0xcc
	.cfi_startproc
	/*
	 * A frame of no bytes. libgcc knows frames by their CFA and takes two of one CFA for each other, so this one has
	 * a CFA of its own. val_expression of rsp: breg7 0
	 */
	.cfi_def_cfa %rsp, 1
	.cfi_escape 0x16, 7, 2, 0x77, 0
	/* val_expression of rip: breg16 0, const1s -32, and, plus_uconst 28, dup, deref_size 4, plus, deref */
	.cfi_escape 0x16, 16, 12, 0x80, 0, 0x09, 0xe0, 0x1a, 0x23, 28, 0x12, 0x94, 4, 0x22, 0x06
	.byte	0xcc /* unwinders look up the byte before a return address */
espy_agent_stubs:
	.set	stub, 0
	.rept	STUBS
	notrack call *espy_agent_frames + FRAME_SZ * stub + FRAME_BODY(%rip)
	.byte	0x68			/* push $stub */
	.long	stub
	.byte	0xe9			/* jmp returned */
	.long	returned - . - 4
	.skip	11, 0xcc
	.long	espy_agent_frames + FRAME_SZ * stub - .
	.set	stub, stub + 1
	.endr
	.cfi_endproc
	.size	espy_agent_stubs, . - espy_agent_stubs

	.type	returned, @function
	.p2align 6
returned:
	.cfi_startproc
	.cfi_undefined %rip		/* the number of the stub stands there, which is no address */
	leaq	-REGS(%rsp), %rsp
	.cfi_adjust_cfa_offset REGS
	keep_registers
	movq	%rax, 80(%rsp)
	/* the flags that arithmetic leaves: pushfq takes several times as long */
	seto	%cl
	lahf
	movzbl	%cl, %ecx
	movzbl	%ah, %eax
	shll	$11, %ecx
	leal	0x200(%rax,%rcx), %eax		/* a program has interrupts on */
	movq	%rax, 144(%rsp)
	leaq	REGS+8(%rsp), %rcx
	movq	%rcx, 152(%rsp)			/* sp: as the caller has it */
	movl	REGS(%rsp), %edi		/* which stub */
	movq	%rsp, %rsi
	call	espy_agent_return
	movq	%rax, REGS(%rsp)
	give_back_registers
	testq	%rdx, %rdx			/* is it to be a jump? */
	jnz	1f
	movq	96(%rsp), %rdx
	movq	80(%rsp), %rax
	leaq	REGS(%rsp), %rsp
	.cfi_adjust_cfa_offset -REGS
	ret
	.cfi_adjust_cfa_offset REGS
1:	movq	96(%rsp), %rdx
	movq	80(%rsp), %rax
	leaq	REGS+8(%rsp), %rsp
	.cfi_adjust_cfa_offset -REGS-8
	notrack jmp *-8(%rsp)			/* no signal handler writes so near below */
	.cfi_endproc
	.size	returned, . - returned

/* A return to a stub is no indirect jump; programs with a shadow stack get no probes of returns. */
#ifdef __CET__
#include <cet.h>
#endif
	.section .note.GNU-stack,"",@progbits

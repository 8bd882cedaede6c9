/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Restartable sequences (rseq(2)): what stands between _start and _end takes effect by its last instruction, a store, or
 * not at all. A thread that is preempted, moved to another CPU or interrupted by a signal in between goes on at _abort.
 * Struct rseq is registered by glibc; its fields: cpu_id at 4, rseq_cs at 8. x86-64.
 */
#define CPU_ID 4
#define RSEQ_CS 8
#define CHUNK_END 20 /* struct espy_chunk.end */
#define CHUNK_HEAD 64
#define CPU_SHIFT 7 /* sizeof(struct cpu) */

	.macro	sequence name
	.pushsection .data.rel.ro, "aw"
	.p2align 5
.L\name\()_cs:
	.long	0, 0
	.quad	.L\name\()_start, .L\name\()_end - .L\name\()_start, .L\name\()_abort
	.popsection
	.endm

	/* The kernel wants the signature that glibc has registered in front of where it goes on. */
	.macro	abort name
	.byte	0x0f, 0xb9, 0x3d
	.long	0x53053053
.L\name\()_abort:
	.endm

	.text

/* int espy_agent_rseq_write(struct rseq_write *w): a whole record into the chunk of this CPU. */
	sequence write
	.globl	espy_agent_rseq_write
	.hidden	espy_agent_rseq_write
	.type	espy_agent_rseq_write, @function
	.p2align 6
espy_agent_rseq_write:
	.cfi_startproc
	endbr64
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	pushq	%r12
	.cfi_def_cfa_offset 24
	.cfi_offset %r12, -24
	pushq	%r13
	.cfi_def_cfa_offset 32
	.cfi_offset %r13, -32
	movq	(%rdi), %r8
	leaq	.Lwrite_cs(%rip), %rax
	movq	%rax, RSEQ_CS(%r8)
.Lwrite_start:
	/* -1 and -2, where nothing is registered, are above every limit */
	movl	CPU_ID(%r8), %eax
	cmpl	16(%rdi), %eax
	jae	.Lno_cpu
	movl	%eax, %ecx		/* CPU, until the pieces */
	shlq	$CPU_SHIFT, %rax
	movq	8(%rdi), %r9
	addq	%rax, %r9		/* place */
	movq	(%r9), %r10		/* chunk */
	testq	%r10, %r10
	jz	.Lno_room
	/* The end is in shared memory: read once, and any value that passes is inside. */
	movl	CHUNK_END(%r10), %r12d
	leal	-CHUNK_HEAD(%r12), %eax
	cmpl	20(%rdi), %eax
	ja	.Lno_room
	movq	40(%rdi), %r13		/* time */
	testq	%r13, %r13
	jnz	1f
	rdtsc
	shlq	$32, %rdx
	orq	%rdx, %rax
	movq	%rax, %r13
1:	cmpq	8(%r9), %r13
	jb	.Lstale
	movq	64(%rdi), %rax
	movq	%r13, %rdx
	subq	(%rax), %rdx
	cmpq	72(%rdi), %rdx
	ja	.Lverify
	movq	%r13, (%rax)
	movq	%r13, 8(%r9)
	leaq	(%r10, %r12), %r11
	movq	24(%rdi), %rax		/* size, def */
	movq	%rax, (%r11)
	movq	%r13, 8(%r11)
	movq	32(%rdi), %rax		/* tid */
	movq	%rax, 16(%r11)
	addq	$24, %r11
	movq	48(%rdi), %rbx
2:	cmpq	56(%rdi), %rbx
	jae	6f
	movq	(%rbx), %rsi
	movq	8(%rbx), %rcx
	addq	$16, %rbx
	xorl	%edx, %edx
	subq	$8, %rcx
	jb	4f
3:	movq	(%rsi, %rdx), %rax
	movq	%rax, (%r11, %rdx)
	addq	$8, %rdx
	cmpq	%rcx, %rdx
	jbe	3b
	addq	%rdx, %rsi
	addq	%rdx, %r11
	subq	%rdx, %rcx
	addq	$8, %rcx
	jz	2b
	/* the last 8 bytes: those that are there already fall out */
	movq	-8(%rsi, %rcx), %rax
	shll	$3, %ecx
	negl	%ecx
	shrq	%cl, %rax
	movq	%rax, (%r11)
	addq	$8, %r11
	jmp	2b
	/* less than 8 */
4:	addq	$8, %rcx
	jz	2b
	movq	$0, (%r11)
5:	movb	-1(%rsi, %rcx), %al
	movb	%al, -1(%r11, %rcx)
	decq	%rcx
	jnz	5b
	addq	$8, %r11
	jmp	2b
6:	addl	24(%rdi), %r12d
	movl	%r12d, CHUNK_END(%r10)
.Lwrite_end:
	movq	%r13, 40(%rdi)
	xorl	%eax, %eax
	jmp	.Lwrite_out
	abort	write
	movl	$1, %eax
	jmp	.Lwrite_out
.Lno_cpu:
	movl	$2, %eax
	jmp	.Lwrite_out
.Lno_room:
	movq	%r10, 80(%rdi)
	movl	%ecx, 88(%rdi)
	movl	$3, %eax
	jmp	.Lwrite_out
.Lstale:
	movl	$4, %eax
	jmp	.Lwrite_out
.Lverify:
	movl	$5, %eax
.Lwrite_out:
	popq	%r13
	.cfi_def_cfa_offset 24
	popq	%r12
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	espy_agent_rseq_write, . - espy_agent_rseq_write

/* int espy_agent_rseq_swap(rseq, chunk **place, cpu, from, to) */
	sequence swap
	.globl	espy_agent_rseq_swap
	.hidden	espy_agent_rseq_swap
	.type	espy_agent_rseq_swap, @function
	.p2align 4
espy_agent_rseq_swap:
	.cfi_startproc
	endbr64
	leaq	.Lswap_cs(%rip), %rax
	movq	%rax, RSEQ_CS(%rdi)
.Lswap_start:
	cmpl	%edx, CPU_ID(%rdi)
	jne	.Lswap_not
	cmpq	%rcx, (%rsi)
	jne	.Lswap_not
	movq	%r8, (%rsi)
.Lswap_end:
	movl	$1, %eax
	ret
	abort	swap
.Lswap_not:
	xorl	%eax, %eax
	ret
	.cfi_endproc
	.size	espy_agent_rseq_swap, . - espy_agent_rseq_swap

/* Every way in begins with endbr64, and every call returns: the object says so, or the library could not. */
#ifdef __CET__
#include <cet.h>
#endif
	.section .note.GNU-stack,"",@progbits

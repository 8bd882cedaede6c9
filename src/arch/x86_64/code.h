/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Instructions of x86-64 as bytes, the lowest byte first. */
#ifndef ESPY_ARCH_X86_64_CODE_H
#define ESPY_ARCH_X86_64_CODE_H

#include <stdint.h>

#define ESPY_CODE_BREAKPOINT 0xcc /* one byte; a task that meets it stands behind it */
#define ESPY_CODE_BREAKPOINT_SZ 1u
#define ESPY_CODE_JUMP 0xe9	       /* jmp rel32; the distance is from the instruction behind it */
#define ESPY_CODE_CALL 0xe8	       /* call rel32 */
#define ESPY_CODE_TEST 0xa9	       /* test $imm32, %eax: as long as the two above, and sets flags only */
#define ESPY_CODE_SITE_SZ 5u	       /* bytes of each of them, and of a site that is off */
#define ESPY_CODE_NOP5 0x0000441f0full /* what a site is while it is off: 0f 1f 44 00 00 */
#define ESPY_CODE_SYSCALL_SZ 2u	       /* bytes of the instruction that makes a call */

/* Pieces of libc by which a call is made in a process: `syscall; ret`, `pop %rdi; ret`, and what calls rt_sigreturn. */
#define ESPY_CODE_SYSCALL_RET                                                                                          \
	{                                                                                                              \
		0x0f, 0x05, 0xc3                                                                                       \
	}
#define ESPY_CODE_POP_RET                                                                                              \
	{                                                                                                              \
		0x5f, 0xc3                                                                                             \
	}
#define ESPY_CODE_SIGRETURN                                                                                            \
	{                                                                                                              \
		0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05                                                            \
	}

/* The counter that programs may read. */
static inline uint64_t espy_code_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* Tells whether these bytes are the instruction that makes a 64-bit call. */
static inline int espy_code_is_syscall(const uint8_t *insn)
{
	return insn[0] == 0x0f && insn[1] == 0x05;
}

/* Could the instruction that ends before `end` be a call? At least 7 bytes lie there. */
static inline int espy_code_may_be_call(const uint8_t *end)
{
	if (end[-(int)ESPY_CODE_SITE_SZ] == ESPY_CODE_CALL)
		return 1;
	for (int len = 2; len <= 7; len++)
		if (end[-len] == 0xff && (end[-len + 1] >> 3 & 7) == 2)
			return 1; /* call *... */
	return 0;
}

/*
 * A trampoline: where the jump of a probe leads. It keeps the red zone and %rax, and jumps to what `enter` points to
 * with the address of the jump's data in %rax. That jumps back to byte ESPY_CODE_TRAMPOLINE_RESUME. The displaced
 * instruction's copy belongs behind it, and behind that a jump back.
 */
#define ESPY_CODE_TRAMPOLINE_SZ 31u
#define ESPY_CODE_TRAMPOLINE_RESUME 22u
#define ESPY_CODE_SHORT_JUMP 0xeb /* jmp rel8 */
#define ESPY_CODE_SHORT_JUMP_SZ 2u
static inline void espy_code_trampoline(uint8_t *to, uint64_t data, const uint64_t *enter)
{
	static const uint8_t code[ESPY_CODE_TRAMPOLINE_SZ] = {
		0x48, 0x8d, 0x64, 0x24, 0x80,			      /* lea -128(%rsp), %rsp */
		0x50,						      /* push %rax */
		0x48, 0xb8, 0,	  0,	0,    0,    0,	  0,	0, 0, /* movabs $data, %rax */
		0xff, 0x25, 0,	  0,	0,    0,		      /* jmp *enter(%rip) */
		0x58,						      /* pop %rax */
		0x48, 0x8d, 0xa4, 0x24, 0x80, 0x00, 0x00, 0x00,	      /* lea 128(%rsp), %rsp */
	};
	const uint32_t distance = (uint32_t)((uint64_t)enter - ((uint64_t)to + 22));

	__builtin_memcpy(to, code, sizeof(code));
	__builtin_memcpy(to + 8, &data, sizeof(data));
	__builtin_memcpy(to + 18, &distance, sizeof(distance));
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The agent's own instructions on x86-64. */
#ifndef ESPY_ARCH_X86_64_AGENT_ASM_H
#define ESPY_ARCH_X86_64_AGENT_ASM_H

#include <cpuid.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Makes a system call, without errno. Returns its result, or -errno. The calls of the agent stand in
 * src/source/agent/seccomp_requirements.c, too. That file holds them against seccomp filters before the agent is
 * loaded.
 */
static inline long sys(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ __volatile__("syscall"
			     : "=a"(ret)
			     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			     : "rcx", "r11", "memory");
	return ret;
}

/* Replaces a word if it is `from`. Safe against signal handlers of the same thread only, so without a bus lock. */
static inline int replace_local(uint64_t *p, uint64_t from, uint64_t to)
{
	uint8_t ok;

	__asm__ __volatile__("cmpxchgq %3, %1" : "=@ccz"(ok), "+m"(*p), "+a"(from) : "r"(to) : "memory");
	return ok;
}

/* Sets n words to zero. A call of memset would leave the agent. */
static inline void clear_words(uint64_t *p, size_t n)
{
	__asm__ __volatile__("rep stosq" : "+D"(p), "+c"(n) : "a"(0ull) : "memory");
}

static inline uint8_t *thread_pointer(void)
{
	uint8_t *p;

	__asm__("movq %%fs:0, %0" : "=r"(p));
	return p;
}

/* Tells whether the counter of espy_code_ticks() runs at one speed, whatever the CPU does. */
static inline int ticks_are_steady(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8;
}

/*
 * Measures the vector and x87 registers that callbacks of the program may change: all that xsave knows but the
 * protection keys. Returns the bytes of xsave's area, and xsave's mask; 0: there is no xsave.
 */
static inline uint32_t measure_fpu(uint32_t mask[2])
{
	unsigned int a, b, c, d, lo, hi;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !__get_cpuid_count(0xd, 0, &a, &b, &c, &d))
		return 0;
	__asm__ __volatile__("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	mask[0] = lo & ~(1u << 9);
	mask[1] = hi;
	return (b + 63) & ~63u;
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See arch/machine_calls.h. */
#ifndef ESPY_ARCH_X86_64_CALLS_H
#define ESPY_ARCH_X86_64_CALLS_H

enum {
	ESPY_NR_CLOSE = 3,
	ESPY_NR_MMAP = 9,
	ESPY_NR_MPROTECT = 10,
	ESPY_NR_MUNMAP = 11,
	ESPY_NR_BRK = 12,
	ESPY_NR_RT_SIGRETURN = 15,
	ESPY_NR_MREMAP = 25,
	ESPY_NR_MADVISE = 28,
	ESPY_NR_CLONE = 56,
	ESPY_NR_FORK = 57,
	ESPY_NR_VFORK = 58,
	ESPY_NR_EXECVE = 59,
	ESPY_NR_PRCTL = 157,
	ESPY_NR_SECCOMP = 317,
	ESPY_NR_MEMFD_CREATE = 319,
	ESPY_NR_EXECVEAT = 322,
	ESPY_NR_URETPROBE = 335,
	ESPY_NR_UPROBE = 336,
	ESPY_NR_CLONE3 = 435,
};

/* Those that libc makes while it holds a lock that dlopen() takes. */
#define ESPY_LOCKED_CALLS                                                                                              \
	ESPY_NR_MMAP, ESPY_NR_MPROTECT, ESPY_NR_MUNMAP, ESPY_NR_BRK, ESPY_NR_MREMAP, ESPY_NR_MADVISE, ESPY_NR_CLONE,   \
		ESPY_NR_FORK, ESPY_NR_VFORK, ESPY_NR_EXECVE, ESPY_NR_RT_SIGRETURN, ESPY_NR_CLONE3, ESPY_NR_EXECVEAT

/* The same of i386, as far as a tracer must know them. */
enum {
	ESPY_NR32_FORK = 2,
	ESPY_NR32_CLONE = 120,
	ESPY_NR32_PRCTL = 172,
	ESPY_NR32_VFORK = 190,
	ESPY_NR32_SECCOMP = 354,
	ESPY_NR32_CLONE3 = 435,
};

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0-only */
/*
 * The ABIs: each has a table of call numbers, a width of pointers and an order of arguments of its own. Compiled in BPF
 * programs and in user space. Records and traces hold these numbers, so they are append-only; a second architecture
 * appends its own.
 */
#ifndef ESPY_ARCH_CALL_ABI_H
#define ESPY_ARCH_CALL_ABI_H

enum espy_abi {
	ESPY_ABI_X86_64 = 0,
	ESPY_ABI_I386 = 1,
	ESPY_ABI_X32 = 2,
	/* Operations that a program submits through the rings of io_uring: their numbers are IORING_OP_*. */
	ESPY_ABI_IO_URING = 3,
	ESPY_ABI_CNT
};

/* Which of them this machine has: ESPY_ABI_NATIVE, COMPAT and TAGGED, and what else the whole of espy is told of it. */
#if defined(__x86_64__)
#include "arch/x86_64/abis.h"
#else
#error "a folder in src/arch is missing for this architecture"
#endif

#endif

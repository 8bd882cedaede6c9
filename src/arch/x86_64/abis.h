/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0-only */
/* See arch/call_abi.h. */
#ifndef ESPY_ARCH_X86_64_ABIS_H
#define ESPY_ARCH_X86_64_ABIS_H

#define ESPY_ABI_NATIVE ESPY_ABI_X86_64 /* of programs as wide as the machine */
#define ESPY_ABI_COMPAT ESPY_ABI_I386	/* of 32-bit programs: the kernel marks a task that is in such a call */
#define ESPY_ABI_TAGGED ESPY_ABI_X32	/* calls of native tasks whose number has this bit: */
#define ESPY_ABI_TAG 0x40000000u

#define ESPY_ARCH_NAME "x86-64"		     /* in messages */
#define ESPY_ARCH_UNAME "x86_64"	     /* as uname(2) says it */
#define ESPY_ARCH_ELF_MACHINE 62	     /* EM_X86_64 */
#define ESPY_ARCH_TRIPLET "x86_64-linux-gnu" /* the folder of its libraries */

#endif

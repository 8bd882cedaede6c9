/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/abi_facts.h"

#include <string.h>

/*
 * x86-64 is C's natural layout; i386 aligns 64-bit integers to 4; x32 has pointers and size_t of 4 bytes but the
 * kernel's `long` there is 64 bits, so that its times, limits and usages are those of x86-64.
 */
const struct espy_abi_facts espy_abis[ESPY_ABI_CNT] = {
	[ESPY_ABI_X86_64] = { "x86_64", "64 bit", "64", ESPY_ABI_X86_64, 8, 8, 8, 8 },
	[ESPY_ABI_I386] = { "i386", "32 bit", "32", ESPY_ABI_X86_64, 4, 4, 4, 4 },
	[ESPY_ABI_X32] = { "x32", "x32", "x32", ESPY_ABI_X86_64, 8, 8, 4, 8 },
	[ESPY_ABI_IO_URING] = { "io_uring", "io_uring", "io_uring", ESPY_ABI_X86_64, 8, 8, 8, 8 },
};

int espy_abi_find(const char *word, size_t len)
{
	for (int abi = 0; abi < ESPY_ABI_CNT; abi++)
		if (strlen(espy_abis[abi].word) == len && !memcmp(espy_abis[abi].word, word, len))
			return abi;
	return -1;
}

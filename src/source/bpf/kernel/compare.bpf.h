/* SPDX-License-Identifier: GPL-2.0-only */
/* Comparisons for the tests of triggers and probes. */
#ifndef ESPY_COMPARE_BPF_H
#define ESPY_COMPARE_BPF_H

#include "maps.bpf.h"
#include "record/trigger.h"

static __always_inline bool compare(u8 how, u64 a, u64 b)
{
	switch (how) {
	case ESPY_COMPARE_EQ: return a == b;
	case ESPY_COMPARE_LT: return a < b;
	case ESPY_COMPARE_LE: return a <= b;
	case ESPY_COMPARE_GT: return a > b;
	case ESPY_COMPARE_GE: return a >= b;
	default: return false;
	}
}

/* Tells whether the first len bytes are the same. Compares at most `words` whole words: both texts have that many. */
static __always_inline bool same_bytes(const u64 *a, const u64 *b, u32 len, u32 words)
{
	for (u32 w = 0; w < words; w++) {
		u64 mask = ~0ull;

		if (w * 8 >= len)
			break;
		if (len - w * 8 < 8)
			mask = (1ull << (len - w * 8) * 8) - 1;
		if ((a[w] ^ b[w]) & mask)
			return false;
	}
	return true;
}

#endif

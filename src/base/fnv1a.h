/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The hash FNV-1a with 64 bits, for bytes that no attacker chooses to make it collide. */
#ifndef ESPY_BASE_FNV1A_H
#define ESPY_BASE_FNV1A_H

#include <stddef.h>
#include <stdint.h>

#define ESPY_FNV1A 0xcbf29ce484222325u /* the hash of nothing */

/* Returns the hash of the bytes of which `h` is the hash, and these behind them. */
static inline uint64_t espy_fnv1a(uint64_t h, const void *bytes, size_t n)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < n; i++)
		h = (h ^ at[i]) * 0x100000001b3u;
	return h;
}

#endif

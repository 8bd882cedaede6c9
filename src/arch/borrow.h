/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A long jump of which the first bytes alone are written. The others are borrowed: they are those that stand there, of
 * the instructions behind, which stay as they are. So they choose a part of the distance, and the jump leads into a
 * window: the larger, the more bytes are written. With prefixes, which mean nothing, the distance lies farther behind,
 * and other bytes choose.
 *
 *     41 56 | 41 55 41 54     push %r14; push %r13; push %r12
 *     e9 xx   41 55 41 54     jmp: one byte is free; the distance is 0x415541xx
 *     2e e9   41 55 41 54     jmp: the distance is 0x54415541
 *
 * The agent's protocol has the bytes and their numbers (agent/abi.h); both sides count the windows from them.
 */
#ifndef ESPY_ARCH_BORROW_H
#define ESPY_ARCH_BORROW_H

#include <stdint.h>

#define ESPY_BORROW_PREFIX 0x2e /* a segment, which a jump does not have */
#define ESPY_BORROW_PREFIXES 3u /* at most */
#define ESPY_BORROW_KNOWN (5u + ESPY_BORROW_PREFIXES)

/*
 * Counts the window [*first, *last] of a jump at addr. code: the `known` bytes that stand there, of which `written` may
 * be written. Returns the bytes of the jump; 0: there is none with so many prefixes.
 */
static inline unsigned espy_borrow__window(const uint8_t *code, unsigned written, unsigned known, unsigned prefixes,
					   uint64_t addr, uint64_t *first, uint64_t *last)
{
	const unsigned len = prefixes + 5, chosen = written - (prefixes + 1); /* bytes of the distance */
	uint32_t distance, choice;

	if (written < prefixes + 1 || chosen > 3 || known < len)
		return 0;
	__builtin_memcpy(&distance, code + prefixes + 1, sizeof(distance));
	choice = (1u << 8 * chosen) - 1;
	*first = addr + len + (uint64_t)(int64_t)(int32_t)(distance & ~choice);
	*last = *first + choice;
	return len;
}

#endif

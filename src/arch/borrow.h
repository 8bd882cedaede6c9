/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A jump of which one store writes a part alone. The other bytes are borrowed: they are those that stand there, of the
 * displaced instruction and of those behind, which stay as they are. So they choose a part of the distance, and the
 * jump leads into a window: the larger, the more bytes are written. It has one of several forms. With prefixes, which
 * mean nothing, the distance lies farther behind, and other bytes choose. A jump by an address in memory finds that in
 * the lowest 4 GB, where distances that lead below address 0 come out, too.
 *
 *     41 56 | 41 55 41 54      push %r14; push %r13; push %r12
 *     e9 xx   41 55 41 54      jmp: one byte is free; the distance is 0x415541xx
 *     2e e9   41 55 41 54      jmp: the distance is 0x54415541
 *     48 85 ff | 0f 84 a8 ec   test %rdi, %rdi; je
 *     67 ff 25   0f 84 a8 ec   jmp *(%eip + 0xeca8840f)
 *
 * Where the instruction goes on in the next 8 aligned bytes, its beginning may be kept and the rest written:
 *
 *     e9 25 | e2 1e 00         jmp: it goes elsewhere with a distance of 0xxxxxxx25
 *     48 | 8b 05 7a d9 57 00   mov 0x57d97a(%rip), %rax
 *     48 | e9 xx xx xx xx 00   jmp, with a prefix that means nothing
 *
 * The agent's protocol has the bytes and their numbers (agent/abi.h); both sides count the windows from them.
 */
#ifndef ESPY_ARCH_BORROW_H
#define ESPY_ARCH_BORROW_H

#include <stdint.h>

#define ESPY_BORROW_PREFIX 0x2e /* a segment, which a jump does not have */
#define ESPY_BORROW_PREFIXES 3u /* at most */
#define ESPY_BORROW_FORMS (ESPY_BORROW_PREFIXES + 2u)
#define ESPY_BORROW_BY_MEMORY (ESPY_BORROW_PREFIXES + 1u) /* a form; those below are numbers of prefixes */
#define ESPY_BORROW_KNOWN (5u + ESPY_BORROW_PREFIXES)
#define ESPY_BORROW_LOW (1ull << 32) /* where addresses in memory stand: below */

/* The bytes of a place. */
struct espy_borrow {
	const uint8_t *code;
	unsigned kept;	  /* so many of them stay, */
	unsigned written; /* those from there up to here may be written, at once, */
	unsigned known;	  /* and so many stand there */
};

/* Where the jump, or the address that it finds, may lie: at first, first + step, ... last, counted round 2^64. */
struct espy_borrow_window {
	uint64_t first, last, step;
	unsigned len; /* bytes of the jump; the last four of them are the distance */
};

/* Returns the jump's bytes before its distance; 0: the place has no jump of this form. */
static inline unsigned espy_borrow__head(const struct espy_borrow *b, unsigned form)
{
	if (!b->kept)
		return form == ESPY_BORROW_BY_MEMORY ? 3 : form + 1;
	if (form)
		return 0;
	if (b->code[0] == 0xe9)
		return 1;
	return b->kept == 1 && (b->code[0] & 0xf0) == 0x40 ? 2 : 0;
}

/* Puts the jump's bytes, as they are before its distance. */
static inline void espy_borrow__put_head(const struct espy_borrow *b, unsigned form, uint8_t *bytes)
{
	unsigned n = 0;

	if (form == ESPY_BORROW_BY_MEMORY) {
		bytes[0] = 0x67; /* a 32-bit address */
		bytes[1] = 0xff;
		bytes[2] = 0x25;
		return;
	}
	while (n < form)
		bytes[n++] = ESPY_BORROW_PREFIX;
	bytes[espy_borrow__head(b, form) - 1] = 0xe9;
}

/* Counts the window of a jump at addr. Returns 0 if the place has no jump of this form. */
static inline int espy_borrow__window(const struct espy_borrow *b, unsigned form, uint64_t addr,
				      struct espy_borrow_window *w)
{
	const unsigned head = espy_borrow__head(b, form);
	const unsigned low = b->kept > head ? b->kept - head : 0; /* the bytes [low, high) of the distance are free */
	const unsigned high = b->written - head < 4 ? b->written - head : 4;
	uint32_t distance;
	uint64_t choice;

	w->len = head + 4;
	if (!head || b->written < head || b->known < w->len || (b->kept ? high <= low : high == 4))
		return 0;
	__builtin_memcpy(&distance, b->code + head, sizeof(distance));
	choice = high > low ? (1ull << 8 * high) - (1ull << 8 * low) : 0;
	distance &= (uint32_t)~choice;
	w->step = 1ull << 8 * low;
	if (form == ESPY_BORROW_BY_MEMORY) {
		w->first = (uint32_t)(addr + w->len + distance);
		w->last = w->first + choice < ESPY_BORROW_LOW ? w->first + choice : ESPY_BORROW_LOW - 1;
		return 1;
	}
	w->first = addr + w->len + (uint64_t)(int64_t)(int32_t)distance - (high == 4 ? 1ull << 31 : 0);
	w->last = w->first + choice;
	return 1;
}

#endif

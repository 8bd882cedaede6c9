/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Strings on the event path (event.c): how much of one is recorded, and its copy. Eight bytes at a time in general
 * registers, and no call. Nothing is read behind the word in which a string ends, and never in the page after it.
 */
#ifndef ESPY_AGENT_EVENT_TEXT_H
#define ESPY_AGENT_EVENT_TEXT_H

#include <stdint.h>
#include "record/record.h"

#define TEXT_PAGE 4096u

/* The first two words of a string or of bytes in a record, as one: its length, and above it enum espy_item_status. */
#define SPAN(len, status) ((uint64_t)(status) << 32 | (uint32_t)(len))
#define SPAN_LEN(span) ((uint32_t)(span))
#define SPAN_PAD(span) ((SPAN_LEN(span) + 7u) & ~7u) /* with the zeros behind it */

typedef uint64_t __attribute__((aligned(1), may_alias)) text_word;

static inline uint64_t text_load(const char *s)
{
	return *(const text_word *)s;
}

#define TEXT_ONES 0x0101010101010101ull
#define TEXT_HIGHS 0x8080808080808080ull
/* Bit 7 of the first byte that is 0, and perhaps of some behind it; 0: there is none. */
static inline uint64_t text_zeros(uint64_t v)
{
	return (v - TEXT_ONES) & ~v & TEXT_HIGHS;
}

/* Where a string ends, or max if it does not before. From n on, which is not behind its end. */
static inline uint32_t text_len_from(const char *s, uint32_t n, uint32_t max)
{
	while (n < max) {
		uint64_t zeros;

		if (__builtin_expect(((uintptr_t)(s + n) & (TEXT_PAGE - 1)) > TEXT_PAGE - 8, 0)) {
			if (!s[n])
				return n;
			n++;
			continue;
		}
		zeros = text_zeros(text_load(s + n));
		if (zeros) {
			n += (uint32_t)__builtin_ctzll(zeros) / 8;
			break;
		}
		n += 8;
	}
	return n < max ? n : max;
}

/* The span of one that has no end before n. */
static __attribute__((noinline)) uint64_t text_long_span(const char *s, uint32_t n, uint32_t max)
{
	if (n < max)
		n = text_len_from(s, n, max);
	if (n < max)
		return n;
	return SPAN(max, n > max || s[max] ? ESPY_ITEM_TRUNCATED : ESPY_ITEM_OK);
}

/* Of a string, at most max bytes, at least one. */
static inline __attribute__((always_inline)) uint64_t text_span(const char *s, uint32_t max)
{
	/* what stands before this can be read eight at a time without a look at the next page */
	int32_t end = (int32_t)(TEXT_PAGE - 7 - ((uintptr_t)s & (TEXT_PAGE - 1))), n = 0;

	if (__builtin_expect((uintptr_t)s < TEXT_PAGE, 0))
		return SPAN(0, ESPY_ITEM_FAULT);
	if (end > (int32_t)max)
		end = (int32_t)max;
	for (; __builtin_expect(n < end, 1); n += 8) {
		uint64_t v = text_load(s + n), zeros = (v - TEXT_ONES) & TEXT_HIGHS;

		/* in plain text this is the end; bytes from 0x81 on look like it, too */
		if (!zeros)
			continue;
		zeros &= ~v;
		if (!zeros)
			continue;
		n += __builtin_ctzll(zeros) / 8;
		if (__builtin_expect(n < (int32_t)max, 1))
			return (uint32_t)n;
		break;
	}
	return text_long_span(s, (uint32_t)n, max);
}

/* len bytes, and zeros up to a multiple of 8. */
static inline __attribute__((always_inline)) void text_copy(uint64_t *to, const char *from, uint32_t len)
{
	uint32_t whole = len & ~7u, odd = len & 7, none = 64 - 8 * odd;
	uint64_t last = 0;

	/* by an index: gcc makes `movsq` of two pointers that rise, which is several times as slow */
	for (uint64_t i = 0; i < whole; i += 8)
		*(uint64_t *)((uint8_t *)to + i) = text_load(from + i);
	if (!odd)
		return;
	from += whole;
	if (whole) /* the last 8 bytes: those that are there already fall out */
		last = text_load(from + odd - 8) >> none;
	else if (((uintptr_t)from & (TEXT_PAGE - 1)) <= TEXT_PAGE - 8)
		last = text_load(from) << none >> none;
	else
		while (odd--)
			last = last << 8 | (uint8_t)from[odd];
	to[whole / 8] = last;
}

#endif

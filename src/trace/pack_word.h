/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What packing puts: bytes, numbers, times and words, into a column or through the coder. unpack.c takes them. */
#ifndef ESPY_TRACE_PACK_WORD_H
#define ESPY_TRACE_PACK_WORD_H

#include "trace/pack_impl.h"

static inline void put(struct column *c, const void *bytes, size_t n)
{
	memcpy(c->at, bytes, n);
	c->at += n;
}

static inline void put_varint(struct column *c, uint64_t v)
{
	while (v >= 0x80) {
		*c->at++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*c->at++ = (uint8_t)v;
}

/* The lowest byte is nearly noise, the rest is small: apart they compress better. */
static inline uint64_t folded_rest(uint64_t v)
{
	const int64_t rest = (int64_t)v >> 8;

	return (uint64_t)rest << 1 ^ (uint64_t)(rest >> 63);
}

static inline void put_time(struct column *low, struct column *high, uint64_t v)
{
	*low->at++ = (uint8_t)v;
	put_varint(high, folded_rest(v));
}

static inline void put_byte(struct espy_pack *p, enum espy_column col, unsigned byte, struct contexts in)
{
	if (p->coding)
		espy_coder__put(&p->coder, byte, in.narrow, in.wide);
	else
		*p->cols[col].at++ = (uint8_t)byte;
}

/* in(k): the contexts of byte k */
#define PUT_VARINT(p, col, v, in)                                                                                      \
	do {                                                                                                           \
		uint64_t left = (v);                                                                                   \
		unsigned k = 0;                                                                                        \
		for (; left >= 0x80; left >>= 7, k++)                                                                  \
			put_byte(p, col, (uint8_t)(left | 0x80), in);                                                  \
		put_byte(p, col, (uint8_t)left, in);                                                                   \
	} while (0)

static inline void code_time(struct espy_pack *p, enum espy_column low, uint64_t v)
{
	const uint64_t folded = folded_rest(v);

	PUT_VARINT(p, low + 1, folded, in_time(&p->m, low + 1, k));
	if (low_is_noise(folded))
		espy_coder__put_noise(&p->coder, (uint8_t)v);
	else
		put_byte(p, low, (uint8_t)v, in_low(&p->m, low, folded));
}

static inline unsigned bytes_of(uint64_t v)
{
	return v ? (71 - (unsigned)__builtin_clzll(v)) / 8 : 0;
}

/* How a word is stored: its way and how many bytes, and these. */
static inline unsigned tag_of(struct model *m, uint64_t v, uint64_t before, uint64_t *stored)
{
	unsigned method = WORD_VALUE, n = bytes_of(v);

	*stored = v;
	if (n > 2) {
		const unsigned slot = seen_slot(v), inverted = bytes_of(~v);

		if (m->seen[slot] == v) {
			*stored = slot;
			return WORD_SEEN * 9 + 1;
		}
		if (inverted < n) {
			method = WORD_INVERTED;
			*stored = ~v;
			n = inverted;
		}
		const bool more = v > before;
		const uint64_t diff = more ? v - before : before - v;

		if (!(diff & 4095) && bytes_of(diff >> 12) < n) {
			method = more ? WORD_PAGES_MORE : WORD_PAGES_LESS;
			*stored = diff >> 12;
			n = bytes_of(*stored);
		} else if (bytes_of(diff) < n) {
			method = more ? WORD_MORE : WORD_LESS;
			*stored = diff;
			n = bytes_of(diff);
		}
		if (worth_seeing(v))
			m->seen[slot] = v;
	}
	return method * 9 + n;
}

static inline void put_word(struct model *m, struct column *tags, struct column *bytes, uint64_t v, uint64_t before)
{
	uint64_t stored;
	const unsigned tag = tag_of(m, v, before, &stored);

	*tags->at++ = (uint8_t)tag;
	memcpy(bytes->at, &stored, 8); /* there is room for eight */
	bytes->at += tag % 9;
}

static inline void code_word(struct espy_pack *p, enum espy_column tags, uint32_t place, uint64_t v, uint64_t before)
{
	uint64_t stored;
	const unsigned tag = tag_of(&p->m, v, before, &stored);

	put_byte(p, tags, tag, in_tag(&p->m, tags, place));
	*last_at(&p->m, tags, place) = (uint8_t)tag;
	for (unsigned k = tag % 9, above = 0; k--; above = (uint8_t)(stored >> 8 * k))
		put_byte(p, tags + 1, (uint8_t)(stored >> 8 * k), in_word(tags + 1, place, tag, k, above));
}

#endif

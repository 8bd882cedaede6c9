/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What unpacking takes: bytes, numbers, times and words, from a column or through a coder. pack_word.h has put them. */
#ifndef ESPY_TRACE_UNPACK_WORD_H
#define ESPY_TRACE_UNPACK_WORD_H

#include "trace/contexts.h"

struct unpack {
	struct espy_pack *p;
	uint8_t *raw, *at, *end; /* all records; where the next one is put; the end of the room */
	bool bad;		 /* something was read beyond the end of a column, or is not true */
};

static inline unsigned get_coded(struct unpack *u, const struct espy_mixer_contexts in)
{
	if (u->p->how == PACK_MIXED)
		return espy_mixer__get(&u->p->mixer, &in);
	return espy_coder__get(&u->p->coder, in.of[0], in.of[1]);
}

static inline unsigned get_plain_byte(struct unpack *u, enum espy_column col)
{
	struct column *c = &u->p->cols[col];

	if (c->at < c->end)
		return *c->at++;
	u->bad = true;
	return 0;
}

/* in: the contexts of the byte */
#define GET_BYTE(u, col, in) ((u)->p->how == PACK_PACKED ? get_plain_byte(u, col) : get_coded(u, in))

/* in: the contexts of byte k; a statement, since they differ from byte to byte */
#define GET_VARINT(u, col, v, in)                                                                                      \
	do {                                                                                                           \
		unsigned k = 0, byte;                                                                                  \
		(v) = 0;                                                                                               \
		do {                                                                                                   \
			byte = GET_BYTE(u, col, in);                                                                   \
			(v) |= (uint64_t)(byte & 0x7f) << 7 * k;                                                       \
		} while (byte >= 0x80 && ++k < 10);                                                                    \
		(u)->bad |= byte >= 0x80;                                                                              \
	} while (0)

/* NULL: there are not so many. */
static inline const uint8_t *get(struct unpack *u, enum espy_column col, size_t n)
{
	struct column *c = &u->p->cols[col];
	const uint8_t *bytes = c->at;

	if (n > (size_t)(c->end - c->at)) {
		u->bad = true;
		return NULL;
	}
	c->at += n;
	return bytes;
}

static inline uint64_t get_noise(struct espy_range *r, unsigned bits)
{
	uint64_t v = 0;

	while (bits--)
		v = v << 1 | range_get(r, RANGE_HALF);
	return v;
}

/* Packed and coded blocks. */
static inline uint64_t get_time(struct unpack *u, enum espy_column low)
{
	uint64_t rest, lowest;

	GET_VARINT(u, low + 1, rest, in_time(&u->p->m, low + 1, k));
	lowest = u->p->how == PACK_CODED && low_is_noise(rest) ? get_noise(&u->p->coder.range, 8)
							       : GET_BYTE(u, low, in_low(&u->p->m, low, rest));
	return ((rest >> 1 ^ -(rest & 1)) << 8) | lowest;
}

static inline uint64_t get_even(struct espy_range *r, unsigned bits, uint64_t cnt)
{
	uint64_t v = 0;

	if (cnt > 1ull << bits)
		cnt = 1ull << bits;
	while (bits--) {
		const uint64_t half = 1ull << bits;
		const uint32_t chance = chance_even(cnt, half);
		const unsigned bit = chance ? range_get(r, chance) : 0;

		cnt = bit ? cnt - half : cnt < half ? cnt : half;
		v = v << 1 | bit;
	}
	return v;
}

/* Mixed blocks: ns since a time of that phase, which becomes that of the new time. */
static inline uint64_t get_ns(struct unpack *u, enum espy_column col, unsigned magnitude, struct espy_phase *phase)
{
	struct model *m = &u->p->m;

	if (magnitude > magnitude_of(TICK_FAR)) {
		*phase = PHASE_UNKNOWN;
		u->bad |= magnitude != MAGNITUDE_FAR;
		return get_noise(&u->p->mixer.range, 64);
	}
	const struct steps s = steps_of(m->tick, magnitude);
	uint64_t k = s.upper ? get_coded(u, in_step(m, col - 1, magnitude, UPPER_NONE)) : 0;
	const unsigned below = s.bits - s.upper;

	if (s.lower)
		k = k << below | get_coded(u, in_step(m, col - 1, magnitude, (unsigned)k));
	else
		k = k << below | get_even(&u->p->mixer.range, below, s.cnt - (k << below));
	if (!m->tick) {
		*phase = PHASE_UNKNOWN;
		return s.first + k;
	}
	const struct espy_landing l = land(m->tick, s.first + k, *phase);
	const uint64_t ns = l.from + get_coded(u, in_landing(&l, magnitude)) - 64;

	*phase = phase_after(&l, ns);
	return ns;
}

static inline unsigned get_magnitude(struct unpack *u, enum espy_column col)
{
	struct model *m = &u->p->m;
	const unsigned magnitude = get_coded(u, in_magnitude(m, col));

	*last_at(m, col, m->shape) = (uint8_t)magnitude;
	if (magnitude != MAGNITUDE_SAME)
		m->magnitude = magnitude;
	return magnitude;
}

/* The lowest n bytes of a word. */
static inline uint64_t get_stored(struct unpack *u, enum espy_column col, uint32_t place, unsigned tag, unsigned n,
				  uint64_t before)
{
	struct column *bytes = &u->p->cols[col];
	uint64_t v = 0;

	if (u->p->how != PACK_PACKED) {
		for (unsigned k = n; k--;)
			v = v << 8 | get_coded(u, in_word(&u->p->m, col, place, tag, k, v, before));
		return v;
	}
	if (n > (size_t)(bytes->end - bytes->at)) {
		u->bad = true;
		return 0;
	}
	/* columns have eight bytes of room behind them */
	v = word_at(bytes->at);
	if (n < 8)
		v &= (1ull << 8 * n) - 1;
	bytes->at += n;
	return v;
}

static inline uint64_t get_word(struct unpack *u, enum espy_column tag_col, uint32_t place, uint64_t before)
{
	struct model *m = &u->p->m;
	const unsigned tag = GET_BYTE(u, tag_col, in_tag(m, tag_col, place)), method = tag / 9;

	if (u->p->how != PACK_PACKED)
		*last_at(m, tag_col, place) = (uint8_t)tag;
	uint64_t v = get_stored(u, tag_col + 1, place, tag, tag % 9, before);

	switch (method) {
	case WORD_VALUE:
		break;
	case WORD_INVERTED:
		v = ~v;
		break;
	case WORD_MORE:
		v = before + v;
		break;
	case WORD_LESS:
		v = before - v;
		break;
	case WORD_PAGES_MORE:
		v = before + (v << 12);
		break;
	case WORD_PAGES_LESS:
		v = before - (v << 12);
		break;
	case WORD_SEEN:
		return m->seen[v % SEEN_SLOTS];
	default:
		u->bad = true;
		return 0;
	}
	/* as the packer does: of words that took it more than two bytes */
	if (worth_seeing(v))
		m->seen[seen_slot(v)] = v;
	return v;
}

/* The times of a packed or coded record, which come first. */
static inline void get_times(struct unpack *u, struct task *t, const struct shape_key *key, struct espy_rec *rec,
			     uint8_t *now)
{
	if (has_enter(key)) {
		const uint64_t enter = t->last_ns + get_time(u, COL_GAP_LOW);

		rec->time_ns = enter + get_time(u, COL_TIME_LOW);
		memcpy(now + 32, &enter, 8);
	} else if (key->has_time) {
		rec->time_ns = t->last_ns + get_time(u, COL_GAP_LOW);
	} else {
		return;
	}
	t->last_ns = u->p->m.last_ns = rec->time_ns;
}

/* Those of a mixed one, which come last. */
static inline void get_mixed_times(struct unpack *u, struct task *t, const struct shape_key *key, struct espy_rec *rec,
				   uint8_t *now)
{
	if (has_enter(key)) {
		const uint64_t enter = t->last_ns + get_ns(u, COL_GAP_HIGH, get_magnitude(u, COL_GAP_HIGH), &t->phase);
		const unsigned magnitude = get_magnitude(u, COL_TIME_HIGH);

		if (magnitude == MAGNITUDE_SAME && t->side_ns) {
			rec->time_ns = t->side_ns;
			t->phase = t->side_phase;
		} else {
			rec->time_ns = enter + get_ns(u, COL_TIME_HIGH, magnitude, &t->phase);
		}
		memcpy(now + 32, &enter, 8);
		t->last_ns = rec->time_ns;
		t->side_ns = 0;
	} else if (key->has_time) {
		struct espy_phase phase = t->side_ns ? t->side_phase : t->phase;

		rec->time_ns = (t->side_ns ? t->side_ns : t->last_ns) +
			       get_ns(u, COL_GAP_HIGH, get_magnitude(u, COL_GAP_HIGH), &phase);
		t->side_phase = phase;
		t->side_ns = rec->time_ns;
	} else {
		return;
	}
	u->p->m.last_ns = rec->time_ns;
}

#endif

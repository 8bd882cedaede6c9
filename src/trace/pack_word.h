/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What packing puts: bytes, numbers, times and words, into a column or through the coder. unpack.c takes them. */
#ifndef ESPY_TRACE_PACK_WORD_H
#define ESPY_TRACE_PACK_WORD_H

#include "trace/contexts.h"

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

static inline void mix_byte(struct espy_pack *p, unsigned byte, const struct espy_mixer_contexts in)
{
	espy_mixer__put(&p->mixer, byte, &in);
}

/* in: the contexts of the byte */
#define PUT_BYTE(p, col, byte, in)                                                                                     \
	do {                                                                                                           \
		if ((p)->m.mixing)                                                                                     \
			mix_byte(p, (uint8_t)(byte), in);                                                              \
		else                                                                                                   \
			*(p)->cols[col].at++ = (uint8_t)(byte);                                                        \
	} while (0)

/* in: the contexts of byte k */
#define PUT_VARINT(p, col, v, in)                                                                                      \
	do {                                                                                                           \
		uint64_t left = (v);                                                                                   \
		unsigned k = 0;                                                                                        \
		for (; left >= 0x80; left >>= 7, k++)                                                                  \
			PUT_BYTE(p, col, left | 0x80, in);                                                             \
		PUT_BYTE(p, col, left, in);                                                                            \
	} while (0)

/* A number of so many bits, below `cnt`: each is as likely as the others. */
static inline void mix_even(struct espy_pack *p, uint64_t v, unsigned bits, uint64_t cnt)
{
	if (cnt > 1ull << bits)
		cnt = 1ull << bits;
	while (bits--) {
		const uint64_t half = 1ull << bits;
		const unsigned bit = v >> bits & 1;
		const uint32_t chance = chance_even(cnt, half);
		if (chance)
			range_put(&p->mixer.range, bit, chance);
		cnt = bit ? cnt - half : cnt < half ? cnt : half;
		v &= half - 1;
	}
}

static inline void mix_noise(struct espy_pack *p, uint64_t bits, unsigned n)
{
	while (n--)
		range_put(&p->mixer.range, bits >> n & 1, RANGE_HALF);
}

/* A time that is `ns` after one of that phase. Returns its own. */
static inline struct espy_phase mix_time(struct espy_pack *p, enum espy_column col, struct espy_phase phase,
					 uint64_t ns)
{
	struct model *m = &p->m;
	const bool far = ns >= TICK_FAR;
	const uint64_t step = far ? 0 : step_near(m->tick, ns);
	const unsigned magnitude = far ? MAGNITUDE_FAR : magnitude_of(step_ns(m->tick, step));

	mix_byte(p, magnitude, in_magnitude(m, col));
	*last_at(m, col, m->shape) = (uint8_t)magnitude;
	m->magnitude = magnitude;
	if (far) {
		mix_noise(p, ns, 64);
		return PHASE_UNKNOWN;
	}
	const struct steps s = steps_of(m->tick, magnitude);
	const uint64_t k = step - s.first;

	if (s.upper)
		mix_byte(p, (unsigned)(k >> (s.bits - s.upper)), in_step(m, col - 1, magnitude, UPPER_NONE));
	if (s.lower)
		mix_byte(p, k & ((1u << s.lower) - 1), in_step(m, col - 1, magnitude, (unsigned)(k >> s.lower)));
	else
		mix_even(p, k & (((uint64_t)1 << (s.bits - s.upper)) - 1), s.bits - s.upper,
			 s.cnt - (k >> (s.bits - s.upper) << (s.bits - s.upper)));
	if (!m->tick)
		return PHASE_UNKNOWN;
	const struct espy_landing l = land(m->tick, step, phase);

	mix_byte(p, (unsigned)(ns - l.from + 64), in_landing(&l, magnitude));
	return phase_after(&l, ns);
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

static inline void mix_word(struct espy_pack *p, enum espy_column tags, uint32_t place, uint64_t v, uint64_t before)
{
	struct model *m = &p->m;
	uint64_t stored;
	const unsigned tag = tag_of(m, v, before, &stored);

	mix_byte(p, tag, in_tag(m, tags, place));
	*last_at(m, tags, place) = (uint8_t)tag;
	for (unsigned k = tag % 9; k--;)
		mix_byte(p, (uint8_t)(stored >> 8 * k),
			 in_word(m, tags + 1, place, tag, k, k < 7 ? stored >> 8 * (k + 1) : 0, before));
	m->word = (uint32_t)v;
}

/* In mixed blocks times come last: how long a call took has to do with what came of it. */
static inline void mix_times(struct espy_pack *p, struct task *t, const uint8_t *now, const struct shape_key *key)
{
	const uint64_t time_ns = ((const struct espy_rec *)(const void *)now)->time_ns;
	struct model *m = &p->m;

	if (has_enter(key)) {
		const uint64_t enter_ns = word_at(now + 32);

		t->phase = mix_time(p, COL_GAP_HIGH, t->phase, enter_ns - t->last_ns);
		if (t->side_ns && time_ns == t->side_ns) {
			mix_byte(p, MAGNITUDE_SAME, in_magnitude(m, COL_TIME_HIGH));
			*last_at(m, COL_TIME_HIGH, m->shape) = MAGNITUDE_SAME;
			t->phase = t->side_phase;
		} else {
			t->phase = mix_time(p, COL_TIME_HIGH, t->phase, time_ns - enter_ns);
		}
		t->last_ns = time_ns;
		t->side_ns = 0;
	} else if (key->has_time) {
		t->side_phase = mix_time(p, COL_GAP_HIGH, t->side_ns ? t->side_phase : t->phase,
					 time_ns - (t->side_ns ? t->side_ns : t->last_ns));
		t->side_ns = time_ns;
	} else {
		return;
	}
	m->last_ns = time_ns;
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/mixer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Counters lie in lines of 16, one line for four bits of a byte; its first number tells whose it is. */
#define LINES_BITS 17
#define LINE 16u
#define GUESS_BITS 15
#define HIT_BITS 16

/* A counter: 12 bits of probability that the bit is one, above 4 bits of how often it was used. */
#define COUNT_MASK 15u
#define COUNT_MAX 15u
#define COUNTER_NEW (1u << 15)
#define COUNTER_LIKELY (3u << 14)

/* What contexts say is weighed by 65536ths of this, until it has shown what it is worth. */
#define WEIGHT_NEW 20000
#define WEIGHT_MAX (1 << 20)
#define LEARN_SHIFT 14
#define BUCKETS 3u /* a weight for a counter that was never used, a few times, more often */

struct guess { /* what followed a context the last time */
	uint16_t tag;
	uint8_t byte, count;
};

struct espy_mixer_state {
	int16_t stretch[4096]; /* of a probability in 4096ths: ln(p / (1 - p)) in 256ths */
	uint16_t squash[4096]; /* the inverse, in 65536ths, from -2048 on */
	uint32_t rate[COUNT_MAX + 1];
	uint8_t bucket[COUNT_MAX + 1];
	int32_t weights[MIXER_SETS][MIXER_CONTEXTS][BUCKETS];
	uint16_t matches[MIXER_TRUSTS], flags[MIXER_SETS][16], hits[1u << HIT_BITS]; /* is the expected byte right? */
	int32_t guess_weights[MIXER_SETS][MIXER_CONTEXTS + 1];
	struct guess guesses[1u << GUESS_BITS];
	uint16_t lines[(size_t)LINE << LINES_BITS];
};

static void make_tables(struct espy_mixer_state *s)
{
	uint64_t e = 1ull << 32; /* of -x, in 2^32ths */

	for (unsigned x = 0; x < 2048; x++) {
		const uint64_t p = (65536ull << 32) / ((1ull << 32) + e);

		s->squash[2048 + x] = (uint16_t)(p < 65535 ? p : 65535);
		s->squash[2048 - x] = (uint16_t)(65536 - s->squash[2048 + x]);
		e = e * 4278222805u >> 32; /* e^(-1/256) */
	}
	s->squash[0] = s->squash[1];
	for (unsigned p = 0, x = 0; p < 4096; p++) {
		while (x < 4095 && s->squash[x] < 16 * p + 8)
			x++;
		s->stretch[p] = (int16_t)((int)x - 2048);
	}
	for (unsigned uses = 0; uses <= COUNT_MAX; uses++) {
		/* how far a counter moves to what came, of 65536: less and less */
		s->rate[uses] = 65536u * 2 / (2 * uses + 3);
		s->bucket[uses] = (uint8_t)((uses > 0) + (uses > 2));
	}
}

int espy_mixer__open(struct espy_mixer *m)
{
	m->state = calloc(1, sizeof(*m->state));
	return m->state ? 0 : -ENOMEM;
}

void espy_mixer__clear(struct espy_mixer *m)
{
	struct espy_mixer_state *s = m->state;

	memset(s, 0, sizeof(*s));
	make_tables(s);
	for (unsigned i = 0; i < sizeof(s->weights) / sizeof(s->weights[0][0][0]); i++)
		(&s->weights[0][0][0])[i] = WEIGHT_NEW;
	for (unsigned i = 0; i < MIXER_TRUSTS; i++)
		s->matches[i] = COUNTER_LIKELY;
	for (unsigned i = 0; i < sizeof(s->flags) / sizeof(s->flags[0][0]); i++)
		(&s->flags[0][0])[i] = COUNTER_LIKELY;
	for (unsigned i = 0; i < 1u << HIT_BITS; i++)
		s->hits[i] = COUNTER_NEW;
	for (unsigned i = 0; i < sizeof(s->guess_weights) / sizeof(s->guess_weights[0][0]); i++)
		(&s->guess_weights[0][0])[i] = WEIGHT_NEW;
}

void espy_mixer__free(struct espy_mixer *m)
{
	free(m->state);
	m->state = NULL;
}

size_t espy_mixer__memory(const struct espy_mixer *m)
{
	return m->state ? sizeof(*m->state) : 0;
}

void espy_mixer__copy(struct espy_mixer *m, const struct espy_mixer *from)
{
	memcpy(m->state, from->state, sizeof(*m->state));
}

static inline void move(const struct espy_mixer_state *s, uint16_t *counter, unsigned bit)
{
	const uint32_t uses = *counter & COUNT_MASK, p = *counter >> 4, rate = s->rate[uses];
	const uint32_t now = bit ? p + ((4095 - p) * rate + 32768) / 65536 : p - (p * rate + 32768) / 65536;

	*counter = (uint16_t)(now << 4 | (uses < COUNT_MAX ? uses + 1 : uses));
}

/*
 * Where the line of a context lies, for the upper four bits of a byte, or for the lower ones when the upper are known:
 * then nearby, in memory that has just been used.
 */
static inline uint32_t place_of_line(uint32_t context)
{
	const uint32_t h = context * 0x9e3779b1u;

	return (h ^ h >> 15) * 0x2c1b3c6du;
}

/* What the counters say, weighed and added up, as a probability. */
static inline uint32_t mixed(const struct espy_mixer_state *s, int64_t sum)
{
	sum >>= 16;
	return s->squash[2048 + (sum > 2047 ? 2047 : sum < -2047 ? -2047 : sum)];
}

static inline void learn(int32_t *weight, int32_t said, int32_t err)
{
	const int64_t w = *weight + ((int64_t)said * err >> LEARN_SHIFT);

	*weight = (int32_t)(w > WEIGHT_MAX ? WEIGHT_MAX : w < -WEIGHT_MAX ? -WEIGHT_MAX : w);
}

/* Whoever had the line before has lost it. */
static inline void take_line(uint16_t *line, uint16_t tag)
{
	if (line[0] != tag) {
		line[0] = tag;
		for (unsigned i = 1; i < LINE; i++)
			line[i] = COUNTER_NEW;
	}
}

static inline unsigned code_bit(struct espy_mixer *m, int bit, uint32_t p)
{
	if (bit < 0)
		return range_get(&m->range, p);
	range_put(&m->range, (unsigned)bit, p);
	return (unsigned)bit;
}

/* A byte by its contexts; as code_byte. */
static inline unsigned code_bits(struct espy_mixer *m, int byte, const struct espy_mixer_contexts *in,
				 const uint32_t *places)
{
	struct espy_mixer_state *s = m->state;
	int32_t(*weights)[BUCKETS] = s->weights[in->set];
	unsigned whole = 1, first = 0, left = in->nibble ? 4 : 8;

	for (unsigned half = in->nibble; half < 2; half++) {
		uint16_t *lines[MIXER_CONTEXTS];
		unsigned node = 1;

		for (unsigned i = 0; i < in->cnt; i++) {
			lines[i] = s->lines + LINE * (size_t)((places[i] >> (32 - LINES_BITS)) ^ first);
			__builtin_prefetch(lines[i], 1);
		}
		for (unsigned i = 0; i < in->cnt; i++)
			take_line(lines[i], (uint16_t)(((places[i] >> 1) + first * 2) | 1));
		while (node < 16) {
			int32_t st[MIXER_CONTEXTS], *w[MIXER_CONTEXTS];
			int64_t sum = 0;

			for (unsigned i = 0; i < in->cnt; i++) {
				const unsigned counter = lines[i][node];

				st[i] = s->stretch[counter >> 4];
				w[i] = &weights[i][s->bucket[counter & COUNT_MASK]];
				sum += (int64_t)st[i] * *w[i];
			}
			const uint32_t p = mixed(s, sum);
			const unsigned bit = code_bit(m, byte < 0 ? -1 : byte >> --left & 1, p);
			const int32_t err = (int32_t)(bit << 16) - (int32_t)p;

			for (unsigned i = 0; i < in->cnt; i++) {
				learn(w[i], st[i], err);
				move(s, &lines[i][node], bit);
			}
			node = 2 * node + bit;
			whole = 2 * whole + bit;
		}
		first = node;
	}
	return in->nibble ? whole & 15 : whole & 255;
}

/* Is it the byte that is expected? `byte` as in code_byte, `sure` tells how often such a guess was right. */
static inline bool code_guess(struct espy_mixer *m, int byte, const struct espy_mixer_contexts *in,
			      const uint32_t *places, unsigned guess, uint16_t *sure)
{
	struct espy_mixer_state *s = m->state;
	int32_t *w = s->guess_weights[in->set];
	int32_t st[MIXER_CONTEXTS + 1];
	uint16_t *hits[MIXER_CONTEXTS + 1];
	int64_t sum = 0;

	for (unsigned i = 0; i < in->cnt; i++)
		hits[i] = &s->hits[(places[i] ^ (guess + 1) * 0x9e3779b1u) >> (32 - HIT_BITS)];
	hits[in->cnt] = sure;
	for (unsigned i = 0; i <= in->cnt; i++) {
		st[i] = s->stretch[*hits[i] >> 4];
		sum += (int64_t)st[i] * w[i];
	}
	const uint32_t p = mixed(s, sum);
	const unsigned bit = code_bit(m, byte < 0 ? -1 : (unsigned)byte == guess, p);
	const int32_t err = (int32_t)(bit << 16) - (int32_t)p;

	for (unsigned i = 0; i <= in->cnt; i++) {
		learn(&w[i], st[i], err);
		move(s, hits[i], bit);
	}
	return bit;
}

/* One byte; `byte` is what is coded, or -1: what comes. */
static inline unsigned code_byte(struct espy_mixer *m, int byte, const struct espy_mixer_contexts *in)
{
	struct espy_mixer_state *s = m->state;
	struct guess *g = NULL;
	uint32_t places[MIXER_CONTEXTS];

	for (unsigned i = 0; i < in->cnt; i++)
		places[i] = place_of_line(in->of[i]);
	if (in->expected >= 0) {
		if (code_guess(m, byte, in, places, (unsigned)in->expected, &s->matches[in->trust]))
			return (unsigned)in->expected;
	} else if (in->strong) {
		const uint32_t h = places[in->strong - 1];

		g = &s->guesses[h >> (32 - GUESS_BITS)];
		if (g->tag != (uint16_t)h) {
			*g = (struct guess){ .tag = (uint16_t)h };
		} else if (g->count) {
			if (code_guess(m, byte, in, places, g->byte, &s->flags[in->set][g->count])) {
				g->count += g->count < 15;
				return g->byte;
			}
		}
	}
	const unsigned whole = code_bits(m, byte, in, places);

	if (g) {
		if (g->count > 1) {
			g->count = (uint8_t)(g->count > 4 ? 2 : 1);
		} else {
			g->count = 1;
			g->byte = (uint8_t)whole;
		}
	}
	return whole;
}

void espy_mixer__put(struct espy_mixer *m, unsigned byte, const struct espy_mixer_contexts *in)
{
	code_byte(m, (int)byte, in);
}

unsigned espy_mixer__get(struct espy_mixer *m, const struct espy_mixer_contexts *in)
{
	return code_byte(m, -1, in);
}

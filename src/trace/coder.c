/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/coder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINE 16u

int espy_coder__open(struct espy_coder *c, size_t raw_sz)
{
	c->bits = CODER_BITS_MIN;
	while (c->bits < CODER_BITS_MAX && (size_t)4 << c->bits < raw_sz)
		c->bits++;
	const size_t narrow = (size_t)LINE << c->bits, size = (narrow + narrow / 2) * sizeof(*c->narrow);

	if (size > c->cap) {
		free(c->narrow);
		c->cap = 0;
		c->narrow = malloc(size);
		if (!c->narrow)
			return -ENOMEM;
		c->cap = size;
	}
	c->wide = c->narrow + narrow;
	memset(c->narrow, 0, size);
	/* how far a counter moves to what came, of 65536: less and less */
	for (uint32_t uses = 0; uses <= CODER_COUNT_MAX; uses++)
		c->rate[uses] = 65536u * 5 / (5 * uses + 8);
	return 0;
}

void espy_coder__free(struct espy_coder *c)
{
	free(c->narrow);
	*c = (struct espy_coder){ .narrow = NULL };
}

static inline uint32_t *line_of(uint32_t *lines, unsigned bits, uint32_t context, unsigned first)
{
	const uint32_t h = (context ^ first * 0x85ebca6bu) * 0x9e3779b1u;

	return lines + LINE * (size_t)((h ^ h >> 15) * 0x2c1b3c6du >> (32 - bits));
}

static inline uint32_t moved(const struct espy_coder *c, uint32_t counter, unsigned bit)
{
	const uint32_t uses = counter & CODER_COUNT_MASK, p = counter >> 10, rate = c->rate[uses];
	const uint32_t now = bit ? p + (uint32_t)((uint64_t)((1u << 22) - 1 - p) * rate >> 16)
				 : p - (uint32_t)((uint64_t)p * rate >> 16);

	return now << 10 | (uses < CODER_COUNT_MAX ? uses + 1 : uses);
}

/* The counters of four bits under both contexts. */
struct lines {
	uint32_t *narrow, *wide;
};

static inline struct lines lines_of(struct espy_coder *c, uint32_t narrow, uint32_t wide, unsigned first)
{
	return (struct lines){ line_of(c->narrow, c->bits, narrow, first), line_of(c->wide, c->bits - 1, wide, first) };
}

/* The counter that tells of the next bit, and what it learns when the bit is known. */
static inline uint32_t look(const struct lines *l, unsigned node)
{
	if (!(l->wide[node] & CODER_COUNT_MASK))
		l->wide[node] = CODER_HALF;
	if (!(l->narrow[node] & CODER_COUNT_MASK))
		l->narrow[node] = l->wide[node] & ~CODER_COUNT_MASK;
	return l->narrow[node];
}

/* In 65536ths, of a one. */
static inline uint32_t chance(uint32_t counter)
{
	const uint32_t p = counter >> 16;

	return p + (p < 32768); /* neither end */
}

static inline unsigned learn(const struct espy_coder *c, const struct lines *l, unsigned node, unsigned bit)
{
	l->narrow[node] = moved(c, l->narrow[node], bit);
	l->wide[node] = moved(c, l->wide[node], bit);
	return 2 * node + bit;
}

unsigned espy_coder__get(struct espy_coder *c, uint32_t narrow, uint32_t wide)
{
	unsigned byte = 0;

	for (unsigned half = 0, first = 0; half < 2; half++) {
		const struct lines l = lines_of(c, narrow, wide, first);
		unsigned node = 1;

		while (node < 16)
			node = learn(c, &l, node, range_get(&c->range, chance(look(&l, node))));
		byte = byte << 4 | (node & 15);
		first = (node & 15) + 1;
	}
	return byte;
}

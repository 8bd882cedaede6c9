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
	c->low = 0;
	c->high = UINT32_MAX;
	c->code = 0;
	c->beyond = 0;
	return 0;
}

void espy_coder__free(struct espy_coder *c)
{
	free(c->narrow);
	*c = (struct espy_coder){ .narrow = NULL };
}

void espy_coder__encode_begin(struct espy_coder *c, uint8_t *to, uint8_t *end)
{
	c->at = to;
	c->end = end;
}

static inline void put_out(struct espy_coder *c, uint8_t byte)
{
	if (c->at < c->end)
		*c->at++ = byte;
	else
		c->beyond++;
}

uint8_t *espy_coder__encode_end(struct espy_coder *c)
{
	/* As few bytes as leave no doubt; what is read behind the end is 0. */
	if (c->low)
		put_out(c, (uint8_t)((c->low >> 24) + 1)); /* the first bytes of low and high differ */
	return c->beyond ? NULL : c->at;
}

static inline uint8_t take_in(struct espy_coder *c)
{
	if (c->at < c->end)
		return *c->at++;
	c->beyond++;
	return 0;
}

void espy_coder__decode_begin(struct espy_coder *c, const uint8_t *from, const uint8_t *end)
{
	c->at = (uint8_t *)from;
	c->end = (uint8_t *)end;
	for (unsigned i = 0; i < 4; i++)
		c->code = c->code << 8 | take_in(c);
}

bool espy_coder__decode_end(const struct espy_coder *c)
{
	return c->at == c->end && c->beyond <= 4;
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

/* The end of the interval's lower part, which stands for a one. */
static inline uint32_t middle(const struct espy_coder *c, uint32_t counter)
{
	uint32_t p = counter >> 16;

	p += p < 32768; /* neither end */
	return c->low + (uint32_t)((uint64_t)(c->high - c->low) * p >> 16);
}

/* One bit. What is the same at both ends of the interval is certain, and leaves it. */
static inline void put_bit(struct espy_coder *c, unsigned bit, uint32_t counter)
{
	const uint32_t mid = middle(c, counter);

	if (bit)
		c->high = mid;
	else
		c->low = mid + 1;
	for (; !((c->low ^ c->high) >> 24); c->low <<= 8, c->high = c->high << 8 | 255)
		put_out(c, (uint8_t)(c->high >> 24));
}

static inline unsigned get_bit(struct espy_coder *c, uint32_t counter)
{
	const uint32_t mid = middle(c, counter);
	const unsigned bit = c->code <= mid;

	if (bit)
		c->high = mid;
	else
		c->low = mid + 1;
	for (; !((c->low ^ c->high) >> 24); c->low <<= 8, c->high = c->high << 8 | 255)
		c->code = c->code << 8 | take_in(c);
	return bit;
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

static inline unsigned learn(const struct espy_coder *c, const struct lines *l, unsigned node, unsigned bit)
{
	l->narrow[node] = moved(c, l->narrow[node], bit);
	l->wide[node] = moved(c, l->wide[node], bit);
	return 2 * node + bit;
}

void espy_coder__put(struct espy_coder *c, unsigned byte, uint32_t narrow, uint32_t wide)
{
	for (unsigned half = 0, first = 0; half < 2; half++) {
		const struct lines l = lines_of(c, narrow, wide, first);
		const unsigned four = half ? byte & 15 : byte >> 4;

		for (unsigned node = 1, i = 4; i--;) {
			put_bit(c, four >> i & 1, look(&l, node));
			node = learn(c, &l, node, four >> i & 1);
		}
		first = four + 1;
	}
}

unsigned espy_coder__get(struct espy_coder *c, uint32_t narrow, uint32_t wide)
{
	unsigned byte = 0;

	for (unsigned half = 0, first = 0; half < 2; half++) {
		const struct lines l = lines_of(c, narrow, wide, first);
		unsigned node = 1;

		while (node < 16)
			node = learn(c, &l, node, get_bit(c, look(&l, node)));
		byte = byte << 4 | (node & 15);
		first = (node & 15) + 1;
	}
	return byte;
}

void espy_coder__put_noise(struct espy_coder *c, unsigned byte)
{
	for (unsigned i = 8; i--;)
		put_bit(c, byte >> i & 1, CODER_HALF);
}

unsigned espy_coder__get_noise(struct espy_coder *c)
{
	unsigned byte = 0;

	for (unsigned i = 0; i < 8; i++)
		byte = 2 * byte + get_bit(c, CODER_HALF);
	return byte;
}

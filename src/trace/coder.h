/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading what an adaptive arithmetic coder has made of bytes; files of today are made by another one (mixer.h). Each
 * byte is coded under two contexts, numbers that say what is known about it: a narrow one, and a wide one that has seen
 * more. For each bit of a byte, the highest first, and each context there is a counter: how likely a one is. A narrow
 * counter that is used for the first time takes over what the wide one knows.
 *
 * All in whole numbers, so that every machine decodes what another has coded; espy-trace-format(5) has it in words.
 */
#ifndef ESPY_TRACE_CODER_H
#define ESPY_TRACE_CODER_H

#include "trace/range.h"

/*
 * Counters lie in lines of 16 (one for each node of four bits), found by a hash of the context. There are two to the
 * power of so many lines for narrow contexts, half as many for wide ones: a line for each four bytes of what is coded
 * in the end.
 */
#define CODER_BITS_MIN 8
#define CODER_BITS_MAX 17
/* A counter: 22 bits of probability that the bit is one, above 10 bits of how often it was used. */
#define CODER_COUNT_MASK 1023u
#define CODER_COUNT_MAX 30u
#define CODER_HALF (1u << 31)

struct espy_coder {
	struct espy_range range;
	uint32_t *narrow, *wide; /* lines */
	unsigned bits;		 /* of them: CODER_BITS_* */
	size_t cap;		 /* bytes of both */
	uint32_t rate[CODER_COUNT_MAX + 1];
};

/* Counters for so many bytes, which know nothing; -ENOMEM. */
int espy_coder__open(struct espy_coder *c, size_t raw_sz);
void espy_coder__free(struct espy_coder *c);

unsigned espy_coder__get(struct espy_coder *c, uint32_t narrow, uint32_t wide);

/* A context made of two numbers. */
static inline uint32_t coder_context(uint32_t a, uint32_t b)
{
	return (a * 0x2c1b3c6du ^ b) * 0x9e3779b1u + (b >> 15);
}

#endif

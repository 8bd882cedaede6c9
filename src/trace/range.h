/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The arithmetic coder's interval: bits go in and out at a probability, which comes from elsewhere (coder.h, mixer.h).
 */
#ifndef ESPY_TRACE_RANGE_H
#define ESPY_TRACE_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANGE_HALF 32768u
#define RANGE_BEYOND 4u /* bytes that reading goes beyond the end, at most */

struct espy_range {
	uint32_t low, high; /* the interval that is left, both ends belong to it */
	uint32_t code;	    /* decoding: where in it the coded number lies */
	uint32_t beyond;    /* encoding: bytes that had no room; decoding: bytes that were read behind the end */
	uint8_t *at, *end;
};

static inline void range_put_out(struct espy_range *r, uint8_t byte)
{
	if (r->at < r->end)
		*r->at++ = byte;
	else
		r->beyond++;
}

static inline uint8_t range_take_in(struct espy_range *r)
{
	if (r->at < r->end)
		return *r->at++;
	r->beyond++;
	return 0;
}

static inline void range_encode_begin(struct espy_range *r, uint8_t *to, uint8_t *end)
{
	*r = (struct espy_range){ .high = UINT32_MAX, .at = to, .end = end };
}

/* Returns where the coded bytes end; NULL: there was no room. */
static inline uint8_t *range_encode_end(struct espy_range *r)
{
	/* As few bytes as leave no doubt; what is read behind the end is 0. */
	if (r->low)
		range_put_out(r, (uint8_t)((r->low >> 24) + 1)); /* the first bytes of low and high differ */
	return r->beyond ? NULL : r->at;
}

static inline void range_decode_begin(struct espy_range *r, const uint8_t *from, const uint8_t *end)
{
	*r = (struct espy_range){ .high = UINT32_MAX, .at = (uint8_t *)from, .end = (uint8_t *)end };
	for (unsigned i = 0; i < 4; i++)
		r->code = r->code << 8 | range_take_in(r);
}

/* Were all bytes used, and no more? */
static inline bool range_decode_end(const struct espy_range *r)
{
	return r->at == r->end && r->beyond <= RANGE_BEYOND;
}

/* The end of the interval's lower part, which stands for a one: `p` of 65536, neither 0 nor 65536. */
static inline uint32_t range_middle(const struct espy_range *r, uint32_t p)
{
	return r->low + (uint32_t)((uint64_t)(r->high - r->low) * p >> 16);
}

/* One bit. What is the same at both ends of the interval is certain, and leaves it. */
static inline void range_put(struct espy_range *r, unsigned bit, uint32_t p)
{
	const uint32_t mid = range_middle(r, p);

	if (bit)
		r->high = mid;
	else
		r->low = mid + 1;
	for (; !((r->low ^ r->high) >> 24); r->low <<= 8, r->high = r->high << 8 | 255)
		range_put_out(r, (uint8_t)(r->high >> 24));
}

static inline unsigned range_get(struct espy_range *r, uint32_t p)
{
	const uint32_t mid = range_middle(r, p);
	const unsigned bit = r->code <= mid;

	if (bit)
		r->high = mid;
	else
		r->low = mid + 1;
	for (; !((r->low ^ r->high) >> 24); r->low <<= 8, r->high = r->high << 8 | 255)
		r->code = r->code << 8 | range_take_in(r);
	return bit;
}

#endif

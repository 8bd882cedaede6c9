/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The arguments of a mark as they lie behind its record (record.h); the bytes are foreign. */
#ifndef ESPY_RECORD_MARK_VALUES_H
#define ESPY_RECORD_MARK_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "record/record.h"

struct espy_mark_value {
	uint64_t num;	      /* of what is no text */
	const uint8_t *bytes; /* of text: len bytes, without the NUL that ends a string */
	uint32_t len;
	uint32_t status; /* of text: enum espy_item_status */
};

static inline bool espy_mark_kind_is_text(uint8_t kind)
{
	return kind == ESPY_MARK_STRING || kind == ESPY_MARK_BYTES;
}
/* The bits of an integer of this kind; 0: it is none. */
unsigned espy_mark_kind_bits(uint8_t kind);
/* Tells whether it is an integer with a sign. */
bool espy_mark_kind_is_signed(uint8_t kind);
/* What the low bits of a number say, whatever stands above them: extended to 64 bits. */
static inline uint64_t espy_mark_number(uint64_t raw, unsigned bits, bool is_signed)
{
	const unsigned above = 64 - bits;

	return is_signed ? (uint64_t)((int64_t)(raw << above) >> above) : raw << above >> above;
}

/* Reads the argument at *at and steps behind it. Returns false, with *at at the end, if its bytes are not all there. */
bool espy_mark_value__next(const uint8_t **at, const uint8_t *end, uint8_t kind, struct espy_mark_value *out);
/*
 * Tells whether these bytes hold arguments of these kinds, all of them and nothing behind. Strings longer than what is
 * there, and states that do not exist, are refused.
 */
bool espy_mark_values__check(const void *args, size_t len, const uint8_t *kinds, unsigned nargs);
/* Tells whether they are numbers alone, each of 8 bytes: then their length says whether they are good. */
bool espy_mark_values__fixed(const uint8_t *kinds, unsigned nargs);
/* The arguments of one record, one after the other. */
struct espy_mark_args {
	const uint8_t *at, *end;
	uint32_t missing; /* of a probe: bit per argument from here on that is a number and could not be read */
};
/* Of a MARK or PROBE. */
void espy_mark_args__begin(struct espy_mark_args *a, const struct espy_rec *rec);
/* The next one. Returns false if it is not there, or could not be read; the one behind it may be. */
bool espy_mark_args__next(struct espy_mark_args *a, uint8_t kind, struct espy_mark_value *out);

#endif

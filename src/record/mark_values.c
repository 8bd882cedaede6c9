/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/mark_values.h"

#include <string.h>
#include "base/align.h"

static const struct {
	uint8_t bits;
	bool is_signed;
} integers[] = {
	[ESPY_MARK_I8] = { 8, true },	 [ESPY_MARK_U8] = { 8, false },	  [ESPY_MARK_I16] = { 16, true },
	[ESPY_MARK_U16] = { 16, false }, [ESPY_MARK_I32] = { 32, true },  [ESPY_MARK_U32] = { 32, false },
	[ESPY_MARK_I64] = { 64, true },	 [ESPY_MARK_U64] = { 64, false },
};
#define INTEGERS (sizeof(integers) / sizeof(integers[0]))

unsigned espy_mark_kind_bits(uint8_t kind)
{
	return kind < INTEGERS ? integers[kind].bits : 0;
}

bool espy_mark_kind_is_signed(uint8_t kind)
{
	return kind < INTEGERS && integers[kind].is_signed;
}

bool espy_mark_value__next(const uint8_t **at, const uint8_t *end, uint8_t kind, struct espy_mark_value *out)
{
	uint32_t head[2]; /* of text: its length and status */

	*out = (struct espy_mark_value){ .num = 0 };
	if ((size_t)(end - *at) < sizeof(out->num))
		return false;
	memcpy(&out->num, *at, sizeof(out->num));
	memcpy(head, *at, sizeof(head));
	*at += sizeof(out->num);
	if (!espy_mark_kind_is_text(kind))
		return true;
	const size_t padded = espy_pad8(head[0]);
	if (padded > (size_t)(end - *at)) {
		*at = end;
		return false;
	}
	out->bytes = *at;
	out->len = head[0];
	out->status = head[1];
	/* The NUL at its end belongs to the program's memory, not to the text. */
	if (kind == ESPY_MARK_STRING && out->status != ESPY_ITEM_ADDRESS && out->len && !out->bytes[out->len - 1])
		out->len--;
	*at += padded;
	return true;
}

void espy_mark_args__begin(struct espy_mark_args *a, const struct espy_rec *rec)
{
	const bool probe = rec->type == ESPY_REC_PROBE;
	const size_t head = probe ? sizeof(struct espy_rec_probe) : sizeof(struct espy_rec_mark);
	const size_t room = rec->size >= head ? rec->size - head : 0;
	const uint32_t len = probe ? ((const struct espy_rec_probe *)rec)->len : ((const struct espy_rec_mark *)rec)->len;

	a->at = (const uint8_t *)rec + head;
	a->end = a->at + (len < room ? len : room);
	a->missing = probe ? rec->nr : 0;
}

bool espy_mark_args__next(struct espy_mark_args *a, uint8_t kind, struct espy_mark_value *out)
{
	const bool missing = a->missing & 1 && !espy_mark_kind_is_text(kind);

	a->missing >>= 1;
	return espy_mark_value__next(&a->at, a->end, kind, out) && !missing;
}

bool espy_mark_values__check(const void *args, size_t len, const uint8_t *kinds, unsigned nargs)
{
	const uint8_t *at = args;

	if (nargs > ESPY_MARK_MAX_ARGS)
		return false;
	for (unsigned i = 0; i < nargs; i++) {
		if (len < 8)
			return false;
		if (espy_mark_kind_is_text(kinds[i])) {
			uint32_t head[2];
			size_t padded;

			memcpy(head, at, sizeof(head));
			padded = espy_pad8(head[0]);
			if (padded > len - 8 || head[1] > ESPY_ITEM_ADDRESS)
				return false;
			at += padded;
			len -= padded;
		} else if (!kinds[i] || kinds[i] > ESPY_MARK_U16) {
			return false;
		}
		at += 8;
		len -= 8;
	}
	return !len;
}

bool espy_mark_values__fixed(const uint8_t *kinds, unsigned nargs)
{
	if (nargs > ESPY_MARK_MAX_ARGS)
		return false;
	for (unsigned i = 0; i < nargs; i++)
		if (!kinds[i] || kinds[i] > ESPY_MARK_U16 || espy_mark_kind_is_text(kinds[i]))
			return false;
	return true;
}

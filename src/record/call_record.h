/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of a call record (record.h): where they lie, and its items one after the other. For user space. */
#ifndef ESPY_RECORD_CALL_RECORD_H
#define ESPY_RECORD_CALL_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include "base/align.h"
#include "record/record.h"

/* Offset of the instruction pointer in a record with these flags, if it is there. */
static inline unsigned espy_call__ip_off(uint16_t flags)
{
	return (unsigned)sizeof(struct espy_rec_call) + (flags & ESPY_RF_ENTER_NS ? 8 : 0);
}

/* Offset of the arguments. The time on the CPU, if it is there, lies in front. */
static inline unsigned espy_call__args_off(uint16_t flags)
{
	return espy_call__ip_off(flags) + (flags & ESPY_RF_IP ? 8 : 0) + (flags & ESPY_RF_CPU_NS ? 8 : 0);
}

/* Offset of the items, which is the size of a record that has none. */
static inline unsigned espy_call__items_off(uint16_t flags)
{
	return espy_call__args_off(flags) + 8 * ESPY_REC_NARGS(flags);
}

/* Where the items of a call record begin and how many bytes they have; NULL if it is no call record or is broken. */
static inline const struct espy_item *espy_rec__items(const struct espy_rec *rec, size_t *size)
{
	*size = 0;
	if (!rec || (rec->type != ESPY_REC_ENTER && rec->type != ESPY_REC_EXIT) ||
	    rec->size < espy_call__items_off(rec->flags) || rec->size > ESPY_REC_MAX)
		return NULL;
	*size = rec->size - espy_call__items_off(rec->flags);
	return (const struct espy_item *)((const uint8_t *)rec + espy_call__items_off(rec->flags));
}

/* The first item of items[0..size), and the one behind it; NULL at the end or where a length lies. */
static inline const struct espy_item *espy_item__first(const struct espy_item *items, size_t size)
{
	return items && size >= sizeof(*items) && items->len <= size - sizeof(*items) ? items : NULL;
}

/* Bytes from the begin of an item to the begin of the next. */
static inline size_t espy_item__step(const struct espy_item *it)
{
	return sizeof(*it) + espy_pad8(it->len);
}

static inline const struct espy_item *espy_item__next(const struct espy_item *it, const struct espy_item *items,
						      size_t size)
{
	const size_t off = (size_t)((const uint8_t *)it - (const uint8_t *)items), step = espy_item__step(it);

	if (step > size - off)
		return NULL;
	return espy_item__first((const struct espy_item *)((const uint8_t *)it + step), size - off - step);
}

static inline const uint8_t *espy_item__bytes(const struct espy_item *it)
{
	return (const uint8_t *)(it + 1);
}

#endif

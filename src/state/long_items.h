/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Items of calls that are longer than a record may be: put together from MORE records, which come in front of the
 * record of their call.
 */
#ifndef ESPY_STATE_LONG_ITEMS_H
#define ESPY_STATE_LONG_ITEMS_H

#include "describe/call_view.h"

struct espy_long_item;

struct espy_long_items {
	struct espy_long_item *v; /* of calls that have not ended */
	size_t cnt, cap;
	size_t bytes; /* that all of them hold */
};

/*
 * Adds the bytes of a MORE record. Bytes that follow none that are known are left out, and with them the rest of their
 * item: so are those for which there is no memory, or that would make all items more than 64 MB.
 */
void espy_long_items__add(struct espy_long_items *l, const struct espy_rec_more *rec);
/* Gives a view the long items of its task. They live until espy_long_items__forget(). */
void espy_long_items__join(struct espy_long_items *l, struct espy_call_view *v);
/* The call of the task has ended, or the task has. */
void espy_long_items__forget(struct espy_long_items *l, uint32_t tid);
void espy_long_items__free(struct espy_long_items *l);

#endif

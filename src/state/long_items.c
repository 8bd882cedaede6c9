/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/long_items.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"

/* All items together; a trace or a program may claim anything. */
#define BYTES_MAX (64u << 20)

struct espy_long_item {
	uint32_t tid;
	uint64_t from;	      /* bytes that the call record has */
	struct espy_item *it; /* the item as a whole */
	size_t cap;	      /* bytes allocated for it */
};

static bool is_same(const struct espy_long_item *i, const struct espy_rec_more *rec)
{
	return i->tid == rec->rec.tid && i->it->op == rec->item.op && i->it->index == rec->item.index &&
	       !((i->it->status ^ rec->item.status) & ESPY_ITEM_AT_EXIT);
}

static struct espy_long_item *find(struct espy_long_items *l, const struct espy_rec_more *rec)
{
	for (size_t i = l->cnt; i-- > 0;)
		if (is_same(&l->v[i], rec))
			return &l->v[i];
	return NULL;
}

/* Makes room for the bytes of an item up to `size`. */
static bool reserve(struct espy_long_items *l, struct espy_long_item *i, uint64_t size)
{
	size_t cap = i->cap ? i->cap : sizeof(*i->it) + ESPY_MORE_PIECE;

	while (cap < sizeof(*i->it) + size)
		cap *= 2;
	if (cap == i->cap)
		return true;
	struct espy_item *it = l->bytes + (cap - i->cap) <= BYTES_MAX ? realloc(i->it, cap) : NULL;

	if (!it)
		return false;
	l->bytes += cap - i->cap;
	i->it = it;
	i->cap = cap;
	return true;
}

static struct espy_long_item *begin(struct espy_long_items *l, const struct espy_rec_more *rec)
{
	struct espy_long_item i = { .tid = rec->rec.tid, .from = rec->from };

	if (!espy_array__grow(l->v, l->cnt, l->cap) || !reserve(l, &i, rec->from + rec->item.len))
		return NULL;
	*i.it = rec->item;
	i.it->len = (uint32_t)rec->from;
	l->v[l->cnt] = i;
	return &l->v[l->cnt++];
}

static void drop(struct espy_long_items *l, struct espy_long_item *i)
{
	l->bytes -= i->cap;
	free(i->it);
	*i = l->v[--l->cnt];
}

void espy_long_items__add(struct espy_long_items *l, const struct espy_rec_more *rec)
{
	const uint64_t end = rec->from + rec->item.len;

	if (rec->item.len > rec->rec.size - sizeof(*rec) || rec->from > ESPY_MORE_MOST || end > ESPY_MORE_MOST)
		return;
	struct espy_long_item *i = find(l, rec);

	/* A source may read an item again: then this is its begin. */
	if (i && rec->from <= i->from) {
		drop(l, i);
		i = NULL;
	}
	if (!i && !(i = begin(l, rec)))
		return;
	if (rec->from != i->it->len || !reserve(l, i, end))
		return;
	memcpy((char *)(i->it + 1) + rec->from, rec + 1, rec->item.len);
	i->it->len = (uint32_t)end;
	i->it->status = rec->item.status;
}

void espy_long_items__join(struct espy_long_items *l, struct espy_call_view *v)
{
	for (size_t i = 0; i < l->cnt; i++)
		if (l->v[i].tid == v->tid)
			espy_call_view__put(v, l->v[i].it, l->v[i].from);
}

void espy_long_items__forget(struct espy_long_items *l, uint32_t tid)
{
	for (size_t i = l->cnt; i-- > 0;)
		if (l->v[i].tid == tid)
			drop(l, &l->v[i]);
}

void espy_long_items__free(struct espy_long_items *l)
{
	while (l->cnt)
		drop(l, &l->v[l->cnt - 1]);
	free(l->v);
	*l = (struct espy_long_items){ 0 };
}

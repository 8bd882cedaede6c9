/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How many bytes a value needs to be shown, and by that, which case of a union it is. */
#include "event/walk_impl.h"

/* The bytes that must be there for a struct in a union to be shown at all: all but a string at its end. */
static size_t least_size(const struct espy_walk *w, const struct espy_type *t)
{
	size_t least = 0;

	if (t->kind == ESPY_T_UNION) {
		for (uint32_t i = 0; i < t->count; i++) {
			const size_t of_case = least_size(w, &w->img->types[w->img->cases[t->first + i].type]);
			least = !i || of_case < least ? of_case : least;
		}
		return least;
	}
	if (t->kind == ESPY_T_TLV)
		return espy_walk_tlv_header(w, t);
	if (espy_walk_is_unit(w, t) && t->fmt == ESPY_FMT_MAC)
		return 1;
	if (t->kind == ESPY_T_ARRAY && !t->size && t->elem != ESPY_NONE)
		return w->img->types[t->elem].size; /* less is no array */
	if (t->kind != ESPY_T_STRUCT)
		return t->flags & ESPY_TF_UPTO ? 1 : t->size;
	for (uint32_t i = 0; i < t->count; i++) {
		const struct espy_field *f = &w->img->fields[t->first + i];
		const struct espy_type *ft = &w->img->types[f->type];
		if (ft->kind == ESPY_T_CHARS || ft->kind == ESPY_T_REST || espy_walk_is_unit(w, ft))
			continue;
		const size_t whole = ft->kind == ESPY_T_STRUCT && !ft->size ? least_size(w, ft) : ft->size;
		const size_t size = ft->flags & ESPY_TF_UPTO ? 1 : whole;
		if (f->off + size > least)
			least = f->off + size;
	}
	return least;
}

uint32_t espy_walk_union_case(const struct espy_walk *w, const struct espy_type *u, const struct espy_span *m)
{
	uint32_t c = espy_walk__case(w, w->scope, u);
	uint64_t have = m->n[espy_span_best(m)];

	if (m->fault && m->want != UINT64_MAX && m->want > have)
		have = m->want; /* there is enough, though it could not be read */
	if (c != ESPY_NONE && u->count &&
	    (least_size(w, &w->img->types[c]) > have ||
	     (w->img->types[c].flags & ESPY_TF_UPTO && m->want > sizeof(uint64_t)))) {
		const struct espy_case *last = &w->img->cases[u->first + u->count - 1];
		if (last->is_else)
			c = last->type;
	}
	return c;
}

/* The bytes that a value needs to be shown: of a struct with `lead` those of its first field, of a number with `upto` one. */
size_t espy_walk_needed(const struct espy_walk *w, const struct espy_type *t)
{
	if (t->kind == ESPY_T_STRUCT && t->flags & ESPY_TF_LEAD && t->count)
		return w->img->types[w->img->fields[t->first].type].size;
	return t->kind == ESPY_T_UNION || t->kind == ESPY_T_INT || t->kind == ESPY_T_ARRAY ? least_size(w, t) : t->size;
}

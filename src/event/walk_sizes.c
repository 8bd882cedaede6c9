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
		return espy_walk_number_needs(t);
	for (uint32_t i = 0; i < t->count; i++) {
		const struct espy_field *f = &w->img->fields[t->first + i];
		const struct espy_type *ft = &w->img->types[f->type];
		if (ft->kind == ESPY_T_CHARS || ft->kind == ESPY_T_REST || espy_walk_is_unit(w, ft))
			continue;
		const size_t whole = ft->kind == ESPY_T_STRUCT && !ft->size ? least_size(w, ft) : ft->size;
		const size_t size = ft->flags & ESPY_TF_UPTO ? espy_walk_number_needs(ft) : whole;
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

/* The bytes that a value needs to be shown: of a struct with `lead` those of its first field. */
size_t espy_walk_needed(const struct espy_walk *w, const struct espy_type *t)
{
	if (t->kind == ESPY_T_STRUCT && t->flags & ESPY_TF_LEAD && t->count)
		return w->img->types[w->img->fields[t->first].type].size;
	return t->kind == ESPY_T_UNION || t->kind == ESPY_T_INT || t->kind == ESPY_T_ARRAY ? least_size(w, t) : t->size;
}

/* Tells whether so many bytes of a struct with `sized` are there that it is shown; fewer: its address stays. */
static bool enough_of_sized(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m,
			    size_t have)
{
	size_t least = t->aux >> 8 & 0xffff;
	if (m->want < least || have < least)
		return false;
	const struct espy_type *first = t->count ? &w->img->types[w->img->fields[t->first].type] : t;
	/* of bytes that end it some must be there */
	const struct espy_type *last = t->count ? &w->img->types[w->img->fields[t->first + t->count - 1].type] : t;
	bool open = last->kind == ESPY_T_REST && have <= t->size;
	if (t->flags & (ESPY_TF_PARTIAL | ESPY_TF_FILLED) && have && !m->fault)
		return true;
	if (t->flags & ESPY_TF_LEAD && w->failed && m->fault)
		return have >= first->size;
	/* what stands in front of items, as many as a field says, is read as a whole */
	const bool counted = last->kind == ESPY_T_ARRAY || last->kind == ESPY_T_BYTES;
	const bool headed = !t->size && counted && t->count > 1;
	const size_t head = headed ? w->img->fields[t->first + t->count - 1].off : first->size;
	return have && have >= head && (!m->fault || (have >= t->size && !open));
}

/* The same of a struct one of whose fields says how long it is. */
static bool enough_of_extent(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m,
			     size_t have)
{
	const uint64_t extent = espy_walk_extent(w, t, m, espy_span_best(m));
	const size_t least = t->aux >> 8 & 0xffff;
	const uint64_t said = espy_walk_said(w, t, m, espy_span_best(m));
	/* only one that may grow is shown as far as it can be read; 0 stands for the least that the
	 * kernel takes */
	const bool grows = t->flags & (ESPY_TF_TAIL | ESPY_TF_MORE);
	if (least && !grows && said && said < least)
		return false;
	if (least && have < least && (!said || (!grows && extent >= least)))
		return false;
	if (least && !grows)
		return have >= t->size || have >= extent;
	/* of one that is told only to be larger, nothing is looked at behind what is known */
	if (least && !(t->flags & ESPY_TF_TAIL))
		return have >= t->size || (extent && (have >= extent || extent < least));
	return have >= t->size || (extent && (have >= extent || least));
}

/* Of a struct that says how long it is, no more is read without -v than what is shown then. */
bool espy_walk_enough_in_brief(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	const size_t have = m->n[espy_span_best(m)], least = t->aux >> 8 & 0xffff;
	size_t end = 0;

	if (t->kind != ESPY_T_STRUCT || t->flags & ESPY_TF_SIZED || !(t->aux & 0xff) || !t->brief_cnt)
		return false;
	for (uint32_t i = 0; i < t->brief_cnt; i++) {
		const struct espy_field *f = &w->img->fields[t->first + w->img->index_list[t->brief + i]];
		const size_t field_end = f->off + w->img->types[f->type].size;

		end = field_end > end ? field_end : end;
	}
	const uint64_t said = espy_walk_said(w, t, m, espy_span_best(m));
	return have >= end && (!said || said >= least);
}

/* Bytes that must be there before anything of the pointee is shown; fewer: the address stays. */
bool espy_walk_enough(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	size_t have = m->n[espy_span_best(m)];

	switch (t->kind) {
	case ESPY_T_INT:
	case ESPY_T_PTR:
		return have >= t->size;
	case ESPY_T_STR:
	case ESPY_T_BYTES:
	case ESPY_T_CHARS:
	case ESPY_T_REST:
		/* more may have been read than is shown, for a dump */
		if (t->kind == ESPY_T_BYTES && m->fault && have && have >= espy_walk_limited(w, t, m->want))
			return true;
		/* a string whose end lies in memory that cannot be read is no string; a hook may do with less */
		return t->hook ? have || !m->want : !m->fault && (have || !m->want || m->cut);
	case ESPY_T_BITS:
		return !m->fault && (have || (!m->want && t->fmt != ESPY_FMT_FD && t->fmt != ESPY_FMT_NAMES));
	case ESPY_T_STRUCT:
		/* the kernel takes no struct that may grow if it is larger than a page */
		if (t->flags & ESPY_TF_WHOLE &&
		    (m->fault || (t->flags & ESPY_TF_EXTRA && m->want > 4096 && m->want != UINT64_MAX)))
			return false;
		if (t->flags & ESPY_TF_TORN && m->fault && t->count > 1)
			return have >= w->img->fields[t->first + t->count - 1].off;
		if (t->flags & ESPY_TF_SIZED)
			return enough_of_sized(w, t, m, have);
		if (t->aux & 0xff)
			return enough_of_extent(w, t, m, have);
		/* of a struct that varies in size all must be there that does not */
		if (!t->size && t->count)
			return have && have >= w->img->fields[t->first + t->count - 1].off;
		if (t->flags & ESPY_TF_LEAD && m->fault && t->count)
			return have >= w->img->types[w->img->fields[t->first].type].size;
		return have >= t->size && (have || !t->size);
	case ESPY_T_UNION:
		return have >= t->size;
	case ESPY_T_ARRAY: {
		/* a fixed array is read as a whole, but with `max`; of any other one the first element must be there */
		size_t elem = w->img->types[t->elem].size;
		bool overflows =
			!(t->flags & ESPY_TF_NULLTERM) && (m->want == UINT64_MAX || m->addr + m->want < m->addr);
		return !m->want || (!overflows && have >= (t->size && !t->max ? t->size : elem ? elem : 1));
	}
	case ESPY_T_TLV:
		/* control messages are read as a whole */
		if (m->fault && !espy_walk_is_headed(&w->img->types[t->elem]))
			return false;
		return have >= espy_walk_tlv_header(w, t) || !m->want;
	}
	return have;
}

/* Tells whether a record's struct that varies in size could not be read as far as what is always there. */
bool espy_walk_torn(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, size_t have,
		    size_t off)
{
	if (!m->fault || t->kind != ESPY_T_STRUCT || t->size || !t->count || off > have)
		return false;
	const struct espy_field *last = &w->img->fields[t->first + t->count - 1];
	const size_t head = w->img->types[w->img->fields[t->first].type].size;
	return have - off < (t->flags & ESPY_TF_LEAD || !last->off ? head : last->off);
}

uint64_t espy_walk_want(const struct espy_walk *w, const struct espy_type *t)
{
	switch (t->kind) {
	case ESPY_T_INT:
	case ESPY_T_PTR:
	case ESPY_T_UNION:
		return t->size;
	case ESPY_T_STRUCT: {
		uint64_t size = t->flags & ESPY_TF_SIZED ? espy_walk__length(w, w->scope, t, t->size) : t->size;
		if (size == UINT64_MAX && t->len_b != ESPY_NONE)
			size--; /* it is known */
		/* of one that is read as a whole no more counts than is ever read */
		return t->flags & ESPY_TF_WHOLE && t->max && size > t->max ? t->max : size;
	}
	case ESPY_T_ARRAY: {
		const struct espy_type *e = &w->img->types[t->elem];
		if (t->flags & ESPY_TF_NULLTERM)
			return UINT64_MAX;
		uint64_t n = espy_walk__length(w, w->scope, t, t->size ? t->size / (e->size ? e->size : 1) : t->count);
		if (t->flags & ESPY_TF_LEN_BYTES)
			return n;
		return e->size && n > UINT64_MAX / e->size ? UINT64_MAX : n * e->size;
	}
	case ESPY_T_STR:
		return UINT64_MAX;
	}
	uint64_t n = espy_walk__length(w, w->scope, t, t->size ? t->size : UINT64_MAX);
	if (t->kind == ESPY_T_BITS && t->fmt == ESPY_FMT_FD && n > ESPY_FD_SET_SIZE)
		n = ESPY_FD_SET_SIZE;
	if (t->kind == ESPY_T_BITS && t->max && n > t->max)
		n = t->max;
	/* a length that the caller gives, however large, is one that is known */
	return n == UINT64_MAX && t->len_b != ESPY_NONE ? n - 1 : n;
}

bool espy_walk_beyond_max(const struct espy_walk *w, const struct espy_type *t, uint64_t room, uint64_t want)
{
	const uint64_t elem = t->kind == ESPY_T_ARRAY ? w->img->types[t->elem].size : 0;

	return elem && t->max && !(t->flags & ESPY_TF_NULLTERM) && room / elem == t->max && want / elem > t->max;
}

bool espy_walk_fulfils(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	const struct espy_scope sc = { .outer = w->scope,
				       .type = t,
				       .mem = m,
				       .size = m->want == UINT64_MAX ? m->n[espy_span_best(m)] : m->want };

	for (uint32_t i = 0; t->kind == ESPY_T_STRUCT && i < t->count; i++) {
		const struct espy_field *f = &w->img->fields[t->first + i];

		if (f->flags & ESPY_FF_REQUIRED && f->when != ESPY_NONE && !espy_walk__eval(w, &sc, f->when, w->ok))
			return false;
	}
	return true;
}

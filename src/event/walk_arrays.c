/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arrays, and records that say their own length (TLV: control messages, netlink attributes). */
#include "describe/constant_names.h"
#include "event/walk_impl.h"

bool espy_walk_is_headed(const struct espy_type *t)
{
	return t->kind == ESPY_T_STRUCT && t->aux >> 24;
}

/* An element by the name of its index; of an index without one what the table says of the unknown. */
static void show_indexed(struct espy_walk *w, const struct espy_type *t, size_t i, const struct espy_span *m)
{
	const struct espy_table *tab = &w->img->tables[t->table];
	const struct espy_entry *e = espy_table__find(w->img, tab, i, 8);
	const uint32_t at = w->out->cnt;

	espy_walk_role(w, ESPY_ROLE_INDEX, espy_image__str(w->img, e ? e->name : tab->unknown));
	espy_walk_value(w, t->elem, m, "");
	if (!e && at < w->out->cnt)
		w->out->at[at].flags |= ESPY_TOKF_UNKNOWN;
}

static void show_array_once(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	uint32_t elem = t->elem;
	const struct espy_type *e = &w->img->types[elem];
	size_t stride = e->size ? e->size : 1;
	size_t have = m->n[espy_span_best(m)] / stride;
	uint64_t count = m->want / stride;
	const bool inside = w->inside;
	bool terminated = false;

	w->inside = false;
	if (t->flags & ESPY_TF_NULLTERM) {
		have = espy_walk_count_ptrs(m, stride, &terminated);
		count = terminated ? have : UINT64_MAX;
	}
	if (t->max && count > t->max && !(t->flags & ESPY_TF_NULLTERM))
		count = t->max + 1ull;

	if (w->folded && count) {
		const struct espy_ways ways = espy_walk_part(w);
		w->folded = false;
		if (espy_walk_take(w, &ways, ESPY_MANNERS_BRIEF)) {
			uint32_t brief = espy_walk_open(w, ESPY_GROUP_ARRAY, t, 0);
			espy_walk_elided(w, ESPY_ELIDED_MORE, 0);
			espy_walk_close(w, brief);
		}
		w->inside = inside;
		if (espy_walk_take(w, &ways, ~ESPY_MANNERS_BRIEF))
			show_array_once(w, t, m);
		espy_walk_join(w, &ways);
		return;
	}
	w->folded = false;

	if (!have && count && m->fault && !t->size) { /* of as many items as a field says none could be read */
		espy_walk_address(w, m->addr);
		return;
	}
	size_t show = have < count ? have : (size_t)count;
	const uint64_t index = w->index;
	const size_t most = t->brief_cnt && t->brief_cnt < w->elem_limit ? t->brief_cnt : w->elem_limit;
	bool limited = !inside && !(w->shown & ESPY_MANNERS_FULL) && show > most;
	if (limited)
		show = most;
	uint32_t open = espy_walk_open(w, ESPY_GROUP_ARRAY, t, inside ? 0 : ESPY_TOKF_LIMITED);
	for (size_t i = 0; i < show; i++) {
		struct espy_span s = espy_span_sub(m, i * stride, stride);
		if (t->flags & ESPY_TF_INDEXED) {
			show_indexed(w, t, i, &s);
			continue;
		}
		espy_walk_role(w, ESPY_ROLE_ELEM, "");
		w->index = i;
		espy_walk_value(w, elem, &s, "");
	}
	w->index = index;
	if (limited || show < count)
		espy_walk_elided(w, !limited && m->fault ? ESPY_ELIDED_FAULT : ESPY_ELIDED_MORE,
				 m->addr ? m->addr + show * stride : 0);
	espy_walk_close(w, open);
}

void espy_walk_array(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	/* numbers are compared as a whole, structures field by field */
	if (w->img->types[t->elem].kind != ESPY_T_INT || !espy_span_differs(m)) {
		show_array_once(w, t, m);
		return;
	}
	const bool inside = w->inside;
	for (unsigned i = 0; i < 2; i++) {
		struct espy_span one = *m;
		one.p[!i] = NULL;
		one.n[!i] = 0;
		if (i)
			espy_walk_changed(w);
		w->inside = inside;
		show_array_once(w, t, &one);
	}
}

/* espy_type.aux: a record may begin inside the header of the one before. */
#define TLV_OVERLAP (1u << 17)

/* How long a record says that it is. */
static uint64_t tlv_says(const struct espy_type *t, const struct espy_type *e, const uint8_t *p)
{
	const unsigned width = t->aux & 0xff;
	const uint64_t n = espy_load(p + (t->aux >> 24), width, t->flags & ESPY_TF_BE, false);

	return t->aux & 1u << 16 ? n : n + (e->size ? e->size : width);
}

/* A record that says that it ends inside its own header, and that the next one begins there: by how much it goes on. */
static size_t overlap_step(const struct espy_type *t, uint64_t said, size_t room)
{
	const uint64_t align = t->aux >> 8 & 0xff, n = (said + align - 1) / align * align;

	/* one that goes on by nothing is the last one */
	return n && n < room ? (size_t)n : room;
}

/*
 * One record of a TLV at p, of which `have` bytes were captured and which has `room` bytes: how long it
 * is, and where the next one begins. false: no whole record.
 */
static bool tlv_next(const struct espy_type *t, const struct espy_type *e, const uint8_t *p, size_t have, size_t room,
		     size_t *len, size_t *step)
{
	unsigned width = t->aux & 0xff, align = t->aux >> 8 & 0xff, off = t->aux >> 24;
	if (have < off + width || room < off + width || !width)
		return false;
	uint64_t n = tlv_says(t, e, p);
	if (n < off + width || n > room)
		return false;
	*len = (size_t)n;
	if (align > 1)
		n = (n + align - 1) / align * align;
	*step = n < room ? (size_t)n : room;
	return true;
}

/* Bytes of a record in front of what varies. */
size_t espy_walk_tlv_header(const struct espy_walk *w, const struct espy_type *t)
{
	const struct espy_type *e = &w->img->types[t->elem];
	uint32_t heads = e->aux >> 24 ? e->aux >> 24 : e->count;
	size_t end = (t->aux >> 24) + (t->aux & 0xff);

	for (uint32_t i = 0; e->kind == ESPY_T_STRUCT && i < heads && i < e->count; i++) {
		const struct espy_field *f = &w->img->fields[e->first + i];
		const struct espy_type *ft = &w->img->types[f->type];
		bool number = ft->kind == ESPY_T_INT;
		size_t size = ft->size;
		if (ft->kind == ESPY_T_UNION && ft->count) {
			/* a number whose table another field chooses, alone or in front of what it decides */
			const struct espy_type *first = &w->img->types[w->img->cases[ft->first].type];
			if (first->kind == ESPY_T_STRUCT && first->count) {
				first = &w->img->types[w->img->fields[first->first].type];
				size = first->size;
			}
			number = first->kind == ESPY_T_INT;
		}
		if (number && f->off + size > end)
			end = f->off + size;
	}
	return end;
}

/*
 * How many bytes of a record at p are shown, and where the next one begins; `have` bytes were captured, and there is
 * room for `room`. Returns false if it says that it is shorter than its own header: then nothing behind it counts.
 */
static bool tlv_extent(const struct espy_type *t, const struct espy_type *e, const uint8_t *p, size_t have, size_t room,
		       size_t header, size_t *len, size_t *step)
{
	const bool headed = espy_walk_is_headed(e), whole = tlv_next(t, e, p, have, room, len, step);
	const uint64_t said = tlv_says(t, e, p);

	if (!whole || (*len < header && headed)) {
		/* a length that lies: no more than there is, no less than the header that was read */
		*len = said > header ? room : header;
		*step = said > header || headed ? room : header;
	}
	if (t->aux & TLV_OVERLAP && said < header)
		*step = overlap_step(t, said, have);
	if (headed || said >= header)
		return true;
	*len = *step = header;
	return false;
}

void espy_walk_tlv(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	const struct espy_type *e = &w->img->types[t->elem];
	unsigned ph = espy_span_best(m), shown = 0;
	size_t pos = 0, len, step, end = m->n[ph], header = espy_walk_tlv_header(w, t);
	uint64_t total = m->want == UINT64_MAX || m->want < end ? end : m->want; /* more than end: cut */

	const bool headed = espy_walk_is_headed(e);
	/* of more control messages than are ever read, those that are there are told as if they were all */
	bool cut = !headed && !m->fault && total > end;
	if (cut)
		total = end;

	uint32_t open = ESPY_NO_TOKEN;
	const bool whole_one = tlv_next(t, e, m->p[ph], end, end, &len, &step) && len >= header;
	const bool stray = headed && total == end && !m->fault;
	if (headed && m->fault && end < header) { /* not even the first header could be read */
		espy_walk_address(w, m->addr);
		return;
	}
	if (stray && end && end < header) {
		espy_walk_raw(w, m, 0, end); /* no array is opened if they are all there is */
		return;
	}
	bool alone = headed && end >= header && (!whole_one || step >= total);
	if (t->aux & TLV_OVERLAP && alone)
		alone = tlv_says(t, e, m->p[ph]) >= total;
	if (!alone) /* attributes are as many as -s says, of control messages all are shown */
		open = espy_walk_open(w, ESPY_GROUP_ARRAY, t, headed ? ESPY_TOKF_LIMITED : 0);
	while (pos < end) {
		if (end - pos < header && stray) { /* bytes behind the last attribute, too few for another one */
			if (pos)
				espy_walk_role(w, ESPY_ROLE_ELEM, "");
			espy_walk_raw(w, m, pos, end);
			pos = end;
			break;
		}
		if (headed && !(w->shown & ESPY_MANNERS_FULL) && shown == w->elem_limit) {
			espy_walk_elided(w, ESPY_ELIDED_MORE, 0);
			break;
		}
		if (end - pos < header) {
			espy_walk_elided(w, total > end && !m->fault ? ESPY_ELIDED_MORE : ESPY_ELIDED_FAULT,
					 m->addr ? m->addr + pos : 0);
			pos = total = end;
			cut = false;
			break;
		}
		const bool fits =
			tlv_extent(t, e, m->p[ph] + pos, end - pos, (size_t)(total - pos), header, &len, &step);
		struct espy_span s = espy_span_sub(m, pos, len);
		s.p[!ph] = NULL;
		s.n[!ph] = 0;
		if (!alone)
			espy_walk_role(w, ESPY_ROLE_ELEM, "");
		espy_walk_value(w, t->elem, &s, "");
		pos += step;
		shown++;
		if (!fits) {
			if (pos < end)
				espy_walk_elided(w, ESPY_ELIDED_FAULT, m->addr ? m->addr + pos : 0);
			cut &= pos == end;
			pos = total = end;
			break;
		}
	}
	if (!alone) {
		/* of control messages more was said to be there, however long the last one says that it is */
		if (pos >= end && (pos < total || cut || (!headed && end < total)))
			espy_walk_elided(w, m->fault ? ESPY_ELIDED_FAULT : ESPY_ELIDED_MORE,
					 m->addr ? m->addr + end : 0);
		espy_walk_close(w, open);
	}
}

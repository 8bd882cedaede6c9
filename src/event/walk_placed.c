/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records at a place that the struct around them tells, each with the distance to the next one; and what they hold. */
#include <string.h>
#include "event/walk_impl.h"

/* The bytes of a record in front of what varies. */
static uint64_t head_of(const struct espy_walk *w, const struct espy_type *e)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < e->count; i++) {
		const struct espy_field *f = &w->img->fields[e->first + i];
		const uint64_t size = w->img->types[f->type].size;

		if (size && !(f->flags & ESPY_FF_BEHIND) && f->off + size > end)
			end = f->off + size;
	}
	return end;
}

/* Tells whether the array at the end of a record, as long as a field says, goes on behind the end of the place. */
static bool overflows(const struct espy_walk *w, const struct espy_type *e, const struct espy_span *s)
{
	const struct espy_field *f = e->count ? &w->img->fields[e->first + e->count - 1] : NULL;
	const struct espy_type *t = f ? &w->img->types[f->type] : NULL;
	const struct espy_scope sc = { .outer = w->scope, .type = e, .mem = s, .size = s->want };

	return t && t->kind == ESPY_T_ARRAY && !t->size &&
	       espy_walk__length(w, &sc, t, 0) > (s->want - f->off) / w->img->types[t->elem].size;
}

static void say_misplaced(struct espy_walk *w, const struct espy_type *t)
{
	const struct espy_type text = { .kind = ESPY_T_REMARK, .name = t->name, .len_a = ESPY_NONE, .len_b = ESPY_NONE };

	espy_walk_elided(w, ESPY_ELIDED_UNKNOWN, 0);
	espy_walk_remark(w, &text);
}

/* Shows one record at `off`. Returns false if nothing can follow it; else *distance is what it says of the next one. */
static bool show_record(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, uint64_t off, uint64_t limit,
			uint64_t *distance)
{
	const struct espy_type *e = &w->img->types[t->elem];
	const unsigned ph = espy_span_best(m), width = t->aux & 0xff, at = t->aux >> 24;
	const uint64_t align = e->align ? e->align : 1, head = (head_of(w, e) + align - 1) / align * align;

	if (!head && m->n[ph] < off && m->fault) { /* what varies says itself that it cannot be read */
		struct espy_span none = espy_span_sub(m, m->n[ph], limit - off);

		none.addr = m->addr + off;
		espy_walk_value(w, t->elem, &none, "");
		return false;
	}
	if (m->n[ph] < off || m->n[ph] - off < head || (width && m->n[ph] - off < at + width)) {
		if (m->fault)
			espy_walk_address(w, m->addr + off);
		else
			espy_walk_elided(w, ESPY_ELIDED_MORE, 0);
		return false;
	}
	const struct espy_span s = espy_span_sub(m, (size_t)off, limit - off);

	if (overflows(w, e, &s)) {
		say_misplaced(w, t);
		return false;
	}
	*distance = width ? espy_load(s.p[ph] + at, width, false, false) : 0;
	w->record_end = *distance;
	w->text_end = 0;
	espy_walk_value(w, t->elem, &s, "");
	return width;
}

static void show_records(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	const uint64_t start = espy_walk__eval(w, w->scope, t->len_a, w->ok), limit = espy_walk__eval(w, w->scope, t->len_b, w->ok);
	const uint64_t times = t->show == ESPY_NONE ? UINT64_MAX : espy_walk__eval(w, w->scope, t->show, w->ok);
	const uint64_t head = head_of(w, &w->img->types[t->elem]);
	uint64_t off = start, end = 0, distance;

	for (uint64_t i = 0; i < times; i++) {
		espy_walk_role(w, ESPY_ROLE_ELEM, "");
		if ((i && off <= end) || off > limit || limit - off < head) {
			say_misplaced(w, t);
			return;
		}
		end = off + head;
		if (i >= w->elem_limit && t->aux & 0xff) {
			espy_walk_elided(w, ESPY_ELIDED_MORE, 0);
			return;
		}
		if (!show_record(w, t, m, off, limit, &distance) || (t->show == ESPY_NONE && !distance))
			return;
		off = (t->aux & 1u << 16 ? start : off) + distance;
	}
}

void espy_walk_placed(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, bool folded)
{
	const struct espy_ways ways = espy_walk_part(w);

	if (w->depth >= ESPY_WALK_MAX_DEPTH)
		return;
	w->depth++;
	if (folded && espy_walk_take(w, &ways, ESPY_MANNERS_BRIEF)) {
		espy_walk_role(w, ESPY_ROLE_ELEM, "");
		espy_walk_elided(w, ESPY_ELIDED_MORE, 0);
	}
	if (espy_walk_take(w, &ways, folded ? ~(unsigned)ESPY_MANNERS_BRIEF : ~0u))
		show_records(w, t, m);
	espy_walk_join(w, &ways);
	w->depth--;
}

bool espy_walk_find_end(struct espy_walk *w, struct espy_span *s, uint64_t off)
{
	const unsigned ph = espy_span_best(s);
	const uint64_t wanted = s->want < w->elem_limit + 1ull ? s->want : w->elem_limit + 1ull;
	const uint8_t *nul = s->p[ph] ? memchr(s->p[ph], 0, s->n[ph]) : NULL;

	s->cut = !nul && s->want;
	if (nul && (uint64_t)(nul - s->p[ph]) <= w->elem_limit)
		w->text_end = off + (uint64_t)(nul - s->p[ph]) + 1;
	return nul || !s->fault || s->n[ph] >= wanted;
}

bool espy_walk_find_behind(const struct espy_walk *w, const struct espy_field *f, const struct espy_span *m, uint32_t *off)
{
	const uint64_t size = w->img->types[f->type].size, begin = ((m->addr + w->text_end + 7) & ~7ull) - m->addr;

	if (!w->text_end || begin + size > w->record_end || begin + size > m->n[espy_span_best(m)] || begin + size > UINT32_MAX)
		return false;
	*off = (uint32_t)begin;
	return true;
}

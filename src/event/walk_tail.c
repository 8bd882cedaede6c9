/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Structs of another size than the one that is known: bytes behind them, and fields that end in the middle. */
#include <string.h>
#include "base/zero.h"
#include "event/walk_impl.h"

#define STRUCT_MOST 4096u /* bytes: the kernel takes no struct larger than a page */

void espy_walk_raw(struct espy_walk *w, const struct espy_span *m, size_t from, size_t end)
{
	espy_walk_put(w, (struct espy_token){ .kind = ESPY_TOKEN_STR,
					      .len = (uint32_t)(end - from),
					      .type = &espy_type_rest_raw,
					      .bytes = m->p[espy_span_best(m)] + from,
					      .want = end - from,
					      .addr = m->addr ? m->addr + from : 0 });
}

/* Returns where the known fields of a struct end, without padding; one that ends in a union ends with the case of that.
 */
static size_t known_end(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	const struct espy_scope sc = { .outer = w->scope, .type = t, .mem = m, .size = m->want };
	const struct espy_scope *saved = w->scope;
	size_t end = t->size;

	if (t->kind == ESPY_T_UNION) {
		const uint32_t c = espy_walk__case(w, w->scope, t);
		return c == ESPY_NONE ? end : known_end(w, &w->img->types[c], m);
	}
	if (t->kind != ESPY_T_STRUCT || !t->count || w->depth >= ESPY_WALK_MAX_DEPTH)
		return end;
	const struct espy_field *last = &w->img->fields[t->first + t->count - 1];
	const struct espy_type *lt = &w->img->types[last->type];
	if (last->flags & ESPY_FF_OVER)
		return end;
	const struct espy_span s = espy_span_sub(m, last->off, lt->size);
	w->scope = &sc;
	w->depth++;
	end = last->off + known_end(w, lt, &s);
	w->depth--;
	w->scope = saved;
	return end;
}

static void put_tail(struct espy_walk *w, const struct espy_type *t, size_t from, const struct espy_span *s,
		     unsigned ph)
{
	const bool named = t->flags & ESPY_TF_EXTRA;

	espy_walk_role(w, named ? ESPY_ROLE_FIELD : ESPY_ROLE_FIELD_UNNAMED, named ? "extra_data" : "");
	espy_walk_put(w, (struct espy_token){ .kind = ESPY_TOKEN_STR,
					      .flags = ESPY_TOKF_TAIL,
					      .len = (uint32_t)s->n[ph],
					      .type = &espy_type_raw,
					      .num = from,
					      .bytes = s->p[ph],
					      .want = s->want,
					      .addr = s->addr });
}

bool espy_walk_has_tail(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	const unsigned ph = espy_span_best(m);

	if (!(t->flags & ESPY_TF_TAIL) || t->flags & ESPY_TF_EXTRA || m->want <= t->size || m->want == UINT64_MAX)
		return false;
	return m->fault || (m->n[ph] > t->size && !espy_all_zero(m->p[ph] + t->size, m->n[ph] - t->size));
}

void espy_walk_tail(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	const size_t from = t->flags & ESPY_TF_EXTRA ? known_end(w, t, m) : t->size;

	if (m->want <= from || m->want == UINT64_MAX)
		return;
	uint64_t end = m->want < STRUCT_MOST ? m->want : STRUCT_MOST;
	if (end <= from)
		return;
	struct espy_span s = espy_span_sub(m, from, end - from);
	unsigned ph = espy_span_best(&s);
	if (s.n[ph] < s.want && m->fault) {
		espy_walk_elided(w, ESPY_ELIDED_UNKNOWN, 0);
		return;
	}
	if (!s.p[ph] || espy_all_zero(s.p[ph], s.n[ph]))
		return;
	if (t->flags & ESPY_TF_EXTRA) {
		const struct espy_ways ways = espy_walk_part(w);

		if (espy_walk_take(w, &ways, ESPY_MANNERS_BRIEF))
			espy_walk_elided(w, ESPY_ELIDED_MORE, 0);
		if (espy_walk_take(w, &ways, ~ESPY_MANNERS_BRIEF))
			put_tail(w, t, from, &s, ph);
		espy_walk_join(w, &ways);
		return;
	}
	put_tail(w, t, from, &s, ph);
}

const struct espy_span *espy_walk_fill(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m,
				       struct espy_span *room)
{
	const size_t have = m->n[espy_span_best(m)];
	uint8_t bytes[512];
	size_t end = have;

	if (m->fault || !have || m->want != have)
		return m;
	for (uint32_t i = 0; i < t->count; i++) {
		const struct espy_field *f = &w->img->fields[t->first + i];
		const struct espy_type *ft = &w->img->types[f->type];
		/* a struct in it fills itself, and characters are as many as there are */
		if (f->off < have && f->off + ft->size > end && !(ft->flags & ESPY_TF_FILLED) && ft->kind != ESPY_T_CHARS)
			end = f->off + ft->size;
	}
	if (end == have || end > sizeof(bytes))
		return m;
	*room = *m;
	room->want = end;
	for (unsigned ph = 0; ph < 2; ph++) {
		if (!m->p[ph] || m->n[ph] != have)
			continue;
		memset(bytes, 0, end);
		memcpy(bytes, m->p[ph], have);
		room->p[ph] = (const uint8_t *)espy_walk_keep(w, bytes, end);
		room->n[ph] = end;
	}
	return room;
}

uint64_t espy_walk_said(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, unsigned phase)
{
	const uint32_t idx = (t->aux & 0xff) - 1;

	if (idx >= t->count || !m->p[phase])
		return 0;
	const struct espy_field *f = &w->img->fields[t->first + idx];
	const struct espy_type *ft = &w->img->types[f->type];
	if (f->flags & ESPY_FF_BOTH && m->p[0]) /* the kernel may have put another size there */
		phase = 0;
	const bool there = f->off <= m->n[phase] && ft->size <= m->n[phase] - f->off;
	return there ? espy_load(m->p[phase] + f->off, ft->size, ft->flags & ESPY_TF_BE, false) : 0;
}

uint64_t espy_walk_extent(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m,
			  unsigned phase)
{
	const uint32_t idx = (t->aux & 0xff) - 1;

	if (idx >= t->count || !m->p[phase])
		return 0;
	const struct espy_field *f = &w->img->fields[t->first + idx];
	const uint64_t end = f->off + (uint64_t)w->img->types[f->type].size, said = espy_walk_said(w, t, m, phase);

	return end > m->n[phase] ? 0 : said > end ? said : end;
}

/* Of so many bytes those that are read: as many as are shown, and one. */
uint64_t espy_walk_limited(const struct espy_walk *w, const struct espy_type *t, uint64_t want)
{
	const bool cut = !(t->flags & ESPY_TF_PATH) && want != UINT64_MAX;

	return cut && want > w->elem_limit + 1ull ? w->elem_limit + 1ull : want;
}

/* Tells whether bytes at the end of a struct, as many as a field says, could not be read. Of those never cut, all must
 * be there. */
bool espy_walk_bytes_unread(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *s)
{
	const bool whole = t->flags & ESPY_TF_PATH || t->kind == ESPY_T_REST;
	const bool ours = (t->kind == ESPY_T_BYTES && !t->size) || (t->kind == ESPY_T_REST && !t->hook);

	return ours && s->fault && s->want != UINT64_MAX &&
	       s->n[espy_span_best(s)] < (whole ? espy_walk_limited(w, t, s->want) : s->want > 0);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Structures and unions: which of their fields are shown, from which of the two phases, and in what form. */
#include <string.h>

#include "decode/walk.h"

struct members {
	bool two_parts;  /* `{...} => {...}`: fields marked `after` come in the second */
	bool second;     /* this is the second part */
	bool marked;     /* some field is marked `both` */
	bool more;       /* something was left out that -v shows */
	bool end;        /* the bytes are used up */
	bool values;     /* behind the header of a headed struct: values without names */
};

/* Does any field of the struct, or of what is joined to it, carry the flag? */
bool espy_walk_has_flag(const struct espy_walk *w, const struct espy_type *t, uint32_t flag)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (w->img->fields[t->first + i].flags & flag)
			return true;
	return false;
}

static void show_members(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, struct members *st,
			 uint32_t from);

/* The bytes that must be there for a struct in a union to be shown at all: all but a string at its end. */
static size_t least_size(const struct espy_walk *w, const struct espy_type *t)
{
	size_t least = 0;

	if (t->kind != ESPY_T_STRUCT)
		return t->size;
	for (uint32_t i = 0; i < t->count; i++) {
		const struct espy_field *f = &w->img->fields[t->first + i];
		const struct espy_type *ft = &w->img->types[f->type];
		if (ft->kind == ESPY_T_CHARS || ft->kind == ESPY_T_REST || espy_walk_is_unit(w, ft))
			continue;
		if (f->off + ft->size > least)
			least = f->off + ft->size;
	}
	return least;
}

uint32_t espy_walk_union_case(const struct espy_walk *w, const struct espy_type *u, const struct espy_span *m)
{
	uint32_t c = espy_walk__case(w, w->scope, u);

	if (c != ESPY_NONE && u->count && least_size(w, &w->img->types[c]) > m->n[espy_span_best(m)]) {
		const struct espy_case *last = &w->img->cases[u->first + u->count - 1];
		if (last->is_else)
			c = last->type;
	}
	return c;
}

static void field_name(struct espy_walk *w, const struct members *st, const char *name, const struct espy_type *t)
{
	if (st->values)
		w->vis->elem(w->ctx);
	else
		w->vis->field(w->ctx, name, t);
}

static bool is_array_like(const struct espy_type *t)
{
	return t->kind == ESPY_T_REST || t->kind == ESPY_T_TLV || (t->kind == ESPY_T_ARRAY && !t->size) ||
	       (t->kind == ESPY_T_BYTES && !t->size);
}

static void show_field(struct espy_walk *w, const struct espy_type *st_type, const struct espy_field *f,
		       const struct espy_span *m, struct members *st)
{
	uint32_t type = f->type;
	const struct espy_type *t = &w->img->types[type];
	const char *name = espy_image__str(w->img, f->name);

	if (f->flags & ESPY_FF_HIDDEN || t->kind == ESPY_T_VOID)
		return;
	if (st->second && !(f->flags & ESPY_FF_EXIT))
		return;
	if (f->when != ESPY_NONE && !espy_walk__eval(w, w->scope, f->when, w->ok))
		return;
	if ((f->flags & ESPY_FF_VERBOSE) && !w->o->verbose) {
		st->more = true;
		return;
	}

	struct espy_span fm = *m;
	bool only_address = false;
	if ((f->flags & ESPY_FF_ON_OK) && !w->ok)
		return;
	unsigned drop = 2;
	if (f->flags & ESPY_FF_ENTER) {
		drop = 1;
	} else if (f->flags & ESPY_FF_EXIT) {
		if (st->two_parts && !st->second) {
			if (t->kind != ESPY_T_PTR)
				return;
			only_address = true;
		}
		if (!st->two_parts && m->p[0] && !m->p[1] && t->kind != ESPY_T_PTR)
			return;
		if (m->p[1])
			drop = 0;
	} else if (f->flags & ESPY_FF_ON_OK) {
		drop = 0;
	} else if (st->marked && !(f->flags & ESPY_FF_BOTH)) {
		if (w->failed)
			return;
		drop = 0;
	}
	if (drop < 2 && fm.p[!drop]) {
		fm.p[drop] = NULL;
		fm.n[drop] = 0;
	}

	/* How much of it is there? */
	size_t have = fm.n[0] > fm.n[1] ? fm.n[0] : fm.n[1];
	bool open_end = is_array_like(t) || t->kind == ESPY_T_UNION;
	size_t need = open_end ? 0 : t->size;
	if (t->kind == ESPY_T_CHARS || espy_walk_is_unit(w, t)) {
		need = 0;
		open_end = false;
	}
	if (f->off > have || need > have - f->off ||
	    (need == 0 && f->off >= have && t->kind != ESPY_T_TLV && have >= m->want)) {
		if (is_array_like(t) && f->off <= have)
			goto show; /* empty, but there */
		if (f->off + (uint64_t)t->size <= m->want && !st->end && m->want != UINT64_MAX && t->size)
			w->vis->elided(w->ctx, ESPY_ELIDED_UNKNOWN, 0);
		st->end = true;
		return;
	}
show:;
	uint64_t room = m->want > f->off && m->want != UINT64_MAX ? m->want - f->off : have - f->off;
	struct espy_span s = espy_span_sub(&fm, f->off, open_end ? room : t->size < room || !room ? t->size : room);
	if (is_array_like(t) && (t->len_a != ESPY_NONE || t->len_b != ESPY_NONE)) {
		uint64_t want = espy_walk_want(w, t);
		if (want < s.want) {
			s.want = want;
			for (unsigned i = 0; i < 2; i++)
				if (s.n[i] > want)
					s.n[i] = (size_t)want;
		}
	}
	for (unsigned i = 0; i < 2; i++) {
		if (s.n[i] < need) { /* a phase that was captured in part */
			s.p[i] = NULL;
			s.n[i] = 0;
		}
	}
	if ((f->flags & ESPY_FF_NONZERO)) {
		unsigned ph = espy_span_best(&s);
		if (!s.p[ph] || espy_all_zero(s.p[ph], s.n[ph]))
			return;
	}

	if (t->kind == ESPY_T_UNION) {
		uint32_t c = espy_walk_union_case(w, t, &s);
		if (c == ESPY_NONE)
			return;
		const struct espy_type *ct = &w->img->types[c];
		if (ct->kind == ESPY_T_VOID)
			return;
		if (!(t->flags & ESPY_TF_BRACES)) {
			if (ct->kind == ESPY_T_STRUCT && !espy_walk_is_headed(ct)) {
				if (w->depth >= ESPY_WALK_MAX_DEPTH)
					return;
				/* expressions inside see the chosen struct, and ours around it */
				const struct espy_scope sc = {
					.outer = w->scope, .type = ct, .mem = &s, .size = w->scope->size
				};
				const struct espy_scope *saved = w->scope;
				w->scope = &sc;
				w->depth++;
				show_members(w, ct, &s, st, 0);
				w->depth--;
				w->scope = saved;
				return;
			}
			if (ct->size && ct->size < s.want && !is_array_like(ct))
				s = espy_span_sub(&s, 0, ct->size);
			unsigned ph = espy_span_best(&s);
			if (s.n[ph] < ct->size && ct->kind != ESPY_T_CHARS)
				return;
			if (is_array_like(ct) && !s.n[ph] && st->values)
				return;
			if (ct->kind == ESPY_T_UNION && w->depth < ESPY_WALK_MAX_DEPTH) {
				/* a union directly in a union: as if it stood here itself */
				struct espy_field inner = {
					.name = f->name, .type = c, .off = f->off, .when = ESPY_NONE, .flags = f->flags
				};
				w->depth++;
				show_field(w, st_type, &inner, m, st);
				w->depth--;
				return;
			}
			type = c;
			t = ct;
		}
	}
	if (st->values && is_array_like(t) && !s.n[espy_span_best(&s)])
		return;

	if (f->flags & ESPY_FF_NONAME)
		name = "";
	field_name(w, st, name, t);
	if (only_address) {
		unsigned ph = espy_span_best(&s);
		w->vis->address(w->ctx, espy_load(s.p[ph], t->size, false, false));
		return;
	}
	espy_walk_value(w, type, &s, name);
}

static void show_members(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, struct members *st,
			 uint32_t from)
{
	const uint32_t *list = NULL;
	uint32_t cnt = t->count;

	if (t->brief_cnt && !w->o->verbose && !st->second) {
		list = &w->img->index_list[t->brief];
		cnt = t->brief_cnt;
		st->more = true;
	} else if (t->show_cnt) {
		list = &w->img->index_list[t->show];
		cnt = t->show_cnt;
	}
	for (uint32_t i = from; i < cnt; i++) {
		uint32_t idx = list ? list[i] : i;
		if (idx < t->count)
			show_field(w, t, &w->img->fields[t->first + idx], m, st);
	}
}

/* Bytes behind the known struct: they say something only if they are not zero. */
static void show_tail(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	static const struct espy_type rest = { .kind = ESPY_T_BYTES, .flags = ESPY_TF_HEX, .table = ESPY_NONE,
					       .len_a = ESPY_NONE, .len_b = ESPY_NONE, .elem = ESPY_NONE };

	if (m->want <= t->size || m->want == UINT64_MAX)
		return;
	struct espy_span s = espy_span_sub(m, t->size, m->want - t->size);
	unsigned ph = espy_span_best(&s);
	if (s.n[ph] < s.want && m->fault) {
		w->vis->elided(w->ctx, ESPY_ELIDED_UNKNOWN, 0);
		return;
	}
	if (!s.p[ph] || espy_all_zero(s.p[ph], s.n[ph]))
		return;
	struct espy_value v = espy_walk_make_value(w, &rest, &s, ph, "");
	v.tail_from = t->size;
	w->vis->field(w->ctx, "", &rest);
	w->vis->string(w->ctx, &v);
}

/* `[{header}, value, ...]`, or the header alone if nothing follows it. */
static void show_headed(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, struct members *st)
{
	uint32_t heads = t->aux >> 24;
	struct espy_type head = *t, tail = *t;
	size_t head_end = 0;

	if (heads > t->count)
		heads = t->count;
	head.count = heads;
	head.show_cnt = head.brief_cnt = tail.show_cnt = tail.brief_cnt = 0;
	for (uint32_t i = 0; i < heads; i++) {
		const struct espy_field *f = &w->img->fields[t->first + i];
		size_t end = f->off + w->img->types[f->type].size;
		head_end = end > head_end ? end : head_end;
	}

	bool follows = m->n[espy_span_best(m)] > head_end && heads < t->count;
	if (follows) {
		w->vis->open(w->ctx, ESPY_GROUP_ARRAY, t);
		w->vis->elem(w->ctx);
	}
	w->vis->open(w->ctx, ESPY_GROUP_STRUCT, t);
	show_members(w, &head, m, st, 0);
	w->vis->close(w->ctx, ESPY_GROUP_STRUCT);
	if (follows) {
		st->values = true;
		show_members(w, &tail, m, st, heads);
		st->values = false;
		w->vis->close(w->ctx, ESPY_GROUP_ARRAY);
	}
}

static bool note_fields(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, int64_t num[2],
			unsigned *usec)
{
	unsigned ph = espy_span_best(m);

	if (t->count < 2)
		return false;
	for (unsigned i = 0; i < 2; i++) {
		const struct espy_field *f = &w->img->fields[t->first + i];
		const struct espy_type *ft = &w->img->types[f->type];
		if (ft->kind != ESPY_T_INT || f->off > m->n[ph] || ft->size > m->n[ph] - f->off)
			return false;
		num[i] = (int64_t)espy_load(m->p[ph] + f->off, ft->size, ft->flags & ESPY_TF_BE,
					    ft->flags & ESPY_TF_SIGNED);
		*usec = strstr(espy_image__str(w->img, f->name), "usec") ? ESPY_NOTE_USEC : 0;
	}
	return true;
}

/* The second of two parts: ` => {...}`, if it has anything to say. */
static void show_second(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	bool any = false;

	if (!w->ok)
		return;
	for (uint32_t i = 0; i < t->count && !any; i++) {
		const struct espy_field *f = &w->img->fields[t->first + i];
		any = (f->flags & ESPY_FF_EXIT) && !(f->flags & ESPY_FF_HIDDEN) &&
		      (f->when == ESPY_NONE || espy_walk__eval(w, w->scope, f->when, true)) &&
		      f->off + (uint64_t)w->img->types[f->type].size <= m->n[espy_span_best(m)];
	}
	if (!any)
		return;
	struct members st = { .two_parts = true, .second = true };
	w->vis->changed(w->ctx);
	w->vis->open(w->ctx, ESPY_GROUP_STRUCT, t);
	show_members(w, t, m, &st, 0);
	w->vis->close(w->ctx, ESPY_GROUP_STRUCT);
}

uint64_t espy_walk_extent(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m,
			  unsigned phase)
{
	uint32_t idx = (t->aux & 0xff) - 1;

	if (idx >= t->count || !m->p[phase])
		return 0;
	const struct espy_field *f = &w->img->fields[t->first + idx];
	const struct espy_type *ft = &w->img->types[f->type];
	if (f->off > m->n[phase] || ft->size > m->n[phase] - f->off)
		return 0;
	uint64_t x = espy_load(m->p[phase] + f->off, ft->size, ft->flags & ESPY_TF_BE, false);
	return x > f->off + ft->size ? x : f->off + ft->size;
}

void espy_walk_struct(struct espy_walk *w, const struct espy_type *t, const struct espy_span *whole, unsigned parts)
{
	struct espy_span cut;
	const struct espy_span *m = whole;

	if (t->aux & 0xff) {
		/* only what lies inside the size that the struct itself says */
		cut = *whole;
		uint64_t extent = espy_walk_extent(w, t, whole, espy_span_best(whole));
		if (extent) {
			cut.want = extent;
			for (unsigned i = 0; i < 2; i++)
				if (cut.n[i] > extent)
					cut.n[i] = (size_t)extent;
		}
		m = &cut;
	}
	const struct espy_scope sc = { .outer = w->scope, .type = t, .mem = m,
				       .size = m->want == UINT64_MAX ? m->n[espy_span_best(m)] : m->want };
	const struct espy_scope *saved = w->scope;
	struct members st = { 0 };
	int64_t num[2];
	unsigned usec = 0;
	bool noted = t->note && note_fields(w, t, m, num, &usec);

	if (w->depth >= ESPY_WALK_MAX_DEPTH) {
		w->vis->address(w->ctx, m->addr);
		return;
	}
	if (noted && w->vis->note(w->ctx, t->note | usec, num[0], num[1], true))
		return;
	w->scope = &sc;
	w->depth++;
	st.two_parts = m->p[0] && espy_walk_has_flag(w, t, ESPY_FF_EXIT);
	st.marked = m->p[0] && espy_walk_has_flag(w, t, ESPY_FF_BOTH);
	if (parts & ESPY_FIRST_PART) {
		if (espy_walk_is_headed(t)) {
			show_headed(w, t, m, &st);
		} else {
			w->vis->open(w->ctx, ESPY_GROUP_STRUCT, t);
			show_members(w, t, m, &st, 0);
			if (st.more)
				w->vis->elided(w->ctx, ESPY_ELIDED_MORE, 0);
			else if (t->flags & ESPY_TF_TAIL)
				show_tail(w, t, m);
			w->vis->close(w->ctx, ESPY_GROUP_STRUCT);
		}
	}
	if ((parts & ESPY_SECOND_PART) && st.two_parts)
		show_second(w, t, m);
	w->depth--;
	w->scope = saved;
	if (noted && (parts & ESPY_FIRST_PART))
		w->vis->note(w->ctx, t->note | usec, num[0], num[1], false);
}

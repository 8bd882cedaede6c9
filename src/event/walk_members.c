/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Structures and unions: which of their fields are shown, from which of the two phases, and in what form. */
#include <string.h>

#include "base/zero.h"
#include "event/walk_impl.h"

struct members {
	bool two_parts;  /* `{...} => {...}`: fields marked `after` come in the second */
	bool second;     /* this is the second part */
	bool marked;     /* some field is marked `both` */
	bool more;       /* something is left out in the brief manners */
	uint16_t end;    /* manners in which the bytes are used up */
	uint16_t more_left; /* manners in which a field is left out though -v is given */
	bool partial, torn; /* a field that the size cuts is shown by its bytes; is ??? behind its name */
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

static void begin_field(struct espy_walk *w, const struct members *st, const struct espy_field *f)
{
	const char *name = espy_image__str(w->img, f->name);
	const bool unnamed = f->flags & ESPY_FF_NONAME;

	if (st->values)
		espy_walk_role(w, ESPY_ROLE_ELEM, unnamed ? "" : name);
	else
		espy_walk_role(w, unnamed ? ESPY_ROLE_FIELD_UNNAMED : ESPY_ROLE_FIELD, name);
}

/* Which of the two phases does the field not show? 2: it shows both. -1: it is not shown at all. */
static int dropped_phase(const struct espy_walk *w, const struct espy_field *f, const struct espy_type *t,
			 const struct espy_span *m, const struct members *st, bool *only_address)
{
	if (f->flags & ESPY_FF_ENTER)
		return 1;
	if (f->flags & ESPY_FF_EXIT) {
		if (st->two_parts && !st->second) {
			if (t->kind != ESPY_T_PTR)
				return -1;
			*only_address = true;
		}
		if (!st->two_parts && m->p[0] && !m->p[1] && t->kind != ESPY_T_PTR)
			return -1;
		return m->p[1] ? 0 : 2;
	}
	if (f->flags & ESPY_FF_LAST)
		return m->p[1] ? 0 : 2;
	if (f->flags & ESPY_FF_ON_OK)
		return 0;
	if (st->marked && !(f->flags & ESPY_FF_BOTH))
		return w->failed ? -1 : 0;
	return 2;
}

/* Behind the header of a record: what is there, but could not be read, is an address. */
static bool show_unread(struct espy_walk *w, const struct espy_field *f, const struct espy_type *t, const struct espy_span *m,
			struct members *st)
{
	const bool parts = t->kind == ESPY_T_STRUCT || t->kind == ESPY_T_UNION;
	const bool open = espy_walk_is_array_like(t) || t->kind == ESPY_T_CHARS || (parts && !t->size);
	const uint64_t least = open || t->kind == ESPY_T_UNION || t->flags & ESPY_TF_UPTO ? 1 : t->size;

	if (!st->values || !m->fault || !least || m->want == UINT64_MAX || f->off + least > m->want || st->end & w->shown)
		return false;
	begin_field(w, st, f);
	espy_walk_address(w, m->addr + f->off);
	st->end |= w->shown;
	return true;
}

/* Of a field that is room for more than there is, the bytes that count; of any other one UINT64_MAX. */
static uint64_t room_used(struct espy_walk *w, const struct espy_type *t)
{
	if (!t->size || t->len_a == ESPY_NONE || t->kind == ESPY_T_UNION)
		return UINT64_MAX;
	const uint64_t count = espy_walk__length(w, w->scope, t, t->size);
	const size_t elem = t->kind == ESPY_T_ARRAY ? w->img->types[t->elem].size : 1;
	return count < t->size / elem ? count * elem : UINT64_MAX;
}

/* The bytes of the field among those of its struct; false: there are none to show. */
static bool field_bytes(struct espy_walk *w, const struct espy_field *f, const struct espy_type *t, const struct espy_span *fm,
			uint64_t struct_want, struct members *st, struct espy_span *s)
{
	size_t have = fm->n[0] > fm->n[1] ? fm->n[0] : fm->n[1];
	bool open_end = espy_walk_is_array_like(t) || t->kind == ESPY_T_UNION ||
			(t->kind == ESPY_T_STRUCT && (!t->size || t->flags & ESPY_TF_FILLED));
	const uint64_t used = room_used(w, t);
	size_t need = open_end ? 0 : espy_walk_needed(w, t);

	if (t->kind == ESPY_T_CHARS || espy_walk_is_unit(w, t)) {
		need = 0;
		open_end = false;
	}
	if (used < need)
		need = (size_t)used;
	bool used_up = f->off > have || need > have - f->off ||
		       (st->values && espy_walk_torn(w, t, fm, have, f->off)) ||
		       (need == 0 && f->off >= have && t->kind != ESPY_T_TLV && have >= struct_want);
	if (f->flags & ESPY_FF_ALWAYS && f->off >= struct_want && t->size <= sizeof(uint64_t) && !(st->end & w->shown)) {
		/* what the kernel takes for the bytes that are not there */
		static const uint8_t zeros[sizeof(uint64_t)];

		*s = *fm;
		s->want = t->size;
		for (unsigned i = 0; i < 2; i++) {
			s->n[i] = fm->p[i] ? t->size : 0;
			s->p[i] = fm->p[i] ? zeros : NULL;
		}
		return true;
	}
	if (used_up && !(espy_walk_is_array_like(t) && f->off <= have)) { /* an array may be empty, but there */
		const struct espy_ways ways = espy_walk_part(w);
		if (show_unread(w, f, t, fm, st))
			return false;
		if (st->partial && f->off < have && have >= struct_want && !(st->end & w->shown)) {
			begin_field(w, st, f);
			espy_walk_raw(w, fm, f->off, fm->n[espy_span_best(fm)]);
		}
		if (f->off + (uint64_t)t->size <= struct_want && struct_want != UINT64_MAX && t->size &&
		    espy_walk_take(w, &ways, ~(unsigned)st->end)) {
			if (st->torn)
				begin_field(w, st, f);
			espy_walk_elided(w, ESPY_ELIDED_UNKNOWN, 0);
		}
		espy_walk_join(w, &ways);
		st->end |= w->shown;
		return false;
	}

	uint64_t room = struct_want > f->off && struct_want != UINT64_MAX ? struct_want - f->off : have - f->off;
	*s = espy_span_sub(fm, f->off, open_end ? room : t->size < room || !room ? t->size : room);
	if (espy_walk_is_array_like(t) && (t->len_a != ESPY_NONE || t->len_b != ESPY_NONE)) {
		uint64_t want = espy_walk_want(w, t);
		if (want < s->want || f->flags & ESPY_FF_SHORT || espy_walk_beyond_max(w, t, s->want, want)) {
			s->want = want;
			for (unsigned i = 0; i < 2; i++)
				if (s->n[i] > want)
					s->n[i] = (size_t)want;
		}
	}
	if (used != UINT64_MAX) {
		s->want = used;
		need = (size_t)used;
		for (unsigned i = 0; i < 2; i++)
			s->n[i] = s->n[i] < need ? s->n[i] : need;
	}
	for (unsigned i = 0; i < 2; i++) {
		if (s->n[i] < need) { /* a phase that was captured in part */
			s->p[i] = NULL;
			s->n[i] = 0;
		}
	}
	if ((f->flags & ESPY_FF_NONZERO)) {
		unsigned ph = espy_span_best(s);
		if (!s->p[ph] || espy_all_zero(s->p[ph], t->kind == ESPY_T_CHARS ? s->n[ph] > 0 : s->n[ph]))
			return false;
	}
	return true;
}

static void show_field(struct espy_walk *w, const struct espy_field *f, const struct espy_span *m, struct members *st);

/* Tells whether an address stands for all but the first field of a struct. */
static bool lead_cut(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *s)
{
	bool others = false;

	if (t->kind != ESPY_T_STRUCT || !(t->flags & ESPY_TF_LEAD) || !s->fault || s->n[espy_span_best(s)] >= t->size ||
	    (w->failed && espy_walk_has_flag(w, t, ESPY_FF_BOTH))) /* then the others are left out */
		return false;
	for (uint32_t i = 1; i < t->count; i++)
		others |= !(w->img->fields[t->first + i].flags & ESPY_FF_HIDDEN);
	return others;
}

/* The first field of a struct, read on its own, and the address of the others, which could not be read. */
static void show_lead(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, struct members *st)
{
	const struct espy_field *f = &w->img->fields[t->first];

	show_field(w, f, m, st);
	if (lead_cut(w, t, m)) {
		espy_walk_role(w, ESPY_ROLE_FIELD_UNNAMED, "");
		espy_walk_address(w, m->addr + f->off + w->img->types[f->type].size);
	}
}

/*
 * A union that is joined to the struct around it: its case, as if its fields stood here. Returns the type of the value
 * that is to be shown as the field; ESPY_NONE: it has been shown, or there is none.
 */
static uint32_t joined_union(struct espy_walk *w, const struct espy_field *f, const struct espy_type *t,
			     const struct espy_span *m, struct espy_span *s, struct members *st)
{
	uint32_t c = espy_walk_union_case(w, t, s);
	if (c == ESPY_NONE || w->img->types[c].kind == ESPY_T_VOID)
		return ESPY_NONE;
	const struct espy_type *ct = &w->img->types[c];
	if (t->flags & ESPY_TF_BRACES)
		return f->type;
	if (ct->kind == ESPY_T_STRUCT && !espy_walk_is_headed(ct)) {
		if (w->depth >= ESPY_WALK_MAX_DEPTH)
			return ESPY_NONE;
		/* expressions inside see the chosen struct, and ours around it */
		const struct espy_scope sc = { .outer = w->scope, .type = ct, .mem = s, .size = w->scope->size };
		const struct espy_scope *saved = w->scope;
		w->scope = &sc;
		w->depth++;
		if (lead_cut(w, ct, s))
			show_lead(w, ct, s, st);
		else
			show_members(w, ct, s, st, 0);
		if (ct->flags & ESPY_TF_TAIL)
			espy_walk_tail(w, ct, s);
		w->depth--;
		w->scope = saved;
		return ESPY_NONE;
	}
	if (ct->size && ct->size < s->want && !espy_walk_is_array_like(ct))
		*s = espy_span_sub(s, 0, ct->size);
	unsigned ph = espy_span_best(s);
	const bool part =
		ct->flags & ESPY_TF_UPTO && s->fault && s->n[ph] < s->want; /* of its bytes some were not read */
	if ((part || s->n[ph] < espy_walk_needed(w, ct)) && ct->kind != ESPY_T_CHARS) {
		show_unread(w, f, ct, m, st);
		return ESPY_NONE;
	}
	if (espy_walk_is_array_like(ct) && !s->n[ph] && st->values) {
		show_unread(w, f, ct, m, st);
		return ESPY_NONE;
	}
	if (ct->kind == ESPY_T_UNION && w->depth < ESPY_WALK_MAX_DEPTH) {
		/* a union directly in a union: as if it stood here itself */
		const struct espy_field inner = {
			.name = f->name, .type = c, .off = f->off, .when = ESPY_NONE, .flags = f->flags
		};
		w->depth++;
		show_field(w, &inner, m, st);
		w->depth--;
		return ESPY_NONE;
	}
	return c;
}

/* Shows a number as most fields are: it always counts, and all of it was captured, once. false: it is none of these. */
static inline bool show_plain_number(struct espy_walk *w, const struct espy_field *f, const struct espy_type *t,
				     const struct espy_span *m, const struct members *st)
{
	const unsigned phase = espy_span_best(m);
	const uint64_t end = f->off + (uint64_t)t->size;

	if (t->kind != ESPY_T_INT || t->hook || t->flags & ESPY_TF_KIND || t->len_a != ESPY_NONE || m->p[!phase] ||
	    end > m->n[phase] || end > m->want ||
	    f->flags & ~(uint32_t)(ESPY_FF_NONAME | ESPY_FF_VERBOSE) || st->marked || st->two_parts ||
	    w->depth >= ESPY_WALK_MAX_DEPTH)
		return false;

	const uint8_t *bytes = m->p[phase] + f->off;

	begin_field(w, st, f);
	espy_walk_integer(w, t, espy_load(bytes, t->size, t->flags & ESPY_TF_BE, t->flags & ESPY_TF_SIGNED), bytes, t->size,
			  f->flags & ESPY_FF_NONAME ? "" : espy_image__str(w->img, f->name));
	w->folded = false;
	return true;
}

/* Tells whether what is left for an array is less than one element of it. */
static bool no_element(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *s)
{
	return t->kind == ESPY_T_ARRAY && !t->size && t->len_a == ESPY_NONE && t->len_b == ESPY_NONE && s->want &&
	       s->want < w->img->types[t->elem].size;
}

/* A field whose manners are chosen. */
static void show_chosen_field(struct espy_walk *w, const struct espy_field *f, const struct espy_span *m, struct members *st)
{
	uint32_t type = f->type;
	const struct espy_type *t = &w->img->types[type];
	struct espy_span fm = *m, s;
	bool only_address = false;

	if (show_plain_number(w, f, t, m, st))
		return;
	if ((f->flags & ESPY_FF_ON_OK) && !w->ok) {
		if (f->flags & ESPY_FF_MORE)
			st->more_left |= w->shown;
		return;
	}
	int drop = dropped_phase(w, f, t, m, st, &only_address);
	if (drop < 0)
		return;
	if (drop < 2 && fm.p[!drop]) {
		fm.p[drop] = NULL;
		fm.n[drop] = 0;
	}
	if (!field_bytes(w, f, t, &fm, m->want, st, &s))
		return;
	if (t->kind == ESPY_T_UNION) {
		type = joined_union(w, f, t, m, &s, st);
		if (type == ESPY_NONE)
			return;
		t = &w->img->types[type];
	}
	if (no_element(w, t, &s))
		return;
	if (st->values && espy_walk_is_array_like(t) && !s.n[espy_span_best(&s)] &&
	    !(s.fault && s.want && s.want != UINT64_MAX))
		return;
	const bool bytes = t->kind == ESPY_T_CHARS || t->kind == ESPY_T_BYTES || t->kind == ESPY_T_REST;
	if (bytes && !t->hook && s.fault && s.n[espy_span_best(&s)] < espy_walk_limited(w, t, s.want) &&
	    show_unread(w, f, t, &fm, st))
		return;
	if (f->flags & ESPY_FF_THEN)
		espy_walk_changed(w);
	else
		begin_field(w, st, f);
	if (espy_walk_bytes_unread(w, t, &s)) {
		t->flags & ESPY_TF_PATH ? espy_walk_elided(w, ESPY_ELIDED_UNKNOWN, 0) : espy_walk_address(w, s.addr);
		return;
	}
	if (t->kind == ESPY_T_STR && !espy_walk_find_end(w, &s, f->off)) {
		espy_walk_address(w, s.addr);
		return;
	}
	if (only_address) {
		unsigned ph = espy_span_best(&s);
		espy_walk_address(w, espy_load(s.p[ph], t->size, false, false));
		return;
	}
	if (lead_cut(w, t, &s))
		st->end |= w->shown; /* nothing behind it is looked at */
	w->folded = f->flags & ESPY_FF_FOLDED;
	w->inside = f->flags & ESPY_FF_SHORT && t->kind == ESPY_T_ARRAY && w->img->types[t->elem].kind != ESPY_T_STRUCT;
	w->early = t->kind == ESPY_T_PTR && f->flags & ESPY_FF_ENTER;
	w->again = f->flags & ESPY_FF_NAMED ? espy_image__str(w->img, f->name) : "";
	espy_walk_value(w, type, &s, f->flags & ESPY_FF_NONAME ? "" : espy_image__str(w->img, f->name));
	w->folded = w->inside = w->early = false;
	w->again = "";
}

static void show_field(struct espy_walk *w, const struct espy_field *f, const struct espy_span *m, struct members *st)
{
	const struct espy_type *t = &w->img->types[f->type];

	if (f->flags & ESPY_FF_HIDDEN || t->kind == ESPY_T_VOID)
		return;
	/* What the call has not written is not left out either. */
	if (f->flags & ESPY_FF_ON_OK && !w->ok && !(f->flags & ESPY_FF_MORE))
		return;
	if (f->flags & ESPY_FF_BEHIND) {
		struct espy_field there = *f;

		there.flags &= ~(uint32_t)ESPY_FF_BEHIND;
		if (espy_walk_find_behind(w, f, m, &there.off))
			show_field(w, &there, m, st);
		return;
	}
	if (t->kind == ESPY_T_REMARK) {
		if (st->end || st->second || (f->when != ESPY_NONE && !espy_walk__eval(w, w->scope, f->when, w->ok)))
			return;
		if (espy_remark_is_value(espy_image__str(w->img, t->name)))
			begin_field(w, st, f); /* it is the value of the field */
		espy_walk_remark(w, t);
		return;
	}
	if (st->second && !(f->flags & ESPY_FF_EXIT))
		return;
	if (f->when != ESPY_NONE && !espy_walk__eval(w, w->scope, f->when, w->ok))
		return;
	if (t->kind == ESPY_T_PLACED) {
		espy_walk_placed(w, t, m, f->flags & ESPY_FF_FOLDED);
		return;
	}
	if (!(f->flags & ESPY_FF_VERBOSE) || !(w->shown & ESPY_MANNERS_BRIEF)) {
		show_chosen_field(w, f, m, st);
		return;
	}
	const struct espy_ways ways = espy_walk_part(w);
	st->more = true;
	if (espy_walk_take(w, &ways, ~ESPY_MANNERS_BRIEF))
		show_chosen_field(w, f, m, st);
	espy_walk_join(w, &ways);
}

static void show_listed(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, struct members *st,
			uint32_t from, const uint32_t *list, uint32_t cnt)
{
	for (uint32_t i = from; i < cnt; i++) {
		uint32_t idx = list ? list[i] : i;
		if (idx < t->count)
			show_field(w, &w->img->fields[t->first + idx], m, st);
	}
}

static void show_members(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, struct members *st,
			 uint32_t from)
{
	const uint32_t *list = t->show_cnt ? &w->img->index_list[t->show] : NULL;
	const uint32_t cnt = t->show_cnt ? t->show_cnt : t->count;

	if (!t->brief_cnt || st->second || !(w->shown & ESPY_MANNERS_BRIEF)) {
		show_listed(w, t, m, st, from, list, cnt);
		return;
	}
	const struct espy_ways ways = espy_walk_part(w);
	st->more = true;
	if (espy_walk_take(w, &ways, ESPY_MANNERS_BRIEF))
		show_listed(w, t, m, st, from, &w->img->index_list[t->brief], t->brief_cnt);
	if (espy_walk_take(w, &ways, ~ESPY_MANNERS_BRIEF))
		show_listed(w, t, m, st, from, list, cnt);
	espy_walk_join(w, &ways);
}

/* `[{header}, value, ...]`, or the header alone if nothing follows it. */
static void show_headed(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, struct members *st)
{
	uint32_t heads = t->aux >> 24;
	struct espy_type head = *t, tail = *t;
	size_t head_end = 0;

	if (heads == ESPY_NO_HEADS)
		heads = 0;
	if (heads > t->count)
		heads = t->count;
	head.count = heads;
	head.show_cnt = head.brief_cnt = tail.show_cnt = tail.brief_cnt = 0;
	for (uint32_t i = 0; i < heads; i++) {
		const struct espy_field *f = &w->img->fields[t->first + i];
		size_t end = f->off + w->img->types[f->type].size;
		head_end = end > head_end ? end : head_end;
	}

	uint32_t list = ESPY_NO_TOKEN;
	const bool unread =
		m->fault && m->want != UINT64_MAX && m->want > head_end && m->n[espy_span_best(m)] >= head_end;
	bool follows = (unread || m->n[espy_span_best(m)] > head_end) && heads < t->count;
	if (follows) {
		list = espy_walk_open(w, ESPY_GROUP_ARRAY, t, 0);
		if (heads)
			espy_walk_role(w, ESPY_ROLE_ELEM, "");
	}
	if (heads) {
		uint32_t open = espy_walk_open(w, ESPY_GROUP_STRUCT, t, 0);
		show_members(w, &head, m, st, 0);
		espy_walk_close(w, open);
	}
	if (follows) {
		st->values = true;
		show_members(w, &tail, m, st, heads);
		st->values = false;
		espy_walk_close(w, list);
	}
}

/* The second of two parts: ` => {...}`, if it has anything to say. */
static void show_second(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	bool any = w->ok && espy_walk_has_tail(w, t, m);

	for (uint32_t i = 0; i < t->count && !any; i++) {
		const struct espy_field *f = &w->img->fields[t->first + i];
		const struct espy_span s = espy_span_sub(m, f->off, w->img->types[f->type].size);
		/* one that is marked `both`, too, is there if it changed, whether the call failed or not */
		any = (f->flags & ESPY_FF_EXIT) && !(f->flags & ESPY_FF_HIDDEN) &&
		      (f->flags & ESPY_FF_BOTH ? espy_span_differs(&s) : w->ok) &&
		      (f->when == ESPY_NONE || espy_walk__eval(w, w->scope, f->when, true)) &&
		      f->off + (uint64_t)w->img->types[f->type].size <= m->n[espy_span_best(m)];
	}
	if (!any)
		return;
	struct members st = { .two_parts = true, .second = true };
	espy_walk_changed(w);
	uint32_t open = espy_walk_open(w, ESPY_GROUP_STRUCT, t, 0);
	show_members(w, t, m, &st, 0);
	if (w->ok && espy_walk_has_tail(w, t, m))
		espy_walk_tail(w, t, m);
	espy_walk_close(w, open);
}

/* The first field that is shown of a struct stands for the struct, without a name. */
static void show_bare(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const struct espy_field *f = &w->img->fields[t->first + i];
		const struct espy_type *ft = &w->img->types[f->type];

		if (f->flags & ESPY_FF_HIDDEN || (f->when != ESPY_NONE && !espy_walk__eval(w, w->scope, f->when, true)))
			continue;
		if (ft->kind == ESPY_T_REMARK) {
			espy_walk_remark(w, ft);
			return;
		}
		if (ft->kind == ESPY_T_PLACED) {
			espy_walk_placed(w, ft, m, f->flags & ESPY_FF_FOLDED);
			return;
		}
		const struct espy_span s = f->off || ft->size ? espy_span_sub(m, f->off, ft->size) : *m;
		espy_walk_value(w, f->type, &s, "");
		return;
	}
}

static void show_first(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, struct members *st,
		       unsigned flags)
{
	if (t->flags & ESPY_TF_BARE) {
		show_bare(w, t, m);
		return;
	}
	if (t->flags & ESPY_TF_LEAD && m->fault && m->n[espy_span_best(m)] < t->size && t->count) {
		const uint32_t lead = espy_walk_open(w, ESPY_GROUP_STRUCT, t, 0);

		show_lead(w, t, m, st);
		espy_walk_close(w, lead);
		return;
	}
	uint32_t open = espy_walk_open(w, ESPY_GROUP_STRUCT, t, flags);

	show_members(w, t, m, st, 0);
	const struct espy_ways ways = espy_walk_part(w);
	const bool larger = (t->flags & ESPY_TF_MORE) && m->want > t->size && m->want != UINT64_MAX;
	const unsigned more = larger ? UINT16_MAX : (st->more ? ESPY_MANNERS_BRIEF : 0) | st->more_left;
	if (more && espy_walk_take(w, &ways, more))
		espy_walk_elided(w, ESPY_ELIDED_MORE, 0);
	if (t->flags & ESPY_TF_TAIL && espy_walk_take(w, &ways, ~more))
		espy_walk_tail(w, t, m);
	espy_walk_join(w, &ways);
	espy_walk_close(w, open);
}

void espy_walk_struct(struct espy_walk *w, const struct espy_type *t, const struct espy_span *whole, unsigned parts)
{
	struct espy_span cut, filled;
	const struct espy_span *m = whole;

	if (t->aux & 0xff) {
		/* only what lies inside the size that the struct itself says */
		cut = *whole;
		uint64_t extent = espy_walk_extent(w, t, whole, espy_span_best(whole));
		if (extent && extent < (t->aux >> 8 & 0xffff)) {
			const struct espy_field *f = &w->img->fields[t->first + (t->aux & 0xff) - 1]; /* 0: the first version */
			const uint64_t said = espy_walk_said(w, t, whole, espy_span_best(whole));
			extent = said ? f->off + w->img->types[f->type].size : t->aux >> 8 & 0xffff;
		}
		if (extent) {
			cut.want = extent;
			cut.fault = whole->fault && whole->n[espy_span_best(whole)] < extent;
			for (unsigned i = 0; i < 2; i++)
				if (cut.n[i] > extent)
					cut.n[i] = (size_t)extent;
		}
		m = &cut;
	}
	if (t->flags & ESPY_TF_FILLED)
		m = espy_walk_fill(w, t, m, &filled);
	if (w->depth >= ESPY_WALK_MAX_DEPTH) {
		espy_walk_address(w, m->addr);
		return;
	}
	const struct espy_scope sc = { .outer = w->scope, .type = t, .mem = m,
				       .size = m->want == UINT64_MAX ? m->n[espy_span_best(m)] : m->want };
	const struct espy_scope *saved = w->scope;
	struct members st = { 0 };
	struct espy_time_note note = { .instead = NULL };
	const bool noted = t->note && espy_walk_read_note(w, t, m, &note);

	w->scope = &sc;
	w->depth++;
	st.two_parts = m->p[0] && espy_walk_has_flag(w, t, ESPY_FF_EXIT);
	st.marked = m->p[0] && !st.two_parts && espy_walk_has_flag(w, t, ESPY_FF_BOTH);
	st.partial = t->flags & ESPY_TF_PARTIAL, st.torn = t->flags & ESPY_TF_TORN;
	if (parts & ESPY_FIRST_PART) {
		if (espy_walk_is_headed(t))
			show_headed(w, t, m, &st);
		else
			show_first(w, t, m, &st, note.instead ? ESPY_TOKF_REPLACED : 0);
	}
	if ((parts & ESPY_SECOND_PART) && st.two_parts)
		show_second(w, t, m);
	w->depth--;
	w->scope = saved;
	if (noted && (parts & ESPY_FIRST_PART))
		espy_walk_put_note(w, &note);
}

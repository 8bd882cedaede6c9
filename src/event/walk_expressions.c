/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Expressions of descriptions: conditions, lengths and union keys. The tree comes from an image
 * whose indices were checked; how deep it is was not, hence the bound.
 */
#include <string.h>
#include "event/walk_impl.h"

#define MAX_DEPTH 32u

struct eval {
	const struct espy_walk *w;
	const struct espy_scope *sc; /* that the expression stands in */
	const struct espy_expr *exprs;
	uint32_t expr_cnt;
	bool at_exit;
	bool length; /* in a length the result of a failed call is 0 */
};

uint64_t espy_walk__odd_param(const struct espy_walk *w, const struct espy_field *param)
{
	const struct espy_type *t = &w->img->types[param->type];
	uint64_t x = espy_walk__cut(w->v->args[param->off], t->size, t->flags & ESPY_TF_SIGNED);

	if (t->size == 8 && espy_abis[w->img->abi].reg_sz < 8 && param->off + 1 < ESPY_MAX_ARGS) {
		const uint64_t second = w->v->args[param->off + 1];

		x = param->flags & ESPY_FF_HIGH_FIRST ? (uint32_t)second | x << 32 : (uint32_t)x | second << 32;
	}
	if (t->flags & ESPY_TF_BE) {
		/* a number in network order in a register */
		uint64_t le = x;
		x = espy_load((const uint8_t *)&le, t->size, true, false);
	}
	return x;
}

static const struct espy_field *param_at(const struct espy_walk *w, uint32_t idx)
{
	if (!w->v || w->v->call == ESPY_NONE)
		return NULL;
	const struct espy_call *c = &w->img->calls[w->v->call];
	return idx < c->nparam ? &w->img->fields[c->first_param + idx] : NULL;
}

static uint32_t choose(const struct eval *e, const struct espy_scope *sc, const struct espy_type *u, unsigned depth);

/* The integer type that a scalar field has; for a union of integers the one of the chosen case. */
static const struct espy_type *scalar_type(const struct eval *e, const struct espy_scope *sc, uint32_t type,
					   unsigned depth)
{
	const struct espy_type *t = &e->w->img->types[type];
	while (t->kind == ESPY_T_UNION) {
		uint32_t c = depth < MAX_DEPTH ? choose(e, sc, t, ++depth) : ESPY_NONE;
		if (c == ESPY_NONE)
			return NULL;
		t = &e->w->img->types[c];
	}
	if (t->kind == ESPY_T_ARRAY && t->elem != ESPY_NONE)
		t = &e->w->img->types[t->elem];
	return t->kind == ESPY_T_INT || t->kind == ESPY_T_PTR ? t : NULL;
}

/* Were these bytes captured? */
static inline bool holds(const struct espy_span *m, unsigned phase, size_t off, size_t size)
{
	return m->p[phase] && off + size <= m->n[phase];
}

/* Apart from what evaluates: that would save registers for it each time. */
static __attribute__((noinline)) uint64_t field_value(const struct eval *e, const struct espy_scope *sc, uint32_t idx,
						       unsigned depth)
{
	if (!sc || !sc->type || idx >= sc->type->count)
		return 0;
	const struct espy_field *f = &e->w->img->fields[sc->type->first + idx];
	const struct espy_type *t = &e->w->img->types[f->type];
	if (t->kind != ESPY_T_INT)
		t = scalar_type(e, sc, f->type, depth);
	if (!t)
		return 0;
	unsigned phase = e->at_exit;
	if (!holds(sc->mem, phase, f->off, t->size)) {
		phase = !phase;
		if (!holds(sc->mem, phase, f->off, t->size))
			return 0;
	}
	return espy_load(sc->mem->p[phase] + f->off, t->size, t->flags & ESPY_TF_BE, t->flags & ESPY_TF_SIGNED);
}

/* The first 32 bits, or as many of them as were captured. */
static uint64_t first_word(const struct eval *e, const struct espy_scope *sc)
{
	const unsigned phase = sc->mem->p[e->at_exit] ? e->at_exit : !e->at_exit;
	uint64_t x = 0;

	for (size_t i = 0; i < 4 && i < sc->mem->n[phase]; i++)
		x |= (uint64_t)sc->mem->p[phase][i] << 8 * i;
	return x;
}

static uint64_t deref(const struct eval *e, uint32_t idx, uint32_t member)
{
	size_t off = 0;

	const struct espy_field *p = param_at(e->w, idx);
	if (!p)
		return 0;
	const struct espy_type *t = &e->w->img->types[p->type];
	if (t->kind != ESPY_T_PTR)
		return espy_walk__param(e->w, p);
	t = &e->w->img->types[t->elem];
	if (member) {
		if (t->kind != ESPY_T_STRUCT || member > t->count)
			return 0;
		const struct espy_field *f = &e->w->img->fields[t->first + member - 1];
		off = f->off;
		t = &e->w->img->types[f->type];
	}
	for (unsigned i = 0; i < 2; i++) {
		bool phase = e->at_exit ? !i : i;
		const struct espy_item *it = espy_call_view__arg_item(e->w->v, p->off, phase);
		if (it && t->size && it->len >= off + t->size)
			return espy_load(espy_item__bytes(it) + off, t->size, t->flags & ESPY_TF_BE,
					 t->flags & ESPY_TF_SIGNED);
	}
	return 0;
}

bool espy_walk__length_known(const struct espy_walk *w, const struct espy_type *t)
{
	const uint32_t len = t->len_b < w->img->expr_cnt ? t->len_b : t->len_a;
	const struct espy_expr *x = w->v && len < w->img->expr_cnt ? &w->img->exprs[len] : NULL;
	const struct espy_field *p = x && x->op == ESPY_X_DEREF && x->b ? param_at(w, x->a) : NULL;

	if (!p || w->img->types[p->type].kind != ESPY_T_PTR)
		return true;
	for (unsigned i = 0; i < 2; i++) {
		const struct espy_item *it = espy_call_view__arg_item(w->v, p->off, i);
		if (it && it->len && it->len >= w->img->types[w->img->types[p->type].elem].size)
			return true;
	}
	return false;
}

static uint64_t eval(const struct eval *e, uint32_t idx, unsigned depth);

/* Many operands are constants and fields: not worth another evaluation. */
static inline uint64_t operand(const struct eval *e, uint32_t idx, unsigned depth)
{
	if (idx >= e->expr_cnt)
		return 0;

	const struct espy_expr *x = &e->exprs[idx];
	uint64_t mask = UINT64_MAX;

	/* A field under a mask: conditions test kinds of files and the like by that. */
	if (x->op == ESPY_X_AND && x->a < e->expr_cnt && x->b < e->expr_cnt && e->exprs[x->b].op == ESPY_X_CONST) {
		mask = e->exprs[x->b].value;
		idx = x->a;
		x = &e->exprs[idx];
	}
	if (x->op == ESPY_X_CONST)
		return x->value & mask;
	return (x->op == ESPY_X_FIELD ? field_value(e, e->sc, x->a, depth) : eval(e, idx, depth)) & mask;
}

/* What an operation makes of its first operand, and of the second if that counts at all. */
static uint64_t logic(const struct eval *e, const struct espy_expr *x, uint64_t a, unsigned depth)
{
	switch (x->op) {
	case ESPY_X_LAND:
		return a && operand(e, x->b, depth);
	case ESPY_X_LOR:
		return a || operand(e, x->b, depth);
	case ESPY_X_NOT:
		return !a;
	case ESPY_X_INV:
		return ~a;
	case ESPY_X_ROUND_BITS:
		return a > UINT32_MAX ? a / 8 : (a + 63) / 64 * 8;
	}
	return 0;
}

/* The beginning of what stands behind the last colon in the name of a descriptor's file. */
static __attribute__((cold)) uint64_t file_of(const struct espy_walk *w, int fd)
{
	const struct espy_resolver *r = w->d->resolver;
	struct espy_fd_answer a = { 0 };
	uint64_t name = 0;

	if (fd < 0 || !r || !r->fd || !r->fd(r->ctx, w->tid, fd, false, &a))
		return 0;
	const char *colon = strrchr(a.name, ':'), *from = colon ? colon + 1 : a.name;

	memcpy(&name, from, strnlen(from, sizeof(name)));
	return name;
}

/* An expression without operands. */
static uint64_t single(const struct eval *e, const struct espy_expr *x, unsigned depth)
{
	const struct espy_scope *sc = e->sc;

	switch (x->op) {
	case ESPY_X_CONST:
		return x->value;
	case ESPY_X_ARG: {
		const struct espy_field *p = param_at(e->w, x->a);
		return p ? espy_walk__param(e->w, p) : 0;
	}
	case ESPY_X_FIELD:
		return field_value(e, sc, x->a, depth);
	case ESPY_X_FILE:
		return file_of(e->w, (int)field_value(e, sc, x->a, depth));
	case ESPY_X_OUTER: {
		if (sc && sc->outer)
			return field_value(e, sc->outer, x->a, depth);
		/* around what a parameter points to is the call */
		const struct espy_field *p = sc ? param_at(e->w, x->a) : NULL;
		return p ? espy_walk__param(e->w, p) : 0;
	}
	case ESPY_X_VERBOSE:
		if (e->w->shown & ESPY_MANNERS_FULL && e->w->shown & ~ESPY_MANNERS_FULL)
			e->w->d->mixed = true;
		return !!(e->w->shown & ESPY_MANNERS_FULL);
	case ESPY_X_FIRST:
		sc = sc && x->a ? sc->outer : sc;
		return sc ? first_word(e, sc) : 0;
	case ESPY_X_KIND:
		return e->w->kind;
	case ESPY_X_INDEX:
		return e->w->index;
	case ESPY_X_SIZE:
		return sc ? sc->size : 0;
	case ESPY_X_RET:
		if (!e->w->v || !e->w->v->has_exit || (e->length && !e->w->ok))
			return 0;
		return (uint64_t)e->w->v->ret;
	case ESPY_X_DEREF:
		return deref(e, x->a, x->b);
	}
	return 0;
}

_Static_assert(ESPY_X_OR < ESPY_X_GE && ESPY_X_GE < ESPY_X_LAND && ESPY_X_LAND < ESPY_X_ROUND_BITS, "as eval() parts them");

static uint64_t eval(const struct eval *e, uint32_t idx, unsigned depth)
{
	if (idx >= e->expr_cnt || depth > MAX_DEPTH)
		return 0;
	const struct espy_expr *x = &e->exprs[idx];

	if (x->op == ESPY_X_FIELD)
		return field_value(e, e->sc, x->a, depth);
	if (x->op < ESPY_X_OR || x->op > ESPY_X_ROUND_BITS)
		return single(e, x, depth);

	const uint64_t a = operand(e, x->a, depth + 1);

	return x->op > ESPY_X_GE ? logic(e, x, a, depth + 1) : espy_expr__binary(x->op, a, operand(e, x->b, depth + 1));
}

uint64_t espy_walk__eval(const struct espy_walk *w, const struct espy_scope *sc, uint32_t expr, bool at_exit)
{
	const struct eval e = { .w = w, .sc = sc, .exprs = w->img->exprs, .expr_cnt = w->img->expr_cnt, .at_exit = at_exit };
	return eval(&e, expr, 0);
}

/* Does the expression name a signed number directly? A product of one that is negative is no length either. */
static bool is_signed(const struct espy_walk *w, const struct espy_scope *sc, uint32_t idx)
{
	const struct espy_type *t = NULL;
	if (idx >= w->img->expr_cnt)
		return false;
	const struct espy_expr *x = &w->img->exprs[idx];
	if (x->op == ESPY_X_MUL && x->a < w->img->expr_cnt)
		x = &w->img->exprs[x->a];
	switch (x->op) {
	case ESPY_X_RET:
		return true;
	case ESPY_X_ARG:
	case ESPY_X_DEREF: {
		const struct espy_field *p = param_at(w, x->a);
		if (!p)
			return false;
		t = &w->img->types[p->type];
		if (x->op == ESPY_X_DEREF && t->kind == ESPY_T_PTR)
			t = &w->img->types[t->elem];
		break;
	}
	case ESPY_X_FIELD:
		if (sc && sc->type && x->a < sc->type->count)
			t = &w->img->types[w->img->fields[sc->type->first + x->a].type];
		break;
	}
	return t && (t->flags & ESPY_TF_SIGNED);
}

static __attribute__((noinline)) uint64_t eval_length(const struct espy_walk *w, const struct espy_scope *sc, uint32_t idx,
						      bool at_exit)
{
	const struct eval e = {
		.w = w, .sc = sc, .exprs = w->img->exprs, .expr_cnt = w->img->expr_cnt, .at_exit = at_exit, .length = true
	};

	return eval(&e, idx, 0);
}

/* A length; most are an argument, or the result. */
static inline uint64_t length_of(const struct espy_walk *w, const struct espy_scope *sc, uint32_t idx, bool at_exit)
{
	const struct espy_expr *x = idx < w->img->expr_cnt ? &w->img->exprs[idx] : NULL;
	uint64_t len;

	if (x && x->op == ESPY_X_ARG) {
		const struct espy_field *p = param_at(w, x->a);

		len = p ? espy_walk__param(w, p) : 0;
	} else if (x && x->op == ESPY_X_RET) {
		len = w->v && w->v->has_exit && w->ok ? (uint64_t)w->v->ret : 0;
	} else {
		len = eval_length(w, sc, idx, at_exit);
	}
	return (int64_t)len < 0 && is_signed(w, sc, idx) ? 0 : len;
}

uint64_t espy_walk__length(const struct espy_walk *w, const struct espy_scope *sc, const struct espy_type *t,
			   uint64_t fallback)
{
	const uint64_t before = t->len_b == ESPY_NONE ? UINT64_MAX : length_of(w, sc, t->len_b, false);

	if (t->len_a == ESPY_NONE)
		return t->len_b == ESPY_NONE ? fallback : before;
	const uint64_t after = length_of(w, sc, t->len_a, true);

	return before < after ? before : after;
}

static uint32_t choose(const struct eval *e, const struct espy_scope *sc, const struct espy_type *u, unsigned depth)
{
	struct eval in = *e;

	in.sc = sc; /* the union may stand around the expression that asks for a field of it */
	const uint64_t key = eval(&in, u->len_a, depth);
	const uint64_t key2 = u->len_b != ESPY_NONE ? eval(&in, u->len_b, depth) : 0;

	for (uint32_t i = 0; i < u->count; i++) {
		const struct espy_case *c = &e->w->img->cases[u->first + i];
		if (c->is_else)
			return c->type;
		/* keys may have been written as 32-bit constants for a sign-extended field */
		const bool extended = key >> 31 == UINT64_MAX >> 31;
		if ((c->key == key || (uint32_t)c->key == key || (extended && c->key == (uint32_t)key)) &&
		    c->key2 == key2)
			return c->type;
	}
	return ESPY_NONE;
}

uint32_t espy_walk__case(const struct espy_walk *w, const struct espy_scope *sc, const struct espy_type *u)
{
	const struct eval e = { .w = w, .exprs = w->img->exprs, .expr_cnt = w->img->expr_cnt, .at_exit = w->ok };
	return choose(&e, sc, u, 0);
}

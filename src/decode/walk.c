/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The walk over the arguments of a call, and what hooks may ask of it. */
#include <string.h>

#include "decode/walk.h"

/* Set in *shown: of the argument that comes next the first of two parts was shown. */
#define HALF_SHOWN 0x100u

static bool uses_ret(const struct espy_image *img, uint32_t expr, unsigned depth)
{
	if (expr >= img->expr_cnt || depth > 8)
		return false;
	const struct espy_expr *x = &img->exprs[expr];
	if (x->op == ESPY_X_RET)
		return true;
	if (x->op < ESPY_X_OR || x->op == ESPY_X_SIZE || x->op == ESPY_X_OUTER)
		return false;
	bool unary = x->op == ESPY_X_NOT || x->op == ESPY_X_INV || x->op == ESPY_X_ROUND_BITS;
	return uses_ret(img, x->a, depth + 1) || (!unary && uses_ret(img, x->b, depth + 1));
}

/* A parameter that is a union is the case that the arguments choose. */
static struct espy_field chosen_param(const struct espy_walk *w, const struct espy_field *p)
{
	struct espy_field f = *p;

	for (unsigned i = 0; w->img->types[f.type].kind == ESPY_T_UNION && i < 4; i++) {
		uint32_t c = espy_walk__case(w, NULL, &w->img->types[f.type]);
		if (c == ESPY_NONE)
			break;
		f.type = c;
	}
	return f;
}

/* A union of which nobody knows the case before the call has ended. */
static bool chosen_by_ret(const struct espy_walk *w, const struct espy_field *p)
{
	const struct espy_type *t = &w->img->types[p->type];
	return t->kind == ESPY_T_UNION && (uses_ret(w->img, t->len_a, 0) || uses_ret(w->img, t->len_b, 0));
}

/* Is anything behind this argument read after the call? Then it is shown after the call. */
static bool needs_exit(const struct espy_walk *w, const struct espy_field *p)
{
	const struct espy_type *t = &w->img->types[p->type];

	if (p->when != ESPY_NONE && uses_ret(w->img, p->when, 0))
		return true;
	if (t->kind != ESPY_T_PTR || (p->flags & ESPY_FF_ENTER))
		return false;
	if (t->flags & ESPY_TF_OUT)
		return true;

	const struct espy_plan *plan = &w->img->plans[w->v->plan];
	unsigned marked = 0;
	for (unsigned k = 0; k < plan->op_cnt; k++) {
		const struct espy_op *op = &w->img->ops[plan->first_op + k];
		if (op->src == p->off ||
		    ((op->src & ESPY_OP_SRC_OP) && (marked >> (op->src & (ESPY_OP_SRC_OP - 1)) & 1))) {
			marked |= 1u << k;
			if (op->when & ESPY_OP_EXIT)
				return true;
		}
	}
	return false;
}

/* A struct shown as `{...} => {...}` whose first part is known at entry. */
static const struct espy_type *two_part_struct(const struct espy_walk *w, const struct espy_field *p)
{
	const struct espy_type *t = &w->img->types[p->type];

	if (t->kind != ESPY_T_PTR || !(t->flags & ESPY_TF_IN))
		return NULL;
	const struct espy_type *to = &w->img->types[t->elem];
	return to->kind == ESPY_T_STRUCT && espy_walk_has_flag(w, to, ESPY_FF_EXIT) ? to : NULL;
}

/* The entry bytes of such a struct; false if they were not captured. */
static bool two_part_mem(struct espy_walk *w, const struct espy_field *p, const struct espy_type *to,
			 struct espy_span *m)
{
	uint64_t addr = espy_walk__param(w, p);
	int op = addr ? espy_walk_arg_op(w, (uint8_t)p->off, w->img->types[p->type].elem) : -1;
	const struct espy_item *it = op < 0 ? NULL : espy_call_view__item(w->v, (unsigned)op, 0, false);

	if (!it || ESPY_ITEM_STATUS(it->status) == ESPY_ITEM_FAULT || !w->o->decode)
		return false;
	*m = (struct espy_span){ .p = { espy_item__bytes(it) }, .n = { it->len }, .addr = addr, .op = (uint8_t)op };
	m->want = espy_walk_want(w, to);
	if (m->n[0] > m->want)
		m->n[0] = (size_t)m->want;
	const struct espy_item *out = w->ok ? espy_call_view__item(w->v, (unsigned)op, 0, true) : NULL;
	if (out && (w->img->types[p->type].flags & ESPY_TF_OUT)) {
		m->p[1] = espy_item__bytes(out);
		m->n[1] = out->len < m->want ? out->len : (size_t)m->want;
	}
	return espy_walk_enough(w, to, m);
}

static void show_arg(struct espy_walk *w, const struct espy_field *p)
{
	const struct espy_type *t = &w->img->types[p->type];
	const char *name = espy_image__str(w->img, p->name);

	if (t->kind == ESPY_T_VOID)
		return;
	uint64_t x = espy_walk__param(w, p);
	if (p->off == ESPY_PARAM_SP) {
		/* what lies at the stack pointer has no register to show in its place */
		int op = t->kind == ESPY_T_PTR ? espy_walk_arg_op(w, ESPY_PARAM_SP, t->elem) : -1;
		if (op < 0 || (!espy_call_view__item(w->v, (unsigned)op, 0, false) &&
			       !espy_call_view__item(w->v, (unsigned)op, 0, true)))
			return;
		x = UINT64_MAX;
	}

	w->wrote = true;
	w->vis->arg(w->ctx, p->flags & ESPY_FF_NONAME ? "" : name, t, p->flags & ESPY_FF_NAMED);
	if (t->kind == ESPY_T_PTR) {
		struct espy_type limited;
		const struct espy_type *pt = t;
		if (p->flags & (ESPY_FF_ENTER | ESPY_FF_EXIT)) {
			limited = *t;
			limited.flags &= ~(p->flags & ESPY_FF_ENTER ? ESPY_TF_OUT : ESPY_TF_IN);
			pt = &limited;
		}
		espy_walk_ptr(w, pt, x, x ? espy_walk_arg_op(w, (uint8_t)p->off, t->elem) : -1, 0, name);
		return;
	}
	struct espy_value v = { .type = t, .name = name, .num = x, .walk = w };
	if (t->hook) {
		w->mem = NULL;
		if (w->vis->hook(w->ctx, w, t->hook, &v))
			return;
	}
	w->vis->integer(w->ctx, &v);
}

/* A call without a description: registers in hexadecimal. */
static void show_raw(struct espy_walk *w, unsigned *from, bool all)
{
	static const struct espy_type reg = { .kind = ESPY_T_INT, .fmt = ESPY_FMT_HEX, .size = 8, .table = ESPY_NONE,
					      .elem = ESPY_NONE, .len_a = ESPY_NONE, .len_b = ESPY_NONE };
	static const char *const names[ESPY_MAX_ARGS] = { "arg1", "arg2", "arg3", "arg4", "arg5", "arg6" };
	const struct espy_syscall *sc = w->v->nr < w->img->syscall_cnt ? &w->img->syscalls[w->v->nr] : NULL;
	unsigned n = sc && sc->name ? sc->nargs : ESPY_MAX_ARGS;

	if (!all)
		return;
	for (unsigned i = *from; i < n && i < ESPY_MAX_ARGS; i++) {
		struct espy_value v = { .type = &reg, .name = names[i], .num = w->v->args[i] };
		if (w->img->abi == ESPY_ABI_I386)
			v.num = (uint32_t)v.num;
		w->vis->arg(w->ctx, names[i], &reg, false);
		w->vis->integer(w->ctx, &v);
	}
	*from = n;
}

void espy_walk__raw_args(const struct espy_visitor *vis, void *ctx, const struct espy_call_view *v, unsigned *shown)
{
	struct espy_walk w = { .vis = vis, .ctx = ctx, .v = v, .img = v->image };
	unsigned from = shown ? *shown : 0;

	show_raw(&w, &from, true);
	if (shown)
		*shown = from;
}

void espy_walk__args(const struct espy_visitor *vis, void *ctx, const struct espy_walk_opts *o,
		     const struct espy_call_view *v, enum espy_part part, unsigned *shown)
{
	struct espy_walk w = { .vis = vis, .ctx = ctx, .o = o, .v = v, .img = v->image };
	unsigned from = part == ESPY_PART_EXIT && shown ? *shown : 0;
	bool half = from & HALF_SHOWN;

	from &= ~HALF_SHOWN;
	w.failed = espy_call_view__failed(v);
	w.ok = v->has_exit && !v->no_return && !w.failed;
	w.spread_left = w.ok ? (uint64_t)v->ret : 0;
	if (v->call == ESPY_NONE || v->plan >= v->image->plan_cnt) {
		show_raw(&w, &from, true);
		if (shown)
			*shown = from;
		return;
	}

	const struct espy_call *c = &v->image->calls[v->call];
	unsigned i;
	for (i = from; i < c->nparam; i++) {
		const struct espy_field *declared = &v->image->fields[c->first_param + i];
		if (part == ESPY_PART_ENTER && chosen_by_ret(&w, declared))
			break;
		const struct espy_field *p = declared;
		struct espy_field chosen;
		if (v->image->types[declared->type].kind == ESPY_T_UNION) {
			chosen = chosen_param(&w, declared);
			p = &chosen;
		}
		if ((p->flags & ESPY_FF_HIDDEN) || v->image->types[p->type].kind == ESPY_T_VOID)
			continue;
		if (part == ESPY_PART_ENTER && needs_exit(&w, p)) {
			const struct espy_type *to = two_part_struct(&w, p);
			struct espy_span m;
			if (to && (p->when == ESPY_NONE || espy_walk__eval(&w, NULL, p->when, false)) &&
			    two_part_mem(&w, p, to, &m)) {
				w.wrote = true;
				vis->arg(ctx, espy_image__str(w.img, p->name), &w.img->types[p->type],
					 p->flags & ESPY_FF_NAMED);
				espy_walk_struct(&w, to, &m, ESPY_FIRST_PART);
				i |= HALF_SHOWN;
			}
			break;
		}
		if (p->when != ESPY_NONE && !espy_walk__eval(&w, NULL, p->when, w.ok))
			continue;
		if (half && i == from) {
			const struct espy_type *to = two_part_struct(&w, p);
			struct espy_span m;
			if (to && two_part_mem(&w, p, to, &m))
				espy_walk_struct(&w, to, &m, ESPY_SECOND_PART);
			continue;
		}
		show_arg(&w, p);
	}
	/* where nothing was written the second part begins anew, without a comma */
	if (shown)
		*shown = part == ESPY_PART_ENTER && !w.wrote ? 0 : i;
}

/* ---- for hooks, and bytes that are no call's ---- */

void espy_walk__bytes(const struct espy_visitor *vis, void *ctx, const struct espy_walk_opts *o,
		      const struct espy_image *img, uint32_t type, const uint8_t *bytes, size_t len)
{
	struct espy_walk w = { .vis = vis, .ctx = ctx, .o = o, .img = img, .ok = true };

	if (type >= img->type_cnt || !bytes)
		return;
	const struct espy_span m = { .p = { NULL, bytes }, .n = { 0, len }, .want = len, .op = ESPY_NO_OP };
	espy_walk_value(&w, type, &m, "");
}

const struct espy_call_view *espy_walk__view(const struct espy_walk *w)
{
	return w->v;
}

const struct espy_walk_opts *espy_walk__opts(const struct espy_walk *w)
{
	return w->o;
}

void espy_walk__show(struct espy_walk *w, uint32_t type, const uint8_t *bytes, size_t len, const char *name)
{
	if (type >= w->img->type_cnt || w->depth >= ESPY_WALK_MAX_DEPTH)
		return;
	struct espy_span m = { .p = { NULL, bytes }, .n = { 0, len }, .want = len, .op = ESPY_NO_OP };
	if (w->mem && bytes == w->mem->p[espy_span_best(w->mem)] && len == w->mem->n[espy_span_best(w->mem)]) {
		/* the very bytes of the hooked value: what is known of them holds */
		m.want = w->mem->want;
		m.addr = w->mem->addr;
		m.fault = w->mem->fault;
	}
	w->depth++;
	espy_walk_value(w, type, &m, name);
	w->depth--;
}

static const struct espy_field *find_sibling(const struct espy_walk *w, const char *name)
{
	const struct espy_scope *sc = w->scope;

	for (uint32_t i = 0; sc && i < sc->type->count; i++) {
		const struct espy_field *f = &w->img->fields[sc->type->first + i];
		if (!strcmp(espy_image__str(w->img, f->name), name))
			return f;
	}
	return NULL;
}

const uint8_t *espy_walk__sibling_bytes(const struct espy_walk *w, const char *name, size_t *len)
{
	const struct espy_field *f = find_sibling(w, name);
	if (!f)
		return NULL;
	const struct espy_span *m = w->scope->mem;
	unsigned ph = espy_span_best(m);
	*len = w->img->types[f->type].size;
	return f->off <= m->n[ph] && *len <= m->n[ph] - f->off ? m->p[ph] + f->off : NULL;
}

bool espy_walk__sibling(const struct espy_walk *w, const char *name, uint64_t *num)
{
	size_t len;
	const uint8_t *p = espy_walk__sibling_bytes(w, name, &len);
	if (!p)
		return false;
	const struct espy_type *t = &w->img->types[find_sibling(w, name)->type];
	if (t->kind != ESPY_T_INT)
		return false;
	*num = espy_load(p, t->size, t->flags & ESPY_TF_BE, t->flags & ESPY_TF_SIGNED);
	return true;
}

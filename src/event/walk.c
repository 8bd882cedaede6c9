/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The walk over the arguments of a call, and what hooks may ask of it. */
#include <string.h>

#include "event/walk_impl.h"

#define TYPE(k, ...)                                                                                                   \
	{                                                                                                              \
		.kind = (k), .table = ESPY_NONE, .elem = ESPY_NONE, .len_a = ESPY_NONE, .len_b = ESPY_NONE,            \
		__VA_ARGS__                                                                                            \
	}
const struct espy_type espy_number_dec = TYPE(ESPY_T_INT, .fmt = ESPY_FMT_DEC, .size = 8);
const struct espy_type espy_number_signed = TYPE(ESPY_T_INT, .fmt = ESPY_FMT_DEC, .flags = ESPY_TF_SIGNED, .size = 8);
const struct espy_type espy_number_hex = TYPE(ESPY_T_INT, .fmt = ESPY_FMT_HEX, .size = 8);
const struct espy_type espy_type_chars = TYPE(ESPY_T_CHARS, );
const struct espy_type espy_type_bits = TYPE(ESPY_T_BITS, );
const struct espy_type espy_type_bytes = TYPE(ESPY_T_BYTES, );
const struct espy_type espy_type_raw = TYPE(ESPY_T_BYTES, .flags = ESPY_TF_HEX);
const struct espy_type espy_type_rest_raw = TYPE(ESPY_T_REST, .flags = ESPY_TF_HEX);

static bool uses_ret(const struct espy_image *img, uint32_t expr, unsigned depth)
{
	if (expr >= img->expr_cnt || depth > 8)
		return false;
	const struct espy_expr *x = &img->exprs[expr];
	if (x->op == ESPY_X_RET)
		return true;
	if (x->op < ESPY_X_OR || x->op > ESPY_X_ROUND_BITS)
		return false;
	bool unary = x->op == ESPY_X_NOT || x->op == ESPY_X_INV || x->op == ESPY_X_ROUND_BITS;
	return uses_ret(img, x->a, depth + 1) || (!unary && uses_ret(img, x->b, depth + 1));
}

struct espy_field espy_walk_chosen(const struct espy_walk *w, const struct espy_field *p)
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

/* Returns whether the case of a union is known only when the call has ended. */
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
	if (t->kind == ESPY_T_INT && t->len_b != ESPY_NONE && uses_ret(w->img, t->len_b, 0))
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
	int op = addr ? espy_walk_arg_op(w, (uint8_t)p->off, &w->img->types[p->type]) : -1;
	const struct espy_item *it = op < 0 ? NULL : espy_call_view__item(w->v, (unsigned)op, 0, false);

	if (!it || ESPY_ITEM_STATUS(it->status) == ESPY_ITEM_FAULT)
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

/* Words behind the argument before it. */
static void show_remark(struct espy_walk *w, const struct espy_field *p, const struct espy_type *t)
{
	const char *name = espy_image__str(w->img, p->name);
	const struct espy_hooked v = { .type = t, .name = name };
	const struct espy_ways ways = espy_walk_part(w);

	if (!t->hook) {
		espy_walk_remark(w, t);
		/* beside an argument it spells a number, and -X raw wants numbers only */
		if (w->out->cnt && w->out->at[w->out->cnt - 1].kind == ESPY_TOKEN_REMARK)
			w->out->at[w->out->cnt - 1].flags |= ESPY_TOKF_STYLED;
		return;
	}
	/* Where arguments are shown as numbers it has none. */
	w->wrote = true;
	espy_walk_role(w, espy_walk_arg_role(p), name);
	if (espy_walk_take(w, &ways, ~ESPY_MANNERS_BYTES))
		espy_walk_hook(w, t->hook, &v);
	espy_walk_join(w, &ways);
	espy_walk_role(w, ESPY_ROLE_NONE, "");
}

static void show_hooked_arg(struct espy_walk *w, const struct espy_type *t, uint64_t x, const char *name)
{
	const struct espy_hooked v = { .type = t, .name = name, .num = x };
	const struct espy_ways ways = espy_walk_part(w);

	w->mem = NULL;
	bool done = espy_walk_take(w, &ways, ~ESPY_MANNERS_BYTES) && espy_walk_hook(w, t->hook, &v);
	if (espy_walk_take(w, &ways, done ? ESPY_MANNERS_BYTES : ~0u))
		espy_walk_integer(w, t, x, NULL, 0, name);
	espy_walk_join(w, &ways);
}

/* A pointer of which only what was read before the call, or only what was read after it, is shown. */
static void show_one_phase(struct espy_walk *w, const struct espy_field *p, const struct espy_type *t, uint64_t x, int op)
{
	struct espy_type limited = *t;

	limited.flags &= ~(p->flags & ESPY_FF_ENTER ? ESPY_TF_OUT : ESPY_TF_IN);
	espy_walk_ptr(w, &limited, x, op, 0, espy_image__str(w->img, p->name));
}

/* What only some calls have: remarks, what the call left of the argument before, what lies at the stack pointer. */
static void show_rare_arg(struct espy_walk *w, const struct espy_field *p, const struct espy_type *t)
{
	const char *name = espy_image__str(w->img, p->name);

	if (t->kind == ESPY_T_REMARK) {
		show_remark(w, p, t);
		return;
	}
	if (p->flags & ESPY_FF_THEN) {
		const struct espy_ways ways = espy_walk_part(w);
		if (espy_walk_take(w, &ways, ~ESPY_MANNERS_PLAIN))
			espy_walk_then(w, p, t);
		espy_walk_join(w, &ways);
		return;
	}
	/* what lies at the stack pointer has no register to show in its place */
	const int op = t->kind == ESPY_T_PTR ? espy_walk_arg_op(w, ESPY_PARAM_SP, t) : -1;
	if (op < 0 || (!espy_call_view__item(w->v, (unsigned)op, 0, false) && !espy_call_view__item(w->v, (unsigned)op, 0, true)))
		return;
	w->wrote = true;
	espy_walk_role(w, espy_walk_arg_role(p), name);
	if (p->flags & (ESPY_FF_ENTER | ESPY_FF_EXIT))
		show_one_phase(w, p, t, UINT64_MAX, op);
	else
		espy_walk_ptr(w, t, UINT64_MAX, op, 0, name);
}

static void show_arg(struct espy_walk *w, const struct espy_field *p)
{
	const struct espy_type *t = &w->img->types[p->type];

	if (t->kind == ESPY_T_REMARK || p->flags & ESPY_FF_THEN || p->off == ESPY_PARAM_SP) {
		show_rare_arg(w, p, t);
		return;
	}

	const char *name = espy_image__str(w->img, p->name);
	const uint64_t x = espy_walk__param_of(w, p, t);

	w->wrote = true;
	espy_walk_role(w, espy_walk_arg_role(p), name);
	if (t->kind == ESPY_T_PTR) {
		const int op = x ? espy_walk_arg_op(w, (uint8_t)p->off, t) : -1;

		if (p->flags & (ESPY_FF_ENTER | ESPY_FF_EXIT))
			show_one_phase(w, p, t, x, op);
		else
			espy_walk_ptr(w, t, x, op, 0, name);
	} else if (t->hook) {
		show_hooked_arg(w, t, x, name);
	} else {
		espy_walk_integer(w, t, x, NULL, 0, name);
	}
}

static inline void show_number(struct espy_walk *w, const struct espy_field *p)
{
	const struct espy_type *t = &w->img->types[p->type];
	const char *name = espy_image__str(w->img, p->name);

	w->wrote = true;
	espy_walk_role(w, ESPY_ROLE_ARG, name);
	espy_walk_integer(w, t, espy_walk__cut(w->v->args[p->off], t->size, t->flags & ESPY_TF_SIGNED), NULL, 0, name);
}

/* Registers in hexadecimal. */
static unsigned show_raw(struct espy_walk *w)
{
	static const char *const names[ESPY_MAX_ARGS] = { "arg1", "arg2", "arg3", "arg4", "arg5", "arg6" };
	const struct espy_syscall *sc = w->v->nr < w->img->syscall_cnt ? &w->img->syscalls[w->v->nr] : NULL;
	unsigned n = sc && sc->name ? sc->nargs : ESPY_MAX_ARGS;

	for (unsigned i = 0; i < n && i < ESPY_MAX_ARGS; i++) {
		uint64_t num = espy_abis[w->img->abi].reg_sz < 8 ? (uint32_t)w->v->args[i] : w->v->args[i];
		espy_walk_role(w, ESPY_ROLE_ARG, names[i]);
		espy_walk_integer(w, &espy_number_hex, num, NULL, 0, names[i]);
	}
	return n;
}

/* How far the beginning has shown the arguments in manners that decode structures, and in those that do not. */
struct progress {
	unsigned next, next_plain;
	bool half; /* of the argument `next` the first part was shown, but not in the plain manners */
};

static struct progress progress_of(unsigned shown)
{
	const unsigned next = shown & ESPY_SHOWN_NEXT;

	/* where nothing was shown the rest begins anew */
	return (struct progress){
		.next = shown & ESPY_SHOWN_ANY ? next : 0,
		.next_plain = shown & ESPY_SHOWN_PLAIN ? next : 0,
		.half = shown & ESPY_SHOWN_HALF,
	};
}

#define REST_PLAIN (ESPY_MANNERS_PLAIN & ~ESPY_MANNERS)
#define REST_DECODED (~(unsigned)ESPY_MANNERS & ~ESPY_MANNERS_PLAIN & ~ESPY_MANNERS_RAW)

/* The argument that the beginning has shown by half: its second part. */
static void show_rest_of_half(struct espy_walk *w, const struct espy_field *p, const struct espy_ways *ways)
{
	const struct espy_type *to = two_part_struct(w, p);
	struct espy_span m;

	if (to && espy_walk_take(w, ways, REST_DECODED) && two_part_mem(w, p, to, &m))
		espy_walk_struct(w, to, &m, ESPY_SECOND_PART);
}

/*
 * An argument in all manners that are wanted. Where a condition in it asks whether -v is given, and both answers are wanted, it
 * is walked once for each.
 */
static void show_all_manners(struct espy_walk *w, const struct espy_field *p)
{
	const struct espy_ways ways = espy_walk_part(w);
	const uint32_t at = w->out->cnt;
	const uint64_t spread_left = w->spread_left;

	if (p->when == ESPY_NONE || espy_walk__eval(w, NULL, p->when, w->ok))
		show_arg(w, p);
	if (!w->d->mixed)
		return;
	for (unsigned full = 0; full < 2; full++) {
		if (!full)
			w->out->cnt = at;
		w->spread_left = spread_left;
		if (espy_walk_take(w, &ways, full ? ESPY_MANNERS_FULL : ~ESPY_MANNERS_FULL) &&
		    (p->when == ESPY_NONE || espy_walk__eval(w, NULL, p->when, w->ok)))
			show_arg(w, p);
	}
	espy_walk_join(w, &ways);
	w->d->mixed = false;
}

static void show_ended_arg(struct espy_walk *w, const struct espy_field *p, unsigned i, const struct progress *done)
{
	const struct espy_ways ways = espy_walk_part(w);
	unsigned manners = ESPY_MANNERS;

	if (p->when != ESPY_NONE && !espy_walk__eval(w, NULL, p->when, w->ok))
		return;
	if (i >= done->next_plain)
		manners |= REST_PLAIN;
	if (i > done->next || (i == done->next && !done->half))
		manners |= REST_DECODED;
	else if (i == done->next)
		show_rest_of_half(w, p, &ways);
	if (espy_walk_take(w, &ways, manners))
		show_arg(w, p);
	espy_walk_join(w, &ways);
}

/* A parameter, or the case of it that the arguments choose; NULL: not shown. */
static inline const struct espy_field *param_to_show(const struct espy_walk *w, const struct espy_field *p, struct espy_field *chosen)
{
	unsigned kind = w->img->types[p->type].kind;

	if (kind == ESPY_T_UNION) {
		*chosen = espy_walk_chosen(w, p);
		p = chosen;
		kind = w->img->types[p->type].kind;
	}
	return (p->flags & ESPY_FF_HIDDEN) || kind == ESPY_T_VOID ? NULL : p;
}

/*
 * Each member by itself: compilers fill a struct of this size by an instruction that takes longer to begin than a short call takes to
 * be walked over.
 */
static inline void begin_walk(struct espy_walk *w, struct espy_decoder *d, struct espy_token_list *out, const struct espy_call_view *v,
			      unsigned manners)
{
	w->d = d;
	w->out = out;
	w->v = v;
	w->tid = v->tid;
	w->img = v->image;
	w->scope = NULL;
	w->mem = NULL;
	w->name = "";
	w->depth = 0;
	w->elem_limit = d->want.elem_limit;
	w->shown = (uint16_t)manners;
	w->role = ESPY_ROLE_NONE;
	w->asks = d->asks;
	w->again = "";
	w->ok = w->failed = w->folded = w->inside = w->early = w->wrote = w->broken = false;
	w->kind = w->spread_left = 0;
}

static inline void begin_args(struct espy_walk *w, struct espy_decoder *d, const struct espy_call_view *v, unsigned manners)
{
	d->asks = espy_walk_asks(d);
	begin_walk(w, d, &d->args, v, manners);
	w->failed = espy_call_view__failed(v);
	w->ok = v->has_exit && !v->no_return && !w->failed;
	w->spread_left = w->ok ? (uint64_t)v->ret : 0;
}

void espy_walk_begin_result(struct espy_walk *w, struct espy_decoder *d, const struct espy_call_view *v, unsigned manners)
{
	begin_walk(w, d, &d->result, v, manners);
	w->ok = true;
}

/* A call without a description; in the raw manner, any. Returns how many arguments it has. */
static unsigned show_registers(struct espy_walk *w, bool described)
{
	const struct espy_ways ways = espy_walk_part(w);
	unsigned n = 0;

	if (described && !(w->shown & ESPY_MANNERS_RAW))
		return 0;
	if (espy_walk_take(w, &ways, described ? ESPY_MANNER_RAW : ESPY_MANNERS))
		n = show_raw(w);
	espy_walk_join(w, &ways);
	if (described)
		w->shown &= (uint16_t)~ESPY_MANNERS_RAW;
	return n;
}

static bool is_described(const struct espy_call_view *v)
{
	return v->call != ESPY_NONE && v->plan < v->image->plan_cnt;
}

unsigned espy_walk_begin(struct espy_decoder *d, const struct espy_call_view *v, unsigned manners)
{
	struct espy_walk w;

	begin_args(&w, d, v, manners);
	unsigned any = show_registers(&w, is_described(v)) ? ESPY_SHOWN_RAW : 0, i;

	if (!is_described(v))
		return any ? ESPY_MAX_ARGS | any | ESPY_SHOWN_ANY | ESPY_SHOWN_PLAIN : 0;
	const struct espy_call *c = &v->image->calls[v->call];
	for (i = 0; w.shown && i < c->nparam; i++) {
		const struct espy_field *declared = &v->image->fields[c->first_param + i];
		struct espy_field chosen;
		if (chosen_by_ret(&w, declared)) {
			any |= ESPY_SHOWN_MORE;
			break;
		}
		const struct espy_field *p = param_to_show(&w, declared, &chosen);
		if (!p)
			continue;
		if (needs_exit(&w, p)) {
			const struct espy_type *to = two_part_struct(&w, p);
			const struct espy_ways ways = espy_walk_part(&w);
			struct espy_span m;
			if (to && (p->when == ESPY_NONE || espy_walk__eval(&w, NULL, p->when, false)) &&
			    espy_walk_take(&w, &ways, ~ESPY_MANNERS_PLAIN) && two_part_mem(&w, p, to, &m)) {
				espy_walk_role(&w, espy_walk_arg_role(p), espy_image__str(w.img, p->name));
				espy_walk_struct(&w, to, &m, ESPY_FIRST_PART);
				any |= ESPY_SHOWN_HALF | ESPY_SHOWN_ANY;
			} else if (p->when == ESPY_NONE || espy_walk__eval(&w, NULL, p->when, false)) {
				any |= ESPY_SHOWN_MORE;
			}
			espy_walk_join(&w, &ways);
			break;
		}
		if (p->when != ESPY_NONE && !espy_walk__eval(&w, NULL, p->when, w.ok))
			continue;
		show_arg(&w, p);
	}
	if (w.wrote)
		any |= ESPY_SHOWN_ANY | ESPY_SHOWN_PLAIN;
	return any ? any | i : 0;
}

/* Arguments in manners of which some want more than was shown when the call began, or of which only some are brief. */
static void show_in_manners(struct espy_walk *w, const struct espy_call *c, unsigned shown)
{
	const struct progress done = progress_of(shown);

	for (unsigned i = 0; i < c->nparam; i++) {
		struct espy_field chosen;
		const struct espy_field *p = param_to_show(w, &w->img->fields[c->first_param + i], &chosen);
		if (!p)
			continue;
		if (w->shown & ~(unsigned)ESPY_MANNERS)
			show_ended_arg(w, p, i, &done);
		else
			show_all_manners(w, p);
	}
}

void espy_walk_args(struct espy_decoder *d, const struct espy_call_view *v, unsigned manners, unsigned shown)
{
	struct espy_walk w;

	begin_args(&w, d, v, manners);
	if (!is_described(v) || w.shown & ESPY_MANNERS_RAW)
		show_registers(&w, is_described(v));
	if (!is_described(v) || !w.shown)
		return;
	const struct espy_call *c = &v->image->calls[v->call];
	if (w.shown & ~(unsigned)ESPY_MANNERS || (w.shown & ESPY_MANNERS_FULL && w.shown & ~ESPY_MANNERS_FULL)) {
		show_in_manners(&w, c, shown);
		return;
	}
	const struct espy_field *p = &v->image->fields[c->first_param], *const end = p + c->nparam;
	for (; p < end; p++) {
		struct espy_field chosen;
		const struct espy_field *f = p;

		if (f->flags == ESPY_FF_NUMBER) {
			show_number(&w, f);
			continue;
		}
		f = param_to_show(&w, p, &chosen);
		if (f && (f->when == ESPY_NONE || espy_walk__eval(&w, NULL, f->when, w.ok)))
			show_arg(&w, f);
	}
}

/* ---- for hooks, and bytes that are no call's ---- */

void espy_walk_bytes(struct espy_walk *w, uint32_t type, const uint8_t *bytes, size_t len)
{
	if (type >= w->img->type_cnt || !bytes)
		return;
	const struct espy_span m = { .p = { NULL, bytes }, .n = { 0, len }, .want = len, .op = ESPY_NO_OP };
	espy_walk_value(w, type, &m, "");
}

void espy_walk_show(struct espy_walk *w, uint32_t type, const uint8_t *bytes, size_t len, const char *name)
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

const uint8_t *espy_walk_sibling_bytes(const struct espy_walk *w, const char *name, size_t *len)
{
	const struct espy_field *f = find_sibling(w, name);
	if (!f)
		return NULL;
	const struct espy_span *m = w->scope->mem;
	unsigned ph = espy_span_best(m);
	*len = w->img->types[f->type].size;
	return f->off <= m->n[ph] && *len <= m->n[ph] - f->off ? m->p[ph] + f->off : NULL;
}

bool espy_walk_sibling(const struct espy_walk *w, const char *name, uint64_t *num)
{
	size_t len;
	const uint8_t *p = espy_walk_sibling_bytes(w, name, &len);
	if (!p)
		return false;
	const struct espy_type *t = &w->img->types[find_sibling(w, name)->type];
	if (t->kind != ESPY_T_INT)
		return false;
	*num = espy_load(p, t->size, t->flags & ESPY_TF_BE, t->flags & ESPY_TF_SIGNED);
	return true;
}

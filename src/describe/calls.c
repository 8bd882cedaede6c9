/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Compiles calls: gives variants to their base forms, finds registers of parameters, results, selectors and keys; then
 * makes one plan for each form.
 */
#include <stdlib.h>
#include "arch/abi_facts.h"
#include "describe/compiler.h"

void dc_bind_variants(struct dc *dc)
{
	struct ast_call *next;

	for (struct ast_call *v = dc->variants; v; v = next) {
		struct ast_call *base = v->name->call;

		next = v->next;
		v->next = NULL;
		if (!base) {
			dc_error(dc, v->pos,
				 "variant of `%s`, which is not described, expected a call `%s(...) switch ...`",
				 v->name->s, v->name->s);
			continue;
		}
		v->base = base;
		if (!base->sw[0]) {
			dc_error(dc, v->pos, "variant of `%s`, which has no `switch`", v->name->s);
			continue;
		}
		*base->variants_tail = v;
		base->variants_tail = &v->next;
		base->nvariants++;
	}
}

const struct ast_type *dc_param_type(const struct ast_call *c, uint32_t i)
{
	const struct ast_field *p = &c->params[i];

	if (p->type || p->slot || !c->base)
		return p->type;
	for (uint32_t k = 0; k < c->base->nparams; k++)
		if (c->base->params[k].name == p->name && !c->base->params[k].slot)
			return c->base->params[k].type;
	return NULL;
}

/* Assigns registers to the parameters; on a 32-bit ABI a 64-bit integer takes two. Returns how many are used. */
static uint32_t assign_registers(struct dc *dc, const struct ast_call *c, uint32_t *reg)
{
	uint32_t r = 0;

	for (uint32_t i = 0; i < c->nparams; i++) {
		const struct ast_type *t = dc_param_type(c, i);
		struct espy_type ty = { 0 };

		/* A slot of a variant is as wide as the base form's parameter there. */
		if (!t && c->params[i].slot && c->base && i < c->base->nparams)
			t = dc_param_type(c->base, i);
		reg[i] = r;
		if (t)
			t = dc_resolve_alias(dc, t);
		bool wide = espy_abis[dc->in->abi].reg_sz < 8 && t && !t->in && !t->out && t->base == BASE_WORD &&
			    dc_scalar(dc, t->name->word, &ty) && ty.size == 8;

		bool none = t && t->base == BASE_WORD && t->name->word == W_REMARK;
		if (t && (t->from_sp))
			reg[i] = ESPY_PARAM_SP;
		else if (none || (t && (t->field_flags & ESPY_FF_THEN)))
			reg[i] = i ? reg[i - 1] : 0; /* no register of their own */
		else
			r += wide ? 2 : 1;
	}
	return r;
}

uint32_t dc_register_of(struct dc *dc, const struct ast_call *c, const struct dc_sym *name)
{
	uint32_t reg[ESPY_MAX_PARAMS];

	assign_registers(dc, c, reg);
	for (uint32_t i = 0; i < c->nparams; i++)
		if (c->params[i].name == name && !c->params[i].slot && reg[i] < ESPY_MAX_PARAMS)
			return reg[i];
	return ESPY_NONE;
}

/* Finds the place of each parameter in the text. */
static void display_order(struct dc *dc, const struct ast_call *c, const struct ast_names *order, uint32_t *at)
{
	bool taken[ESPY_MAX_PARAMS] = { false };
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->nparams; i++)
		at[i] = i;
	if (!order->n)
		return;
	for (uint32_t k = 0; k < order->n; k++) {
		uint32_t i = 0;

		while (i < c->nparams && (c->params[i].name != order->v[k] || c->params[i].slot))
			i++;
		if (i == c->nparams) {
			/* The order of a base form names parameters that a variant may lack. */
			if (order == &c->order)
				dc_error(dc, order->pos[k], "`order` names `%s`, which is no parameter",
					 order->v[k]->s);
			continue;
		}
		if (taken[i])
			dc_error(dc, order->pos[k], "`order` names `%s` twice", order->v[k]->s);
		else
			at[i] = n++;
		taken[i] = true;
	}
	for (uint32_t i = 0; i < c->nparams; i++)
		if (!taken[i])
			at[i] = n++;
}

/* Lowers the guard alone, for the check below; the expression table keeps one copy anyway. */
static const uint32_t IDENTITY[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

static uint32_t lower_guard(struct dc *dc, const struct ast_call *c, const struct ast_expr *e)
{
	struct dc_ctx ctx = { .call = c, .order = IDENTITY };
	uint32_t before = dc->errors;
	espy_diag_fn diag = dc->diag;

	dc->diag = NULL; /* already reported */
	uint32_t x = dc_lower_expr(dc, e, &ctx);

	dc->diag = diag;
	dc->errors = before;
	return x;
}

/* Tells whether a parameter is no more than a number in a register, so that the walk need not ask for anything else. */
static bool is_number(struct dc *dc, const struct espy_field *p)
{
	const struct espy_type *t = dc_type(dc, p->type);

	return t->kind == ESPY_T_INT && !t->hook && !(t->flags & ESPY_TF_BE) &&
	       t->size <= espy_abis[dc->in->abi].reg_sz && p->when == ESPY_NONE && !p->flags;
}

static void check_param(struct dc *dc, const struct ast_call *c, uint32_t i, const struct ast_type *t, uint32_t type)
{
	const struct espy_type *ty = dc_type(dc, type);

	if (t->at) {
		uint32_t k = 0;

		while (k < c->nparams && c->params[k].name != t->at)
			k++;
		if (k == c->nparams)
			dc_error(dc, t->at_pos, "`at %s`: the call has no parameter of that name", t->at->s);
	}
	if (ty->kind != ESPY_T_INT && ty->kind != ESPY_T_PTR && ty->kind != ESPY_T_VOID && ty->kind != ESPY_T_UNION &&
	    ty->kind != ESPY_T_REMARK)
		dc_error(dc, t->base_pos, "`%s` does not fit into a register, expected an integer or a pointer",
			 c->params[i].name->s);
	if (t->out && ((c->plan_flags | (c->base ? c->base->plan_flags : 0)) & ESPY_PLAN_NEW_IMAGE))
		dc_error(dc, t->pos, "`out` in a call that replaces the program: nothing of it is left to be read");
	if (t->in && t->when && !t->out && dc_expr_has(dc, lower_guard(dc, c, t->when), ESPY_X_RET))
		dc_error(dc, t->when->pos,
			 "`ret` is not known before the call, expected a guard for what the call reads");
}

static uint32_t void_type(struct dc *dc)
{
	struct espy_type ty = dc_empty_type;

	ty.kind = ESPY_T_VOID;
	return dc_add_type(dc, &ty);
}

/* Lowers parameters into f, in display order. Returns the number of registers, or ESPY_NONE after an error. */
static uint32_t lower_params(struct dc *dc, const struct ast_call *c, struct espy_field *f, struct dc_pos *pos)
{
	uint32_t reg[ESPY_MAX_PARAMS], at[ESPY_MAX_PARAMS], nregs;
	struct dc_ctx ctx = { .call = c, .order = at };
	bool bad = false;

	nregs = assign_registers(dc, c, reg);
	display_order(dc, c, c->order.n || !c->base ? &c->order : &c->base->order, at);
	for (uint32_t i = 0; i < c->nparams; i++) {
		const struct ast_field *p = &c->params[i];
		const struct ast_type *t = dc_param_type(c, i);
		struct espy_field *pf = &f[at[i]];

		pos[at[i]] = p->pos;
		pf->off = reg[i];
		pf->when = ESPY_NONE;
		if (p->slot) {
			pf->type = void_type(dc);
			continue;
		}
		for (uint32_t k = 0; k < i; k++)
			if (c->params[k].name == p->name)
				dc_error(dc, p->pos, "parameter `%s` stands twice", p->name->s);
		pf->name = dc_sym_str(dc, p->name);
		if (!t) {
			if (c->base)
				dc_error(dc, p->pos,
					 "`%s` alone means \"as in the call\", but `%s` has no parameter of that name, "
					 "expected a type",
					 p->name->s, c->name->s);
			else
				dc_error(dc, p->pos, "parameter `%s` has no type", p->name->s);
			bad = true;
			continue;
		}
		t = dc_resolve_alias(dc, t);
		pf->type = dc_lower_type(dc, t, &ctx, PLACE_PARAM);
		pf->flags = t->field_flags | (t->verbose && !t->in && !t->out ? ESPY_FF_VERBOSE : 0);
		if (t->when)
			pf->when = dc_lower_expr(dc, t->when, &ctx);
		if (pf->type == ESPY_NONE)
			bad = true;
		else
			check_param(dc, c, i, t, pf->type);
		if (!bad && is_number(dc, pf))
			pf->flags = ESPY_FF_NUMBER;
	}
	if (nregs > ESPY_MAX_PARAMS) {
		dc_error(dc, c->pos, "the parameters of `%s` need %u registers, at most %u are there", c->name->s,
			 nregs, ESPY_MAX_PARAMS);
		bad = true;
	}
	return bad ? ESPY_NONE : nregs;
}

/* Returns the register of the parameter that a result or its note stands `at`. */
static uint32_t register_at(struct dc *dc, const struct ast_call *c, const struct ast_type *t)
{
	const uint32_t reg = dc_register_of(dc, c, t->at);

	if (reg < 6)
		return reg;
	dc_error(dc, t->at_pos, "`at %s`: the call has no parameter of that name", t->at->s);
	return 0;
}

static void lower_note(struct dc *dc, const struct ast_call *c, struct espy_ret *r)
{
	if (c->note_hook) {
		r->note = ESPY_NOTE_RET_HOOK | (uint32_t)dc_find_hook(dc, c->note_hook, c->note_pos) << 16;
		return;
	}
	struct ast_type *t = dc_alloc(dc, sizeof(*t));

	*t = *c->note_type;
	/* A bare name of a table or a format means an integer as wide as the result. */
	if (t->base == BASE_NAME && !t->name->type && !t->fmt) {
		const struct ast_type *ret = dc_resolve_alias(dc, c->ret);

		t->fmt = t->name;
		t->fmt_pos = t->base_pos;
		t->base = BASE_WORD;
		t->name = ret->base == BASE_WORD ? ret->name : dc->words[W_LONG];
	}
	r->note = (c->note_names ? ESPY_NOTE_RET_NAMES : ESPY_NOTE_RET_TYPE) |
		  (t->at ? (register_at(dc, c, t) + 1) << 16 : 0);
	r->note_text = dc_str(dc, c->note_text);
	r->note_type = dc_lower_type(dc, t, NULL, PLACE_RESULT);
	const uint32_t kind = r->note_type == ESPY_NONE ? ESPY_T_INT : dc_type(dc, r->note_type)->kind;
	if (kind != ESPY_T_INT && !(kind == ESPY_T_STRUCT && t->at))
		dc_error(dc, c->note_pos,
			 "the note of a result must be an integer, the name of a table or format, or a struct `at` a "
			 "parameter");
	if (c->note_names && (t->at || kind != ESPY_T_INT || dc_type(dc, r->note_type)->fmt != ESPY_FMT_FLAGS))
		dc_error(dc, c->note_pos, "a note by `names` must be a flags table");
}

static struct espy_ret lower_result(struct dc *dc, const struct ast_call *c)
{
	struct espy_ret r = { .type = ESPY_NONE, .note_type = ESPY_NONE };

	if (!c->ret && c->base)
		c = c->base;
	if (!c->ret)
		return r;
	r.type = dc_lower_type(dc, c->ret, NULL, PLACE_RESULT);
	if (r.type != ESPY_NONE && dc_type(dc, r.type)->kind != ESPY_T_PTR && dc_type(dc, r.type)->kind != ESPY_T_INT &&
	    dc_type(dc, r.type)->kind != ESPY_T_VOID)
		dc_error(dc, c->ret->base_pos, "a result must be an integer");
	if (c->has_note)
		lower_note(dc, c, &r);
	if (c->ret->at && !c->has_note)
		r.note = ESPY_NOTE_RET_AT | register_at(dc, c, c->ret) << 16;
	return r;
}

/* Appends one form of a call. nargs: registers that the kernel takes, 0: not known. */
static uint32_t lower_form(struct dc *dc, struct ast_call *c, uint32_t nargs)
{
	struct espy_field f[ESPY_MAX_PARAMS] = { 0 };
	struct dc_pos pos[ESPY_MAX_PARAMS] = { 0 };
	struct espy_call ic = { .name = dc_sym_str(dc, c->name) };
	uint32_t before = dc->errors, nregs = lower_params(dc, c, f, pos);

	ic.ret = lower_result(dc, c);
	/* A plan of a wrong form would only repeat the mistake in other words. */
	if (nregs == ESPY_NONE || dc->errors != before)
		return ESPY_NONE;
	ic.first_param = dc_intern_record(dc, DC_FIELDS, f, c->nparams);
	ic.nparam = c->nparams;
	struct espy_plan plan = { .flags = c->plan_flags | (c->base ? c->base->plan_flags : 0) | ESPY_PLAN_DESCRIBED };

	nargs = nargs > nregs ? nargs : nregs;
	plan.nargs = (uint8_t)(nargs > 6 ? 6 : nargs);
	dc_lower_effects(dc, c, &ic, &plan);
	if (c->event)
		ic.event = dc_sym_str(dc, c->event);
	ic.plan = dc_make_plan(dc, c, &ic, pos, &plan);
	uint32_t i = dc->icalls.n;

	memcpy(dc_vec_add(dc, &dc->icalls, 1), &ic, sizeof(ic));
	return i;
}

/* Tells whether the call, an operation of io_uring, wants the field addr3 in its last register. */
static bool wants_addr3(const struct ast_call *c)
{
	for (uint32_t i = 0; i < c->nparams; i++)
		if (!c->params[i].slot && !strcmp(c->params[i].name->s, "addr3"))
			return true;
	return false;
}

/* Lowers a selector: a parameter, or a parameter & mask. Returns its register; *t: the parameter's type. */
static uint32_t lower_selector(struct dc *dc, const struct ast_call *c, const struct ast_expr *e, uint32_t *mask,
			       const struct ast_type **t)
{
	uint32_t reg[ESPY_MAX_PARAMS];
	uint64_t m = 0xffffffff;
	const struct ast_expr *name = e;

	*t = NULL;
	if (e->op == ESPY_X_AND) {
		name = e->a;
		if (dc_const_expr(dc, e->b, NULL, NULL, &m))
			return ESPY_NONE;
	}
	if (name->op == AX_NAME) {
		assign_registers(dc, c, reg);
		for (uint32_t i = 0; i < c->nparams; i++) {
			if (c->params[i].name != name->sym || c->params[i].slot || !c->params[i].type)
				continue;
			*t = dc_resolve_alias(dc, c->params[i].type);
			*mask = (uint32_t)m;
			return reg[i];
		}
	}
	dc_error(dc, e->pos, "`switch` on something else, expected a parameter, or a parameter & a constant");
	return ESPY_NONE;
}

struct ranked_variant {
	struct espy_variant v;
	struct dc_pos pos;
};

static int by_key(const void *a, const void *b)
{
	const struct espy_variant *x = &((const struct ranked_variant *)a)->v,
				  *y = &((const struct ranked_variant *)b)->v;

	return x->key < y->key ? -1 : x->key > y->key;
}

struct selectors {
	const struct ast_table *table[2];
	uint32_t mask;
	bool two;
};

/* Lowers a key. Returns 0 with *key; else it is wrong or not for this ABI. prev: the first half before, for `A.X,Y`. */
static int lower_key(struct dc *dc, const struct ast_key *k, const struct selectors *s, uint64_t *key,
		     const struct ast_expr **prev)
{
	const struct ast_expr *first = k->k[0], *second = k->k[1];
	uint64_t v[2] = { 0, 0 };

	if (s->two && !second && *prev) {
		second = first;
		first = *prev;
	}
	if (s->two != (second != NULL)) {
		dc_error(dc, k->pos,
			 s->two ? "one key where two parameters choose, expected KEY.KEY"
				: "two keys where one parameter chooses, expected KEY");
		return -1;
	}
	*prev = first;
	int r = dc_const_expr(dc, first, NULL, s->table[0], &v[0]);

	if (!r && second)
		r = dc_const_expr(dc, second, NULL, s->table[1], &v[1]);
	if (!r && (v[0] & 0xffffffff & ~(uint64_t)s->mask)) {
		dc_error(dc, k->pos, "this key has bits that the mask of the `switch` takes away");
		return -1;
	}
	*key = s->two ? (v[0] & s->mask) << 32 | (uint32_t)v[1] : (uint32_t)v[0] & s->mask;
	return r;
}

/* Tells whether the variant has the key already: two names may be one number on some ABI. */
static bool has_key(const struct ranked_variant *r, uint32_t n, uint32_t call, uint64_t key)
{
	while (n && r[n - 1].v.call == call)
		if (r[--n].v.key == key)
			return true;
	return false;
}

static void lower_variants(struct dc *dc, struct ast_call *c, struct espy_call_plan *cp, uint32_t nargs)
{
	const struct ast_type *t[2] = { NULL, NULL };
	struct selectors s = { .mask = 0 };
	uint32_t cap = 0, n = 0, mask1 = 0;
	uint32_t reg0 = lower_selector(dc, c, c->sw[0], &s.mask, &t[0]), reg1 = 0xff;

	if (c->sw[1])
		reg1 = lower_selector(dc, c, c->sw[1], &mask1, &t[1]);
	if (reg0 == ESPY_NONE || reg1 == ESPY_NONE)
		return;
	if (c->sw[1] && mask1 != 0xffffffff)
		dc_error(dc, c->sw[1]->pos, "the second selector cannot have a mask");
	s.two = c->sw[1] != NULL;
	for (unsigned i = 0; i < 2; i++)
		s.table[i] = t[i] && t[i]->fmt ? t[i]->fmt->table : NULL;
	for (const struct ast_call *v = c->variants; v; v = v->next)
		cap += v->nkeys;
	struct ranked_variant *r = dc_alloc(dc, (cap + 1) * sizeof(*r));

	for (struct ast_call *v = c->variants; v && !dc->too_many; v = v->next) {
		const struct ast_expr *prev = NULL;
		uint32_t call = lower_form(dc, v, nargs);

		for (uint32_t k = 0; k < v->nkeys; k++) {
			uint64_t key;

			if (lower_key(dc, &v->keys[k], &s, &key, &prev) || call == ESPY_NONE ||
			    has_key(r, n, call, key))
				continue;
			const struct espy_call *ic = dc_vec_at(&dc->icalls, call);

			r[n++] = (struct ranked_variant){ { .key = key, .plan = (uint16_t)ic->plan, .call = call },
							  v->keys[k].pos };
		}
	}
	qsort(r, n, sizeof(*r), by_key);
	cp->first_variant = (uint16_t)dc->ivariants.n;
	cp->variant_cnt = (uint16_t)n;
	cp->key_arg0 = (uint8_t)reg0;
	cp->key_arg1 = (uint8_t)reg1;
	cp->key_mask0 = s.mask;
	for (uint32_t i = 0; i < c->nfamily; i++) {
		uint64_t type = 0;

		if (s.two || s.mask != 0xffffffff || dc_const_expr(dc, c->family[i], NULL, NULL, &type) || type > 255)
			dc_error(dc, c->sw_pos,
				 "`sizeless` wants types of commands, up to 255, and one selector without a mask");
		cp->inner |= ESPY_FAMILY_BIT((uint32_t)type);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (i && r[i].v.key == r[i - 1].v.key)
			dc_error(dc,
				 r[i].pos.src == r[i - 1].pos.src && r[i - 1].pos.off > r[i].pos.off ? r[i - 1].pos
												     : r[i].pos,
				 "two variants of `%s` have the same key", c->name->s);
		memcpy(dc_vec_add(dc, &dc->ivariants, 1), &r[i].v, sizeof(r[i].v));
	}
	if (dc->ivariants.n > 0xffff)
		dc_error(dc, c->pos, "more than 65535 variants");
}

/* Lowers `inner FIRST from ARGS`: where the numbers of the calls begin that this one leads to. */
static void lower_inner(struct dc *dc, const struct ast_call *c, struct espy_call_plan *cp)
{
	uint32_t reg = c->inner_args ? dc_register_of(dc, c, c->inner_args) : 0;
	uint64_t first = 0;

	if (c->sw[1] || c->nvariants)
		dc_error(dc, c->inner_pos, "`inner` goes with a `switch` on one parameter, or none, and no variants");
	else if (dc_const_expr(dc, c->inner, NULL, NULL, &first) || !first || first > ESPY_INNER_FIRST(~0u))
		dc_error(dc, c->inner_pos, "`inner` wants the first number of the calls, above 0");
	else if (reg >= 6)
		dc_error(dc, c->inner_pos, "`from` names no parameter in a register");
	else
		cp->inner = (uint32_t)first | (c->inner_args ? (reg + 1) << 16 : 0);
}

/* Returns the plan of calls without a description: so many raw registers. */
static uint32_t raw_plan(struct dc *dc, uint32_t nargs)
{
	for (uint32_t i = 0; i < dc->plans.n; i++) {
		const struct espy_plan *p = dc_vec_at(&dc->plans, i);

		if (!p->flags && !p->op_cnt && p->nargs == nargs)
			return i;
	}
	struct espy_plan *p = dc_vec_add(dc, &dc->plans, 1);

	p->nargs = (uint8_t)nargs;
	return dc->plans.n - 1;
}

void dc_lower_calls(struct dc *dc)
{
	uint32_t cnt = dc->syscalls.n;
	struct done {
		uint32_t call;
		struct espy_call_plan cp;
	} * done;
	struct ast_call *c;
	uint32_t ncalls = 0;

	for (c = dc->calls; c; c = c->next)
		c->index = ncalls++;
	done = dc_alloc(dc, (ncalls + 1) * sizeof(*done));
	/* The kernel gives the numbers of arguments. A name may have several numbers. */
	uint32_t *nargs = dc_alloc(dc, (ncalls + 1) * sizeof(*nargs));
	bool *in_table = dc_alloc(dc, (ncalls + 1) * sizeof(*in_table));
	struct ast_call **of_nr = dc_alloc(dc, (cnt + 1) * sizeof(*of_nr));

	for (uint32_t i = 0; i < cnt; i++) {
		const struct espy_syscall *s = dc_vec_at(&dc->syscalls, i);

		if (!s->name)
			continue;
		of_nr[i] = dc->forms[i]->call;
		if (of_nr[i]) {
			nargs[of_nr[i]->index] = s->nargs;
			in_table[of_nr[i]->index] = true;
		}
	}
	for (c = dc->calls; c && !dc->too_many; c = c->next) {
		struct done *d = &done[c->index];

		if (dc->listing && dc->listing->call)
			dc->listing->call(dc->listing->ctx, c->name->s, c->nvariants, in_table[c->index]);
		d->call = ESPY_NONE;
		d->cp.key_arg1 = 0xff;
		if (!in_table[c->index] && cnt)
			continue; /* a call of another ABI */
		d->call = lower_form(dc, c, nargs[c->index]);
		if (d->call != ESPY_NONE)
			d->cp.plan = (uint16_t)((const struct espy_call *)dc_vec_at(&dc->icalls, d->call))->plan;
		if (c->sw[0])
			lower_variants(dc, c, &d->cp, nargs[c->index]);
		if (c->inner)
			lower_inner(dc, c, &d->cp);
	}
	if (cnt)
		dc_vec_add(dc, &dc->call_plans, cnt);
	for (uint32_t i = 0; i < cnt; i++) {
		struct espy_syscall *s = dc_vec_at(&dc->syscalls, i);
		struct espy_call_plan *cp = dc_vec_at(&dc->call_plans, i);

		if (of_nr[i] && done[of_nr[i]->index].call != ESPY_NONE) {
			s->call = done[of_nr[i]->index].call;
			s->flags |= wants_addr3(of_nr[i]) ? ESPY_SYSCALL_ADDR3 : 0;
			*cp = done[of_nr[i]->index].cp;
		} else {
			s->call = ESPY_NONE;
			*cp = (struct espy_call_plan){ .plan = (uint16_t)raw_plan(dc, s->name ? s->nargs : 6),
						       .key_arg1 = 0xff };
		}
	}
}

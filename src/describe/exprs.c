/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lowers expressions: names become parameters, fields or constants; constant parts are folded. Equal expressions are
 * one record.
 */
#include "describe/compiler.h"

uint32_t dc_add_expr(struct dc *dc, uint32_t op, uint32_t a, uint32_t b, uint64_t value)
{
	struct espy_expr x = { .op = op, .a = a, .b = b, .value = value };

	return dc_intern_record(dc, DC_EXPRS, &x, 1);
}

/* Returns the integer type that a name stands for, or a union of integers; NULL: neither. *deref: it is a pointer. */
static const struct ast_type *integer_type(struct dc *dc, const struct ast_type *t, bool *deref)
{
	*deref = false;
	if (!t)
		return NULL;
	t = dc_resolve_alias(dc, t);
	*deref = t->in || t->out;
	if (t->len.kind != LEN_NONE)
		return NULL;
	if (t->base == BASE_WORD && dc_is_int_word(t->name->word))
		return t;
	if (t->base == BASE_NAME && t->name->table && t->name->table->kind == ESPY_TABLE_PACK)
		return t;
	if (t->base == BASE_NAME && t->name->type && t->name->type->kind == NAMED_UNION && !*deref) {
		const struct ast_named *u = t->name->type;
		bool ignored;

		for (uint32_t i = 0; i < u->ncases; i++)
			if (u->cases[i].type->base == BASE_NAME && u->cases[i].type->name->type == u)
				return NULL;
			else if (!integer_type(dc, u->cases[i].type, &ignored) || ignored)
				return NULL;
		return u->ncases ? t : NULL;
	}
	return NULL;
}

static bool is_union(struct dc *dc, const struct ast_type *t)
{
	t = t ? dc_resolve_alias(dc, t) : NULL;
	return t && t->base == BASE_NAME && t->len.kind == LEN_NONE && t->name->type &&
	       t->name->type->kind == NAMED_UNION;
}

const struct ast_type *dc_ctx_type(struct dc *dc, const struct dc_ctx *ctx, struct dc_sym *name)
{
	if (!ctx)
		return NULL;
	if (ctx->record) {
		for (uint32_t i = 0; i < ctx->record->nfields; i++)
			if (ctx->record->fields[i].name == name)
				return dc_resolve_alias(dc, ctx->record->fields[i].type);
		return NULL;
	}
	for (uint32_t i = 0; i < ctx->call->nparams; i++) {
		if (ctx->call->params[i].name == name && !ctx->call->params[i].slot && dc_param_type(ctx->call, i))
			return dc_resolve_alias(dc, dc_param_type(ctx->call, i));
	}
	return NULL;
}

/* Lowers a name of the context. Returns true if it is one: *x is its expression, or ESPY_NONE after an error. */
static bool lower_name(struct dc *dc, const struct ast_expr *e, const struct dc_ctx *ctx, bool outer, uint32_t *x)
{
	bool deref;

	*x = ESPY_NONE;
	if (ctx->record) {
		for (uint32_t i = 0; i < ctx->record->nfields; i++) {
			const struct ast_field *f = &ctx->record->fields[i];

			if (f->name != e->sym)
				continue;
			/* an array of integers stands for its first */
			struct ast_type first = *f->type;

			first.len.kind = first.in || first.out ? first.len.kind : LEN_NONE;
			if (!integer_type(dc, &first, &deref) && !deref)
				dc_error(dc, e->pos, "field `%s` is not an integer, expected one", e->sym->s);
			else
				*x = dc_add_expr(dc, outer ? ESPY_X_OUTER : ESPY_X_FIELD, i, 0, 0);
			return true;
		}
		return false;
	}
	for (uint32_t i = 0; i < ctx->call->nparams; i++) {
		const struct ast_field *p = &ctx->call->params[i];

		if (p->name != e->sym || p->slot)
			continue;
		const struct ast_type *t = integer_type(dc, dc_param_type(ctx->call, i), &deref);

		/* A pointer to an integer stands for the integer, any other pointer and any union for itself. */
		if (!t && !deref && !is_union(dc, dc_param_type(ctx->call, i)))
			dc_error(dc, e->pos, "parameter `%s` is not an integer or a pointer, expected one", e->sym->s);
		else
			*x = dc_add_expr(dc, outer ? ESPY_X_OUTER : t && deref ? ESPY_X_DEREF : ESPY_X_ARG,
					 ctx->order[i], 0, 0);
		return true;
	}
	return false;
}

/* Lowers `params.in_len`: parameter and field by their numbers. */
static uint32_t lower_member(struct dc *dc, const struct ast_expr *e, const struct dc_ctx *ctx)
{
	const struct ast_type *t = ctx && ctx->call ? dc_ctx_type(dc, ctx, e->sym) : NULL;
	const struct ast_named *s = t && (t->in || t->out) && t->base == BASE_NAME ? t->name->type : NULL;

	if (!s || s->kind != NAMED_STRUCT) {
		dc_error(dc, e->pos, "`%s` is no parameter that points to a struct, expected one", e->sym->s);
		return ESPY_NONE;
	}
	for (uint32_t f = 0; f < s->nfields; f++) {
		bool deref;

		if (s->fields[f].name != e->member || !integer_type(dc, s->fields[f].type, &deref) || deref)
			continue;
		for (uint32_t i = 0; i < ctx->call->nparams; i++)
			if (ctx->call->params[i].name == e->sym && !ctx->call->params[i].slot)
				return dc_add_expr(dc, ESPY_X_DEREF, ctx->order[i], f + 1, 0);
	}
	dc_error(dc, e->pos, "`%s` has no integer field `%s`", s->name->s, e->member->s);
	return ESPY_NONE;
}

static uint32_t lower_leaf(struct dc *dc, const struct ast_expr *e, const struct dc_ctx *ctx)
{
	uint64_t v;
	uint32_t x;

	if (e->op == AX_OUTER) {
		if (!ctx || !ctx->outer)
			dc_error(dc, e->pos,
				 "`outer.%s`: there is nothing around here, expected a struct inside another",
				 e->sym->s);
		else if (lower_name(dc, e, ctx->outer, true, &x))
			return x;
		else if (e->sym->word == W_FIRST)
			return dc_add_expr(dc, ESPY_X_FIRST, 1, 0, 0);
		else
			dc_error(dc, e->pos, "`outer.%s`: what is around has no field of that name", e->sym->s);
		return ESPY_NONE;
	}
	if (e->op == AX_FILE) {
		const bool field = ctx && ctx->record && lower_name(dc, e, ctx, false, &x);

		if (!field)
			dc_error(dc, e->pos, "`%s` is no field of this struct", e->sym->s);
		return field && x != ESPY_NONE
			       ? dc_add_expr(dc, ESPY_X_FILE, ((const struct espy_expr *)dc_vec_at(&dc->exprs, x))->a,
					     0, 0)
			       : ESPY_NONE;
	}
	if (ctx && lower_name(dc, e, ctx, false, &x))
		return x;
	if (e->sym->word == W_RET)
		return dc_add_expr(dc, ESPY_X_RET, 0, 0, 0);
	if (e->sym->word == W_SIZE && ctx && ctx->record)
		return dc_add_expr(dc, ESPY_X_SIZE, 0, 0, 0);
	if (e->sym->word == W_KIND && ctx && ctx->record)
		return dc_add_expr(dc, ESPY_X_KIND, 0, 0, 0);
	if (e->sym->word == W_FIRST && ctx && ctx->record)
		return dc_add_expr(dc, ESPY_X_FIRST, 0, 0, 0);
	if (e->sym->word == W_INDEX && ctx && ctx->record)
		return dc_add_expr(dc, ESPY_X_INDEX, 0, 0, 0);
	if (!e->sym->consts) {
		dc_error(dc, e->pos, "unknown name `%s`, expected %s or a constant", e->sym->s,
			 ctx && ctx->record ? "a field of this struct" : "a parameter of this call");
		return ESPY_NONE;
	}
	/* A constant that this ABI does not have is 0: a guard on such a flag never holds. */
	if (dc_const_value(dc, e->sym, ctx && ctx->record ? ctx->record->as_header : NULL, e->pos, &v, false) < 0)
		return ESPY_NONE;
	return dc_add_expr(dc, ESPY_X_CONST, 0, 0, v);
}

uint32_t dc_lower_expr(struct dc *dc, const struct ast_expr *e, const struct dc_ctx *ctx)
{
	if (e->op == ESPY_X_CONST)
		return dc_add_expr(dc, ESPY_X_CONST, 0, 0, e->value);
	if (e->op == ESPY_X_VERBOSE)
		return dc_add_expr(dc, ESPY_X_VERBOSE, 0, 0, 0);
	if (e->op == AX_NAME || e->op == AX_OUTER || e->op == AX_FILE)
		return lower_leaf(dc, e, ctx);
	if (e->op == AX_MEMBER)
		return lower_member(dc, e, ctx);
	uint32_t a = dc_lower_expr(dc, e->a, ctx), b = e->b ? dc_lower_expr(dc, e->b, ctx) : 0;

	if (a == ESPY_NONE || b == ESPY_NONE)
		return ESPY_NONE;
	const struct espy_expr *xa = dc_vec_at(&dc->exprs, a), *xb = dc_vec_at(&dc->exprs, b);
	uint64_t v;

	if (xa->op == ESPY_X_CONST && (!e->b || xb->op == ESPY_X_CONST) && !dc_fold(e->op, xa->value, xb->value, &v))
		return dc_add_expr(dc, ESPY_X_CONST, 0, 0, v);
	return dc_add_expr(dc, e->op, a, b, 0);
}

bool dc_expr_has(struct dc *dc, uint32_t i, uint32_t op)
{
	if (i == ESPY_NONE)
		return false;
	const struct espy_expr *x = dc_vec_at(&dc->exprs, i);

	if (x->op == op)
		return true;
	if (x->op < ESPY_X_OR || x->op > ESPY_X_ROUND_BITS)
		return false;
	return dc_expr_has(dc, x->a, op) ||
	       (x->op != ESPY_X_NOT && x->op != ESPY_X_INV && x->op != ESPY_X_ROUND_BITS && dc_expr_has(dc, x->b, op));
}

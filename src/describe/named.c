/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compiles structs and unions: fields, display orders, cases. The second half of the stage that begins in types.c. */
#include <stdlib.h>
#include "describe/compiler.h"

/* The depth to which records inside records of their own kind are followed; the rest is shown as bytes. */
#define MAX_RECURSION 2
/* The depth of named types inside named types: the compiler recurses into each, and readers of images refuse more. */
#define MAX_NAMED_DEPTH 32

static bool type_uses_outer(const struct ast_type *t, unsigned depth);

static bool expr_uses_outer(const struct ast_expr *e)
{
	return e && (e->op == AX_OUTER || expr_uses_outer(e->a) || expr_uses_outer(e->b));
}

static bool placed_uses_outer(const struct ast_placed *p)
{
	return p && (expr_uses_outer(p->start) || expr_uses_outer(p->limit) || expr_uses_outer(p->times));
}

/* Tells whether a type in a struct looks at the surroundings of that struct. */
static bool type_uses_outer(const struct ast_type *t, unsigned depth)
{
	if (!t || depth > 16)
		return false;
	if (expr_uses_outer(t->len.a) || expr_uses_outer(t->len.b) || expr_uses_outer(t->when) ||
	    expr_uses_outer(t->spread) || placed_uses_outer(t->placed) || type_uses_outer(t->inner, depth + 1))
		return true;
	if (t->base != BASE_NAME || !t->name->type)
		return false;
	const struct ast_named *n = t->name->type;

	if (n->kind == NAMED_ALIAS)
		return type_uses_outer(n->alias, depth + 1);
	if (n->kind == NAMED_STRUCT)
		return false; /* there `outer` is the struct itself */
	if (expr_uses_outer(n->by[0]) || expr_uses_outer(n->by[1]))
		return true;
	for (uint32_t i = 0; i < n->ncases; i++)
		if (type_uses_outer(n->cases[i].type, depth + 1))
			return true;
	return false;
}

static bool struct_uses_outer(struct ast_named *s)
{
	if (!s->outer_state) {
		s->outer_state = 2;
		for (uint32_t i = 0; i < s->nfields; i++)
			if (type_uses_outer(s->fields[i].type, 0))
				s->outer_state = 3;
	}
	return s->outer_state == 3;
}

static uint32_t find_field(const struct ast_named *s, const struct dc_sym *name)
{
	for (uint32_t i = 0; i < s->nfields; i++)
		if (s->fields[i].name == name)
			return i;
	return ESPY_NONE;
}

static uint32_t lower_list(struct dc *dc, const struct ast_named *s, const struct ast_names *names, const char *what,
			   uint32_t *cnt)
{
	uint32_t *v = dc_alloc(dc, (names->n + 1) * sizeof(*v)), n = 0;

	for (uint32_t i = 0; i < names->n; i++) {
		uint32_t f = find_field(s, names->v[i]), before = 0;

		for (uint32_t k = 0; k < i; k++)
			before += names->v[k] == names->v[i];
		/* a name that stands there once more is the next field of that name */
		for (uint32_t k = f; before && k < s->nfields; k++)
			if (k > f && s->fields[k].name == names->v[i]) {
				f = k;
				before--;
			}

		if (f == ESPY_NONE)
			dc_error(dc, names->pos[i], "`%s` names `%s`, which is no field of struct `%s`", what,
				 names->v[i]->s, s->name->s);
		else
			v[n++] = f;
	}
	*cnt = n;
	return dc_intern_record(dc, DC_INDICES, v, n);
}

static uint32_t lower_struct(struct dc *dc, struct ast_named *s, const struct dc_ctx *outer)
{
	struct dc_ctx ctx = { .outer = outer, .record = s };
	struct espy_field *f = dc_alloc(dc, (s->nfields + 1) * sizeof(*f));
	struct espy_type ty = dc_empty_type;

	ty.kind = ESPY_T_STRUCT;
	ty.name = dc_sym_str(dc, s->name);
	for (uint32_t i = 0; i < s->nfields; i++) {
		const struct ast_type *t = dc_resolve_alias(dc, s->fields[i].type);

		/* a remark may take the place of a field, and a field may lie over one of its name */
		if (s->fields[i].name->word != W_SLOT && find_field(s, s->fields[i].name) != i &&
		    !s->fields[find_field(s, s->fields[i].name)].type->text && !(t->field_flags & ESPY_FF_OVER))
			dc_error(dc, s->fields[i].pos, "field `%s` is defined twice", s->fields[i].name->s);
		f[i].name = dc_sym_str(dc, s->fields[i].name);
		f[i].type = dc_lower_type(dc, t, &ctx, PLACE_FIELD);
		f[i].when = t->when ? dc_lower_expr(dc, t->when, &ctx) : ESPY_NONE;
		f[i].flags = t->field_flags | (t->verbose && !t->in && !t->out ? ESPY_FF_VERBOSE : 0);
		if (t->at)
			dc_error(dc, t->at_pos, "`at` belongs to a parameter of a call");
	}
	dc_layout_struct(dc, s, &ty, f);
	dc_report_layout(dc, s, f);
	for (uint32_t i = 0; i < s->nfields; i++)
		if (f[i].type == ESPY_NONE)
			return ESPY_NONE; /* reported already */
	uint32_t len = s->tlv_len ? find_field(s, s->tlv_len) : 0;

	if (s->tlv_len && (len == ESPY_NONE || f[len].off > 255 || dc_type(dc, f[len].type)->kind != ESPY_T_INT))
		dc_error(dc, s->tlv_pos, "`tlv %s`: expected an integer field of the struct", s->tlv_len->s);
	ty.first = dc_intern_record(dc, DC_FIELDS, f, s->nfields);
	ty.count = s->nfields;
	ty.show = lower_list(dc, s, &s->show, "show", &ty.show_cnt);
	ty.brief = lower_list(dc, s, &s->brief, "brief", &ty.brief_cnt);
	ty.note = s->note;
	ty.flags = (s->tail ? ESPY_TF_TAIL : 0) | (s->more ? ESPY_TF_MORE : 0) | (s->lead ? ESPY_TF_LEAD : 0) |
		   (s->torn ? ESPY_TF_TORN : 0) | (s->whole ? ESPY_TF_WHOLE : 0) | (s->partial ? ESPY_TF_PARTIAL : 0) |
		   (s->extra ? ESPY_TF_TAIL | ESPY_TF_EXTRA : 0) | (s->filled ? ESPY_TF_FILLED : 0) |
		   (s->bare ? ESPY_TF_BARE : 0);
	for (uint32_t i = 0; i < s->nfields; i++)
		ty.flags |= f[i].flags & ESPY_FF_REQUIRED ? ESPY_TF_REQUIRES : 0;
	if (s->headed > s->nfields && s->headed != ESPY_NO_HEADS)
		dc_error(dc, s->pos, "`headed %u`: the struct has fewer fields", s->headed);
	ty.aux = (uint32_t)s->headed << 24;
	if (s->extent) {
		uint32_t i = find_field(s, s->extent);

		if (i == ESPY_NONE || i >= 255 || dc_type(dc, f[i].type)->kind != ESPY_T_INT)
			dc_error(dc, s->extent_pos, "`extent %s`: expected an integer field of the struct",
				 s->extent->s);
		else
			ty.aux |= (i + 1) | (uint32_t)s->extent_min << 8;
	}
	return dc_add_type(dc, &ty);
}

/* Size and sign of the choosing integer, and its table, by which keys are found and cut. */
struct selector {
	const struct ast_table *table;
	unsigned size;
	bool sgn;
};

static struct selector selector_of(struct dc *dc, const struct ast_expr *by, const struct dc_ctx *ctx)
{
	struct selector s = { .size = 8 };
	const struct ast_type *t = NULL;
	struct espy_type ty = dc_empty_type;

	if (by && by->op == AX_NAME)
		t = dc_ctx_type(dc, ctx, by->sym);
	else if (by && by->op == AX_OUTER && ctx)
		t = dc_ctx_type(dc, ctx->outer, by->sym);
	if (t && t->fmt)
		s.table = t->fmt->table;
	if (t && t->base == BASE_WORD && dc_scalar(dc, t->name->word, &ty)) {
		s.size = ty.size;
		s.sgn = (ty.flags & ESPY_TF_SIGNED) != 0;
	}
	return s;
}

struct ranked_case {
	struct espy_case c;
	struct dc_pos pos;
};

static int by_key(const void *a, const void *b)
{
	const struct espy_case *x = &((const struct ranked_case *)a)->c, *y = &((const struct ranked_case *)b)->c;

	if (x->is_else != y->is_else)
		return x->is_else < y->is_else ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->key2 < y->key2 ? -1 : x->key2 > y->key2;
}

/* Lowers one key of a case into c. Returns false if it is wrong, or not defined for this ABI. */
static bool lower_key(struct dc *dc, const struct ast_named *s, const struct ast_key *k, const struct selector *sel,
		      struct espy_case *c)
{
	uint64_t v[2] = { 0, 0 };

	if (!k->k[1] != !s->by[1]) {
		dc_error(dc, k->pos,
			 s->by[1] ? "one key where two choose, expected KEY.KEY"
				  : "two keys where one chooses, expected KEY");
		return false;
	}
	for (unsigned i = 0; i < 2; i++) {
		if (k->k[i] && dc_const_expr(dc, k->k[i], NULL, sel[i].table, &v[i]))
			return false;
		v[i] = dc_cut(v[i], sel[i].size, sel[i].sgn);
	}
	c->key = v[0];
	c->key2 = v[1];
	return true;
}

static uint32_t lower_union(struct dc *dc, struct ast_named *s, const struct dc_ctx *ctx)
{
	struct espy_type ty = dc_empty_type;
	struct selector sel[2];
	uint32_t n = 0, cap = 0;
	bool varies = false, bad = false;

	ty.kind = ESPY_T_UNION;
	ty.name = dc_sym_str(dc, s->name);
	ty.flags = s->braces ? ESPY_TF_BRACES : 0;
	ty.len_a = dc_lower_expr(dc, s->by[0], ctx);
	ty.len_b = s->by[1] ? dc_lower_expr(dc, s->by[1], ctx) : ESPY_NONE;
	if (ty.len_a == ESPY_NONE || (s->by[1] && ty.len_b == ESPY_NONE))
		return ESPY_NONE;
	for (unsigned i = 0; i < 2; i++)
		sel[i] = selector_of(dc, s->by[i], ctx);
	for (uint32_t i = 0; i < s->ncases; i++)
		cap += s->cases[i].nkeys ? s->cases[i].nkeys : 1;
	struct ranked_case *r = dc_alloc(dc, (cap + 1) * sizeof(*r));

	for (uint32_t i = 0; i < s->ncases; i++) {
		const struct ast_case *ac = &s->cases[i];
		uint32_t type = dc_lower_type(dc, ac->type, ctx, PLACE_CASE);

		if (type == ESPY_NONE) {
			bad = true;
			continue;
		}
		const struct espy_type *ct = dc_type(dc, type);

		if (ct->size > ty.size)
			ty.size = ct->size;
		varies |= !ct->size && ct->kind != ESPY_T_VOID;
		if (ct->align > ty.align)
			ty.align = ct->align;
		if (!ac->nkeys)
			r[n++] = (struct ranked_case){ { .type = type, .is_else = 1 }, ac->pos };
		for (uint32_t k = 0; k < ac->nkeys; k++) {
			struct espy_case c = { .type = type };

			if (lower_key(dc, s, &ac->keys[k], sel, &c))
				r[n++] = (struct ranked_case){ c, ac->keys[k].pos };
		}
	}
	qsort(r, n, sizeof(*r), by_key);
	struct espy_case *cases = dc_alloc(dc, (n + 1) * sizeof(*cases));

	for (uint32_t i = 0; i < n; i++) {
		cases[i] = r[i].c;
		if (i && !by_key(&r[i - 1], &r[i]))
			dc_error(dc, r[i - 1].pos.off > r[i].pos.off ? r[i - 1].pos : r[i].pos,
				 r[i].c.is_else ? "`else` stands twice in this union"
						: "this key stands twice in the union");
	}
	if (bad)
		return ESPY_NONE;
	if (varies)
		ty.size = 0;
	ty.first = dc_intern_record(dc, DC_CASES, cases, n);
	ty.count = n;
	return dc_add_type(dc, &ty);
}

uint32_t dc_lower_named(struct dc *dc, struct ast_named *s, const struct dc_ctx *ctx)
{
	uint32_t i;

	if (s->kind == NAMED_STRUCT && s->memo)
		return s->memo - 1;
	if (s->failed)
		return ESPY_NONE;
	if (s->busy && s->busy < MAX_RECURSION + (s->kind == NAMED_UNION)) {
		; /* attributes in attributes are made anew, so that records refer to lower ones only */
	} else if (s->busy && s->tlv_len) {
		struct espy_type rest = dc_empty_type;

		rest.kind = ESPY_T_REST;
		dc->cut_off++;
		return dc_add_type(dc, &rest);
	} else if (s->busy) {
		dc_error(dc, s->pos, "%s `%s` contains itself", s->kind == NAMED_STRUCT ? "struct" : "union",
			 s->name->s);
		s->failed = true;
		return ESPY_NONE;
	}
	if (dc->busy_cnt >= MAX_NAMED_DEPTH) {
		dc_error(dc, s->pos, "%s `%s` stands %d levels deep in others, expected less nesting",
			 s->kind == NAMED_STRUCT ? "struct" : "union", s->name->s, MAX_NAMED_DEPTH);
		return ESPY_NONE;
	}
	s->busy++;
	dc->busy_cnt++;
	uint32_t cut_off = dc->cut_off;
	bool outer = s->kind == NAMED_UNION || struct_uses_outer(s);

	i = s->kind == NAMED_UNION ? lower_union(dc, s, ctx) : lower_struct(dc, s, ctx);
	s->busy--;
	/* A cut depends on the depth of the type, so the result is of no use elsewhere. */
	if (--dc->busy_cnt && dc->cut_off != cut_off)
		return i;
	if (!outer) {
		if (i == ESPY_NONE)
			s->failed = true;
		else
			s->memo = i + 1;
	}
	return i;
}

void dc_lower_all_named(struct dc *dc)
{
	for (struct ast_named *s = dc->named; s; s = s->next) {
		if (s->kind == NAMED_STRUCT && !struct_uses_outer(s))
			dc_lower_named(dc, s, NULL);
		else if (s->kind == NAMED_ALIAS && dc_resolve_alias(dc, s->alias)->base == BASE_NAME &&
			 dc_resolve_alias(dc, s->alias)->name->type &&
			 dc_resolve_alias(dc, s->alias)->name->type->kind == NAMED_ALIAS)
			dc_error(dc, s->pos, "type `%s` refers to itself", s->name->s);
	}
}

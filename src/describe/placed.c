/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fields of which the struct itself says where they lie: what stands behind their type, and the type made of it. */
#include "describe/compiler.h"

struct ast_placed *dc_parse_placed(struct dc *dc)
{
	struct ast_placed *p = dc_alloc(dc, sizeof(*p));

	p->pos = dc_tok_pos(dc, dc_peek(dc, 0));
	if (dc_peek(dc, 0)->kind != T_STR)
		dc_syntax(dc, "a text after `placed`, for what lies elsewhere");
	p->text = dc_next(dc)->str;
	dc_expect(dc, '(', "before the place");
	p->start = dc_parse_expr(dc);
	dc_expect(dc, ',', "between begin and end of the place");
	p->limit = dc_parse_expr(dc);
	if (dc_accept(dc, ','))
		p->times = dc_parse_expr(dc);
	dc_expect(dc, ')', "after the place");
	if (dc_accept_word(dc, W_CHAINED)) {
		p->next = dc_expect_name(dc, "the field with the distance to the next record after `chained`", &p->pos);
		if (dc_is_word(dc, 0, W_FROM) && dc_is_word(dc, 1, W_FIRST)) {
			dc->tok += 2;
			p->from_first = true;
		}
	}
	return p;
}

/* Returns what aux says of the field that holds the distance. */
static uint32_t distance_of(struct dc *dc, const struct ast_placed *p, const struct espy_type *e)
{
	for (uint32_t i = 0; i < e->count; i++) {
		const struct espy_field *f = dc_vec_at(&dc->fields, e->first + i);
		const struct espy_type *t = dc_type(dc, f->type);

		if (f->name == dc_sym_str(dc, p->next) && t->kind == ESPY_T_INT && f->off <= 255)
			return t->size | (p->from_first ? 1u << 16 : 0) | f->off << 24;
	}
	dc_error(dc, p->pos, "`chained %s`: expected an integer field of the record", p->next->s);
	return 0;
}

uint32_t dc_lower_placed(struct dc *dc, const struct ast_type *t, const struct dc_ctx *ctx, uint32_t elem)
{
	const struct ast_placed *p = t->placed;
	struct espy_type ty = dc_empty_type;

	if (!ctx || !ctx->record || dc_type(dc, elem)->kind != ESPY_T_STRUCT) {
		dc_error(dc, p->pos, "`placed` belongs to a field that is a struct");
		return ESPY_NONE;
	}
	ty.kind = ESPY_T_PLACED;
	ty.elem = elem;
	ty.name = dc_str(dc, p->text);
	ty.len_a = dc_lower_expr(dc, p->start, ctx);
	ty.len_b = dc_lower_expr(dc, p->limit, ctx);
	ty.show = p->times ? dc_lower_expr(dc, p->times, ctx) : ESPY_NONE;
	if (ty.len_a == ESPY_NONE || ty.len_b == ESPY_NONE || (p->times && ty.show == ESPY_NONE))
		return ESPY_NONE;
	if (p->next)
		ty.aux = distance_of(dc, p, dc_type(dc, elem));
	return dc_add_type(dc, &ty);
}

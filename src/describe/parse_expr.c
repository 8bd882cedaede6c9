/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses expressions, with C's operators and precedence. */
#include <string.h>
#include "describe/compiler.h"

/* Binary operators from the loosest to the tightest. */
static const struct {
	uint8_t tok; /* enum dc_tok_kind; T_PUNCT: ch */
	char ch;
	uint8_t prec;
	uint8_t op; /* enum espy_expr_op */
} BINARY[] = {
	{ T_LOR, 0, 1, ESPY_X_LOR },	 { T_LAND, 0, 2, ESPY_X_LAND },	  { T_PUNCT, '|', 3, ESPY_X_OR },
	{ T_PUNCT, '&', 4, ESPY_X_AND }, { T_EQ, 0, 5, ESPY_X_EQ },	  { T_NE, 0, 5, ESPY_X_NE },
	{ T_PUNCT, '<', 6, ESPY_X_LT },	 { T_LE, 0, 6, ESPY_X_LE },	  { T_PUNCT, '>', 6, ESPY_X_GT },
	{ T_GE, 0, 6, ESPY_X_GE },	 { T_SHL, 0, 7, ESPY_X_SHL },	  { T_SHR, 0, 7, ESPY_X_SHR },
	{ T_PUNCT, '+', 8, ESPY_X_ADD }, { T_PUNCT, '-', 8, ESPY_X_SUB }, { T_PUNCT, '*', 9, ESPY_X_MUL },
	{ T_PUNCT, '/', 9, ESPY_X_DIV },
};

static struct ast_expr *node(struct dc *dc, uint32_t op, struct dc_pos pos, struct ast_expr *a, struct ast_expr *b)
{
	struct ast_expr *e = dc_alloc(dc, sizeof(*e));

	*e = (struct ast_expr){ .op = op, .pos = pos, .a = a, .b = b };
	return e;
}

struct ast_expr *dc_parse_primary(struct dc *dc)
{
	struct dc_tok *t = dc_peek(dc, 0);
	struct dc_pos pos = dc_tok_pos(dc, t);
	struct ast_expr *e;

	dc_enter(dc);
	if (t->kind == T_NUM) {
		dc->tok++;
		e = node(dc, ESPY_X_CONST, pos, NULL, NULL);
		e->value = t->num;
	} else if (t->kind == T_NAME && t->word == W_OUTER && dc_is_punct(dc, 1, '.')) {
		dc->tok += 2;
		e = node(dc, AX_OUTER, pos, NULL, NULL);
		e->sym = dc_expect_name(dc, "the name of a field of the struct around", &e->pos);
	} else if (t->kind == T_NAME && !strcmp(t->sym->s, "file") && dc_is_punct(dc, 1, '(')) {
		dc->tok += 2;
		e = node(dc, AX_FILE, pos, NULL, NULL);
		e->sym = dc_expect_name(dc, "the name of a field that is a descriptor", &e->pos);
		dc_expect(dc, ')', "after the descriptor");
	} else if (t->kind == T_NAME && t->word == W_VERBOSE) {
		dc->tok++;
		e = node(dc, ESPY_X_VERBOSE, pos, NULL, NULL);
	} else if (t->kind == T_NAME) {
		dc->tok++;
		e = node(dc, AX_NAME, pos, NULL, NULL);
		e->sym = t->sym;
		/* behind `switch NAME` stands the type of the result, which is never the word `type`; behind `when`
		 * none does */
		if (dc_peek(dc, 0)->kind == T_ARROW &&
		    (dc->in_when || !dc_peek(dc, 1)->word || dc_peek(dc, 1)->word == W_TYPE)) {
			dc->tok++;
			e->op = AX_MEMBER;
			e->member = dc_expect_name(dc, "the name of a field of what the parameter points to", NULL);
		}
	} else if (dc_accept(dc, '(')) {
		e = dc_parse_expr(dc);
		dc_expect(dc, ')', "after the expression");
	} else if (dc_accept(dc, '!')) {
		e = node(dc, ESPY_X_NOT, pos, dc_parse_primary(dc), NULL);
	} else if (dc_accept(dc, '~')) {
		e = node(dc, ESPY_X_INV, pos, dc_parse_primary(dc), NULL);
	} else if (dc_accept(dc, '-')) {
		e = node(dc, ESPY_X_SUB, pos, node(dc, ESPY_X_CONST, pos, NULL, NULL), dc_parse_primary(dc));
	} else {
		dc_syntax(dc, "an expression: a name, a number, or `(`");
	}
	dc_leave(dc);
	return e;
}

static struct ast_expr *binary(struct dc *dc, uint8_t min_prec)
{
	struct ast_expr *left = dc_parse_primary(dc);

	for (;;) {
		struct dc_tok *t = dc_peek(dc, 0);
		size_t i, n = sizeof(BINARY) / sizeof(BINARY[0]);

		for (i = 0; i < n; i++)
			if (t->kind == BINARY[i].tok && (t->kind != T_PUNCT || t->num == (unsigned char)BINARY[i].ch))
				break;
		if (i == n || BINARY[i].prec < min_prec)
			return left;
		struct dc_pos pos = dc_tok_pos(dc, t);

		dc->tok++;
		dc_enter(dc);
		left = node(dc, BINARY[i].op, pos, left, binary(dc, BINARY[i].prec + 1));
		dc_leave(dc);
	}
}

struct ast_expr *dc_parse_expr(struct dc *dc)
{
	return binary(dc, 1);
}

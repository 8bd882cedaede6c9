/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses calls and their variants. */
#include "describe/compiler.h"

/* More than there are registers: variants that are too long get a message of their own. */
#define MAX_PARAMS 16u

static void parse_params(struct dc *dc, struct ast_call *c)
{
	struct ast_field v[MAX_PARAMS];
	uint32_t n = 0;

	dc_expect(dc, '(', "before the parameters");
	while (!dc_accept(dc, ')')) {
		if (n)
			dc_expect(dc, ',', "or `)` after the parameter");
		if (n == MAX_PARAMS)
			dc_syntax(dc, "at most 6 parameters");
		struct ast_field *f = &v[n++];

		*f = (struct ast_field){ .pos = dc_tok_pos(dc, dc_peek(dc, 0)) };
		f->slot = dc_is_word(dc, 0, W_SLOT);
		f->name = dc_expect_name(dc, "the name of a parameter or `)`", NULL);
		if (!f->slot && !dc_is_punct(dc, 0, ',') && !dc_is_punct(dc, 0, ')'))
			f->type = dc_parse_type(dc);
	}
	if (n > ESPY_MAX_PARAMS)
		dc_error(dc, v[ESPY_MAX_PARAMS].pos, "a call has at most %u parameters", ESPY_MAX_PARAMS);
	c->nparams = n > ESPY_MAX_PARAMS ? ESPY_MAX_PARAMS : n;
	c->params = dc_alloc(dc, n * sizeof(*v));
	if (c->nparams)
		memcpy(c->params, v, c->nparams * sizeof(*v));
}

static void parse_result(struct dc *dc, struct ast_call *c)
{
	c->ret = dc_parse_type(dc);
	if (!dc_is_word(dc, 0, W_NOTE))
		return;
	c->note_pos = dc_tok_pos(dc, dc_next(dc));
	c->has_note = true;
	if (dc_peek(dc, 0)->kind == T_STR)
		c->note_text = dc_next(dc)->str;
	if (dc_peek(dc, 0)->kind == T_NAME && !strcmp(dc_peek(dc, 0)->sym->s, "names") &&
	    dc_peek(dc, 1)->kind == T_NAME) {
		dc->tok++;
		c->note_names = true;
	}
	if (dc_accept_word(dc, W_HOOK))
		c->note_hook = dc_expect_name(dc, "the name of a hook", &c->note_pos);
	else
		c->note_type = dc_parse_type(dc);
}

void dc_parse_call(struct dc *dc)
{
	struct ast_call *c = dc_alloc(dc, sizeof(*c));

	c->variants_tail = &c->variants;
	c->name = dc_expect_name(dc, "the name of a call", &c->pos);
	if (dc_accept(dc, '/')) {
		c->is_variant = true;
		c->keys = dc_parse_keys(dc, &c->nkeys, '(');
	}
	parse_params(dc, c);
	for (;;) {
		struct dc_tok *t = dc_peek(dc, 0);

		if (t->kind == T_ARROW) {
			dc->tok++;
			parse_result(dc, c);
			continue;
		}
		/* Such a word may be the name of a call: then `(` or `/` follows. */
		bool is_call = t->kind == T_NAME && (dc_is_punct(dc, 1, '/') || (dc_is_punct(dc, 1, '(') && t->at_bol));

		if (t->kind != T_NAME || is_call) {
			break;
		} else if (t->word == W_SWITCH) {
			dc->tok++;
			c->sw_pos = dc_tok_pos(dc, t);
			c->sw[0] = dc_parse_expr(dc);
			if (dc_accept(dc, ','))
				c->sw[1] = dc_parse_expr(dc);
			if (dc_accept_text(dc, "sizeless"))
				do
					c->family[c->nfamily++] = dc_parse_primary(dc);
				while (c->nfamily < 8 && dc_accept(dc, ','));
			if (c->is_variant)
				dc_error(dc, c->sw_pos, "`switch` belongs to the call, not to a variant");
		} else if (t->word == W_ORDER) {
			dc->tok++;
			dc_parse_names(dc, &c->order, '(', ')');
		} else if (t->word == W_TRACEPOINT) {
			dc->tok++;
			c->event = dc_expect_name(dc, "the name of the kernel's tracepoint", NULL);
		} else if (t->word == W_INNER) {
			dc->tok++;
			c->inner_pos = dc_tok_pos(dc, t);
			c->inner = dc_parse_expr(dc);
			if (dc_accept_word(dc, W_FROM))
				c->inner_args = dc_expect_name(dc, "the parameter that points to the arguments", NULL);
		} else if (dc_is_effect(t->sym)) {
			dc->tok++;
			c->effect = t->sym;
			c->effect_pos = dc_tok_pos(dc, t);
			if (dc_is_punct(dc, 0, '('))
				dc_parse_names(dc, &c->effect_args, '(', ')');
		} else if (t->word == W_NEWIMAGE || t->word == W_NORETURN || t->word == W_TWICE ||
			   t->word == W_BLOCKS) {
			dc->tok++;
			c->plan_flags |= t->word == W_NEWIMAGE	 ? ESPY_PLAN_NEW_IMAGE
					 : t->word == W_NORETURN ? ESPY_PLAN_NO_RETURN
					 : t->word == W_TWICE	 ? ESPY_PLAN_TWICE
								 : ESPY_PLAN_MAY_BLOCK;
		} else {
			break;
		}
	}
	if (c->is_variant) {
		*dc->variants_tail = c;
		dc->variants_tail = &c->next;
		return;
	}
	if (c->name->call)
		dc_error(dc, c->pos, "call `%s` is defined twice", c->name->s);
	else
		c->name->call = c;
	*dc->calls_tail = c;
	dc->calls_tail = &c->next;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses types: direction, base, format, length, clauses. */
#include "describe/compiler.h"

uint16_t dc_parse_min(struct dc *dc)
{
	if (!dc_is_word(dc, 0, W_MIN) || dc_peek(dc, 1)->kind != T_NUM)
		return 0;
	dc->tok++;
	if (dc_peek(dc, 0)->num > 0xffff)
		dc_syntax(dc, "a size up to 65535 after `min`");
	return (uint16_t)dc_next(dc)->num;
}

static void parse_length(struct dc *dc, struct ast_type *t)
{
	struct ast_len *l = &t->len;
	struct dc_pos pos = dc_tok_pos(dc, dc_peek(dc, 0));

	if (l->kind != LEN_NONE)
		dc_syntax(dc, "one length only");
	l->pos = pos;
	if (dc_accept_word(dc, W_SIZED)) {
		l->kind = LEN_SIZED;
		l->b = dc_parse_expr(dc);
		if (dc_accept_word(dc, W_OF)) {
			l->a = l->b;
			l->b = dc_parse_expr(dc);
		}
		l->min = dc_parse_min(dc);
		return;
	}
	dc_expect(dc, '[', "before the length");
	if (dc_is_word(dc, 0, W_NULL) && (dc_is_punct(dc, 1, ']') || dc_is_word(dc, 1, W_MAX))) {
		dc->tok++;
		l->kind = LEN_NULL;
	} else if (dc_is_word(dc, 0, W_REST) && (dc_is_punct(dc, 1, ']') || dc_is_word(dc, 1, W_MAX))) {
		dc->tok++;
		l->kind = LEN_REST;
	} else {
		l->kind = LEN_COUNT;
		if (dc_is_word(dc, 0, W_SPREAD) && dc_is_word(dc, 1, W_OF)) {
			dc->tok += 2;
			l->spread = true;
			l->b = dc_parse_expr(dc);
		} else {
			l->b = dc_parse_expr(dc);
			if (dc_accept_word(dc, W_OF)) {
				l->a = l->b;
				l->b = dc_parse_expr(dc);
			}
		}
		l->bytes = dc_accept_word(dc, W_BYTES);
	}
	if (dc_accept_word(dc, W_MAX))
		t->max = dc_parse_primary(dc);
	dc_expect(dc, ']', "after the length");
}

static void parse_format(struct dc *dc, struct ast_type *t)
{
	dc->tok++;
	if (t->fmt)
		dc_syntax(dc, "one format only");
	t->fmt = dc_expect_name(dc, "a format, or the name of a flags, enum or pack table after `:`", &t->fmt_pos);
}

static bool starts_type(const struct dc_tok *t)
{
	return t->kind == T_NAME &&
	       ((t->word >= W_BASE_FIRST && t->word <= W_BASE_LAST) || (t->word >= W_IN && t->word <= W_INOUT64));
}

/*
 * Tells whether the clause word here is the name of the next field (`max u32`). A type follows a field. So it is one
 * if a type of the language stands behind it, and no other type behind that (`hidden fd fd`: a clause, then the field
 * fd).
 */
static bool is_field_name(struct dc *dc)
{
	struct dc_tok *t = dc_peek(dc, 1);

	switch (dc_peek(dc, 0)->word) {
	case W_WHEN: /* an expression may begin with any name */
	case W_SPREAD:
		return false;
	case W_PLACED:
		return dc_peek(dc, 1)->kind != T_STR;
	case W_ON: /* `on ok`; anything else cannot be the clause */
		return !(dc_is_word(dc, 1, W_OK) || dc_is_word(dc, 1, W_ERR) || dc_is_word(dc, 1, W_ANY) ||
			 dc_is_word(dc, 1, W_POS));
	case W_CLASS:
		return !(dc_is_word(dc, 1, W_DATA) || dc_is_word(dc, 1, W_ENV) || dc_is_word(dc, 1, W_SECRET));
	case W_AT: /* a parameter's clause; its name may be that of a type (`at dirfd`) */
		return starts_type(t) && !dc_is_punct(dc, 2, ',') && !dc_is_punct(dc, 2, ')') &&
		       !(dc_peek(dc, 2)->word >= W_CLAUSE_FIRST && dc_peek(dc, 2)->word <= W_CLAUSE_LAST);
	default:
		return starts_type(t) && !starts_type(dc_peek(dc, 2));
	}
}

/* Clauses that only set flags of the field. */
static const uint32_t field_flags[W_CNT] = {
	[W_NONZERO] = ESPY_FF_NONZERO,
	[W_HIDDEN] = ESPY_FF_HIDDEN,
	[W_ALWAYS] = ESPY_FF_ALWAYS,
	[W_NONAME] = ESPY_FF_NONAME,
	[W_ON_OK] = ESPY_FF_ON_OK,
	[W_BEFORE] = ESPY_FF_ENTER,
	[W_AFTER] = ESPY_FF_EXIT,
	[W_BOTH] = ESPY_FF_BOTH,
	[W_NAMED] = ESPY_FF_NAMED,
	[W_THEN] = ESPY_FF_THEN,
	[W_REQUIRED] = ESPY_FF_REQUIRED,
	[W_INTACT] = ESPY_FF_INTACT,
	[W_OK_OR_MORE] = ESPY_FF_ON_OK | ESPY_FF_MORE,
	[W_FOLDED] = ESPY_FF_FOLDED,
	[W_OVER] = ESPY_FF_OVER,
	[W_SHORT] = ESPY_FF_SHORT,
	[W_HIGH_FIRST] = ESPY_FF_HIGH_FIRST,
	[W_BEHIND] = ESPY_FF_BEHIND,
	[W_LAST] = ESPY_FF_LAST,
};

static bool parse_clause(struct dc *dc, struct ast_type *t)
{
	struct dc_tok *w = dc_peek(dc, 0);
	struct dc_pos pos = dc_tok_pos(dc, w);

	if (w->kind != T_NAME || w->word < W_CLAUSE_FIRST || w->word > W_CLAUSE_LAST || is_field_name(dc))
		return false;
	dc->tok++;
	t->field_flags |= field_flags[w->word];
	t->verbose |= w->word == W_VERBOSE;
	t->naming |= w->word == W_NAMING;
	t->upto |= w->word == W_UPTO;
	t->aside |= w->word == W_ASIDE;
	t->bare |= w->word == W_BARE;
	t->hex |= w->word == W_HEX;
	switch ((enum dc_word)w->word) {
	case W_WHEN:
		dc->in_when = true;
		t->when = dc_parse_expr(dc);
		dc->in_when = false;
		break;
	case W_ON:
		t->on = dc_is_word(dc, 0, W_OK)	   ? ON_OK
			: dc_is_word(dc, 0, W_ERR) ? ON_ERR
			: dc_is_word(dc, 0, W_ANY) ? ON_ANY
						   : ON_POS;
		t->on_pos = pos;
		dc->tok++;
		break;
	case W_AT:
		t->at = dc_expect_name(dc, "the name of a descriptor parameter after `at`", &t->at_pos);
		break;
	case W_SPREAD:
		t->spread = dc_parse_expr(dc);
		break;
	case W_CLASS:
		if (!dc_is_word(dc, 0, W_DATA)) /* `class data` is the default */
			t->class_flags |= dc_is_word(dc, 0, W_ENV) ? ESPY_TF_ENV : ESPY_TF_SECRET;
		dc->tok++;
		break;
	case W_MAX:
		t->max = dc_parse_primary(dc);
		break;
	case W_ABBREV:
		t->abbrev =
			dc_peek(dc, 0)->kind == T_NUM && dc_peek(dc, 0)->num < 1000 ? (uint32_t)dc_next(dc)->num : 0;
		if (!t->abbrev)
			dc_syntax(dc, "a number of elements after `abbrev`");
		break;
	case W_PLACED:
		t->placed = dc_parse_placed(dc);
		break;
	case W_INDEXED:
		t->index = dc_expect_name(dc, "the name of an enum table after `indexed`", &t->index_pos);
		break;
	case W_HOOK:
		t->hook = dc_expect_name(dc, "the name of a hook", &t->hook_pos);
		break;
	default:
		break;
	}
	return true;
}

struct ast_type *dc_parse_type(struct dc *dc)
{
	struct ast_type *t = dc_alloc(dc, sizeof(*t));
	struct dc_tok *w = dc_peek(dc, 0);

	dc_enter(dc);
	t->pos = dc_tok_pos(dc, w);
	if (w->kind == T_NAME && w->word >= W_IN && w->word <= W_INOUT64) {
		static const struct {
			uint8_t in, out, ptr64;
		} DIRS[] = {
			[W_IN - W_IN] = { 1, 0, 0 },   [W_OUT - W_IN] = { 0, 1, 0 },   [W_INOUT - W_IN] = { 1, 1, 0 },
			[W_IN64 - W_IN] = { 1, 0, 1 }, [W_OUT64 - W_IN] = { 0, 1, 1 }, [W_INOUT64 - W_IN] = { 1, 1, 1 },
		};
		t->in = DIRS[w->word - W_IN].in;
		t->out = DIRS[w->word - W_IN].out;
		t->ptr64 = DIRS[w->word - W_IN].ptr64;
		dc->tok++;
		w = dc_peek(dc, 0);
	}
	t->base_pos = dc_tok_pos(dc, w);
	if (dc_accept(dc, '(')) {
		t->base = BASE_PAREN;
		t->inner = dc_parse_type(dc);
		dc_expect(dc, ')', "after the type");
	} else if (w->kind != T_NAME) {
		dc_syntax(dc, "a type");
	} else if (w->word == W_BITS) {
		dc->tok++;
		t->base = BASE_BITS;
		t->name = dc_expect_name(dc, "`signal`, `fd` or `cpu` after `bits`", &t->base_pos);
	} else if (w->word == W_REMARK && dc_peek(dc, 1)->kind == T_STR) {
		dc->tok++;
		t->base = BASE_WORD;
		t->name = w->sym;
		t->text = dc_next(dc)->str;
		if (dc_accept(dc, '(')) {
			t->number[0] = dc_parse_expr(dc);
			if (dc_accept(dc, ','))
				t->number[1] = dc_parse_expr(dc);
			dc_expect(dc, ')', "after the numbers of a remark");
		}
		t->styled = dc_accept_text(dc, "styled");
	} else {
		dc->tok++;
		t->base = w->word >= W_BASE_FIRST && w->word <= W_BASE_LAST ? BASE_WORD : BASE_NAME;
		t->name = w->sym;
		if (w->word == W_FD && dc_accept_word(dc, W_OF))
			t->number[0] = dc_parse_expr(dc);
		else if (w->word == W_FD && dc_peek(dc, 0)->kind == T_NAME && !strcmp(dc_peek(dc, 0)->sym->s, "as")) {
			dc->tok++;
			t->number[1] = dc_parse_expr(dc);
		}
	}
	for (;;) {
		if (dc_is_punct(dc, 0, ':'))
			parse_format(dc, t);
		else if (dc_is_punct(dc, 0, '[') || dc_is_word(dc, 0, W_SIZED))
			parse_length(dc, t);
		else if (dc_is_word(dc, 0, W_FROM) && dc_is_word(dc, 1, W_SP)) {
			dc->tok += 2;
			t->from_sp = true;
			if (dc_accept(dc, '+')) {
				if (dc_peek(dc, 0)->kind != T_NUM || dc_peek(dc, 0)->num > 0xffff)
					dc_syntax(dc, "an offset up to 65535");
				t->sp_off = (uint32_t)dc_next(dc)->num;
			}
		} else if (!parse_clause(dc, t))
			break;
	}
	dc_leave(dc);
	return t;
}

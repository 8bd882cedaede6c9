/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses flags, enum and pack tables. */
#include "describe/compiler.h"

#define MAX_ITEMS 4096u

static const char *parse_text(struct dc *dc)
{
	struct dc_tok *t = dc_peek(dc, 0);

	if (t->kind != T_STR && t->kind != T_NAME)
		dc_syntax(dc, "a name or a string after `as`");
	dc->tok++;
	return t->kind == T_STR ? t->str : t->sym->s;
}

static void parse_range(struct dc *dc, struct ast_item *it)
{
	struct dc_tok *hi = dc_next(dc);
	struct dc_pos pos = dc_tok_pos(dc, hi);

	if (hi->kind != T_NUM || dc_peek(dc, 0)->kind != T_DOTDOT) {
		dc->tok--;
		dc_syntax(dc, "a range of bits `hi..lo`");
	}
	dc->tok++;
	struct dc_tok *lo = dc_peek(dc, 0);

	if (lo->kind != T_NUM)
		dc_syntax(dc, "the lowest bit after `..`");
	dc->tok++;
	if (hi->num > 63 || lo->num > hi->num)
		dc_error(dc, pos, "bits %llu..%llu are no range, expected hi..lo with 63 >= hi >= lo",
			 (unsigned long long)hi->num, (unsigned long long)lo->num);
	it->hi = hi->num > 63 ? 63 : (uint8_t)hi->num;
	it->lo = lo->num > it->hi ? it->hi : (uint8_t)lo->num;
}

/* Parses `low hi..lo:dec`: the number that flags share their word with. */
static void parse_low(struct dc *dc, struct ast_item *it)
{
	static const struct {
		const char *name;
		uint8_t low;
	} bases[] = { { "dec", ESPY_LOW_DEC }, { "hex", ESPY_LOW_HEX }, { "oct", ESPY_LOW_OCT } };

	it->kind = ITEM_LOW;
	dc->tok++;
	parse_range(dc, it);
	dc_expect(dc, ':', "before the base of the number");
	const struct dc_sym *base = dc_expect_name(dc, "`dec`, `hex` or `oct`", NULL);

	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
		if (!strcmp(bases[i].name, base->s))
			it->low = bases[i].low;
	if (!it->low)
		dc_error(dc, it->pos, "unknown base `%s`, expected `dec`, `hex` or `oct`", base->s);
}

static struct ast_item *parse_items(struct dc *dc, uint32_t *count, int kind, bool in_group);

static void parse_item(struct dc *dc, struct ast_item *it, int kind, bool in_group)
{
	struct dc_tok *t = dc_peek(dc, 0);

	*it = (struct ast_item){ .kind = ITEM_NAME, .pos = dc_tok_pos(dc, t) };
	if (kind == ESPY_TABLE_PACK) {
		it->kind = ITEM_PACK;
		it->name = dc_expect_name(dc, "the name of a bit field or `}`", NULL);
		parse_range(dc, it);
		if (dc_accept(dc, ':'))
			it->table = dc_expect_name(dc, "the name of a table after `:`", &it->table_pos);
		return;
	}
	if (t->kind == T_NAME && t->word == W_INCLUDE && dc_peek(dc, 1)->kind == T_NAME) {
		it->kind = ITEM_INCLUDE;
		dc->tok++;
		it->name = dc_expect_name(dc, "the name of a table", &it->pos);
		return;
	}
	if (t->kind == T_NAME && !strcmp(t->sym->s, "low") && dc_peek(dc, 1)->kind == T_NUM) {
		parse_low(dc, it);
		if (kind != ESPY_TABLE_FLAGS || in_group)
			dc_error(dc, it->pos, "a number in the low bits can stand in a flags table only");
		return;
	}
	if (t->kind == T_NAME) {
		it->name = t->sym;
		dc->tok++;
	} else if (t->kind == T_NUM || dc_is_punct(dc, 0, '(')) {
		it->value = dc_parse_primary(dc); /* the mask of a group */
		if (!dc_is_punct(dc, 0, '='))
			dc_syntax(dc, "`= {` after the mask of a group");
	} else {
		dc_syntax(dc, "a constant, `include`, or `}`");
	}
	if (dc_peek(dc, 0)->kind == T_SHL) {
		dc->tok++;
		it->kind = ITEM_SHIFT;
		parse_range(dc, it);
		it->low = ESPY_SHIFT_DEC;
		if (dc_accept(dc, ':')) {
			if (strcmp(dc_expect_name(dc, "`hex` after `:`", NULL)->s, "hex"))
				dc_error(dc, it->pos, "a shifted field can be hexadecimal only");
			it->low = ESPY_SHIFT_HEX;
		}
		if (kind != ESPY_TABLE_FLAGS || in_group)
			dc_error(dc, it->pos, "a shifted field can stand in a flags table only");
		if (dc_accept_word(dc, W_AS))
			it->text = parse_text(dc);
		return;
	}
	if (dc_accept(dc, '=')) {
		if (dc_accept(dc, '{')) {
			if (kind != ESPY_TABLE_FLAGS || in_group)
				dc_error(
					dc, it->pos,
					"a group `MASK = { ... }` can stand in a flags table only, and not in a group");
			it->kind = ITEM_GROUP;
			it->group = parse_items(dc, &it->ngroup, ESPY_TABLE_ENUM, true);
			if (dc_peek(dc, 0)->kind == T_STR)
				it->unknown = dc_next(dc)->str;
			it->merged = it->unknown && dc_accept_word(dc, W_MERGED);
			it->offsets = it->unknown && dc_accept_text(dc, "offsets");
			return;
		}
		if (!it->name)
			dc_syntax(dc, "`{` after the mask of a group");
		it->value = dc_parse_primary(dc);
	}
	if (dc_accept_word(dc, W_AS))
		it->text = parse_text(dc);
}

static struct ast_item *parse_items(struct dc *dc, uint32_t *count, int kind, bool in_group)
{
	struct ast_item *v = NULL;
	uint32_t n = 0, cap = 0;

	dc_enter(dc);
	while (!dc_accept(dc, '}')) {
		if (n == MAX_ITEMS)
			dc_syntax(dc, "at most 4096 items in a table");
		if (n == cap) {
			struct ast_item *old = v;

			cap = cap ? cap * 2 : 32;
			v = dc_alloc(dc, cap * sizeof(*v));
			if (n)
				memcpy(v, old, n * sizeof(*v));
		}
		parse_item(dc, &v[n++], kind, in_group);
		dc_accept(dc, ',');
	}
	dc_leave(dc);
	*count = n;
	return v;
}

void dc_parse_origin(struct dc *dc, struct ast_table *t)
{
	if (dc_peek(dc, 0)->kind == T_STR)
		t->unknown = dc_next(dc)->str;
	if (dc_accept_word(dc, W_FROM)) {
		if (dc_peek(dc, 0)->kind != T_HEADER)
			dc_syntax(dc, "a header in angle brackets after `from`");
		t->header = dc_next(dc)->str;
	}
}

void dc_parse_table(struct dc *dc, int kind)
{
	struct ast_table *t = dc_alloc(dc, sizeof(*t));

	dc->tok++;
	t->kind = kind;
	t->name = dc_expect_name(dc, "the name of the table", &t->pos);
	t->width = dc_expect_name(dc, "the width of the table: u8 to u64, s8 to s64, ulong", &t->width_pos);
	for (; dc_peek(dc, 0)->kind == T_NAME; dc->tok++) {
		if (!strcmp(dc_peek(dc, 0)->sym->s, "decimal"))
			t->decimal = true;
		else if (!strcmp(dc_peek(dc, 0)->sym->s, "comment"))
			t->comment = true;
		else if (!strcmp(dc_peek(dc, 0)->sym->s, "apart") && kind == ESPY_TABLE_PACK)
			t->apart = true;
		else if (!strcmp(dc_peek(dc, 0)->sym->s, "whole") && kind == ESPY_TABLE_FLAGS)
			t->whole = true;
		else if (!strcmp(dc_peek(dc, 0)->sym->s, "offsets") && kind == ESPY_TABLE_ENUM)
			t->offsets = true;
		else
			break;
	}
	dc_parse_origin(dc, t);
	dc_expect(dc, '{', "before the items");
	t->items = parse_items(dc, &t->nitems, kind, false);
	if (t->name->table || (kind == ESPY_TABLE_PACK && t->name->type))
		dc_error(dc, t->pos, "table `%s` is defined twice", t->name->s);
	else
		t->name->table = t;
	*dc->tables_tail = t;
	dc->tables_tail = &t->next;
}

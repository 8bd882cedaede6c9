/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parses netlink attributes. `attrs NAME ... { ... }` stands for three declarations: the table of the types' names,
 * the union that tells the contents of each type, and the record (struct NAME) of both. The names of table and union
 * have a blank in them, so that no other declaration can have them.
 */
#include <stdio.h>
#include "describe/compiler.h"

#define MAX_ATTRS 512u
#define TYPE_BITS 0x3fffu /* of nla_type; the two bits above are flags */

struct attrs {
	struct ast_item names[MAX_ATTRS];
	struct ast_case cases[MAX_ATTRS];
	struct ast_key keys[MAX_ATTRS];
	uint32_t nnames, ncases;
	bool has_else;
};

static struct dc_sym *derived(struct dc *dc, const struct dc_sym *name, const char *what)
{
	char text[256];
	const int n = snprintf(text, sizeof(text), "%.200s %s", name->s, what);

	return dc_intern(dc, text, (size_t)n);
}

static struct dc_sym *word(struct dc *dc, const char *s)
{
	return dc_intern(dc, s, strlen(s));
}

static struct ast_expr *expr(struct dc *dc, uint32_t op, struct dc_pos pos)
{
	struct ast_expr *e = dc_alloc(dc, sizeof(*e));

	e->op = op;
	e->pos = pos;
	return e;
}

/* Parses NAME [= value] [, NAME [= value]]... [: type]. */
static void parse_group(struct dc *dc, struct attrs *a)
{
	uint32_t nkeys = 0;
	struct dc_pos first = dc_tok_pos(dc, dc_peek(dc, 0));

	do {
		struct ast_item *it = &a->names[a->nnames];
		struct ast_key *key = &a->keys[nkeys];

		if (a->nnames == MAX_ATTRS)
			dc_syntax(dc, "at most 512 attributes");
		*it = (struct ast_item){ .kind = ITEM_NAME };
		it->name = dc_expect_name(dc, "the name of an attribute, `else` or `}`", &it->pos);
		if (dc_accept(dc, '='))
			it->value = dc_parse_primary(dc);
		*key = (struct ast_key){ .pos = it->pos, .k = { expr(dc, AX_NAME, it->pos) } };
		key->k[0]->sym = it->name;
		a->nnames++;
		nkeys++;
	} while (dc_accept(dc, ','));
	if (!dc_accept(dc, ':'))
		return;
	struct ast_case *c = &a->cases[a->ncases++];
	*c = (struct ast_case){ .pos = first, .nkeys = nkeys, .keys = dc_alloc(dc, nkeys * sizeof(*c->keys)) };
	memcpy(c->keys, a->keys, nkeys * sizeof(*c->keys));
	c->type = dc_parse_type(dc);
}

static void parse_body(struct dc *dc, struct attrs *a)
{
	dc_expect(dc, '{', "before the attributes");
	while (!dc_accept(dc, '}')) {
		if (a->ncases + 1 >= MAX_ATTRS)
			dc_syntax(dc, "at most 511 kinds of attributes");
		if (!dc_is_word(dc, 0, W_ELSE) || !dc_is_punct(dc, 1, ':')) {
			parse_group(dc, a);
			continue;
		}
		dc->tok += 2;
		a->cases[a->ncases++] = (struct ast_case){ .pos = dc_tok_pos(dc, dc_peek(dc, 0)), .type = dc_parse_type(dc) };
		a->has_else = true;
	}
}

static struct ast_type *named_type(struct dc *dc, struct dc_pos pos, struct dc_sym *name, struct dc_sym *fmt, bool base)
{
	struct ast_type *t = dc_alloc(dc, sizeof(*t));

	*t = (struct ast_type){ .pos = pos, .base_pos = pos, .fmt_pos = pos, .name = name, .fmt = fmt,
				.base = base ? BASE_WORD : BASE_NAME };
	return t;
}

/* A flag that is a number of its own under -X. */
static struct ast_item flag_group(struct dc *dc, struct dc_pos pos, struct dc_sym *name)
{
	const struct ast_item flag = { .kind = ITEM_NAME, .pos = pos, .name = name };
	struct ast_expr *mask = expr(dc, AX_NAME, pos);

	mask->sym = name;
	return (struct ast_item){ .kind = ITEM_GROUP,
				  .pos = pos,
				  .value = mask,
				  .unknown = "NLA_F_???",
				  .group = dc_keep(dc, &flag, 1, sizeof(flag)),
				  .ngroup = 1 };
}

/* Stands for the names of attributes that are only counted: no index is equal to it. */
static void name_no_index(struct dc *dc, struct attrs *a, struct ast_table *t)
{
	struct ast_expr *never = expr(dc, ESPY_X_CONST, t->pos);

	never->value = TYPE_BITS + 1;
	a->names[a->nnames++] = (struct ast_item){
		.kind = ITEM_NAME, .pos = t->pos, .name = word(dc, "_NLA_INDEX"), .value = never, .text = ""
	};
	t->unknown = "hex";
}

/* Makes the table of the names: two flags, and a table of the types in the bits below them. */
static struct dc_sym *make_table(struct dc *dc, const struct attrs *a, struct ast_table *t)
{
	static const char *const flags[] = { "NLA_F_NESTED", "NLA_F_NET_BYTEORDER" };

	t->kind = ESPY_TABLE_FLAGS;
	t->width = word(dc, "u16");
	t->width_pos = t->pos;
	t->nitems = 3;
	t->items = dc_alloc(dc, t->nitems * sizeof(*t->items));
	for (unsigned i = 0; i < 2; i++)
		t->items[i] = flag_group(dc, t->pos, word(dc, flags[i]));
	struct ast_expr *mask = expr(dc, ESPY_X_CONST, t->pos);
	mask->value = TYPE_BITS;
	t->items[2] = (struct ast_item){ .kind = ITEM_GROUP,
					 .pos = t->pos,
					 .value = mask,
					 .unknown = t->unknown,
					 .always = true,
					 .group = dc_keep(dc, a->names, a->nnames, sizeof(*a->names)),
					 .ngroup = a->nnames };
	t->unknown = NULL;
	t->name->table = t;
	*dc->tables_tail = t;
	dc->tables_tail = &t->next;
	return t->name;
}

static void add_named(struct dc *dc, struct ast_named *s)
{
	if (s->name->type || s->name->word)
		dc_error(dc, s->pos, "type `%s` is defined twice", s->name->s);
	else
		s->name->type = s;
	*dc->named_tail = s;
	dc->named_tail = &s->next;
}

/* Makes the union of the contents of each type. The bits of the type in nla_type choose. */
static struct dc_sym *make_union(struct dc *dc, struct attrs *a, struct dc_pos pos, struct dc_sym *name)
{
	struct ast_named *u = dc_alloc(dc, sizeof(*u));

	if (!a->has_else)
		a->cases[a->ncases++] = (struct ast_case){ .pos = pos, .type = named_type(dc, pos, word(dc, "attr_bytes"), NULL, false) };
	u->kind = NAMED_UNION;
	u->name = name;
	u->pos = pos;
	u->by[0] = expr(dc, ESPY_X_AND, pos);
	u->by[0]->a = expr(dc, AX_NAME, pos);
	u->by[0]->a->sym = word(dc, "nla_type");
	u->by[0]->b = expr(dc, ESPY_X_CONST, pos);
	u->by[0]->b->value = TYPE_BITS;
	u->cases = dc_keep(dc, a->cases, a->ncases, sizeof(*a->cases));
	u->ncases = a->ncases;
	add_named(dc, u);
	return u->name;
}

void dc_parse_attrs(struct dc *dc)
{
	struct attrs *a = dc_alloc(dc, sizeof(*a));
	struct ast_table *t = dc_alloc(dc, sizeof(*t));
	struct ast_named *s = dc_alloc(dc, sizeof(*s));

	dc->tok++;
	s->kind = NAMED_STRUCT;
	s->name = dc_expect_name(dc, "the name of the attributes", &s->pos);
	t->name = derived(dc, s->name, "names");
	t->pos = s->pos;
	dc_parse_origin(dc, t);
	parse_body(dc, a);
	if (!a->nnames)
		name_no_index(dc, a, t);
	struct dc_sym *format = make_table(dc, a, t);
	struct dc_sym *value = make_union(dc, a, s->pos, derived(dc, s->name, "value"));
	const struct ast_field fields[] = {
		{ .name = word(dc, "nla_len"), .pos = s->pos, .type = named_type(dc, s->pos, word(dc, "u16"), NULL, true) },
		{ .name = word(dc, "nla_type"), .pos = s->pos, .type = named_type(dc, s->pos, word(dc, "u16"), format, true) },
		{ .name = word(dc, "value"), .pos = s->pos, .type = named_type(dc, s->pos, value, NULL, false) },
	};
	s->fields = dc_keep(dc, fields, 3, sizeof(fields[0]));
	s->nfields = 3;
	s->tlv_len = fields[0].name;
	s->tlv_pos = s->pos;
	s->tlv_align = expr(dc, ESPY_X_CONST, s->pos);
	s->tlv_align->value = 4;
	s->headed = 2;
	s->packed = true; /* attributes are aligned to 4 bytes only */
	add_named(dc, s);
}

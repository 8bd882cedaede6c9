/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compiles flags, enum and pack tables: finds values, puts included tables in place, makes records. */
#include <stdlib.h>
#include "describe/compiler.h"
#include "describe/constant_names.h"

/* Returns the bytes of a table's width, and their sign; 0: the word is no integer. */
static unsigned table_width(struct dc *dc, const struct ast_table *t, bool *sgn)
{
	struct espy_type ty = { 0 };

	if (!dc_scalar(dc, t->width->word, &ty))
		return 0;
	*sgn = (ty.flags & ESPY_TF_SIGNED) != 0;
	return ty.size;
}

/* Returns the value as the decoder compares it: cut to the width, then sign- or zero-extended. */
uint64_t dc_cut(uint64_t v, unsigned size, bool sgn)
{
	unsigned sh = 64 - size * 8;

	if (!sh || !size)
		return v;
	return sgn ? (uint64_t)((int64_t)(v << sh) >> sh) : v << sh >> sh;
}

static void item_constants(struct dc *dc, const struct ast_table *t, const struct ast_item *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t value;

		if (v[i].kind == ITEM_GROUP)
			item_constants(dc, t, v[i].group, v[i].ngroup);
		if (v[i].kind != ITEM_NAME || !v[i].name || !v[i].value)
			continue;
		espy_diag_fn diag = dc->diag;
		uint32_t errors = dc->errors;

		/* The table reports its mistakes when it is made. */
		dc->diag = NULL;
		int r = dc_const_expr(dc, v[i].value, t->header, NULL, &value);

		dc->diag = diag;
		dc->errors = errors;
		if (r)
			continue;
		/* Layer 0: the .const files come first. */
		bool known = false;

		for (const struct dc_const *c = v[i].name->consts; c; c = c->next)
			known |= c->value == value && !c->layer;
		if (!known) {
			dc_add_const(dc, v[i].name, value, t->header, 0);
			v[i].name->consts->by_table = true;
		}
	}
}

void dc_table_constants(struct dc *dc)
{
	for (struct ast_table *t = dc->tables; t; t = t->next)
		if (t->kind != ESPY_TABLE_PACK)
			item_constants(dc, t, t->items, t->nitems);
}

static int item_value(struct dc *dc, const struct ast_table *t, const struct ast_item *it, uint64_t *v)
{
	if (it->value)
		return dc_const_expr(dc, it->value, t->header, NULL, v);
	return dc_const_value(dc, it->name, t->header, it->pos, v, false);
}

static int find_item(struct dc *dc, const struct ast_table *t, const struct ast_item *v, uint32_t n,
		     struct dc_sym *name, uint64_t *value, unsigned depth)
{
	for (uint32_t i = 0; i < n; i++) {
		int r = -1;

		if (v[i].kind == ITEM_NAME && v[i].name == name)
			return item_value(dc, t, &v[i], value);
		if (v[i].kind == ITEM_GROUP)
			r = find_item(dc, t, v[i].group, v[i].ngroup, name, value, depth);
		else if (v[i].kind == ITEM_INCLUDE && v[i].name->table && depth < 8)
			r = find_item(dc, v[i].name->table, v[i].name->table->items, v[i].name->table->nitems, name,
				      value, depth + 1);
		if (r >= 0)
			return r;
	}
	return -1;
}

int dc_table_item(struct dc *dc, const struct ast_table *t, struct dc_sym *name, uint64_t *value)
{
	return find_item(dc, t, t->items, t->nitems, name, value, 0);
}

struct build {
	const struct ast_table *t; /* its header and width count */
	unsigned size;
	bool sgn;
};

static struct espy_entry *add_entry(struct dc *dc, uint64_t value, uint32_t name)
{
	struct espy_entry *e = dc_vec_add(dc, &dc->entries, 1);

	e->value = value;
	e->name = name;
	e->table = ESPY_NONE;
	return e;
}

static void lower_items(struct dc *dc, struct build *b, const struct ast_table *t, const struct ast_item *v, uint32_t n,
			bool in_group);

static void lower_include(struct dc *dc, struct build *b, const struct ast_item *it, bool in_group)
{
	struct ast_table *inc = it->name->table;

	if (!inc) {
		dc_error(dc, it->pos, "unknown table `%s`, expected a flags or enum table", it->name->s);
	} else if (inc->kind == ESPY_TABLE_PACK ||
		   (inc->kind == ESPY_TABLE_FLAGS && (b->t->kind != ESPY_TABLE_FLAGS || in_group))) {
		dc_error(dc, it->pos, "table `%s` cannot stand in this one, expected one of the same kind",
			 it->name->s);
	} else if (inc->circular) {
		; /* said before */
	} else if (inc->busy) {
		dc_error(dc, it->pos, "table `%s` includes itself", it->name->s);
		inc->circular = true;
	} else {
		inc->busy = true;
		lower_items(dc, b, inc, inc->items, inc->nitems, in_group);
		inc->busy = false;
	}
}

/* Lowers a group: its mask, and its members behind it. */
static void lower_group(struct dc *dc, struct build *b, const struct ast_table *t, const struct ast_item *it)
{
	uint64_t mask;
	uint32_t unknown = ESPY_NONE;

	if (item_value(dc, t, it, &mask))
		return;
	if (it->unknown) {
		struct espy_table *u;

		unknown = dc->itables.n;
		u = dc_vec_add(dc, &dc->itables, 1);
		*u = (struct espy_table){ .kind = ESPY_TABLE_ENUM, .unknown = dc_str(dc, it->unknown) };
	}
	uint32_t at = dc->entries.n;

	add_entry(dc, dc_cut(mask, b->size, b->sgn), dc_str(dc, it->name ? it->name->s : ""));
	lower_items(dc, b, t, it->group, it->ngroup, true);
	struct espy_entry *e = dc_vec_at(&dc->entries, at);
	uint32_t cnt = dc->entries.n - at - 1;

	e->group_cnt = (uint16_t)cnt;
	e->table = unknown;
	if (it->offsets) { /* its members are not sorted */
		struct espy_table *u = dc_vec_at(&dc->itables, unknown);

		u->first = at + 1;
		u->count = cnt;
		u->flags = ESPY_TABLE_FIRST_MATCH | ESPY_TABLE_OFFSETS;
	}
	e->shift = it->merged ? ESPY_GROUP_MERGED : it->always ? ESPY_GROUP_ALWAYS : 0;
	if (!cnt)
		dc->entries.n = at; /* no member is defined for this ABI */
}

/* The bits of a part of a number. */
static uint64_t bits_of(const struct ast_item *it)
{
	return (it->hi - it->lo == 63 ? ~0ull : (1ull << (it->hi - it->lo + 1)) - 1) << it->lo;
}

static void lower_pack_field(struct dc *dc, struct build *b, const struct ast_item *it)
{
	uint32_t table = ESPY_NONE;

	if (it->table && !it->table->table)
		dc_error(dc, it->table_pos, "unknown table `%s`, expected a flags, enum or pack table", it->table->s);
	else if (it->table)
		table = dc_lower_table(dc, it->table->table);
	if (it->hi >= b->size * 8)
		dc_error(dc, it->pos, "bit %u lies outside the table, whose width is %u bits", it->hi, b->size * 8);
	struct espy_entry *e = add_entry(dc, bits_of(it), 0);

	e->shift = it->lo;
	e->table = table;
	e->reserved = dc_sym_str(dc, it->name);
}

static void lower_items(struct dc *dc, struct build *b, const struct ast_table *t, const struct ast_item *v, uint32_t n,
			bool in_group)
{
	for (uint32_t i = 0; i < n && !dc->too_many; i++) {
		const struct ast_item *it = &v[i];
		uint64_t value;
		struct espy_entry *e;

		switch (it->kind) {
		case ITEM_NAME:
			if (!item_value(dc, t, it, &value))
				add_entry(dc, dc_cut(value, b->size, b->sgn),
					  it->text ? dc_str(dc, it->text) : dc_sym_str(dc, it->name));
			break;
		case ITEM_GROUP:
			lower_group(dc, b, t, it);
			break;
		case ITEM_SHIFT:
			e = add_entry(dc, bits_of(it), it->text ? dc_str(dc, it->text) : dc_sym_str(dc, it->name));
			e->shift = it->lo;
			e->is_shift = it->low;
			break;
		case ITEM_LOW:
			e = add_entry(dc, bits_of(it), 0);
			e->shift = it->lo;
			e->is_shift = it->low;
			break;
		case ITEM_INCLUDE:
			lower_include(dc, b, it, in_group);
			break;
		case ITEM_PACK:
			lower_pack_field(dc, b, it);
			break;
		}
	}
}

struct ranked {
	struct espy_entry e;
	uint32_t rank;
};

static int by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->e.value != y->e.value)
		return x->e.value < y->e.value ? -1 : 1;
	return x->rank < y->rank ? -1 : 1;
}

/* Sorts an enum by value for a binary search. Of two names with one value the first stays. */
static void sort_enum(struct dc *dc, uint32_t first)
{
	uint32_t n = dc->entries.n - first, out = 0;
	struct espy_entry *e = dc_vec_at(&dc->entries, first);
	struct ranked *r = dc_alloc(dc, (n + 1) * sizeof(*r));

	for (uint32_t i = 0; i < n; i++)
		r[i] = (struct ranked){ e[i], i };
	qsort(r, n, sizeof(*r), by_value);
	for (uint32_t i = 0; i < n; i++)
		if (!i || r[i].e.value != r[i - 1].e.value)
			e[out++] = r[i].e;
	dc->entries.n = first + out;
}

/* Tells whether flags need none of the rare ways to show them: most tables do not. */
static bool is_plain(const struct dc *dc, const struct espy_entry *e, uint32_t n)
{
	bool flag = false;

	for (uint32_t i = 0; i < n; i += e[i].group_cnt + 1) {
		const struct espy_table *of_group =
			e[i].table != ESPY_NONE ? dc_vec_at(&dc->itables, e[i].table) : NULL;

		if (e[i].is_shift || (e[i].group_cnt && (flag || (of_group && of_group->unknown))))
			return false;
		flag |= !e[i].group_cnt;
	}
	return true;
}

uint32_t dc_lower_table(struct dc *dc, struct ast_table *t)
{
	struct build b = { .t = t };

	if (t->index)
		return t->index - 1;
	if (t->busy || t->circular) {
		if (!t->circular)
			dc_error(dc, t->pos, "table `%s` refers to itself", t->name->s);
		t->circular = true;
		return ESPY_NONE;
	}
	b.size = table_width(dc, t, &b.sgn);
	if (!b.size) {
		dc_error(dc, t->width_pos, "`%s` is no width, expected u8 to u64, s8 to s64, int, long, ulong or usize",
			 t->width->s);
		b.size = 8;
	}
	t->busy = true;
	/* Tables that this one refers to come first, so that entries of one table are contiguous. */
	for (uint32_t i = 0; i < t->nitems; i++)
		if (t->items[i].kind == ITEM_PACK && t->items[i].table && t->items[i].table->table)
			dc_lower_table(dc, t->items[i].table->table);
	uint32_t first = dc->entries.n;

	lower_items(dc, &b, t, t->items, t->nitems, false);
	t->busy = false;
	if (t->kind == ESPY_TABLE_ENUM)
		sort_enum(dc, first);
	bool hex = t->unknown && !strcmp(t->unknown, "hex");
	struct espy_table *it = dc_vec_add(dc, &dc->itables, 1);

	it->kind = (uint32_t)t->kind;
	it->name = dc_sym_str(dc, t->name);
	it->unknown = t->unknown && !hex ? dc_str(dc, t->unknown) : 0;
	it->first = first;
	it->count = dc->entries.n - first;
	it->flags = (t->kind == ESPY_TABLE_ENUM ? (hex		? 4u
						   : t->unknown ? 0u
								: 2u)
						: 0u) |
		    (t->comment ? 8u : 0u) | (t->decimal ? 16u : 0u) | (t->apart ? 32u : 0u) | (t->offsets ? 64u : 0u) |
		    (t->whole ? (uint32_t)ESPY_TABLE_WHOLE : 0u) | b.size << 8 | (uint32_t)b.sgn << 16;
	if (t->kind == ESPY_TABLE_FLAGS && is_plain(dc, dc_vec_at(&dc->entries, first), it->count))
		it->flags |= ESPY_TABLE_PLAIN;
	t->index = dc->itables.n;
	return t->index - 1;
}

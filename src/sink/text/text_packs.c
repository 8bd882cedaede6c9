/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Packed fields: numbers that share a word, each with a name or a number and its shift. */
#include <string.h>

#include "describe/constant_names.h"
#include "sink/text/text_impl.h"

static void put_shift(struct espy_text *t, const struct espy_entry *e)
{
	const char *shift = espy_image__str(t->img, e->name);

	if (!e->shift)
		return;
	espy_buf__put(t->b, "<<", 2);
	if (*shift)
		espy_buf__puts(t->b, shift);
	else
		espy_buf__dec(t->b, e->shift);
}

/* Tells whether the shift stands behind a name: a text that ends in a comment has its own in front of that. */
static bool shifts(const char *name)
{
	return !*name || name[strlen(name) - 1] != '/';
}

/* Puts parts that are numbers of their own, each in the style that the user chose. */
static void put_parts(struct espy_text *t, const struct espy_table *tab, uint64_t num)
{
	static const struct espy_type part = { .kind = ESPY_T_INT, .size = 8 };
	const bool commented = tab->flags & ESPY_TABLE_COMMENT; /* an unknown number, before it is shifted */
	bool any = false;

	for (uint32_t i = 0; i < tab->count; i++) {
		const struct espy_entry *e = &t->img->entries[tab->first + i];
		const uint64_t x = (num & e->value) >> (e->shift & 63);

		espy_text_separate(t, &any);
		const struct espy_table *sub = e->table < t->img->table_cnt ? &t->img->tables[e->table] : NULL;
		const struct espy_entry *m =
			sub && sub->kind == ESPY_TABLE_ENUM ? espy_table__find(t->img, sub, x, part.size) : NULL;
		if (m)
			espy_text_put_enum(t, sub, &part, x);
		else if (sub && sub->flags & (ESPY_TABLE_DECIMAL | ESPY_TABLE_UNKNOWN_DEC))
			espy_buf__dec(t->b, x);
		else
			espy_buf__hex(t->b, x);
		const char *unknown =
			sub && !m && t->xlat != ESPY_XLAT_RAW ? espy_image__str(t->img, sub->unknown) : "";
		if (*unknown && commented)
			espy_text_put_comment(t, unknown);
		if (!m || t->xlat != ESPY_XLAT_ABBREV || shifts(espy_image__str(t->img, m->name)))
			put_shift(t, e);
		if (*unknown && !commented)
			espy_text_put_comment(t, unknown);
	}
}

void espy_text_put_pack(struct espy_text *t, const struct espy_table *tab, uint64_t num)
{
	bool any = false;

	if (tab->flags & ESPY_TABLE_APART) {
		put_parts(t, tab, num);
		return;
	}
	if (t->xlat == ESPY_XLAT_RAW) {
		espy_buf__hex(t->b, num);
		return;
	}
	if (t->xlat == ESPY_XLAT_VERBOSE) {
		espy_buf__hex(t->b, num);
		espy_text_comment(t);
	}
	enum espy_xlat saved = t->xlat;
	t->xlat = ESPY_XLAT_ABBREV;
	for (uint32_t i = 0; i < tab->count; i++) {
		const struct espy_entry *e = &t->img->entries[tab->first + i];
		uint64_t x = (num & e->value) >> (e->shift & 63);
		const struct espy_table *sub = e->table < t->img->table_cnt ? &t->img->tables[e->table] : NULL;
		const char *unknown = "", *name = "";

		if (sub && sub->kind == ESPY_TABLE_FLAGS && !x)
			continue;
		espy_text_separate(t, &any);
		if (sub && sub->kind == ESPY_TABLE_ENUM) {
			const struct espy_entry *m = espy_table__find(t->img, sub, x, 8);
			if (m)
				espy_buf__puts(t->b, name = espy_image__str(t->img, m->name));
			else
				espy_buf__hex(t->b, x);
			if (!m)
				unknown = espy_image__str(t->img, sub->unknown);
		} else if (sub && sub->kind == ESPY_TABLE_FLAGS) {
			espy_text_put_flags_abbrev(t, sub, x);
		} else {
			espy_buf__hex(t->b, x);
		}
		if (shifts(name))
			put_shift(t, e);
		if (*unknown) {
			espy_text_put_comment(t, unknown);
		}
	}
	if (!any)
		espy_buf__putc(t->b, '0');
	t->xlat = saved;
	if (t->xlat == ESPY_XLAT_VERBOSE)
		espy_text_comment_end(t);
}

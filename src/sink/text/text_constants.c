/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of constants: flags, enumerations, packed fields, in the three styles of -X. */
#include <string.h>

#include "describe/constant_names.h"
#include "sink/text/text_impl.h"

static void put_unknown(struct espy_text *t, uint64_t num, const char *unknown)
{
	espy_buf__hex(t->b, num);
	if (*unknown && strcmp(unknown, "hex") != 0 && t->xlat != ESPY_XLAT_RAW) {
		espy_text_put_comment(t, unknown);
	}
}

/* Returns the text for an unknown member of a group; "" if the group is no table of its own. */
static const char *group_unknown(const struct espy_image *img, const struct espy_entry *g)
{
	return g->table < img->table_cnt ? espy_image__str(img, img->tables[g->table].unknown) : "";
}

static bool ends_in_plus(const char *name)
{
	return *name && name[strlen(name) - 1] == '+';
}

/* Returns the name below a value that has none of its own: the nearest, or the nearest that ends in `+` if there are
 * such. */
static const struct espy_entry *name_below(const struct espy_image *img, const struct espy_table *tab, uint64_t num)
{
	const struct espy_entry *e = &img->entries[tab->first], *near = NULL, *near_plus = NULL;
	bool beyond = true, plus = false;

	for (uint32_t i = 0; i < tab->count; i++) {
		const bool is_plus = ends_in_plus(espy_image__str(img, e[i].name));

		beyond &= e[i].value <= num;
		plus |= is_plus;
		if (e[i].value > num)
			continue;
		if (!near || e[i].value > near->value)
			near = &e[i];
		if (is_plus && (!near_plus || e[i].value > near_plus->value))
			near_plus = &e[i];
	}
	return beyond ? NULL : plus ? near_plus : near;
}

/* Puts a value as the name below it and the distance: 8*R15+1, BASE+0x1f. Returns false if it is beyond the names. */
static bool put_offset(struct espy_text *t, const struct espy_table *tab, uint64_t num)
{
	const struct espy_entry *e = name_below(t->img, tab, num);
	const char *name = e ? espy_image__str(t->img, e->name) : "";

	if (!e)
		return false;
	if (t->xlat != ESPY_XLAT_ABBREV) {
		espy_buf__hex(t->b, num);
		if (t->xlat == ESPY_XLAT_RAW)
			return true;
		espy_text_comment(t);
	}
	espy_buf__puts(t->b, name);
	if (ends_in_plus(name)) {
		espy_buf__hex(t->b, num - e->value);
	} else {
		espy_buf__putc(t->b, '+');
		espy_buf__dec(t->b, num - e->value);
	}
	if (t->xlat == ESPY_XLAT_VERBOSE)
		espy_text_comment_end(t);
	return true;
}

/* Puts a member of a group that has no name: by the name below it if the group says so. */
static void put_unnamed(struct espy_text *t, const struct espy_entry *g, uint64_t masked)
{
	const struct espy_table *tab = &t->img->tables[g->table];

	if (!(tab->flags & ESPY_TABLE_OFFSETS) || !put_offset(t, tab, masked))
		put_unknown(t, masked, espy_image__str(t->img, tab->unknown));
}

/* Tells whether a member of a group that no name is for is shown by its number. */
static bool shown_unnamed(const struct espy_entry *g, uint64_t masked)
{
	return g->shift == ESPY_GROUP_ALWAYS || (masked && g->shift != ESPY_GROUP_MERGED);
}

/*
 * Puts names for the bits of left, in table order. Returns the bits without a name. skip_sub leaves out groups that
 * are tables of their own: their bits are not in left then. *grouped: the last name was a member of such a group.
 */
static uint64_t put_names(struct espy_text *t, const struct espy_table *tab, uint64_t left, bool skip_sub, bool *any,
			  const char **zero, bool *grouped)
{
	const struct espy_image *img = t->img;
	const bool plain = tab->flags & ESPY_TABLE_PLAIN;

	for (uint32_t i = 0; i < tab->count; i++) {
		const struct espy_entry *e = &img->entries[tab->first + i];
		if (plain && *any && !e->group_cnt) { /* flags follow only, and most are not set */
			while (i < tab->count && !(left & img->entries[tab->first + i].value))
				i++;
			if (i == tab->count)
				break;
			e = &img->entries[tab->first + i];
		}
		if (e->group_cnt) {
			const char *unknown = group_unknown(img, e);
			if (!(skip_sub && *unknown)) {
				uint64_t masked = left & e->value;
				const struct espy_entry *m = espy_table__member(img, tab, i, masked);
				if (m) {
					const char *name = espy_image__str(img, m->name);
					if (*name) {
						*grouped = *unknown;
						espy_text_separate(t, any);
						espy_buf__puts(t->b, name);
					}
					left &= ~e->value;
				} else if (*unknown && shown_unnamed(e, masked)) {
					*grouped = true;
					espy_text_separate(t, any);
					put_unnamed(t, e, masked);
					left &= ~e->value;
				}
			}
			i += e->group_cnt;
		} else if (e->is_shift) {
			continue;
		} else if (!e->value) {
			if (!*zero)
				*zero = espy_image__str(img, e->name);
		} else if ((left & e->value) == e->value) {
			*grouped = false;
			espy_text_separate(t, any);
			espy_buf__puts(t->b, espy_image__str(img, e->name));
			left &= ~e->value;
		}
	}
	return left;
}

static bool is_shift(const struct espy_entry *e)
{
	return e->is_shift == ESPY_SHIFT_DEC || e->is_shift == ESPY_SHIFT_HEX;
}

/* Tells whether the table has bits of a number. It is one number throughout: its groups are no tables of their own. */
static bool has_shifts(const struct espy_image *img, const struct espy_table *tab)
{
	if (tab->flags & ESPY_TABLE_PLAIN)
		return false;
	for (uint32_t i = 0; i < tab->count; i++)
		if (is_shift(&img->entries[tab->first + i]))
			return true;
	return false;
}

/* Returns the bits that stand for a number: 21<<MAP_HUGE_SHIFT. They come last, behind bits without a name. */
static uint64_t shifted_bits(const struct espy_image *img, const struct espy_table *tab, uint64_t num)
{
	uint64_t bits = 0;

	if (tab->flags & ESPY_TABLE_PLAIN)
		return 0;
	for (uint32_t i = 0; i < tab->count; i++)
		if (img->entries[tab->first + i].is_shift)
			bits |= num & img->entries[tab->first + i].value;
	return bits;
}

/* Puts shifted numbers of one base. */
static void put_shifted(struct espy_text *t, const struct espy_table *tab, uint64_t num, unsigned base, bool *any)
{
	for (uint32_t i = 0; num && i < tab->count; i++) {
		const struct espy_entry *e = &t->img->entries[tab->first + i];
		if (e->is_shift != base || !(num & e->value))
			continue;
		espy_text_separate(t, any);
		if (base == ESPY_SHIFT_HEX)
			espy_buf__hex(t->b, (num & e->value) >> (e->shift & 63));
		else
			espy_buf__dec(t->b, (num & e->value) >> (e->shift & 63));
		espy_buf__put(t->b, "<<", 2);
		espy_buf__puts(t->b, espy_image__str(t->img, e->name));
		num &= ~e->value;
	}
}

/* Returns the bits that names are for: those of a table with bits of a number are as wide as the table is. */
static uint64_t named_bits(const struct espy_image *img, const struct espy_table *tab, uint64_t num)
{
	return has_shifts(img, tab) ? num & espy_width_mask(tab->flags >> 8 & 0xff) : num;
}

/* Returns the bits of the groups that are tables of their own; of a merged one only if its member has a name. */
static uint64_t own_groups(const struct espy_image *img, const struct espy_table *tab, uint64_t num)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < tab->count; i++) {
		const struct espy_entry *e = &img->entries[tab->first + i];
		if (e->group_cnt && *group_unknown(img, e) &&
		    (e->shift != ESPY_GROUP_MERGED || espy_table__member(img, tab, i, num & e->value)))
			bits |= e->value;
		i += e->group_cnt;
	}
	return bits;
}

/* Returns how many flags stand in front of groups that are tables of their own and end the table; 0: they do not. */
static uint32_t flags_before_groups(const struct espy_image *img, const struct espy_table *tab)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < tab->count; i++) {
		const struct espy_entry *e = &img->entries[tab->first + i];
		const bool own = e->group_cnt && *group_unknown(img, e) && e->shift != ESPY_GROUP_MERGED;

		if (e->is_shift || (e->group_cnt && !own) || (!e->group_cnt && (before || !e->value)) || (own && !i))
			return 0;
		if (own && !before)
			before = i;
		i += e->group_cnt;
	}
	return before;
}

/* Puts flags, then members of the `groups` behind them, each a number of its own. */
static void put_flags_then_groups(struct espy_text *t, const struct espy_table *tab, uint32_t before, uint64_t num)
{
	struct espy_table flags = *tab, groups = *tab;
	const uint64_t own = own_groups(t->img, tab, num);
	bool any = false, grouped = false;
	const char *zero = NULL;

	flags.count = before;
	groups.first += before;
	groups.count -= before;
	uint64_t left = put_names(t, &flags, num & ~own, false, &any, &zero, &grouped);
	if (left && any) {
		espy_buf__putc(t->b, '|');
		espy_buf__hex(t->b, left);
	} else if (left) {
		put_unknown(t, left, espy_image__str(t->img, tab->unknown));
		any = true;
	}
	put_names(t, &groups, num & own, false, &any, &zero, &grouped);
	if (!any)
		espy_buf__putc(t->b, '0');
}

void espy_text_put_flags_abbrev(struct espy_text *t, const struct espy_table *tab, uint64_t whole)
{
	const uint32_t before = tab->flags & ESPY_TABLE_PLAIN ? 0 : flags_before_groups(t->img, tab);
	if (before) {
		put_flags_then_groups(t, tab, before, whole);
		return;
	}

	const uint64_t num = named_bits(t->img, tab, whole);
	bool any = false, grouped = false;
	const char *zero = NULL;
	uint64_t shifted = shifted_bits(t->img, tab, num);
	uint64_t left = put_names(t, tab, num & ~shifted, false, &any, &zero, &grouped);

	put_shifted(t, tab, shifted, ESPY_SHIFT_HEX, &any);
	if (left && any && (!grouped || has_shifts(t->img, tab))) {
		espy_buf__putc(t->b, '|');
		espy_buf__hex(t->b, left);
	} else if (left) {
		/* behind members of tables of their own the flags stand alone */
		espy_text_separate(t, &any);
		put_unknown(t, left, espy_image__str(t->img, tab->unknown));
	}
	put_shifted(t, tab, shifted, ESPY_SHIFT_DEC, &any);
	if (left || shifted)
		return;
	if (!any) {
		espy_buf__puts(t->b, zero ? zero : "0");
	} else if (grouped && zero && !*zero) {
		/* the groups are tables of their own, and the flags behind them show nothing for 0 */
		espy_buf__putc(t->b, '|');
	}
}

/* Tells whether 0 shows nothing at all. */
static bool silent_zero(const struct espy_image *img, const struct espy_table *tab)
{
	for (uint32_t i = 0; i < tab->count; i++) {
		const struct espy_entry *e = &img->entries[tab->first + i];
		if (!e->group_cnt && !e->value && !e->is_shift)
			return !*espy_image__str(img, e->name);
		i += e->group_cnt;
	}
	return false;
}

/* Puts a number and its names. A comment that would repeat the number is left out. */
static void put_flags_part(struct espy_text *t, const struct espy_table *tab, uint64_t part)
{
	const struct espy_image *img = t->img;

	espy_buf__hex(t->b, part);
	if (t->xlat == ESPY_XLAT_RAW)
		return;

	size_t before = t->b->len;
	espy_text_comment(t);
	size_t start = t->b->len;
	bool named = false, grouped = false;
	const char *zero = NULL;
	uint64_t shifted = shifted_bits(img, tab, part);
	uint64_t left = put_names(t, tab, part & ~shifted, true, &named, &zero, &grouped);
	if (left && named) {
		espy_buf__putc(t->b, '|');
		espy_buf__hex(t->b, left);
	} else if (left) {
		espy_buf__puts(t->b, espy_image__str(img, tab->unknown));
	} else if (!named && zero && !shifted) {
		espy_buf__puts(t->b, zero);
	}
	named |= t->b->len > start;
	put_shifted(t, tab, shifted, ESPY_SHIFT_DEC, &named);
	if (t->b->len > start)
		espy_text_comment_end(t);
	else
		t->b->len = before;
}

/* Puts flags, raw and verbose: each group that is a table of its own, and the rest, which stands where the table has it. */
static void put_flags_parts(struct espy_text *t, const struct espy_table *tab, uint64_t num)
{
	const struct espy_image *img = t->img;
	const uint64_t own = own_groups(img, tab, num);
	const bool rest_first = own && !img->entries[tab->first].group_cnt;
	uint64_t rest = num & ~own;
	bool any = false;

	if (rest_first && rest) {
		espy_text_separate(t, &any);
		put_flags_part(t, tab, rest);
		rest = 0;
	}
	for (uint32_t i = 0; i < tab->count; i++) {
		const struct espy_entry *e = &img->entries[tab->first + i];
		const char *unknown = e->group_cnt ? group_unknown(img, e) : "";
		if (*unknown) {
			uint64_t masked = num & e->value;
			const struct espy_entry *m = espy_table__member(img, tab, i, masked);
			if (m && t->xlat == ESPY_XLAT_VERBOSE) {
				espy_text_separate(t, &any);
				espy_buf__hex(t->b, masked);
				espy_text_put_comment(t, espy_image__str(img, m->name));
			} else if (m || shown_unnamed(e, masked)) {
				espy_text_separate(t, &any);
				if (m)
					put_unknown(t, masked, "");
				else
					put_unnamed(t, e, masked);
			}
		}
		i += e->group_cnt;
	}
	bool silent = silent_zero(img, tab);
	if (any && !rest && !silent)
		return;
	if (any || !silent || rest)
		espy_text_separate(t, &any);
	if (rest || !silent)
		put_flags_part(t, tab, rest);
}

static void put_flags(struct espy_text *t, const struct espy_table *tab, uint64_t num);

/* Returns the number that flags share their word with; NULL: there is none. */
static const struct espy_entry *low_number(const struct espy_image *img, const struct espy_table *tab)
{
	const struct espy_entry *e = tab->count ? &img->entries[tab->first + tab->count - 1] : NULL;

	return e && e->is_shift >= ESPY_LOW_DEC && e->is_shift <= ESPY_LOW_OCT ? e : NULL;
}

/* Puts flags of which the last is a number by itself under -X, and a `|`: 0x200|4<<26|. */
static void put_flags_and_shift(struct espy_text *t, const struct espy_table *tab, uint64_t num)
{
	struct espy_table flags = *tab;
	const struct espy_entry *e = &t->img->entries[tab->first + --flags.count];
	const uint64_t shifted = num & e->value;

	if (num != shifted) {
		put_flags(t, &flags, num & ~shifted);
		espy_buf__putc(t->b, '|');
	}
	if (!shifted)
		return;
	espy_buf__dec(t->b, shifted >> (e->shift & 63));
	espy_buf__put(t->b, "<<", 2);
	espy_buf__dec(t->b, e->shift & 63);
	if (t->xlat == ESPY_XLAT_VERBOSE) {
		espy_text_put_comment(t, espy_image__str(t->img, e->name));
	}
	espy_buf__putc(t->b, '|');
}

/* Puts flags and a number behind them: `SWAP_FLAG_PREFER|42`. In hexadecimal the two are one number to -X. */
static void put_flags_and_number(struct espy_text *t, const struct espy_table *tab, const struct espy_entry *low,
				 uint64_t num)
{
	struct espy_table flags = *tab;
	uint64_t x = (num & low->value) >> (low->shift & 63), rest = num & ~low->value;
	enum espy_xlat saved = t->xlat;
	bool one = low->is_shift == ESPY_LOW_HEX;

	flags.count--;
	if (one && t->xlat != ESPY_XLAT_ABBREV) {
		espy_buf__hex(t->b, num);
		if (t->xlat == ESPY_XLAT_RAW || !rest)
			return;
		espy_text_comment(t);
		t->xlat = ESPY_XLAT_ABBREV;
	}
	/* two numbers are two numbers in every style */
	if (flags.count == 1 && has_shifts(t->img, &flags))
		t->xlat = ESPY_XLAT_ABBREV;
	if (rest && low->is_shift == ESPY_LOW_OCT && t->xlat != ESPY_XLAT_ABBREV &&
	    is_shift(&t->img->entries[flags.first + flags.count - 1])) {
		put_flags_and_shift(t, &flags, rest);
	} else if (rest) {
		const size_t start = t->b->len;
		put_flags(t, &flags, rest);
		/* digits of a mode follow at once on bits that have no name */
		if (saved == ESPY_XLAT_RAW || low->is_shift != ESPY_LOW_OCT || has_shifts(t->img, &flags) ||
		    t->b->data[start] != '0' || t->b->data[t->b->len - 1] == '/')
			espy_buf__putc(t->b, '|');
	}
	if (low->is_shift == ESPY_LOW_DEC)
		espy_buf__dec(t->b, x);
	else if (one)
		espy_buf__hex(t->b, x);
	else
		espy_buf__oct(t->b, x, 3);
	t->xlat = saved;
	if (one && t->xlat == ESPY_XLAT_VERBOSE)
		espy_text_comment_end(t);
}

static void put_flags(struct espy_text *t, const struct espy_table *tab, uint64_t num)
{
	const struct espy_entry *low = low_number(t->img, tab);

	if (low) {
		put_flags_and_number(t, tab, low, num);
		return;
	}
	if (tab->flags & ESPY_TABLE_WHOLE && t->xlat == ESPY_XLAT_RAW) {
		espy_buf__hex(t->b, num);
		return;
	}
	if (tab->flags & ESPY_TABLE_COMMENT) {
		enum espy_xlat saved = t->xlat;
		if (t->xlat == ESPY_XLAT_ABBREV)
			t->xlat = ESPY_XLAT_VERBOSE;
		put_flags_parts(t, tab, num);
		t->xlat = saved;
	} else if (t->xlat == ESPY_XLAT_ABBREV) {
		espy_text_put_flags_abbrev(t, tab, num);
	} else if (has_shifts(t->img, tab)) {
		espy_buf__hex(t->b, num);
		if (t->xlat == ESPY_XLAT_RAW)
			return;
		const size_t before = t->b->len;
		t->xlat = ESPY_XLAT_ABBREV;
		espy_text_comment(t);
		const size_t start = t->b->len;
		espy_text_put_flags_abbrev(t, tab, num);
		if (!num && t->b->len == start + 1)
			t->b->len = before; /* 0 has no name: the comment would repeat it */
		else
			espy_text_comment_end(t);
		t->xlat = ESPY_XLAT_VERBOSE;
	} else {
		put_flags_parts(t, tab, num);
	}
}

void espy_text_put_enum(struct espy_text *t, const struct espy_table *tab, const struct espy_type *type, uint64_t num)
{
	const struct espy_entry *e = espy_table__find(t->img, tab, num, type->size);
	uint64_t cut = num & espy_width_mask(type->size);
	const char *unknown = espy_image__str(t->img, tab->unknown);
	bool comment = tab->flags & ESPY_TABLE_COMMENT;

	const char *name = e ? espy_image__str(t->img, e->name) : "";
	if (tab->flags & ESPY_TABLE_OFFSETS && (!*name || ends_in_plus(name)))
		e = NULL;
	if (e && t->xlat == ESPY_XLAT_ABBREV && !comment) {
		espy_buf__puts(t->b, name);
		return;
	}
	if (!e && (tab->flags & ESPY_TABLE_OFFSETS) && put_offset(t, tab, cut))
		return;
	if ((tab->flags & ESPY_TABLE_DECIMAL) || (!e && (tab->flags & ESPY_TABLE_UNKNOWN_DEC))) {
		if (type->flags & ESPY_TF_SIGNED)
			espy_buf__sdec(t->b, (int64_t)num);
		else
			espy_buf__dec(t->b, cut);
	} else {
		espy_buf__hex(t->b, cut);
	}
	if ((t->xlat == ESPY_XLAT_RAW && !(comment && (tab->flags & ESPY_TABLE_DECIMAL))) ||
	    (!e && (!*unknown || t->bare_unknown || (tab->flags & ESPY_TABLE_UNKNOWN_HEX))))
		return;
	espy_text_put_comment(t, e ? espy_image__str(t->img, e->name) : unknown);
}

void espy_text_table(struct espy_text *t, const struct espy_token *v, uint64_t num)
{
	const struct espy_type *type = v->type;

	if (v->link >= t->img->table_cnt) {
		espy_buf__hex(t->b, num & espy_width_mask(type->size));
		return;
	}
	const struct espy_table *tab = &t->img->tables[v->link];
	switch (tab->kind) {
	case ESPY_TABLE_FLAGS:
		put_flags(t, tab, num & espy_width_mask(type->size));
		break;
	case ESPY_TABLE_PACK:
		espy_text_put_pack(t, tab, num & espy_width_mask(type->size));
		break;
	default:
		espy_text_put_enum(t, tab, type, num);
	}
}

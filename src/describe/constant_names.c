/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "describe/constant_names.h"
#include "base/search.h"

const char *const espy_class_names[ESPY_CLASS_CNT] = {
	[ESPY_CLASS_DESC] = "%desc",	   [ESPY_CLASS_FILE] = "%file",		  [ESPY_CLASS_IPC] = "%ipc",
	[ESPY_CLASS_NETWORK] = "%network", [ESPY_CLASS_PROCESS] = "%process",	  [ESPY_CLASS_SIGNAL] = "%signal",
	[ESPY_CLASS_MEMORY] = "%memory",   [ESPY_CLASS_STAT] = "%stat",		  [ESPY_CLASS_LSTAT] = "%lstat",
	[ESPY_CLASS_FSTAT] = "%fstat",	   [ESPY_CLASS_STATX_LIKE] = "%%stat",	  [ESPY_CLASS_STATFS] = "%statfs",
	[ESPY_CLASS_FSTATFS] = "%fstatfs", [ESPY_CLASS_STATFS_LIKE] = "%%statfs", [ESPY_CLASS_PURE] = "%pure",
	[ESPY_CLASS_CREDS] = "%creds",	   [ESPY_CLASS_CLOCK] = "%clock",
};

const struct espy_entry *espy_table__find(const struct espy_image *img, const struct espy_table *tab, uint64_t num, unsigned size)
{
	const struct espy_entry *e = &img->entries[tab->first];
	uint64_t mask = espy_width_mask(size);

	if (!(tab->flags & ESPY_TABLE_FIRST_MATCH) && tab->count > 8) {
		/* sorted; a negative constant may stand there in the width of the type or in 64 bits */
		const uint64_t keys[2] = { num & mask, num };
		for (unsigned k = 0; k < (keys[0] == keys[1] ? 1 : 2); k++) {
			size_t at;

			ESPY_SEARCH(at, tab->count, e[at].value >= keys[k]);
			if (at < tab->count && e[at].value == keys[k])
				return &e[at];
		}
		return NULL;
	}
	for (uint32_t i = 0; i < tab->count; i++)
		if ((e[i].value & mask) == (num & mask))
			return &e[i];
	return NULL;
}

const char *espy_table__name(const struct espy_image *img, uint32_t table, uint64_t num, unsigned size)
{
	if (table >= img->table_cnt)
		return NULL;
	const struct espy_entry *e = espy_table__find(img, &img->tables[table], num, size);
	return e ? espy_image__str(img, e->name) : NULL;
}

bool espy_table__has_name(const struct espy_image *img, uint32_t table, uint64_t num, unsigned size)
{
	if (table >= img->table_cnt)
		return false;
	const struct espy_table *tab = &img->tables[table];
	num &= espy_width_mask(size);
	if (tab->kind != ESPY_TABLE_FLAGS)
		return tab->kind == ESPY_TABLE_PACK || espy_table__find(img, tab, num, size);
	for (uint32_t i = 0; i < tab->count; i++) {
		const struct espy_entry *e = &img->entries[tab->first + i];
		uint32_t group = e->group_cnt;
		if (!group && (num ? e->value && (num & e->value) : !e->value))
			return true;
		for (uint32_t k = 1; k <= group && i + k < tab->count; k++)
			if (img->entries[tab->first + i + k].value == (num & e->value))
				return true;
		i += group;
	}
	return false;
}

const struct espy_entry *espy_table__member(const struct espy_image *img, const struct espy_table *tab, uint32_t at,
					    uint64_t masked)
{
	const struct espy_entry *g = &img->entries[tab->first + at];
	for (uint32_t k = 1; k <= g->group_cnt && at + k < tab->count; k++)
		if (g[k].value == masked)
			return &g[k];
	return NULL;
}

int espy_table__each_flag(const struct espy_image *img, uint32_t table, uint64_t num,
			  int (*fn)(void *ctx, const char *name, uint64_t bits), void *ctx)
{
	uint64_t left = num;
	int r = 0;

	if (table >= img->table_cnt || img->tables[table].kind != ESPY_TABLE_FLAGS)
		return num ? fn(ctx, NULL, num) : 0;
	const struct espy_table *tab = &img->tables[table];

	for (uint32_t i = 0; i < tab->count && !r; i++) {
		const struct espy_entry *e = &img->entries[tab->first + i], *named = NULL;
		uint64_t bits = left & e->value;
		if (e->group_cnt) {
			named = espy_table__member(img, tab, i, bits);
			i += e->group_cnt;
		} else if (!e->is_shift && e->value && bits == e->value) {
			named = e;
		}
		if (!named || !*espy_image__str(img, named->name))
			continue;
		left &= ~e->value;
		r = fn(ctx, espy_image__str(img, named->name), bits);
	}
	return r || !left ? r : fn(ctx, NULL, left);
}

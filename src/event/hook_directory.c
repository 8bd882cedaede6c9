/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Entries of directories, as getdents and getdents64 give them. */
#include "event/hook_impl.h"

struct layout {
	unsigned word; /* bytes of d_ino and of d_off */
	bool type_last; /* d_type is the last byte of the record, not before the name */
};

static void show_type(struct espy_walk *w, uint8_t type)
{
	static const char *const names[] = {
		[0] = "DT_UNKNOWN", [1] = "DT_FIFO", [2] = "DT_CHR",   [4] = "DT_DIR",	[6] = "DT_BLK",
		[8] = "DT_REG",	    [10] = "DT_LNK", [12] = "DT_SOCK", [14] = "DT_WHT",
	};
	const char *name = type < sizeof(names) / sizeof(names[0]) ? names[type] : NULL;

	espy_hook_field(w, "d_type");
	espy_hook_word(w, name ? name : "DT_???", type, name ? ESPY_TOKF_STYLED : ESPY_TOKF_STYLED | ESPY_TOKF_UNKNOWN);
}

static void show_entry(struct espy_walk *w, const uint8_t *p, size_t reclen, const struct layout *l)
{
	const size_t name = 2 * l->word + 2 + !l->type_last, end = reclen - l->type_last;
	const uint32_t open = espy_walk_open(w, ESPY_GROUP_STRUCT, NULL, 0);

	espy_hook_field(w, "d_ino");
	espy_hook_number(w, &espy_number_dec, espy_load(p, l->word, false, false));
	espy_hook_field(w, "d_off");
	espy_hook_number(w, l->type_last ? &espy_number_dec : &espy_number_signed,
			 espy_load(p + l->word, l->word, false, !l->type_last));
	espy_hook_field(w, "d_reclen");
	espy_hook_number(w, &espy_number_dec, reclen);
	if (!l->type_last)
		show_type(w, p[2 * l->word + 2]);
	espy_hook_field(w, "d_name");
	espy_walk_put(w, (struct espy_token){ .kind = ESPY_TOKEN_STR,
					      .flags = ESPY_TOKF_WHOLE,
					      .len = (uint32_t)strnlen((const char *)p + name, end - name),
					      .type = &espy_type_chars,
					      .bytes = p + name,
					      .want = end - name });
	if (l->type_last)
		show_type(w, p[reclen - 1]);
	espy_walk_close(w, open);
}

/* Returns the length of the record at off; 0: there is no whole one. */
static size_t record_at(const struct espy_hooked *v, size_t off, const struct layout *l)
{
	const size_t head = 2 * l->word + 3;

	if (v->len - off < head)
		return 0;
	const size_t reclen = (size_t)espy_load(v->bytes + off + 2 * l->word, 2, false, false);
	return reclen < head || reclen > v->len - off ? 0 : reclen;
}

static bool show_entries(struct espy_walk *w, const struct espy_hooked *v, const struct layout *l)
{
	const struct espy_ways ways = espy_walk_part(w);
	const bool whole = v->want <= v->len;
	size_t cnt = 0, reclen;

	if (!v->bytes)
		return false;
	for (size_t off = 0; (reclen = record_at(v, off, l)); off += reclen)
		cnt++;
	if (espy_walk_take(w, &ways, ESPY_MANNERS_BRIEF))
		espy_walk_put(w, (struct espy_token){ .kind = ESPY_TOKEN_VARS,
						       .group = ESPY_VARS_ENTRIES,
						       .flags = whole ? 0 : ESPY_TOKF_CUT,
						       .num = cnt,
						       .addr = v->addr });
	if (espy_walk_take(w, &ways, ~ESPY_MANNERS_BRIEF)) {
		const uint32_t open = espy_walk_open(w, ESPY_GROUP_ARRAY, NULL, 0);
		for (size_t off = 0; (reclen = record_at(v, off, l)); off += reclen) {
			espy_walk_role(w, ESPY_ROLE_ELEM, "");
			show_entry(w, v->bytes + off, reclen, l);
		}
		if (!whole)
			espy_walk_elided(w, ESPY_ELIDED_MORE, 0);
		espy_walk_close(w, open);
	}
	espy_walk_join(w, &ways);
	return true;
}

bool espy_hook_getdents(struct espy_walk *w, const struct espy_hooked *v)
{
	const struct layout l = { .word = espy_abis[w->img->abi].ptr_sz, .type_last = true };
	return show_entries(w, v, &l);
}

bool espy_hook_getdents64(struct espy_walk *w, const struct espy_hooked *v)
{
	static const struct layout l = { .word = 8 };
	return show_entries(w, v, &l);
}

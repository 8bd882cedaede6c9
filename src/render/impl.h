/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text renderer's own state and the functions that its files share. */
#ifndef ESPY_RENDER_IMPL_H
#define ESPY_RENDER_IMPL_H

#include "decode/visit.h"
#include "render/num.h"
#include "render/text.h"

/* ctx of the text visitor. */
struct espy_text {
	struct espy_buf *b;
	const struct espy_text_opts *o;
	const struct espy_image *img;
	const struct espy_call_view *v; /* NULL: bytes that are no call's */
	enum espy_xlat xlat;
	bool first; /* nothing shown yet in the open group */
	bool verbose; /* what only -v shows */
	bool decode;  /* -e verbose= has the call: structures are decoded */
};

/* value.c: leaves */
void espy_text_integer(struct espy_text *t, const struct espy_value *v);
void espy_text_string(struct espy_text *t, const struct espy_value *v);
void espy_text_bits(struct espy_text *t, const struct espy_value *v);
/* -ENOENT, EINVAL, or a number */
void espy_text_errno(struct espy_text *t, int64_t err);
void espy_text_wstatus(struct espy_text *t, uint32_t status);

/* xlat.c: tables. cut to `size` bytes. */
void espy_text_table(struct espy_text *t, const struct espy_type *type, uint64_t num);
/* The name of a value in an enum or of a single bit in a flags table; NULL if there is none. */
const char *espy_text_lookup(const struct espy_image *img, uint32_t table, uint64_t num, unsigned size);
/* Would the value be shown by a name at all? */
bool espy_text_has_name(const struct espy_image *img, uint32_t table, uint64_t num, unsigned size);
/* Names of the bits of `num` by a flags table and what is left in hex, joined by |. *any: something was written. */
void espy_text_flag_names(struct espy_text *t, uint32_t table, uint64_t num, bool *any);

/* A number by the table of this name, as a part of something larger. */
void espy_text_by_table(struct espy_text *t, const char *table, uint64_t num, const char *unknown);

/* date.c: "2026-11-20T10:15:01+0000", with nsec >= 0 a fraction of `digits`; false (nothing written) if it has no date.
 */
bool espy_text_date(struct espy_text *t, int64_t sec, int64_t frac, unsigned digits);

/* signal.c: SIGINT or a number under the text's -X style; `INT` without the prefix in sets */
void espy_text_signum(struct espy_text *t, int64_t sig);
void espy_text_sigset(struct espy_text *t, const uint8_t *bits, size_t len);

/* text.c: bytes by a type, outside the walk of the arguments (results) */
void espy_text_walk(struct espy_text *t, uint32_t type, const uint8_t *bytes, size_t len);

/* hooks.c */
bool espy_text_hook(struct espy_text *t, struct espy_walk *w, unsigned hook, const struct espy_value *v);
/* hook_notes.c: what stands behind a result: " (...)", or nothing. */
void espy_text_ret_hook(struct espy_text *t, unsigned hook);
/* hook_ioctl.c */
bool espy_text_ioctl_cmd(struct espy_text *t, struct espy_walk *w, const struct espy_value *v);
/* hook_bpf.c: classic BPF programs */
void espy_text_bpf_filter(struct espy_text *t, const struct espy_value *v, bool seccomp);
bool espy_text_bpf_insn(struct espy_text *t, const struct espy_value *v, bool seccomp);
/* hook_netlink.c */
bool espy_text_netlink(struct espy_text *t, struct espy_walk *w, const struct espy_value *v);

/* A comment: ` / * text * /` without the blanks inside the marks; what is between is written by the caller. */
static inline void espy_text_comment(struct espy_text *t)
{
	espy_buf__put(t->b, " /* ", 4);
}
static inline void espy_text_comment_end(struct espy_text *t)
{
	espy_buf__put(t->b, " */", 3);
}

/*
 * What -X makes of a number that has a text: the number under raw, the text under abbrev, the number and the text as a
 * comment under verbose. begin writes what stands before the text, and is false if the text is not wanted; end closes
 * it.
 */
static inline bool espy_text_begin_style(struct espy_text *t, uint64_t number)
{
	if (t->xlat == ESPY_XLAT_ABBREV)
		return true;
	espy_buf__hex(t->b, number);
	if (t->xlat == ESPY_XLAT_RAW)
		return false;
	espy_text_comment(t);
	return true;
}
static inline void espy_text_end_style(struct espy_text *t)
{
	if (t->xlat == ESPY_XLAT_VERBOSE)
		espy_text_comment_end(t);
}

#endif

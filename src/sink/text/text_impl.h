/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text's own state and the functions that its files share. */
#ifndef ESPY_SINK_TEXT_IMPL_H
#define ESPY_SINK_TEXT_IMPL_H

#include <string.h>
#include "base/num.h"
#include "event/tokens.h"
#include "sink/text/text.h"

struct espy_text {
	struct espy_buf *b;
	const struct espy_text_opts *o;
	const struct espy_image *img;
	struct espy_tokens tokens;
	enum espy_xlat xlat;
	unsigned manner;
	bool bare_unknown; /* a number without a name has no comment: it stands in one */
};

/* text_values.c: a leaf. Returns the index behind it and behind what stands in its text already. */
void espy_text_integer(struct espy_text *t, const struct espy_token *v);
void espy_text_string(struct espy_text *t, const struct espy_token *v);
uint32_t espy_text_bits(struct espy_text *t, uint32_t i);
/* What a descriptor is: </etc/passwd>. Nothing if the options do not ask for it. */
void espy_text_fd(struct espy_text *t, const struct espy_token *v);

/* text_context.c: the security context of a file, behind what leads to it. Nothing if the options do not ask for it. */
void espy_text_context(struct espy_text *t, const struct espy_token *v);

/* text_constants.c: tables. */
void espy_text_table(struct espy_text *t, const struct espy_token *v, uint64_t num);
void espy_text_put_enum(struct espy_text *t, const struct espy_table *tab, const struct espy_type *type, uint64_t num);
void espy_text_put_flags_abbrev(struct espy_text *t, const struct espy_table *tab, uint64_t whole);
/* text_packs.c */
void espy_text_put_pack(struct espy_text *t, const struct espy_table *tab, uint64_t num);

/* Puts a bar between names. *any: there is one already. */
static inline void espy_text_separate(struct espy_text *t, bool *any)
{
	if (*any)
		espy_buf__putc(t->b, '|');
	*any = true;
}

/* text_date.c: "2026-11-20T10:15:01+0000", with a fraction if it is not 0. */
void espy_text_date(struct espy_text *t, const struct espy_token *v);

/* text_signal.c: SIGINT or a number under the text's -X style; `INT` without the prefix in sets */
void espy_text_signum(struct espy_text *t, int64_t sig);
void espy_text_sigset(struct espy_text *t, const uint8_t *bits, size_t len);

/* A comment: ` / * text * /` without the blanks inside the marks; what is between is written by the caller. */
static inline void espy_text_comment(struct espy_text *t)
{
	espy_buf__put(t->b, " /* ", 4);
}
static inline void espy_text_comment_end(struct espy_text *t)
{
	espy_buf__put(t->b, " */", 3);
}
static inline void espy_text_put_comment_bytes(struct espy_text *t, const void *text, size_t len)
{
	espy_text_comment(t);
	espy_buf__put(t->b, text, len);
	espy_text_comment_end(t);
}
static inline void espy_text_put_comment(struct espy_text *t, const char *text)
{
	espy_text_put_comment_bytes(t, text, strlen(text));
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
/* As espy_text_begin_style(), of N bytes that have a text. */
static inline bool espy_text_begin_bytes_style(struct espy_text *t, const uint8_t *bytes, size_t n)
{
	if (t->xlat == ESPY_XLAT_ABBREV)
		return true;
	espy_buf__quote(t->b, bytes, n, ESPY_HEX_ALL, NULL, true);
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

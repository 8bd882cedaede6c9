/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tokens as text: what strace 7.2 writes between the parentheses and behind the equals sign. Knows no file and no live
 * process, and decodes nothing.
 */
#ifndef ESPY_SINK_TEXT_H
#define ESPY_SINK_TEXT_H

#include <stdbool.h>
#include "base/buf.h"
#include "base/quote.h"
#include "describe/call_view.h"
#include "event/decoder.h"

enum espy_xlat { ESPY_XLAT_ABBREV, ESPY_XLAT_RAW, ESPY_XLAT_VERBOSE }; /* -X */

struct espy_text_opts {
	unsigned str_limit;  /* -s; default 32 */
	enum espy_xlat xlat;
	enum espy_hex hex;
	bool arg_names;      /* -N */
	bool paths;	     /* -y */
	unsigned details;    /* -yy: of which kinds of files (enum espy_fd_text) */
	bool comms;	     /* -Y */
	bool pids;	     /* --decode-pids=pidns */
	unsigned contexts;   /* --secontext (enum espy_context_text) */
	unsigned column;     /* -a; default 40 */
	/* per call number, NULL = none/all as noted: */
	const uint64_t *abbrev;  /* abbreviated (NULL: all are) */
	const uint64_t *verbose; /* structures decoded (NULL: all are) */
	const uint64_t *raw;     /* arguments in hex (NULL: none are) */
};

/* Adds to *want what text with these options needs of a decoder. */
void espy_text__want(const struct espy_text_opts *o, struct espy_want *want);
/* The manner in which the options show a call of this number. */
enum espy_manner espy_text__manner(const struct espy_text_opts *o, uint32_t nr);

/*
 * Arguments, in one manner. first: nothing stands before them in the line; else they go on behind a comma, as the rest of a call
 * whose beginning was shown does.
 */
void espy_text__args(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_image *img, struct espy_tokens args,
		     unsigned manner, bool first);

/* "[bin_t]": a security context, as much as `how` (enum espy_context_text) asks for. expected: `len` bytes, NULL: not known. */
void espy_text__context(struct espy_buf *b, unsigned how, const char *actual, const uint8_t *expected, size_t len);

/* The value that token i begins, without its name, and what is said of it. */
void espy_text__value(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_image *img, struct espy_tokens tokens,
		      unsigned manner, uint32_t i);

/* From "= " on: value, error name and text, note. The caller has padded to the column; no newline, no -T. */
void espy_text__result(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_image *img,
		       struct espy_tokens result, unsigned manner);

/* What the observer has changed of the call, behind its result: " (INJECTED)". changed: of the call's view. */
void espy_text__changed(struct espy_buf *b, unsigned changed);

/* "{si_signo=SIGCHLD, si_code=...}"; info: tokens of espy_decoder__siginfo. */
void espy_text__siginfo(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_image *img,
			struct espy_tokens info);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a mark's format and the C types of its arguments give together: kinds and names of the arguments that are
 * shown. Used inside the process and outside, so it needs nothing of libc and trusts no byte of what it reads.
 */
#ifndef ESPY_AGENT_FORMAT_H
#define ESPY_AGENT_FORMAT_H

#include <linux/types.h>
#include <stddef.h>
#include "abi.h"

#define ESPY_FORMAT_ARGS 16u

struct espy_format_arg {
	__u8 kind;     /* enum espy_mark_arg */
	__u8 word;     /* which of the C arguments holds it */
	__u8 len_word; /* which holds its length or precision (`*`); ESPY_FORMAT_NONE: none */
	__u8 reserved;
	__u32 precision; /* %.8s: at most so many bytes; ~0: none */
	__u32 name_off;  /* "size=%d", "size: %d": the word before the conversion, in the format; len 0: none */
	__u32 name_len;
};
#define ESPY_FORMAT_NONE 0xffu

struct espy_format {
	__u8 nargs;
	struct espy_format_arg args[ESPY_FORMAT_ARGS];
};

/*
 * types, nwords: as in struct espy_mark. Arguments that the format does not mention are shown by type; conversions that
 * no argument is left for are not arguments. Never fails.
 */
void espy_format_parse(struct espy_format *f, const char *format, size_t len, __u64 types, unsigned int nwords);

/*
 * A comparison of an integer with a number that may have a fraction, as one with a whole number of the same result: `n < 1.5`
 * is `n < 2`. 0: *p (a DOUBLE, not AND) is an INT or UINT now; 1: every integer passes; -1: none does.
 */
int espy_mark_whole(struct espy_agent_pred *p);

/* Does "provider:name" of the mark `full` match a glob of `*` and `?`? A pattern without ':' is matched with the name alone. */
int espy_mark_match(const char *pattern, const char *full, size_t len);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The format of a mark ("id=%d path=%s"): its conversions one after the other, with the names that it gives to arguments;
 * and names of marks against patterns. The agent, the sources and the renderer all read formats with this, so that an
 * argument has one name everywhere. Used inside other people's processes too: no libc, and no byte is trusted.
 */
#ifndef ESPY_RECORD_MARK_FORMAT_H
#define ESPY_RECORD_MARK_FORMAT_H

#include <linux/types.h>
#include <stddef.h>

#define ESPY_CONV_NONE (~0u) /* of width and precision: not given */

/* One conversion that shows an argument; "%%" and "%m" show none, and are stepped over. */
struct espy_mark_conv {
	size_t text;     /* where the text before it begins: behind the conversion before */
	size_t percent;  /* where it begins itself */
	size_t end;      /* where it ends */
	size_t name_off; /* the word before it: "size=%d", "size: %d", "size %d", "path=\"%s\"", "mask=0x%lx" */
	size_t name_len; /* 0: none */
	char letter;     /* d, s, p, ... */
	__u8 minus, plus, blank, alternate, zeros;
	__u8 star_width, star_precision;
	__u8 hex_prefix; /* "0x" stands in front of it */
	__s8 narrow;     /* log2 of the size that h (1) or hh (0) asks for; -1: neither */
	__u32 width, precision; /* at most 1 << 20 (and 9 more) or ESPY_CONV_NONE, also if `*` */
};

/*
 * The next conversion at or behind *at of a format of at most len bytes (it may end before by a NUL); *at is then behind
 * it. 0: there is none, or the format ends in the middle of it. Begin with *at = 0.
 */
int espy_mark_conv__next(struct espy_mark_conv *c, const char *format, size_t len, size_t *at);

/* Which argument "arg0", "arg12" means, of nargs; -1: none. */
int espy_mark_arg_number(const char *name, size_t len, unsigned nargs);

/*
 * Does "provider:name" match a glob of `*` and `?`? A pattern without ':' is matched with the name alone, and if it
 * has a '_' with "provider_name" as well, which is what stands in the source.
 */
int espy_mark_glob(const char *pattern, const char *provider, size_t provider_len, const char *name, size_t name_len);

#endif

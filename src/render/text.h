/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The text renderer: a visitor that writes what strace 7.2 writes. Knows no file and no live
 * process; what is not in the captured bytes (what a descriptor is, the name of an interface, of a
 * process) it asks of a resolver that the session gives it.
 */
#ifndef ESPY_RENDER_TEXT_H
#define ESPY_RENDER_TEXT_H

#include <stdbool.h>
#include "decode/decode.h"
#include "render/buf.h"

enum espy_xlat { ESPY_XLAT_ABBREV, ESPY_XLAT_RAW, ESPY_XLAT_VERBOSE }; /* -X */
enum espy_hex { ESPY_HEX_NONE, ESPY_HEX_NON_ASCII, ESPY_HEX_NON_ASCII_CHARS, ESPY_HEX_ALL }; /* --strings-in-hex, -x, -xx */

/* Each writes into b and returns true, or writes nothing and returns false if it does not know. NULL: nothing is known. */
struct espy_resolver {
	void *ctx;
	/* "</etc/passwd>" with -y, with -yy more; fd may be AT_FDCWD. The brackets are part of it. */
	bool (*fd)(void *ctx, uint32_t tid, int fd, struct espy_buf *b);
	bool (*pid)(void *ctx, uint32_t pid, struct espy_buf *b); /* "<comm>", -Y */
	bool (*ifname)(void *ctx, uint32_t index, struct espy_buf *b); /* lo */
	/* protocol (NETLINK_ROUTE, ...) of a netlink socket; false if fd is none */
	bool (*netlink_proto)(void *ctx, uint32_t tid, int fd, unsigned *proto);
	/* seconds east of Greenwich at a time since 1970; NULL: as it is here */
	int32_t (*utc_offset)(void *ctx, int64_t sec);
};

struct espy_text_opts {
	unsigned str_limit;  /* -s; default 32 */
	enum espy_xlat xlat;
	enum espy_hex hex;
	bool arg_names;      /* -N */
	unsigned column;     /* -a; default 40 */
	/* per call number, NULL = none/all as noted: */
	const uint64_t *abbrev;  /* abbreviated (NULL: all are) */
	const uint64_t *verbose; /* structures decoded (NULL: all are) */
	const uint64_t *raw;     /* arguments in hex (NULL: none are) */
	const struct espy_resolver *resolver; /* may be NULL */
};

/*
 * Arguments. A call is written whole (`name(a, b`, `)`), or in two parts: the enter part stops before
 * the first argument that is known only at exit, the exit part goes on from there. `shown` carries
 * between the parts where the first one stopped (opaque; not 0 if it has written anything).
 */
enum espy_text_part { ESPY_TEXT_WHOLE, ESPY_TEXT_ENTER, ESPY_TEXT_EXIT };
void espy_text__args(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_call_view *v,
		     enum espy_text_part part, unsigned *shown);

/* From "= " on: value, error name and text, note. The caller has padded to the column; no newline, no -T. */
void espy_text__result(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_call_view *v);

/* "{si_signo=SIGCHLD, si_code=...}" by the description's struct siginfo. */
void espy_text__siginfo(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_image *img,
			const uint8_t *info, size_t info_sz);

/* SIGINT, SIGRT_2, or a number. */
void espy_text__signal(struct espy_buf *b, unsigned sig);

/* ENOENT and "No such file or directory" for 1..4095, with the kernel-internal ones (ERESTARTSYS); NULL if unknown. */
const char *espy_errno_name(unsigned err);
const char *espy_errno_text(unsigned err);

/*
 * A string as strace quotes it: escapes as -x says, quotes around, no "..." behind. Never lets a
 * control character through. For names in angle brackets: extra = "<>" are escaped in octal as well.
 */
void espy_text__quote(struct espy_buf *b, const uint8_t *s, size_t n, enum espy_hex hex, const char *extra, bool quotes);

#endif

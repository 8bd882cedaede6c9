/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The filter: what -e, -P, --trace-fds and their long forms select. Parsing needs an image, since
 * call names, classes and regular expressions are looked up in it.
 */
#ifndef ESPY_FILTER_H
#define ESPY_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include "source/source.h"

struct espy_syscall_set {
	uint64_t bits[ESPY_ABI_CNT][ESPY_MAX_SYSCALLS / 64];
};
static inline bool espy_syscall_set__has(const struct espy_syscall_set *s, enum espy_abi abi, uint32_t nr)
{
	return nr < ESPY_MAX_SYSCALLS && (s->bits[abi][nr / 64] >> (nr % 64) & 1);
}

struct espy_fd_set { /* numbers, possibly negated: !9 */
	bool given, negated;
	int *fds;
	size_t fd_cnt;
};

struct espy_filter {
	struct espy_syscall_set trace, abbrev, verbose, raw; /* -e trace=, ... ; defaults: all, all, all, none */
	bool trace_given;				     /* -e trace= was given */
	bool trace_unknown;		/* numbers beyond the tables are traced too (default, and with `all`) */
	uint64_t signals;		/* bit n - 1: signal n is shown; default all */
	struct espy_fd_set read, write; /* -e read=, write=: dumps */
	struct espy_fd_set fds;		/* --trace-fds */
	char **paths;
	size_t path_cnt; /* -P, resolved */
};

/* Defaults: everything is traced, abbreviated and decoded. */
void espy_filter__init(struct espy_filter *f, const struct espy_image *const images[ESPY_ABI_CNT]);
/*
 * One expression after -e: `trace=...`, `t=`, `open,close`, `!x`, `signal=`, `raw=`... Qualifiers
 * that do not select (status=, quiet=, decode-fds=) are the command line's. 0; -EINVAL with the
 * message in err ("invalid system call 'foo'").
 */
int espy_filter__parse(struct espy_filter *f, const struct espy_image *const images[ESPY_ABI_CNT], const char *expr,
		       char *err, size_t err_sz);
int espy_filter__add_path(struct espy_filter *f, const char *path);
void espy_filter__free(struct espy_filter *f);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The filter: the selection of -e, -P, --trace-fds and their long forms. The parser looks up names, classes and regular
 * expressions in images.
 */
#ifndef ESPY_FILTER_H
#define ESPY_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include "source/probes.h"
#include "source/source.h"
#include "source/wanted_marks.h"

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
	bool io_uring;					     /* -e trace= names operations of io_uring: NAME@io_uring */
	bool trace_unknown;		/* numbers beyond the tables are traced too (default, and with `all`) */
	uint64_t signals;		/* bit n - 1: signal n is shown; default all */
	struct espy_fd_set read, write; /* -e read=, write=: dumps */
	struct espy_fd_set fds;		/* --trace-fds */
	char **paths;
	size_t path_cnt; /* -P, resolved */
	bool paths_as_written;	     /* a relative path is none of them, nor is the file of a result */
	struct espy_tamper *tampers; /* -e inject=, fault= (source/tamper.h), in the order given */
	size_t tamper_cnt;
	struct espy_mark_rules marks; /* -m */
	struct espy_probe_rules probes; /* -u */
	unsigned status;     /* -z, -Z, -e status=: how calls may have ended, enum espy_status */
	pid_t *tasks;	     /* only events of these tasks, and of the tasks of these processes; none: of all */
	size_t task_cnt;
	char **where;	     /* --where: conditions that must all hold (filter/condition.h) */
	size_t where_cnt;
	unsigned users;	     /* the caller, and engines; with engines it is not changed any more */
};

/* Sets the defaults: everything is traced, abbreviated and decoded. */
void espy_filter__init(struct espy_filter *f);
/*
 * Reads one expression after -e: `trace=...`, `t=`, `open,close`, `!x`, `signal=`, `raw=`... Qualifiers that do not
 * select (status=, quiet=, decode-fds=) belong to the command line. Returns 0; -EINVAL with the message in err ("invalid
 * system call 'foo'").
 */
int espy_filter__parse(struct espy_filter *f, const struct espy_image *const images[ESPY_ABI_CNT], const char *expr,
		       char *err, size_t err_sz);
/* Reads a whole word of digits. false: it is none, or more than max. */
bool espy_filter_number(const char *s, size_t len, unsigned long max, unsigned long *out);
/* Finds the number of a signal as users write it: USR1, SIGUSR1, usr1, 10, RTMIN, RT_3. false: there is none of that name. */
bool espy_filter_signal(const char *s, size_t len, unsigned long *sig);
int espy_filter__add_path(struct espy_filter *f, const char *path);
void espy_filter__free(struct espy_filter *f);

#endif

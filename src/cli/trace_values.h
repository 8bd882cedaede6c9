/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Readers for the values of options. None prints. */
#ifndef ESPY_CLI_TRACE_VALUES_H
#define ESPY_CLI_TRACE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "cli/trace_command.h"

struct espy_word {
	const char *word; /* NULL ends the table */
	int value;
};

enum { ESPY_PIDS_COMM = 1, ESPY_PIDS_NS = 2 };

extern const struct espy_word espy_words_status[], espy_words_quiet[], espy_words_fds[], espy_words_pids[],
	espy_words_secontext[], espy_words_hex[], espy_words_xlat[], espy_words_precision[], espy_words_time[],
	espy_words_source[], espy_words_interruptible[], espy_words_rings[], espy_words_lossless[],
	espy_words_daemonize[], espy_words_color[], espy_words_column[];

/* One word, s[0..len); - and _ are the same. */
bool espy_word__find(const struct espy_word *table, const char *s, size_t len, int *value);
/* A set, values as bits: "a,b", "!a", "all", "none". -EINVAL and the bad word. */
int espy_word__set(const struct espy_word *table, const char *s, unsigned *set, char *bad, size_t bad_sz);
/* A decimal number without sign, at most max. */
bool espy_value__number(const char *s, unsigned long max, unsigned long *out);
/* 64k, 8M, 1G, or bytes; at most 1 TiB. */
bool espy_value__bytes(const char *s, size_t *out);
/* 5, 5us, 1.5ms, 3s, 200ns, in microseconds. */
bool espy_value__microseconds(const char *s, double *us);
/* "1, 2 3": appended to the list. -EINVAL and the bad word, -ENOMEM. */
int espy_value__pids(const char *s, pid_t **pids, size_t *cnt, char *bad, size_t bad_sz);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How far two words are from each other: for messages that say what was perhaps meant. */
#ifndef ESPY_BASE_EDITS_H
#define ESPY_BASE_EDITS_H

#include <stddef.h>

#define ESPY_EDITS_MAX 96 /* words that are longer are far from any other */

/* Edits (insert, delete, replace, swap of neighbours) that make b of a; more than limit counts as limit + 1. */
unsigned espy_edits(const char *a, const char *b, unsigned limit);

/* The nearest of the words that are offered, if it is so near that a slip of the fingers explains the difference. */
struct espy_nearest {
	char wanted[ESPY_EDITS_MAX + 1];
	unsigned limit;
	const char *word; /* the nearest so far; NULL: none is near. It is not copied */
};
void espy_nearest__begin(struct espy_nearest *n, const char *wanted, size_t len);
void espy_nearest__offer(struct espy_nearest *n, const char *word);

#define ESPY_HINT_MAX 128
/* "; did you mean 'WORD'?", or "" if none is near. Returns text. */
const char *espy_nearest__hint(const struct espy_nearest *n, char text[ESPY_HINT_MAX]);

#endif

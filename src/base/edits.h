/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How far two words are from each other: for messages that say what was perhaps meant. */
#ifndef ESPY_BASE_EDITS_H
#define ESPY_BASE_EDITS_H

#define ESPY_EDITS_MAX 96 /* words that are longer are far from any other */

/* Edits (insert, delete, replace, swap of neighbours) that make b of a; more than limit counts as limit + 1. */
unsigned espy_edits(const char *a, const char *b, unsigned limit);

#endif

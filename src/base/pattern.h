/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names, and patterns of names, as users write them: `*` stands for any bytes, `?` for one. */
#ifndef ESPY_BASE_PATTERN_H
#define ESPY_BASE_PATTERN_H

#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>

/* Tells whether the name fits. One with brackets, like operator[], is a pattern only if it has `*` or `?`, too. */
static inline bool espy_fits(const char *pattern, const char *name)
{
	return strpbrk(pattern, "*?") ? !fnmatch(pattern, name, 0) : !strcmp(pattern, name);
}

/* Tells whether the bytes [at, at + len) are the word. */
static inline bool espy_is_word(const char *at, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(at, word, len);
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Strings of foreign origin as text that is safe on a terminal. */
#ifndef ESPY_BASE_QUOTE_H
#define ESPY_BASE_QUOTE_H

#include "base/buf.h"

enum espy_hex { ESPY_HEX_NONE, ESPY_HEX_NON_ASCII, ESPY_HEX_NON_ASCII_CHARS, ESPY_HEX_ALL }; /* --strings-in-hex, -x, -xx */

/*
 * A string as strace quotes it: escapes as -x says, quotes around, no "..." behind. Never lets a
 * control character through. For names in angle brackets: extra = "<>" are escaped in octal as well.
 */
void espy_buf__quote(struct espy_buf *b, const uint8_t *s, size_t n, enum espy_hex hex, const char *extra, bool quotes);

/* Tells whether -x has the whole string in hexadecimal. */
bool espy_quote__in_hex(const uint8_t *s, size_t n, enum espy_hex hex);

/* The same of foreign text that ends with NUL, without quotes: so that it can do nothing to a terminal. */
static inline void espy_buf__escaped(struct espy_buf *b, const char *s)
{
	espy_buf__quote(b, (const uint8_t *)s, strlen(s), ESPY_HEX_NONE, NULL, false);
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Strings of JSON. */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include "base/plain_bytes.h"

/* Bytes that do not stand for themselves. */
static const bool special[256] = { [0 ... 0x1f] = true, ['"'] = true, ['\\'] = true, [0x7f ... 0xff] = true };

/* Copies the plain bytes at s, which has n. Returns their number. May write up to eight places behind them. */
static inline size_t copy_plain(char *to, const uint8_t *s, size_t n)
{
	size_t i = 0;
	uint64_t x;

	for (; n - i >= sizeof(x); i += sizeof(x)) {
		memcpy(&x, s + i, sizeof(x));
		memcpy(to + i, &x, sizeof(x));
		if (espy_any_special(x))
			break;
	}
	for (; i < n && !special[s[i]]; i++)
		to[i] = (char)s[i];
	return i;
}

/* Returns the length of the UTF-8 sequence at s, which has n bytes, and its code point. 0: it is none (RFC 3629). */
static unsigned sequence(const uint8_t *s, size_t n, uint32_t *code)
{
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned len = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
	uint32_t c = s[0] & (0x7fu >> len);

	if (!len || len > n)
		return 0;
	for (unsigned i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*code = c;
	return len;
}

/* Most bytes that one byte becomes. */
#define ESCAPE_MAX 6u

static inline char *put_escape(char *at, uint32_t c)
{
	static const char letters[] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"',
					['\\'] = '\\' };

	if (c < sizeof(letters) && letters[c]) {
		at[0] = '\\';
		at[1] = letters[c];
		return at + 2;
	}
	memcpy(at, "\\u00", 4);
	at[4] = "0123456789abcdef"[c >> 4];
	at[5] = "0123456789abcdef"[c & 15];
	return at + ESCAPE_MAX;
}

/* Puts the bytes at s, which has n, that are not plain. *len: their number; 0: no UTF-8, and nothing is put. */
static char *put_special(char *at, const uint8_t *s, size_t n, unsigned *len)
{
	uint32_t code = s[0];

	*len = code < 0x80 ? 1 : sequence(s, n, &code);
	if (!*len)
		return at;
	if (code < 0xa0)
		return put_escape(at, code);
	memcpy(at, s, *len);
	return at + *len;
}

/* So many bytes of a string are dealt with at a time. */
#define PIECE 1024u

/* Puts a string. Returns false if a byte is no UTF-8: it replaces such a byte, or ends the string there. */
static bool put_string(struct espy_buf *b, const uint8_t *s, size_t n, bool replace)
{
	bool whole = true;
	size_t i = 0;

	espy_buf__putc(b, '"');
	do {
		const size_t end = n - i < PIECE ? n : i + PIECE;

		if (!espy_buf__room(b, ESCAPE_MAX * PIECE + 16))
			return whole;
		char *at = b->data + b->len;
		while (i < end) {
			const size_t plain = copy_plain(at, s + i, end - i);
			unsigned len;

			at += plain;
			i += plain;
			if (i >= end)
				break;
			at = put_special(at, s + i, n - i, &len);
			if (!len) {
				whole = false;
				if (!replace) {
					n = i;
					break;
				}
				memcpy(at, "\\ufffd", ESCAPE_MAX);
				at += ESCAPE_MAX;
				len = 1;
			}
			i += len;
		}
		b->len = (size_t)(at - b->data);
	} while (i < n);
	espy_buf__putc(b, '"');
	return whole;
}

void espy_json__text(struct espy_json *j, const void *s, size_t n)
{
	espy_json__separate(j);
	put_string(j->b, s, n, true);
}

void espy_json__str(struct espy_json *j, const char *s)
{
	espy_json__text(j, s, strlen(s));
}

/* A longer key is written as any string. */
#define KEY_BYTES 48u

void espy_json__key_text(struct espy_json *j, const char *key)
{
	struct espy_buf *b = j->b;
	size_t n = 0;

	if (!espy_buf__room(b, KEY_BYTES + 4))
		return;
	char *at = b->data + b->len;
	if (j->more)
		*at++ = ',';
	*at++ = '"';
	/* The NUL at its end is special, too. */
	for (; n < KEY_BYTES && !special[(uint8_t)key[n]]; n++)
		at[n] = key[n];
	if (n < KEY_BYTES && !key[n]) {
		memcpy(at + n, "\":", 2);
		b->len = (size_t)(at + n + 2 - b->data);
	} else {
		espy_json__str(j, key);
		espy_buf__putc(b, ':');
	}
	j->more = false;
}

bool espy_json__utf8(struct espy_json *j, const void *s, size_t n)
{
	const size_t before = j->b->len;
	const bool more = j->more;

	espy_json__separate(j);
	if (put_string(j->b, s, n, false))
		return true;
	j->b->len = before;
	j->more = more;
	return false;
}

void espy_json__base64(struct espy_json *j, const void *s, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *in = s;

	espy_json__separate(j);
	if (!espy_buf__room(j->b, (n + 2) / 3 * 4 + 2))
		return;
	char *at = j->b->data + j->b->len;
	*at++ = '"';
	for (size_t i = 0; i < n; i += 3) {
		const size_t left = n - i;
		const uint32_t x = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) | (left > 2 ? in[i + 2] : 0);

		*at++ = digits[x >> 18];
		*at++ = digits[x >> 12 & 63];
		*at++ = left > 1 ? digits[x >> 6 & 63] : '=';
		*at++ = left > 2 ? digits[x & 63] : '=';
	}
	*at++ = '"';
	j->b->len = (size_t)(at - j->b->data);
}

void espy_json__bytes(struct espy_json *j, const void *s, size_t n)
{
	if (espy_json__utf8(j, s, n))
		return;
	espy_json__open(j, '{');
	espy_json__key(j, "base64");
	espy_json__base64(j, s, n);
	espy_json__close(j, '}');
}

void espy_json__double(struct espy_json *j, double x)
{
	char text[40];
	bool pointed = false;

	if (!isfinite(x)) {
		espy_json__null(j);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, x);
		if (strtod(text, NULL) == x)
			break;
	}
	espy_json__separate(j);
	for (const char *c = text; *c; c++) {
		const bool point = !strchr("0123456789+-e", *c);

		/* The host program's locale decides the character of the point, and its number of bytes. */
		if (!point)
			espy_buf__putc(j->b, *c);
		else if (!pointed)
			espy_buf__putc(j->b, '.');
		pointed |= point;
	}
}

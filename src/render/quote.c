/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Strings as they are quoted in a line. Everything that a terminal could take for a command becomes
 * an escape sequence in text, whatever the mode.
 */
#include "render/num.h"
#include "render/text.h"

enum { PLAIN, ESCAPED, SPACE, OTHER };

/* '\t' to '\r' */
static const char space_escapes[] = "tnvfr";

static const uint8_t classes[256] = {
	[0 ... 0x08] = OTHER, ['\t' ... '\r'] = SPACE, [0x0e ... 0x1f] = OTHER,
	['"'] = ESCAPED, ['\\'] = ESCAPED, [0x7f ... 0xff] = OTHER,
};

static inline unsigned char_class(uint8_t c)
{
	return classes[c];
}

static bool has_other(const uint8_t *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (char_class(s[i]) == OTHER)
			return true;
	return false;
}

static void put_hex_byte(struct espy_buf *b, uint8_t c)
{
	const char esc[4] = { '\\', 'x', "0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15] };
	espy_buf__put(b, esc, 4);
}

/* The shortest octal escape, unless the next byte would be read as part of it. */
static void put_octal_byte(struct espy_buf *b, uint8_t c, bool digit_follows)
{
	char esc[4] = { '\\' };
	unsigned n = 1;

	if (digit_follows || c > 077)
		esc[n++] = (char)('0' + (c >> 6));
	if (digit_follows || c > 07)
		esc[n++] = (char)('0' + (c >> 3 & 7));
	esc[n++] = (char)('0' + (c & 7));
	espy_buf__put(b, esc, n);
}

void espy_text__quote(struct espy_buf *b, const uint8_t *s, size_t n, enum espy_hex hex, const char *extra, bool quotes)
{
	bool all_hex = hex == ESPY_HEX_ALL || (hex == ESPY_HEX_NON_ASCII && has_other(s, n));

	if (n > (SIZE_MAX - 2) / 4 || !espy_buf__room(b, n * 4 + 2))
		return;
	if (quotes)
		b->data[b->len++] = '"';
	for (size_t i = 0; i < n;) {
		if (all_hex) {
			put_hex_byte(b, s[i++]);
			continue;
		}
		size_t run = i;
		while (run < n && char_class(s[run]) == PLAIN && !(extra && strchr(extra, s[run])))
			run++;
		if (run > i) {
			memcpy(b->data + b->len, s + i, run - i);
			b->len += run - i;
			i = run;
			continue;
		}
		uint8_t c = s[i++];
		bool digit = i < n && s[i] >= '0' && s[i] <= '7';
		if (char_class(c) == ESCAPED) {
			b->data[b->len++] = '\\';
			b->data[b->len++] = (char)c;
		} else if (char_class(c) == SPACE) {
			b->data[b->len++] = '\\';
			b->data[b->len++] = space_escapes[c - '\t'];
		} else if (hex == ESPY_HEX_NON_ASCII_CHARS && char_class(c) == OTHER) {
			put_hex_byte(b, c);
		} else {
			put_octal_byte(b, c, digit);
		}
	}
	if (quotes)
		espy_buf__putc(b, '"');
}

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

static bool has_other(const uint8_t *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (classes[s[i]] == OTHER)
			return true;
	return false;
}

/* Room for each is the caller's: four characters a byte, checked once a string. */
static inline char *put_hex_byte(char *at, uint8_t c)
{
	memcpy(at, "\\x", 2);
	at[2] = "0123456789abcdef"[c >> 4];
	at[3] = "0123456789abcdef"[c & 15];
	return at + 4;
}

/* The shortest octal escape, unless the next byte would be read as part of it. */
static inline char *put_octal_byte(char *at, uint8_t c, bool digit_follows)
{
	*at++ = '\\';
	if (digit_follows || c > 077)
		*at++ = (char)('0' + (c >> 6));
	if (digit_follows || c > 07)
		*at++ = (char)('0' + (c >> 3 & 7));
	*at++ = (char)('0' + (c & 7));
	return at;
}

void espy_text__quote(struct espy_buf *b, const uint8_t *s, size_t n, enum espy_hex hex, const char *extra, bool quotes)
{
	bool all_hex = hex == ESPY_HEX_ALL || (hex == ESPY_HEX_NON_ASCII && has_other(s, n));

	if (n > (SIZE_MAX - 2) / 4 || !espy_buf__room(b, n * 4 + 2))
		return;
	char *at = b->data + b->len;
	if (quotes)
		*at++ = '"';
	for (size_t i = 0; i < n;) {
		const uint8_t c = s[i++];
		const unsigned class = all_hex ? OTHER : classes[c];

		if (class == PLAIN && !(extra && strchr(extra, c))) {
			*at++ = (char)c;
		} else if (class == ESCAPED) {
			*at++ = '\\';
			*at++ = (char)c;
		} else if (class == SPACE) {
			*at++ = '\\';
			*at++ = space_escapes[c - '\t'];
		} else if (all_hex || (hex == ESPY_HEX_NON_ASCII_CHARS && class == OTHER)) {
			at = put_hex_byte(at, c);
		} else {
			at = put_octal_byte(at, c, i < n && s[i] >= '0' && s[i] <= '7');
		}
	}
	if (quotes)
		*at++ = '"';
	b->len = (size_t)(at - b->data);
}

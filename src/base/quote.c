/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Strings as they are quoted in a line. Everything that a terminal could take for a command becomes
 * an escape sequence in text, whatever the mode.
 */
#include "base/quote.h"

#include <endian.h>
#include "base/plain_bytes.h"

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

bool espy_quote__in_hex(const uint8_t *s, size_t n, enum espy_hex hex)
{
	return hex == ESPY_HEX_ALL || (hex == ESPY_HEX_NON_ASCII && has_other(s, n));
}

/* Puts a byte in hexadecimal. The caller makes room, four characters a byte, once a string. */
static inline char *put_hex_byte(char *at, uint8_t c)
{
	memcpy(at, "\\x", 2);
	at[2] = "0123456789abcdef"[c >> 4];
	at[3] = "0123456789abcdef"[c & 15];
	return at + 4;
}

/* Puts the shortest octal escape, unless the next byte would read as part of it. */
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

/* Puts one byte that is not plain. */
static inline char *put_escape(char *at, uint8_t c, enum espy_hex hex, bool digit_follows)
{
	const unsigned class = classes[c];

	if (class == ESCAPED || class == SPACE) {
		*at++ = '\\';
		*at++ = class == ESCAPED ? (char)c : space_escapes[c - '\t'];
		return at;
	}
	if (hex == ESPY_HEX_NON_ASCII_CHARS && class == OTHER)
		return put_hex_byte(at, c);
	return put_octal_byte(at, c, digit_follows);
}

/* The text of each byte in the ordinary form: up to four characters, the first one lowest. */
#define TWO(a, b) ((uint32_t)(a) | (uint32_t)(b) << 8)
#define OCTAL(c)                                                                                                        \
	((c) < 010  ? TWO('\\', '0' + (c))                                                                              \
	 : (c) < 0100 ? TWO('\\', '0' + ((c) >> 3)) | (uint32_t)('0' + ((c)&7)) << 16                                   \
		      : TWO('\\', '0' + ((c) >> 6)) | TWO('0' + ((c) >> 3 & 7), '0' + ((c)&7)) << 16)
#define CHARS(c)                                                                                                        \
	((c) == '\t'		     ? TWO('\\', 't')                                                                   \
	 : (c) == '\n'		     ? TWO('\\', 'n')                                                                   \
	 : (c) == '\v'		     ? TWO('\\', 'v')                                                                   \
	 : (c) == '\f'		     ? TWO('\\', 'f')                                                                   \
	 : (c) == '\r'		     ? TWO('\\', 'r')                                                                   \
	 : (c) == '"' || (c) == '\\' ? TWO('\\', c)                                                                     \
	 : (c) < 0x20 || (c) >= 0x7f ? OCTAL(c)                                                                         \
				     : (uint32_t)(c))
#define LENGTH(c) (CHARS(c) < 0x100 ? 1 : CHARS(c) < 0x10000 ? 2 : CHARS(c) < 0x1000000 ? 3 : 4)
#define EACH4(f, c) f(c), f((c) + 1), f((c) + 2), f((c) + 3)
#define EACH16(f, c) EACH4(f, c), EACH4(f, (c) + 4), EACH4(f, (c) + 8), EACH4(f, (c) + 12)
#define EACH64(f, c) EACH16(f, c), EACH16(f, (c) + 16), EACH16(f, (c) + 32), EACH16(f, (c) + 48)
#define EACH256(f) EACH64(f, 0), EACH64(f, 64), EACH64(f, 128), EACH64(f, 192)
static const uint32_t chars[256] = { EACH256(CHARS) };
static const uint8_t lengths[256] = { EACH256(LENGTH) };

/* Puts bytes in the ordinary form, eight at once. The caller makes room for four characters a byte. */
static char *put_ordinary(char *at, const uint8_t *s, size_t n)
{
	size_t i = 0;
	uint64_t x;

	for (; n - i >= sizeof(x); i += sizeof(x), at += sizeof(x)) {
		memcpy(&x, s + i, sizeof(x));
		if (espy_any_special(x))
			break;
		memcpy(at, &x, sizeof(x));
	}
	for (; i < n; i++) {
		const uint8_t c = s[i];
		const uint32_t four = htole32(chars[c]);

		if (classes[c] == OTHER && i + 1 < n && s[i + 1] >= '0' && s[i + 1] <= '7') {
			at = put_octal_byte(at, c, true);
			continue;
		}
		memcpy(at, &four, sizeof(four));
		at += lengths[c];
	}
	return at;
}

void espy_buf__quote(struct espy_buf *b, const uint8_t *s, size_t n, enum espy_hex hex, const char *extra, bool quotes)
{
	if (n > (SIZE_MAX - 2) / 4 || !espy_buf__room(b, n * 4 + 2))
		return;
	char *at = b->data + b->len;
	size_t i = 0;

	if (quotes)
		*at++ = '"';
	if (hex == ESPY_HEX_NONE && !extra) {
		at = put_ordinary(at, s, n);
		i = n;
	} else if (espy_quote__in_hex(s, n, hex)) {
		while (i < n)
			at = put_hex_byte(at, s[i++]);
	}
	while (i < n) {
		const uint8_t c = s[i++];

		if (classes[c] == PLAIN && !(extra && strchr(extra, c)))
			*at++ = (char)c;
		else
			at = put_escape(at, c, hex, i < n && s[i] >= '0' && s[i] <= '7');
	}
	if (quotes)
		*at++ = '"';
	b->len = (size_t)(at - b->data);
}

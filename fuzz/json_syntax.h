/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Is a text one value of JSON (RFC 8259), in UTF-8 and without control characters? A second opinion on base/json.h. */
#ifndef FUZZ_JSON_SYNTAX_H
#define FUZZ_JSON_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FUZZ_JSON_DEPTH 512u

static inline bool fuzz_json_value(const char **at, const char *end, unsigned depth);

static inline bool fuzz_json_is(const char **at, const char *end, const char *text)
{
	const size_t n = strlen(text);

	if ((size_t)(end - *at) < n || memcmp(*at, text, n))
		return false;
	*at += n;
	return true;
}

static inline bool fuzz_json_string(const char **at, const char *end)
{
	if (!fuzz_json_is(at, end, "\""))
		return false;
	while (*at < end && **at != '"') {
		const uint8_t c = (uint8_t)*(*at)++;
		unsigned more = c < 0x80 ? 0 : c < 0xc2 ? 9 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : 9;

		if (c < 0x20 || c == 0x7f || more == 9)
			return false;
		if (c == '\\') {
			if (*at == end)
				return false;
			const char e = *(*at)++;
			if (!strchr("\"\\/bfnrtu", e) || !e)
				return false;
			for (unsigned i = 0; e == 'u' && i < 4; i++)
				if (*at == end || !strchr("0123456789abcdef", *(*at)++))
					return false;
		}
		for (; more; more--)
			if (*at == end || (*(*at)++ & 0xc0) != 0x80)
				return false;
	}
	return fuzz_json_is(at, end, "\"");
}

static inline bool fuzz_json_number(const char **at, const char *end)
{
	const char *const from = *at;

	while (*at < end && strchr("0123456789+-.e", **at) && **at)
		++*at;
	return *at > from;
}

/* What stands between brackets: values with commas between; of an object each behind its key. */
static inline bool fuzz_json_list(const char **at, const char *end, unsigned depth, bool object)
{
	const char *const close = object ? "}" : "]";

	++*at;
	if (fuzz_json_is(at, end, close))
		return true;
	do {
		if (object && (!fuzz_json_string(at, end) || !fuzz_json_is(at, end, ":")))
			return false;
		if (!fuzz_json_value(at, end, depth + 1))
			return false;
	} while (fuzz_json_is(at, end, ","));
	return fuzz_json_is(at, end, close);
}

static inline bool fuzz_json_value(const char **at, const char *end, unsigned depth)
{
	if (*at == end || depth > FUZZ_JSON_DEPTH)
		return false;
	switch (**at) {
	case '{':
		return fuzz_json_list(at, end, depth, true);
	case '[':
		return fuzz_json_list(at, end, depth, false);
	case '"':
		return fuzz_json_string(at, end);
	case 'n':
		return fuzz_json_is(at, end, "null");
	case 't':
		return fuzz_json_is(at, end, "true");
	case 'f':
		return fuzz_json_is(at, end, "false");
	default:
		return fuzz_json_number(at, end);
	}
}

static inline bool fuzz_json_is_value(const char *text, size_t len)
{
	const char *at = text, *const end = text + len;

	return fuzz_json_value(&at, end, 0) && at == end;
}

#endif

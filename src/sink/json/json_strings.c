/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Leaves: strings and bytes. docs/json.md tells the look of each: change both. */
#include <arpa/inet.h>
#include <string.h>
#include "event/token_values.h"
#include "sink/json/json_impl.h"

/* Returns the length without an unfinished character at the end, where the string was cut. */
static size_t whole_characters(const uint8_t *s, size_t n)
{
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		const uint8_t c = s[n - back];
		const unsigned len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

		if ((c & 0xc0) != 0x80)
			return len > back ? n - back : n;
	}
	return n;
}

/* Puts bytes as text or as base64, and their number in the program if it is larger. */
void espy_json_part(struct espy_json *j, const uint8_t *s, size_t n, bool more, uint64_t size)
{
	const size_t before = j->b->len, whole = more ? whole_characters(s, n) : n;

	ESPY_JSON_BEGIN(j, "bytes");
	ESPY_JSON_KEY(j, "text");
	if (!espy_json__utf8(j, s, whole)) {
		j->b->len = before;
		ESPY_JSON_LITERAL(j, "{\"$\":\"bytes\"");
		ESPY_JSON_KEY(j, "base64");
		espy_json__base64(j, s, n);
	}
	if (more) {
		ESPY_JSON_LITERAL(j, ",\"cut\":true");
		if (size != UINT64_MAX && size > n) {
			ESPY_JSON_KEY(j, "size");
			espy_json__u64(j, size);
		}
	}
	espy_json_end(j);
}

static void put_digest(struct espy_json *j, const uint8_t *s, size_t n, bool more)
{
	ESPY_JSON_BEGIN(j, "bytes");
	ESPY_JSON_KEY(j, "base64");
	espy_json__base64(j, s, n);
	if (more)
		ESPY_JSON_LITERAL(j, ",\"cut\":true");
	espy_json_end(j);
}

/* Puts addresses and identifiers as they are commonly written. */
static void put_unit(struct espy_json *j, const struct espy_token *v)
{
	char text[INET6_ADDRSTRLEN];

	if (v->fmt == ESPY_FMT_SUNPATH) {
		/* An abstract name is all bytes, its leading NUL with them. */
		const size_t n = v->len && !v->bytes[0] ? v->len : strnlen((const char *)v->bytes, v->len);

		if (!espy_json__utf8(j, v->bytes, n))
			espy_json_part(j, v->bytes, n, false, n);
		return;
	}
	if (v->fmt == ESPY_FMT_INET6 || v->fmt == ESPY_FMT_INET4) {
		if (v->len >= 16 && inet_ntop(v->fmt == ESPY_FMT_INET6 ? AF_INET6 : AF_INET, v->bytes, text, sizeof(text)))
			espy_json__str(j, text);
		else
			put_digest(j, v->bytes, v->len, false);
		return;
	}
	if (v->fmt == ESPY_FMT_AX25) {
		bool valid;
		text[espy_ax25_call(v->bytes, v->len, text, &valid)] = '\0';
		if (valid)
			espy_json__str(j, text);
		else
			put_digest(j, v->bytes, v->len, false);
		return;
	}
	espy_json__separate(j);
	espy_buf__putc(j->b, '"');
	for (size_t i = 0; i < v->len; i++) {
		if (v->fmt == ESPY_FMT_UUID ? i >= 4 && i <= 10 && !(i & 1) : i)
			espy_buf__putc(j->b, v->fmt == ESPY_FMT_UUID ? '-' : ':');
		espy_buf__hexdigits(j->b, v->bytes[i], 2);
	}
	espy_buf__putc(j->b, '"');
}

void espy_json_string(const struct espy_json_values *x, const struct espy_token *v)
{
	if (espy_token__is_unit(v)) {
		put_unit(x->j, v);
		return;
	}
	const struct espy_string_part part = espy_token__string(v, x->string_limit);

	/* Data that is never meant as text shall not become text by chance. */
	if (v->type->flags & ESPY_TF_HEX)
		put_digest(x->j, v->bytes, part.len, part.more);
	else if (part.more || !espy_json__utf8(x->j, v->bytes, part.len))
		espy_json_part(x->j, v->bytes, part.len, part.more, v->want);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Strings as text, and bytes that stand for one thing: addresses and identifiers. */
#include <arpa/inet.h>
#include <string.h>
#include "event/token_values.h"
#include "sink/text/text_impl.h"

static void put_inet6(struct espy_text *t, const struct espy_token *v)
{
	char text[INET6_ADDRSTRLEN];
	const char *name = v->role == ESPY_ROLE_FIELD_UNNAMED ? "" : v->name;

	if (v->len < 16 || !inet_ntop(AF_INET6, v->bytes, text, sizeof(text))) {
		espy_buf__quote(t->b, v->bytes, v->len, ESPY_HEX_ALL, NULL, true);
		return;
	}
	/* the text takes the place of `name=`, which the visitor has held back */
	if (*name && t->xlat != ESPY_XLAT_ABBREV) {
		espy_buf__puts(t->b, name);
		espy_buf__putc(t->b, '=');
	}
	if (!espy_text_begin_bytes_style(t, v->bytes, v->len))
		return;
	espy_buf__puts(t->b, "inet_pton(AF_INET6, ");
	espy_buf__quote(t->b, (const uint8_t *)text, strlen(text), t->o->hex, NULL, true);
	if (*name && t->xlat == ESPY_XLAT_ABBREV) {
		espy_buf__puts(t->b, ", &");
		espy_buf__puts(t->b, name);
	}
	espy_buf__putc(t->b, ')');
	espy_text_end_style(t);
}

/* Puts the IPv4 address at the begin of bytes that have room for a longer one. */
static void put_inet4(struct espy_text *t, const struct espy_token *v)
{
	char text[INET_ADDRSTRLEN];

	if (v->len < 4 || !inet_ntop(AF_INET, v->bytes, text, sizeof(text))) {
		espy_buf__quote(t->b, v->bytes, v->len, ESPY_HEX_ALL, NULL, true);
		return;
	}
	if (!espy_text_begin_bytes_style(t, v->bytes, v->len))
		return;
	espy_buf__puts(t->b, "inet_addr(");
	espy_buf__quote(t->b, (const uint8_t *)text, strlen(text), t->o->hex, NULL, true);
	espy_buf__putc(t->b, ')');
	espy_text_end_style(t);
}

static void put_ax25(struct espy_text *t, const struct espy_token *v)
{
	char call[ESPY_AX25_CALL];
	bool valid;
	const size_t n = espy_ax25_call(v->bytes, v->len, call, &valid);

	if (valid && t->xlat == ESPY_XLAT_ABBREV) {
		espy_buf__put(t->b, call, n);
		return;
	}
	espy_buf__puts(t->b, "{ax25_call=");
	espy_buf__quote(t->b, v->bytes, v->len, ESPY_HEX_ALL, NULL, true);
	espy_buf__putc(t->b, '}');
	/* what is no call sign is shown in both ways in every style */
	if (!n || (valid && t->xlat == ESPY_XLAT_RAW))
		return;
	espy_text_put_comment_bytes(t, call, n);
}

/* Puts the digits of every byte: a UUID in its five parts, a hardware address with a colon between its bytes. */
static void put_parted(struct espy_text *t, const struct espy_token *v)
{
	const bool uuid = v->fmt == ESPY_FMT_UUID;

	for (size_t i = 0; i < v->len; i++) {
		if (uuid ? i >= 4 && i <= 10 && !(i & 1) : i)
			espy_buf__putc(t->b, uuid ? '-' : ':');
		espy_buf__hexdigits(t->b, v->bytes[i], 2);
	}
}

/* Puts the path of a socket. An abstract name is all bytes behind its leading NUL. */
static void put_sun_path(struct espy_text *t, const struct espy_token *v)
{
	const bool abstract = v->len && !v->bytes[0];

	if (abstract)
		espy_buf__putc(t->b, '@');
	espy_buf__quote(t->b, v->bytes + abstract, abstract ? v->len - 1 : strnlen((const char *)v->bytes, v->len), t->o->hex, NULL, true);
}

/* Puts which bytes of a struct are those behind what is known of it. */
static __attribute__((cold)) void put_range(struct espy_text *t, const struct espy_token *v)
{
	espy_buf__puts(t->b, "/* bytes ");
	espy_buf__dec(t->b, v->num);
	espy_buf__puts(t->b, "..");
	espy_buf__dec(t->b, v->num + v->want - 1);
	espy_buf__puts(t->b, " */");
}

void espy_text_string(struct espy_text *t, const struct espy_token *v)
{
	const struct espy_type *type = v->type;

	switch (v->fmt) {
	case ESPY_FMT_INET4:
		put_inet4(t, v);
		return;
	case ESPY_FMT_INET6:
		put_inet6(t, v);
		return;
	case ESPY_FMT_MAC:
		if (espy_text_begin_bytes_style(t, v->bytes, v->len)) {
			put_parted(t, v);
			espy_text_end_style(t);
		}
		return;
	case ESPY_FMT_UUID:
		put_parted(t, v);
		return;
	case ESPY_FMT_AX25:
		put_ax25(t, v);
		return;
	case ESPY_FMT_SUNPATH:
		put_sun_path(t, v);
		return;
	default:
		break;
	}
	const bool tail = v->flags & ESPY_TOKF_TAIL, named = v->role == ESPY_ROLE_FIELD;

	if (tail && !named) {
		put_range(t, v);
		espy_buf__put(t->b, " ", 1);
	}
	struct espy_string_part part = espy_token__string(v, t->o->str_limit);
	if (v->fmt == ESPY_FMT_CSTR && (type->kind == ESPY_T_REST || type->kind == ESPY_T_BYTES)) {
		const size_t n = v->len < t->o->str_limit ? v->len : t->o->str_limit;
		const bool more = type->kind == ESPY_T_REST || (v->want > n && v->want != UINT64_MAX);

		/* in hexadecimal the NUL that ends it is a byte like the others */
		if (n && espy_quote__in_hex(v->bytes, n, t->o->hex))
			part = (struct espy_string_part){ .len = n, .more = more };
	}
	espy_buf__quote(t->b, v->bytes, part.len, type->flags & ESPY_TF_HEX ? ESPY_HEX_ALL : t->o->hex, NULL, true);
	if (part.more)
		espy_buf__put(t->b, "...", 3);
	if (tail && named) {
		espy_buf__put(t->b, " ", 1);
		put_range(t, v);
	}
}

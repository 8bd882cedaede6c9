/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/text/text_mark.h"

#include <stdio.h>
#include <string.h>
#include "base/num.h"

#define NUMBER_MAX 512 /* bytes of a number: the largest double has 309 digits before its point */

static void put_double(struct espy_buf *b, const struct espy_mark_arg_def *a, uint64_t raw)
{
	char format[32], text[NUMBER_MAX];
	double d;

	memcpy(&d, &raw, sizeof(d));
	snprintf(format, sizeof(format), "%s%c", a->spec[0] ? a->spec : "%",
		 a->letter && strchr("eEfFgGaA", a->letter) ? a->letter : 'g');
	int n = snprintf(text, sizeof(text), format, d);

	if (n > 0)
		espy_buf__put(b, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static const struct {
	uint8_t bits;
	bool is_signed;
} widths[] = {
	[ESPY_MARK_I8] = { 8, true },	 [ESPY_MARK_U8] = { 8, false },	  [ESPY_MARK_I16] = { 16, true },
	[ESPY_MARK_U16] = { 16, false }, [ESPY_MARK_I32] = { 32, true },  [ESPY_MARK_U32] = { 32, false },
	[ESPY_MARK_I64] = { 64, true },	 [ESPY_MARK_U64] = { 64, false },
};

static unsigned widths_of(uint8_t kind)
{
	return kind < sizeof(widths) / sizeof(widths[0]) ? widths[kind].bits : 0;
}

/* What its bits say, whatever stands above them. */
static uint64_t cut(uint64_t raw, unsigned bits, bool is_signed)
{
	const unsigned above = 64 - bits;

	return is_signed ? (uint64_t)((int64_t)(raw << above) >> above) : raw << above >> above;
}

/* As printf shows it: what is smaller than an int becomes one, with its value; then the conversion takes its bits. */
static void put_integer(struct espy_buf *b, const struct espy_mark_arg_def *a, uint64_t raw)
{
	unsigned bits = widths[a->kind].bits;
	const bool is_signed = widths[a->kind].is_signed;
	char letter = a->letter, format[40], text[NUMBER_MAX];
	int n;

	if (letter == 'c') {
		const uint8_t c = (uint8_t)raw;

		espy_buf__putc(b, '\'');
		/* ' is not among what the quoting of strings escapes. */
		espy_buf__quote(b, &c, 1, ESPY_HEX_NONE, "'", false);
		espy_buf__putc(b, '\'');
		return;
	}
	if (!letter || !strchr("diuoxX", letter))
		letter = is_signed ? 'd' : 'u';
	if (bits < 32) {
		raw = cut(raw, bits, is_signed);
		bits = 32;
	}
	if (a->narrow)
		bits = a->narrow;
	if (letter == 'd' || letter == 'i') {
		int64_t v = (int64_t)cut(raw, bits, true);

		if (!a->spec[0] || !a->spec[1]) {
			espy_buf__sdec(b, v);
			return;
		}
		snprintf(format, sizeof(format), "%slld", a->spec);
		n = snprintf(text, sizeof(text), format, (long long)v);
	} else {
		uint64_t v = cut(raw, bits, false);

		if (letter == 'u' && (!a->spec[0] || !a->spec[1])) {
			espy_buf__dec(b, v);
			return;
		}
		snprintf(format, sizeof(format), "%sll%c", a->spec[0] ? a->spec : "%", letter);
		n = snprintf(text, sizeof(text), format, (unsigned long long)v);
	}
	if (n > 0)
		espy_buf__put(b, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static void put_string(struct espy_buf *b, const struct espy_text_opts *o, const uint8_t *s, size_t len,
		       uint32_t status, bool text)
{
	bool more = status != ESPY_ITEM_OK;

	/* The NUL at its end belongs to the program's memory, not to the text. */
	if (text && len && !s[len - 1])
		len--;
	if (status == ESPY_ITEM_NOT_RUN) {
		espy_buf__putc(b, '?');
		return;
	}
	if (status == ESPY_ITEM_FAULT && !len) {
		espy_buf__puts(b, "NULL");
		return;
	}
	if (len > o->str_limit) {
		len = o->str_limit;
		more = true;
	}
	espy_buf__quote(b, s, len, o->hex, NULL, true);
	if (more)
		espy_buf__puts(b, "...");
}

/* One argument at *at; false: there is none left. */
static bool put_arg(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_mark_arg_def *a, const uint8_t **at,
		    const uint8_t *end)
{
	uint64_t raw;
	uint32_t head[2];

	if ((size_t)(end - *at) < 8)
		return false;
	memcpy(&raw, *at, sizeof(raw));
	memcpy(head, *at, sizeof(head));
	*at += 8;
	switch (a->kind) {
	case ESPY_MARK_STRING:
	case ESPY_MARK_BYTES:
		if (((size_t)head[0] + 7) / 8 * 8 > (size_t)(end - *at)) {
			*at = end;
			return false;
		}
		put_string(b, o, *at, head[0], head[1], a->kind == ESPY_MARK_STRING);
		*at += ((size_t)head[0] + 7) / 8 * 8;
		return true;
	case ESPY_MARK_POINTER:
		espy_buf__addr(b, raw);
		return true;
	case ESPY_MARK_DOUBLE:
		put_double(b, a, raw);
		return true;
	default:
		if (widths_of(a->kind))
			put_integer(b, a, raw);
		else
			espy_buf__hex(b, raw); /* of a kind that a newer espy knows */
		return true;
	}
}

void espy_mark_text__put_name(struct espy_buf *b, const struct espy_mark_def *t)
{
	espy_buf__quote(b, (const uint8_t *)t->provider, strlen(t->provider), ESPY_HEX_NONE, "()", false);
	espy_buf__putc(b, ':');
	espy_buf__quote(b, (const uint8_t *)t->name, strlen(t->name), ESPY_HEX_NONE, "()", false);
}

void espy_mark_text__put(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_mark_def *t,
			 const struct espy_rec_mark *rec)
{
	const uint8_t *at = (const uint8_t *)(rec + 1), *end;
	size_t len = rec->rec.size >= sizeof(*rec) ? rec->rec.size - sizeof(*rec) : 0;

	end = at + (rec->len < len ? rec->len : len);
	if (!t) {
		espy_buf__puts(b, "mark#");
		espy_buf__dec(b, rec->def);
		espy_buf__puts(b, "(?)");
		return;
	}
	espy_mark_text__put_name(b, t);
	espy_buf__putc(b, '(');
	for (unsigned i = 0; i < t->nargs; i++) {
		const struct espy_mark_arg_def *a = &t->args[i];

		if (i)
			espy_buf__puts(b, ", ");
		if (a->name_len) {
			espy_buf__put(b, a->name, a->name_len);
			espy_buf__putc(b, '=');
		}
		if (a->hex_prefix && a->letter != 'p' && widths_of(a->kind))
			espy_buf__puts(b, "0x");
		if (!put_arg(b, o, a, &at, end))
			espy_buf__putc(b, '?');
	}
	espy_buf__putc(b, ')');
}

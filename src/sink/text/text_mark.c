/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/text/text_mark.h"

#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "record/mark_values.h"

#define GROUPS_MAX 8u  /* of structs in each other */
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

/* Puts a number as printf does: smaller types become int, with the value; then the conversion takes the bits. */
static void put_integer(struct espy_buf *b, const struct espy_mark_arg_def *a, uint64_t raw)
{
	unsigned bits = espy_mark_kind_bits(a->kind);
	const bool is_signed = espy_mark_kind_is_signed(a->kind);
	char letter = a->letter, format[40], text[NUMBER_MAX];
	int n;

	if (letter == 'c') {
		const uint8_t c = (uint8_t)raw;

		espy_buf__putc(b, '\'');
		/* The quoting of strings does not escape '. */
		espy_buf__quote(b, &c, 1, ESPY_HEX_NONE, "'", false);
		espy_buf__putc(b, '\'');
		return;
	}
	if (!letter || !strchr("diuoxX", letter))
		letter = is_signed ? 'd' : 'u';
	if (bits < 32) {
		raw = espy_mark_number(raw, bits, is_signed);
		bits = 32;
	}
	if (a->narrow)
		bits = a->narrow;
	if (letter == 'd' || letter == 'i') {
		int64_t v = (int64_t)espy_mark_number(raw, bits, true);

		if (!a->spec[0] || !a->spec[1]) {
			espy_buf__sdec(b, v);
			return;
		}
		snprintf(format, sizeof(format), "%slld", a->spec);
		n = snprintf(text, sizeof(text), format, (long long)v);
	} else {
		uint64_t v = espy_mark_number(raw, bits, false);

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

static void put_string(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_mark_value *v)
{
	const size_t len = v->len < o->str_limit ? v->len : o->str_limit;

	if (v->status == ESPY_ITEM_NOT_RUN) {
		espy_buf__putc(b, '?');
		return;
	}
	if (v->status == ESPY_ITEM_ADDRESS && v->len == sizeof(uint64_t)) {
		uint64_t addr;

		memcpy(&addr, v->bytes, sizeof(addr));
		espy_buf__addr(b, addr);
		return;
	}
	if (v->status == ESPY_ITEM_FAULT && !v->len) {
		espy_buf__puts(b, "NULL");
		return;
	}
	espy_buf__quote(b, v->bytes, len, o->hex, NULL, true);
	if (v->status != ESPY_ITEM_OK || len < v->len)
		espy_buf__puts(b, "...");
}

/* Puts the names of the bits, and the bits without one. Returns false if there is no name. */
static bool put_flags(struct espy_buf *b, const struct espy_mark_arg_def *a, uint64_t num)
{
	const char *at = NULL, *word;
	size_t len, cnt = 0;

	for (; (len = espy_mark_arg__flag(a, &num, &at, &word)); cnt++) {
		if (cnt)
			espy_buf__putc(b, '|');
		espy_buf__quote(b, (const uint8_t *)word, len, ESPY_HEX_NONE, NULL, false);
	}
	if (cnt && num) {
		espy_buf__putc(b, '|');
		espy_buf__addr(b, num);
	}
	return cnt;
}

void espy_mark_text__put_number(struct espy_buf *b, const struct espy_mark_arg_def *a, uint64_t num)
{
	const bool flags = espy_mark_arg__is_flags(a);
	const char *word;
	const size_t word_len = a->words_len && !flags ? espy_mark_arg__word(a, num, &word) : 0;

	if (flags && put_flags(b, a, num))
		return;
	if (word_len) {
		espy_buf__quote(b, (const uint8_t *)word, word_len, ESPY_HEX_NONE, NULL, false);
		return;
	}
	if (a->hex_prefix && a->letter != 'p' && espy_mark_kind_bits(a->kind))
		espy_buf__puts(b, "0x");
	if (a->kind == ESPY_MARK_POINTER)
		espy_buf__addr(b, num);
	else if (a->kind == ESPY_MARK_DOUBLE)
		put_double(b, a, num);
	else if (espy_mark_kind_bits(a->kind))
		put_integer(b, a, num);
	else
		espy_buf__hex(b, num); /* of a kind that a newer espy knows */
}

void espy_mark_text__put_name(struct espy_buf *b, const struct espy_mark_def *t)
{
	espy_buf__quote(b, (const uint8_t *)t->provider, strlen(t->provider), ESPY_HEX_NONE, "()", false);
	espy_buf__putc(b, ':');
	espy_buf__quote(b, (const uint8_t *)t->name, strlen(t->name), ESPY_HEX_NONE, "()", false);
}

void espy_mark_text__put_full_name(struct espy_buf *b, const struct espy_mark_def *t)
{
	espy_mark_text__put_name(b, t);
	if (t->place == ESPY_PROBE_RETURN)
		espy_buf__puts(b, "%return");
}

static void put_value(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_mark_arg_def *a,
		      struct espy_mark_args *args)
{
	struct espy_mark_value v;

	if (!espy_mark_args__next(args, a->kind, &v)) {
		espy_buf__putc(b, '?');
		return;
	}
	espy_mark_arg__settle(a, &v);
	if (espy_mark_kind_is_text(a->kind))
		put_string(b, o, &v);
	else
		espy_mark_text__put_number(b, a, v.num);
}

/* The structs around an argument: how long their names are, with the dot. */
struct groups {
	size_t len[GROUPS_MAX];
	unsigned depth;
	bool first; /* nothing stands in front of the next argument */
};

/* Returns the name of an argument or a struct without those of the structs around it, and puts what stands before it.
 */
static const char *begin_name(struct espy_buf *b, const struct groups *g, const char *name, size_t *len)
{
	const size_t skip = g->depth ? g->len[g->depth - 1] : 0;

	if (!g->first)
		espy_buf__puts(b, ", ");
	*len = *len > skip ? *len - skip : 0;
	return name + skip;
}

/* Puts ends and beginnings of structs: "}", "{NAME", and "..." for members that are left out. */
static void put_groups(struct espy_buf *b, struct groups *g, const char *text, size_t len)
{
	for (size_t at = 0, n; at < len; at += n) {
		const char *word = text + at;

		for (n = 0; at + n < len && word[n] != ' ';)
			n++;
		if (!n) {
			n = 1;
		} else if (word[0] == '{' && g->depth < GROUPS_MAX) {
			size_t len_of_name = n - 1;
			const char *name = begin_name(b, g, word + 1, &len_of_name);

			/* Any bytes may stand there. The name of an argument has letters, digits, _ and dots. */
			espy_buf__quote(b, (const uint8_t *)name, len_of_name, ESPY_HEX_NONE, NULL, false);
			espy_buf__puts(b, len_of_name ? "={" : "{");
			g->len[g->depth++] = n; /* with the dot */
			g->first = true;
		} else if (word[0] == '}' && g->depth) {
			espy_buf__putc(b, '}');
			g->depth--;
			g->first = false;
		} else if (n == 3 && !memcmp(word, "...", 3)) {
			espy_buf__puts(b, g->first ? "..." : ", ...");
			g->first = false;
		}
	}
}

void espy_mark_text__put_args(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_mark_def *t,
			      const struct espy_rec *rec)
{
	struct groups g = { .first = true };
	struct espy_mark_args args;

	espy_mark_args__begin(&args, rec);
	for (unsigned i = 0; i < t->nargs; i++) {
		const struct espy_mark_arg_def *a = &t->args[i];
		const bool result = i + 1 == t->result;
		const size_t before = b->len;
		size_t name_len = a->name_len;

		if (!result)
			put_groups(b, &g, a->before, a->before_len);
		const char *name = begin_name(b, &g, a->name, &name_len);

		if (name_len) {
			espy_buf__put(b, name, name_len);
			espy_buf__putc(b, '=');
		}
		put_value(b, o, a, &args);
		if (result)
			b->len = before;
		else
			g.first = false;
	}
	put_groups(b, &g, t->behind, t->behind_len);
}

void espy_mark_text__put_result(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_mark_def *t,
				const struct espy_rec *rec)
{
	const size_t before = b->len;
	struct espy_mark_args args;

	espy_mark_args__begin(&args, rec);
	for (unsigned i = 0; i < t->result; i++) {
		b->len = before;
		put_value(b, o, &t->args[i], &args);
	}
}

void espy_mark_text__put(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_mark_def *t,
			 const struct espy_rec_mark *rec)
{
	if (!t) {
		espy_buf__puts(b, "mark#");
		espy_buf__dec(b, rec->def);
		espy_buf__puts(b, "(?)");
		return;
	}
	espy_mark_text__put_name(b, t);
	espy_buf__putc(b, '(');
	espy_mark_text__put_args(b, o, t, &rec->rec);
	espy_buf__putc(b, ')');
}

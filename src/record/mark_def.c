/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/mark_def.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "record/mark_format.h"
#include "record/mark_values.h"

/* Makes the form in which the conversion shows a number, without alignment: zeros are part of it, blanks are not. */
static void make_spec(struct espy_mark_arg_def *a, const struct espy_mark_conv *c)
{
	size_t n = 0;

	a->spec[n++] = '%';
	if (c->alternate)
		a->spec[n++] = '#';
	if (c->plus)
		a->spec[n++] = '+';
	else if (c->blank && (c->letter == 'd' || c->letter == 'i'))
		a->spec[n++] = ' ';
	if (c->zeros && !c->minus && c->width && c->width != ESPY_CONV_NONE)
		n += (size_t)snprintf(a->spec + n, sizeof(a->spec) - n, "0%u", c->width < 64 ? c->width : 64);
	if (c->precision != ESPY_CONV_NONE && strchr("diuoxXeEfFgGaA", c->letter))
		n += (size_t)snprintf(a->spec + n, sizeof(a->spec) - n, ".%u", c->precision < 64 ? c->precision : 64);
	a->spec[n] = 0;
}

/* ---- what formats of probes tell besides */

/* Reads <LOW:BITS>. Returns the place behind it; at: there is none, or no number has such bits. */
static size_t read_bits(struct espy_mark_arg_def *a, const char *format, size_t at)
{
	unsigned low, bits;
	int end = 0;

	if (sscanf(format + at, "<%2u:%2u>%n", &low, &bits, &end) != 2 || !end || !bits || low + bits > 64)
		return at;
	if (a->kind != ESPY_MARK_POINTER && a->kind <= ESPY_MARK_U16 && a->kind != ESPY_MARK_DOUBLE &&
	    a->kind != ESPY_MARK_STRING && a->kind != ESPY_MARK_BYTES) {
		a->low = (uint8_t)low;
		a->bits = (uint8_t)bits;
		a->kind = a->letter == 'd' ? ESPY_MARK_I64 : ESPY_MARK_U64;
	}
	return at + (size_t)end;
}

/* Reads what stands behind a conversion. Returns the place behind that. */
static size_t read_behind(struct espy_mark_arg_def *a, const char *format, size_t at)
{
	if (format[at] == '<')
		at = read_bits(a, format, at);
	if (format[at] == '{') {
		const size_t len = strcspn(format + at + 1, "}% ");

		if (format[at + 1 + len] == '}') {
			a->words = format + at + 1;
			a->words_len = len;
		}
	}
	return at + strcspn(format + at, " ");
}

static void read_probe_format(struct espy_mark_def *t)
{
	const size_t len = strlen(t->format);
	struct espy_mark_conv c;
	size_t at = 0, behind = 0;

	for (unsigned i = 0; i < t->nargs && espy_mark_conv__next(&c, t->format, len, &at); i++) {
		struct espy_mark_arg_def *a = &t->args[i];

		if (c.name_len && c.name_off > behind) {
			a->before = t->format + behind;
			a->before_len = c.name_off - behind;
		}
		if (a->kind == ESPY_MARK_U32 && c.letter == 'g') {
			a->is_float = true;
			a->kind = ESPY_MARK_DOUBLE;
		}
		if (a->kind == ESPY_MARK_STRING && c.precision != ESPY_CONV_NONE)
			a->array = c.precision;
		behind = read_behind(a, t->format, c.end);
	}
	t->behind = t->format + behind;
	t->behind_len = len - behind;
}

void espy_mark_arg__settle(const struct espy_mark_arg_def *a, struct espy_mark_value *v)
{
	float f;
	double d;

	if (a->bits) {
		v->num = espy_mark_number(v->num >> a->low, a->bits, a->kind == ESPY_MARK_I64);
	} else if (a->is_float) {
		const uint32_t raw = (uint32_t)v->num;

		memcpy(&f, &raw, sizeof(f));
		d = (double)f;
		memcpy(&v->num, &d, sizeof(v->num));
	} else if (a->array && v->status == ESPY_ITEM_TRUNCATED && v->len >= a->array) {
		v->status = ESPY_ITEM_OK;
	}
}

/* Steps to the next NAME=VALUE. Returns false at the end. */
static bool next_word(const char **at, const char *end, const char **name, size_t *len, uint64_t *value)
{
	while (*at < end) {
		const char *begin = *at, *stop = memchr(begin, '|', (size_t)(end - begin));
		const char *equals;

		stop = stop ? stop : end;
		*at = stop + (stop < end);
		equals = memchr(begin, '=', (size_t)(stop - begin));
		if (!equals || equals == begin || equals + 1 == stop)
			continue;
		*name = begin;
		*len = (size_t)(equals - begin);
		*value = (uint64_t)strtoll(equals + 1, NULL, 10); /* ends at '|' or '}' */
		return true;
	}
	return false;
}

size_t espy_mark_arg__word(const struct espy_mark_arg_def *a, uint64_t num, const char **word)
{
	const unsigned bits = a->bits ? 64 : espy_mark_kind_bits(a->kind);
	const char *at = a->words;
	uint64_t value;
	size_t len;

	if (bits)
		num = espy_mark_number(num, bits, espy_mark_kind_is_signed(a->kind));
	while (next_word(&at, a->words + a->words_len, word, &len, &value))
		if (value == num)
			return len;
	return 0;
}

bool espy_mark_arg__is_flags(const struct espy_mark_arg_def *a)
{
	return a->words_len && a->words[0] == '|';
}

size_t espy_mark_arg__flag(const struct espy_mark_arg_def *a, uint64_t *rest, const char **at, const char **word)
{
	uint64_t value;
	size_t len;

	*at = *at ? *at : a->words;
	while (next_word(at, a->words + a->words_len, word, &len, &value))
		if (value && (*rest & value) == value) {
			*rest &= ~value;
			return len;
		}
	return 0;
}

bool espy_mark_arg__constant(const struct espy_mark_arg_def *a, const char *word, uint64_t *num)
{
	const char *at = a->words, *name;
	size_t len;

	while (next_word(&at, a->words + a->words_len, &name, &len, num))
		if (len == strlen(word) && !memcmp(name, word, len))
			return true;
	return false;
}

static void read_format(struct espy_mark_def *t)
{
	const size_t len = strlen(t->format);
	struct espy_mark_conv c;
	size_t at = 0;

	for (unsigned i = 0; i < t->nargs && espy_mark_conv__next(&c, t->format, len, &at); i++) {
		struct espy_mark_arg_def *a = &t->args[i];

		a->letter = c.letter;
		a->narrow = c.narrow < 0 ? 0 : c.narrow ? 16 : 8;
		make_spec(a, &c);
		a->hex_prefix = c.hex_prefix && strchr("xXp", c.letter);
		a->name = t->format + c.name_off;
		a->name_len = c.name_len;
	}
}

/* Makes a definition from kinds and three texts, one behind the other at `at`, where there are `room` bytes. */
static int make(struct espy_mark_def **out, const uint8_t *at, size_t room, unsigned nargs, const uint16_t sizes[3])
{
	const size_t texts = (size_t)sizes[0] + sizes[1] + sizes[2];

	if (nargs > ESPY_MARK_MAX_ARGS || !sizes[0] || !sizes[1] || !sizes[2] || nargs > room || texts > room - nargs)
		return -EBADMSG;
	struct espy_mark_def *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->nargs = nargs;
	for (unsigned i = 0; i < t->nargs; i++)
		t->args[i].kind = at[i];
	at += nargs;
	t->texts = malloc(texts);
	if (!t->texts) {
		free(t);
		return -ENOMEM;
	}
	memcpy(t->texts, at, texts);
	t->provider = t->texts;
	t->name = t->provider + sizes[0];
	t->format = t->name + sizes[1];
	/* Each text ends, whatever its bytes are. */
	t->provider[sizes[0] - 1] = t->name[sizes[1] - 1] = t->format[sizes[2] - 1] = 0;
	read_format(t);
	*out = t;
	return 0;
}

int espy_mark_def__make(struct espy_mark_def **out, const struct espy_rec_mark_def *def)
{
	*out = NULL;
	if (def->rec.size < sizeof(*def))
		return -EBADMSG;
	const uint16_t sizes[] = { def->provider_sz, def->name_sz, def->format_sz };

	return make(out, (const uint8_t *)(def + 1), def->rec.size - sizeof(*def), def->nargs, sizes);
}

int espy_mark_def__make_probe(struct espy_mark_def **out, const struct espy_rec_probe_def *def)
{
	*out = NULL;
	if (def->rec.size < sizeof(*def) || def->kind >= ESPY_PROBE_KINDS || def->result > def->nargs)
		return -EBADMSG;
	const uint16_t sizes[] = { def->provider_sz, def->name_sz, def->format_sz };
	int err = make(out, (const uint8_t *)(def + 1), def->rec.size - sizeof(*def), def->nargs, sizes);

	if (!err) {
		(*out)->place = def->kind;
		(*out)->result = def->result;
		read_probe_format(*out);
	}
	return err;
}

void espy_mark_def__free(struct espy_mark_def *t)
{
	if (!t)
		return;
	free(t->texts);
	free(t);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arguments of static marks and of probes. Their names come from the traced program's format, their values from its memory. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "record/mark_values.h"
#include "sink/json/json_impl.h"

/* Puts the name of an argument; without a name it has its number, as in conditions. */
static void put_name(struct espy_json *j, const struct espy_mark_def *def, unsigned i)
{
	const struct espy_mark_arg_def *a = &def->args[i];
	bool own = a->name_len;
	char key[16];

	for (unsigned k = 0; k < i; k++)
		own &= def->args[k].name_len != a->name_len || memcmp(def->args[k].name, a->name, a->name_len);
	if (own) {
		espy_json__text(j, a->name, a->name_len);
		espy_buf__putc(j->b, ':');
		j->more = false;
		return;
	}
	snprintf(key, sizeof(key), "arg%u", i);
	espy_json__key(j, key);
}

void espy_json_values__text(struct espy_json *j, const void *bytes, size_t len, bool more)
{
	if (more || !espy_json__utf8(j, bytes, len))
		espy_json_part(j, bytes, len, more, UINT64_MAX);
}

static void put_text(struct espy_json *j, const struct espy_mark_value *v, uint32_t limit)
{
	const uint32_t len = v->len < limit ? v->len : limit;
	const bool more = v->status != ESPY_ITEM_OK || len < v->len;

	if (v->status == ESPY_ITEM_ADDRESS && v->len == sizeof(uint64_t)) {
		uint64_t addr;

		memcpy(&addr, v->bytes, sizeof(addr));
		espy_json_pointer(j, addr);
		return;
	}
	if (v->status == ESPY_ITEM_NOT_RUN || (v->status == ESPY_ITEM_FAULT && !v->len))
		espy_json__null(j);
	else
		espy_json_values__text(j, v->bytes, len, more);
}

static void put_double(struct espy_json *j, uint64_t raw)
{
	double d;

	memcpy(&d, &raw, sizeof(d));
	if (isfinite(d)) {
		espy_json__double(j, d);
		return;
	}
	ESPY_JSON_BEGIN(j, "float");
	ESPY_JSON_KEY(j, "name");
	espy_json__str(j, isnan(d) ? "nan" : d > 0 ? "inf" : "-inf");
	espy_json_end(j);
}

static void put_integer(struct espy_json *j, uint8_t kind, uint64_t raw)
{
	const unsigned bits = espy_mark_kind_bits(kind);

	if (!bits) /* of a kind that a newer espy knows */
		espy_json_unsigned(j, raw);
	else if (espy_mark_kind_is_signed(kind))
		espy_json_signed(j, (int64_t)espy_mark_number(raw, bits, true));
	else
		espy_json_unsigned(j, espy_mark_number(raw, bits, false));
}

void espy_json_values__mark_number(struct espy_json *j, uint8_t kind, uint64_t num)
{
	if (kind == ESPY_MARK_POINTER)
		espy_json_pointer(j, num);
	else if (kind == ESPY_MARK_DOUBLE)
		put_double(j, num);
	else
		put_integer(j, kind, num);
}

/* Puts a number whose bits have names. */
static void put_flags(struct espy_json *j, const struct espy_mark_arg_def *a, uint64_t num)
{
	const char *at = NULL, *word;
	uint64_t rest = num;
	size_t len;

	ESPY_JSON_BEGIN(j, "flags");
	espy_json_num(j, num);
	ESPY_JSON_KEY(j, "names");
	espy_json__open(j, '[');
	while ((len = espy_mark_arg__flag(a, &rest, &at, &word)))
		espy_json__text(j, word, len);
	espy_json__close(j, ']');
	if (rest) {
		ESPY_JSON_KEY(j, "rest");
		espy_json__u64(j, rest);
	}
	espy_json_end(j);
}

/* Puts a number that has a name in its place, or could have. */
static void put_enum(struct espy_json *j, const struct espy_mark_arg_def *a, uint64_t num)
{
	const char *word;
	const size_t len = espy_mark_arg__word(a, num, &word);

	ESPY_JSON_BEGIN(j, "enum");
	ESPY_JSON_KEY(j, "num");
	put_integer(j, a->kind, num);
	ESPY_JSON_KEY(j, "name");
	if (len)
		espy_json__text(j, word, len);
	else
		espy_json__null(j);
	espy_json_end(j);
}

static void put_value(struct espy_json *j, const struct espy_mark_arg_def *a, struct espy_mark_value *v, uint32_t limit)
{
	espy_mark_arg__settle(a, v);
	if (espy_mark_kind_is_text(a->kind))
		put_text(j, v, limit);
	else if (espy_mark_arg__is_flags(a))
		put_flags(j, a, v->num);
	else if (a->words_len)
		put_enum(j, a, v->num);
	else
		espy_json_values__mark_number(j, a->kind, v->num);
}

void espy_json_values__mark(struct espy_json *j, const struct espy_mark_def *def, const struct espy_rec *rec,
			    uint32_t string_limit)
{
	struct espy_mark_args args;
	struct espy_mark_value v;

	espy_mark_args__begin(&args, rec);
	espy_json__open(j, '{');
	for (unsigned i = 0; def && i < def->nargs; i++) {
		put_name(j, def, i);
		if (espy_mark_args__next(&args, def->args[i].kind, &v))
			put_value(j, &def->args[i], &v, string_limit);
		else
			espy_json__null(j);
	}
	espy_json__close(j, '}');
}

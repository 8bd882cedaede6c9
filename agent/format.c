// SPDX-License-Identifier: LGPL-2.1-or-later
// Formats of marks: see format.h. No libc: this also runs in other people's processes.
#include "format.h"
#include "record/mark_format.h"
#include "record/record.h"

static int is_one_of(char c, const char *set)
{
	while (*set)
		if (*set++ == c)
			return 1;
	return 0;
}

static unsigned int type_of(__u64 types, unsigned int word)
{
	return types >> 4 * word & 15;
}

// By size in bytes: 1, 2, 4, 8 at index 0..3.
static const __u8 signed_kind[] = { ESPY_MARK_I8, ESPY_MARK_I16, ESPY_MARK_I32, ESPY_MARK_I64 };
static const __u8 unsigned_kind[] = { ESPY_MARK_U8, ESPY_MARK_U16, ESPY_MARK_U32, ESPY_MARK_U64 };

// log2 of the size of an integer type; -1: not an integer
static int size_of(unsigned int type)
{
	for (int i = 0; i < 4; i++)
		if (signed_kind[i] == type || unsigned_kind[i] == type)
			return i;
	return -1;
}

// The kind of an argument without a conversion of its own.
static unsigned int plain_kind(unsigned int type)
{
	if (type == ESPY_MARK_STRING)
		return ESPY_MARK_POINTER;
	if (type == ESPY_MARK_DOUBLE || type == ESPY_MARK_POINTER || size_of(type) >= 0)
		return type;
	return ESPY_MARK_U64;
}

// The kind that a conversion gives to a C type; where they contradict each other the type wins.
static unsigned int converted_kind(const struct espy_mark_conv *c, unsigned int type)
{
	int size = size_of(type);

	if (size >= 0) {
		// as printf: what is smaller than an int becomes one, with its value; then h or hh takes its bits
		if (c->narrow >= 0)
			size = c->narrow;
		else if (size < 2)
			size = 2;
		if (is_one_of(c->letter, "di"))
			return signed_kind[size];
		if (is_one_of(c->letter, "uoxXbB"))
			return unsigned_kind[size];
		return type;
	}
	if (type == ESPY_MARK_STRING && c->letter == 's')
		return ESPY_MARK_STRING;
	if ((type == ESPY_MARK_STRING || type == ESPY_MARK_POINTER) && c->letter == 'p' && c->star_width)
		return ESPY_MARK_BYTES;
	return plain_kind(type);
}

void espy_format_parse(struct espy_format *f, const char *s, size_t len, __u64 types, unsigned int nwords)
{
	unsigned int word = 0;
	struct espy_mark_conv c;

	*f = (struct espy_format){ 0 };
	if (nwords > ESPY_FORMAT_ARGS)
		nwords = ESPY_FORMAT_ARGS;
	for (size_t at = 0; espy_mark_conv__next(&c, s, len, &at);) {
		struct espy_format_arg *a = &f->args[f->nargs];

		if (word + c.star_width + c.star_precision >= nwords)
			break;
		a->len_word = ESPY_FORMAT_NONE;
		a->precision = c.precision;
		// A precision ends a string and a width is the size of bytes; of a number they are only about its
		// looks.
		if (c.star_width && c.letter == 'p')
			a->len_word = (__u8)word;
		word += c.star_width;
		if (c.star_precision && c.letter == 's')
			a->len_word = (__u8)word;
		word += c.star_precision;
		a->word = (__u8)word;
		a->kind = (__u8)converted_kind(&c, type_of(types, word));
		if (a->len_word != ESPY_FORMAT_NONE && size_of(type_of(types, a->len_word)) < 0) {
			a->kind = (__u8)plain_kind(type_of(types, word));
			a->len_word = ESPY_FORMAT_NONE;
		}
		a->name_off = (__u32)c.name_off;
		a->name_len = (__u32)c.name_len;
		word++;
		f->nargs++;
	}
	for (; word < nwords; word++) {
		struct espy_format_arg *a = &f->args[f->nargs++];

		a->word = (__u8)word;
		a->len_word = ESPY_FORMAT_NONE;
		a->precision = ~0u;
		a->kind = (__u8)plain_kind(type_of(types, word));
	}
}

int espy_mark_whole(struct espy_agent_pred *p)
{
	// is every integer below it, above it, or are some on either side?
	const int side = p->d >= 18446744073709551616.0 ? 1 : p->d < -9223372036854775808.0 ? -1 : 0;
	const int less = p->cmp == ESPY_CMP_LT || p->cmp == ESPY_CMP_LE;
	const double d = p->d;
	double whole;

	if (side)
		return p->cmp == ESPY_CMP_NE || (p->cmp != ESPY_CMP_EQ && less == (side > 0)) ? 1 : -1;
	p->type = d < 0 ? ESPY_CONST_INT : ESPY_CONST_UINT;
	if (d < 0)
		p->i = (__s64)d;
	else
		p->u = (__u64)d;
	whole = d < 0 ? (double)p->i : (double)p->u;
	if (whole == d)
		return 0;
	if (p->cmp == ESPY_CMP_EQ || p->cmp == ESPY_CMP_NE)
		return p->cmp == ESPY_CMP_NE ? 1 : -1;
	// of two neighbours the one that is towards zero: "below d" is "at or below" that one, or "below" it
	if (d < 0)
		p->cmp = less ? ESPY_CMP_LT : ESPY_CMP_GE;
	else
		p->cmp = less ? ESPY_CMP_LE : ESPY_CMP_GT;
	if (!p->u)
		p->type = ESPY_CONST_UINT;
	return 0;
}

/* Splits "app_req_done": returns the length of the provider; *name is where the name begins. */
static size_t split_name(const char *full, size_t len, size_t *name)
{
	for (size_t i = 0; i < len && full[i]; i++)
		if (full[i] == '_') {
			*name = i + 1;
			return i;
		}
	*name = 0;
	return len;
}

int espy_mark_match(const char *pattern, const char *full, size_t len)
{
	size_t name, provider = split_name(full, len, &name);

	return espy_mark_glob(pattern, full, provider, full + name, len - name);
}

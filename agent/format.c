// SPDX-License-Identifier: LGPL-2.1-or-later
// Formats of marks: see format.h. No libc: this also runs in other people's processes.
#include "format.h"
#include "record/record.h"

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int is_name(char c)
{
	return c == '_' || c == '.' || is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

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

struct conversion {
	char letter;
	int narrow; // log2 of the size that h and hh ask for; -1: none
	int star_width, star_precision;
	__u32 precision;
};

// The kind that a conversion gives to a C type; where they contradict each other the type wins.
static unsigned int converted_kind(const struct conversion *c, unsigned int type)
{
	int size = size_of(type);

	if (size >= 0) {
		if (c->narrow >= 0 && c->narrow < size)
			size = c->narrow;
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

// Reads what follows a '%' at p; returns where it ends. letter 0: the format ends in the middle.
static size_t read_conversion(struct conversion *c, const char *s, size_t p, size_t len)
{
	*c = (struct conversion){ .narrow = -1, .precision = ~0u };
	while (p < len && is_one_of(s[p], "-+ #0'I"))
		p++;
	if (p < len && s[p] == '*') {
		c->star_width = 1;
		p++;
	}
	while (p < len && is_digit(s[p]))
		p++;
	if (p < len && s[p] == '.') {
		p++;
		c->precision = 0;
		if (p < len && s[p] == '*') {
			c->star_precision = 1;
			c->precision = ~0u;
			p++;
		}
		for (; p < len && is_digit(s[p]); p++)
			if (c->precision < 1u << 20)
				c->precision = c->precision * 10 + (__u32)(s[p] - '0');
	}
	for (; p < len && is_one_of(s[p], "hlLqjzt"); p++)
		if (s[p] == 'h')
			c->narrow = c->narrow == 1 ? 0 : 1;
	if (p < len)
		c->letter = s[p++];
	return p;
}

// The word right before the conversion at `end`: "size=%d", "size: %d", "size %d" all name it size.
static void find_name(struct espy_format_arg *a, const char *s, size_t start, size_t end)
{
	size_t p = end, q;

	while (p > start && is_one_of(s[p - 1], "\"'<([{"))
		p--;
	if (p == start || !is_one_of(s[p - 1], "=: "))
		return;
	while (p > start && is_one_of(s[p - 1], "=: "))
		p--;
	for (q = p; q > start && is_name(s[q - 1]);)
		q--;
	while (q < p && !(s[q] == '_' || (s[q] | 32) >= 'a')) // a name does not begin with a digit or a dot
		q++;
	a->name_off = (__u32)q;
	a->name_len = (__u32)(p - q);
}

void espy_format_parse(struct espy_format *f, const char *s, size_t len, __u64 types, unsigned int nwords)
{
	unsigned int word = 0;
	size_t text = 0; // where the text before this conversion begins

	*f = (struct espy_format){ 0 };
	if (nwords > ESPY_FORMAT_ARGS)
		nwords = ESPY_FORMAT_ARGS;
	for (size_t p = 0; p < len && s[p];) {
		struct espy_format_arg *a = &f->args[f->nargs];
		struct conversion c;
		size_t percent = p;

		if (s[p++] != '%')
			continue;
		p = read_conversion(&c, s, p, len);
		if (c.letter == '%' || c.letter == 'm') {
			text = p;
			continue;
		}
		if (!c.letter || word + c.star_width + c.star_precision >= nwords)
			break;
		a->len_word = ESPY_FORMAT_NONE;
		a->precision = c.precision;
		// A precision ends a string and a width is the size of bytes; of a number they are only about its
		// looks.
		if (c.star_width && c.letter == 'p')
			a->len_word = (__u8)word;
		word += (unsigned int)c.star_width;
		if (c.star_precision && c.letter == 's')
			a->len_word = (__u8)word;
		word += (unsigned int)c.star_precision;
		a->word = (__u8)word;
		a->kind = (__u8)converted_kind(&c, type_of(types, word));
		if (a->len_word != ESPY_FORMAT_NONE && size_of(type_of(types, a->len_word)) < 0) {
			a->kind = (__u8)plain_kind(type_of(types, word));
			a->len_word = ESPY_FORMAT_NONE;
		}
		find_name(a, s, text, percent);
		text = p;
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

size_t espy_mark_split(const char *full, size_t len, size_t *name)
{
	for (size_t i = 0; i < len && full[i]; i++)
		if (full[i] == '_') {
			*name = i + 1;
			return i;
		}
	*name = 0;
	return len;
}

// One character of "provider:name" of a mark: the first underscore is the colon.
struct subject {
	const char *full;
	size_t provider, name, len; // length of the provider, where the name begins, length of full
	int whole;		    // "provider:name", else the name alone
};

static size_t subject_len(const struct subject *s)
{
	return s->len - s->name + (s->whole ? s->provider + 1 : 0);
}

static char subject_at(const struct subject *s, size_t i)
{
	if (!s->whole)
		return s->full[s->name + i];
	if (i < s->provider)
		return s->full[i];
	return i == s->provider ? ':' : s->full[s->name + i - s->provider - 1];
}

int espy_mark_match(const char *pattern, const char *full, size_t len)
{
	struct subject s = { .full = full, .len = len };
	size_t n, p = 0, i = 0, star = 0, star_i = 0;
	int has_star = 0;

	for (const char *c = pattern; *c; c++)
		if (*c == ':')
			s.whole = 1;
	s.provider = espy_mark_split(full, len, &s.name);
	n = subject_len(&s);
	while (i < n) {
		if (pattern[p] == '*') {
			has_star = 1;
			star = ++p;
			star_i = i;
		} else if (pattern[p] && (pattern[p] == '?' || pattern[p] == subject_at(&s, i))) {
			p++;
			i++;
		} else if (has_star) {
			p = star;
			i = ++star_i;
		} else {
			return 0;
		}
	}
	while (pattern[p] == '*')
		p++;
	return !pattern[p];
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/mark_format.h"

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int is_name(char c)
{
	return c == '_' || c == '.' || is_digit(c) || is_letter(c);
}

static int is_one_of(char c, const char *set)
{
	while (*set)
		if (*set++ == c)
			return 1;
	return 0;
}

/* Reads a number; cuts one that is too large, and does not let it wrap around. */
static size_t read_number(const char *s, size_t p, size_t len, __u32 *value)
{
	for (; p < len && is_digit(s[p]); p++)
		if (*value < 1u << 20)
			*value = *value * 10 + (__u32)(s[p] - '0');
	return p;
}

/* Reads the conversion behind a '%' at p. Returns its end. letter 0: the format ends in the middle. */
static size_t read_conversion(struct espy_mark_conv *c, const char *s, size_t p, size_t len)
{
	for (; p < len && is_one_of(s[p], "-+ #0'I"); p++) {
		c->minus |= s[p] == '-';
		c->plus |= s[p] == '+';
		c->blank |= s[p] == ' ';
		c->alternate |= s[p] == '#';
		c->zeros |= s[p] == '0';
	}
	if (p < len && s[p] == '*') {
		c->star_width = 1;
		p++;
	}
	if (p < len && is_digit(s[p])) {
		c->width = 0;
		p = read_number(s, p, len, &c->width);
	}
	if (p < len && s[p] == '.') {
		p++;
		if (p < len && s[p] == '*') {
			c->star_precision = 1;
			p++;
		} else {
			c->precision = 0;
		}
		p = read_number(s, p, len, c->star_precision ? &(__u32){ 0 } : &c->precision);
	}
	for (; p < len && is_one_of(s[p], "hlLqjzt"); p++)
		if (s[p] == 'h')
			c->narrow = c->narrow == 1 ? 0 : 1;
	if (p < len)
		c->letter = s[p++];
	return p;
}

static void find_name(struct espy_mark_conv *c, const char *s)
{
	size_t p = c->percent, q;

	if (p - c->text >= 2 && s[p - 2] == '0' && (s[p - 1] == 'x' || s[p - 1] == 'X')) {
		c->hex_prefix = 1;
		p -= 2;
	}
	while (p > c->text && is_one_of(s[p - 1], "\"'<([{"))
		p--;
	if (p == c->text || !is_one_of(s[p - 1], "=: "))
		return;
	while (p > c->text && is_one_of(s[p - 1], "=: "))
		p--;
	for (q = p; q > c->text && is_name(s[q - 1]);)
		q--;
	if (q > c->text && (unsigned char)s[q - 1] >= 0x80) /* the end of a word of other letters is not its name */
		return;
	while (q < p && !(s[q] == '_' || is_letter(s[q]))) /* a name does not begin with a digit or a dot */
		q++;
	c->name_off = q;
	c->name_len = p - q;
}

int espy_mark_conv__next(struct espy_mark_conv *c, const char *format, size_t len, size_t *at)
{
	size_t text = *at;

	for (size_t p = text; p < len && format[p];) {
		if (format[p] != '%') {
			p++;
			continue;
		}
		*c = (struct espy_mark_conv){
			.text = text, .percent = p, .narrow = -1, .width = ESPY_CONV_NONE, .precision = ESPY_CONV_NONE
		};
		p = read_conversion(c, format, p + 1, len);
		if (!c->letter)
			break;
		if (c->letter == '%' || c->letter == 'm') {
			text = p;
			continue;
		}
		c->end = *at = p;
		find_name(c, format);
		return 1;
	}
	return 0;
}

int espy_mark_arg_number(const char *name, size_t len, unsigned nargs)
{
	unsigned n = 0;

	if (len < 4 || len > 5 || name[0] != 'a' || name[1] != 'r' || name[2] != 'g')
		return -1;
	for (size_t i = 3; i < len; i++) {
		if (!is_digit(name[i]))
			return -1;
		n = n * 10 + (unsigned)(name[i] - '0');
	}
	return n < nargs ? (int)n : -1;
}

/* The subject of a pattern, not put together: provider, a character, name; or the name alone (0). */
struct subject {
	const char *provider, *name;
	size_t provider_len, name_len;
	char between;
};

static char subject_at(const struct subject *s, size_t i)
{
	if (!s->between)
		return s->name[i];
	if (i < s->provider_len)
		return s->provider[i];
	return i == s->provider_len ? s->between : s->name[i - s->provider_len - 1];
}

static int matches(const char *pattern, const struct subject *s)
{
	size_t n = s->name_len + (s->between ? s->provider_len + 1 : 0), p = 0, i = 0, star = 0, star_i = 0;
	int has_star = 0;

	/* The last star takes one more character whenever the rest does not fit. */
	while (i < n) {
		if (pattern[p] == '*') {
			has_star = 1;
			star = ++p;
			star_i = i;
		} else if (pattern[p] && (pattern[p] == '?' || pattern[p] == subject_at(s, i))) {
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

int espy_mark_glob(const char *pattern, const char *provider, size_t provider_len, const char *name, size_t name_len)
{
	struct subject s = { provider, name, provider_len, name_len, 0 };
	int as_written = 0;

	for (const char *c = pattern; *c; c++)
		if (*c == ':')
			s.between = ':';
		else if (*c == '_')
			as_written = 1;
	if (matches(pattern, &s))
		return 1;
	if (s.between || !as_written)
		return 0;
	s.between = '_';
	return matches(pattern, &s);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/print_fmt.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/num.h"

#define DEPTH_MAX 64u
#define WORDS_MAX 8192u /* bytes of one table */

/* ---- constants of C: numbers, casts, parentheses, and operators of whole numbers */

struct constant {
	const char *at;
	unsigned depth;
	bool bad;
};

static uint64_t binary(struct constant *c, unsigned least);

static void skip_blanks(struct constant *c)
{
	while (isspace((unsigned char)*c->at))
		c->at++;
}

/* Skips a cast, "(unsigned long)". Returns false if something else is here. */
static bool skip_cast(struct constant *c)
{
	const char *at = c->at + 1;

	while (isspace((unsigned char)*at))
		at++;
	if (!isalpha((unsigned char)*at) && *at != '_')
		return false;
	while (isalnum((unsigned char)*at) || *at == '_' || *at == ' ' || *at == '*')
		at++;
	if (*at != ')')
		return false;
	c->at = at + 1;
	return true;
}

static uint64_t unary(struct constant *c)
{
	uint64_t v = 0;
	char *end;

	skip_blanks(c);
	if (++c->depth > DEPTH_MAX) {
		c->bad = true;
	} else if (*c->at == '~' || *c->at == '-') {
		const bool invert = *c->at++ == '~';

		v = unary(c);
		v = invert ? ~v : -v;
	} else if (*c->at == '(' && skip_cast(c)) {
		v = unary(c);
	} else if (*c->at == '(') {
		c->at++;
		v = binary(c, 0);
		skip_blanks(c);
		c->bad |= *c->at != ')';
		c->at += *c->at == ')';
	} else if (isdigit((unsigned char)*c->at)) {
		v = strtoull(c->at, &end, 0);
		c->at = end + strspn(end, "uUlL");
	} else {
		c->bad = true; /* a name, most of all */
	}
	c->depth--;
	return v;
}

/* Takes the operator that is here if it binds as closely as `least`. Returns how closely, from 1 on; 0: there is none. */
static unsigned take_operator(struct constant *c, unsigned least, char *op)
{
	static const struct {
		const char *text;
		unsigned closeness;
	} operators[] = { { "|", 1 }, { "^", 2 }, { "&", 3 }, { "<<", 4 }, { ">>", 4 }, { "+", 5 }, { "-", 5 }, { "*", 6 } };

	skip_blanks(c);
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		const size_t len = strlen(operators[i].text);

		if (strncmp(c->at, operators[i].text, len) || operators[i].closeness <= least)
			continue;
		*op = *c->at;
		c->at += len;
		return operators[i].closeness;
	}
	return 0;
}

static uint64_t binary(struct constant *c, unsigned least)
{
	uint64_t v = unary(c);
	unsigned closeness;
	char op;

	while (!c->bad && (closeness = take_operator(c, least, &op))) {
		const uint64_t right = binary(c, closeness);

		switch (op) {
		case '|': v |= right; break;
		case '^': v ^= right; break;
		case '&': v &= right; break;
		case '<': v = right < 64 ? v << right : 0; break;
		case '>': v = right < 64 ? v >> right : 0; break;
		case '+': v += right; break;
		case '-': v -= right; break;
		default: v *= right; break;
		}
	}
	return v;
}

/* ---- tables */

/* Returns the end of an argument that begins at `at`: the comma or parenthesis behind it. NULL: there is none. */
static const char *end_of_argument(const char *at)
{
	for (unsigned depth = 0; *at; at++) {
		if (*at == '"') {
			at = strchr(at + 1, '"');
			if (!at)
				return NULL;
		} else if (*at == '(' || *at == '{') {
			depth++;
		} else if (!depth && (*at == ',' || *at == ')' || *at == '}')) {
			return at;
		} else if (*at == ')' || *at == '}') {
			depth--;
		}
	}
	return NULL;
}

/*
 * Tells whether an argument is the value of the field, or a part of it that a mask leaves in place: "REC->state", "(int)(REC->state & 7)". Of what is
 * shifted or compared the table has other numbers than the field.
 */
static bool is_field(const char *at, const char *end, const char *field)
{
	const size_t len = strlen(field);
	const char *rec = memmem(at, (size_t)(end - at), "REC->", 5), *behind;

	if (!rec || (size_t)(end - rec) < 5 + len || memcmp(rec + 5, field, len))
		return false;
	for (; at < rec; at++)
		if (!isalnum((unsigned char)*at) && !strchr(" _(*)", *at))
			return false;
	for (behind = rec + 5 + len; behind < end && strchr(" )", *behind); behind++)
		;
	if (behind == rec + 5 + len && behind < end && (isalnum((unsigned char)*behind) || *behind == '_'))
		return false;
	return behind == end || (behind[0] == '&' && behind[1] != '&' && !memmem(behind, (size_t)(end - behind), "REC->", 5));
}

/* Appends one entry, `{ NUMBER, "NAME" }`. Returns the place behind it; NULL: there is none. */
static const char *add_entry(struct espy_buf *words, const char *at, bool flags)
{
	at += strspn(at, ", \t");
	if (*at != '{')
		return NULL;

	struct constant c = { .at = at + 1 };
	const uint64_t v = binary(&c, 0);
	const char *comma = end_of_argument(at + 1), *name = comma && *comma == ',' ? strchr(comma, '"') : NULL;
	const char *name_end = name ? strchr(name + 1, '"') : NULL, *end = name_end ? strchr(name_end, '}') : NULL;

	if (!end)
		return NULL;
	skip_blanks(&c);
	const size_t len = (size_t)(name_end - name - 1);

	/* The format of a probe uses some characters itself. A name of no bit would fit each number. */
	if (c.bad || c.at != comma || !len || strcspn(name + 1, "%{}|= ") < len || (flags && !v) || words->len > WORDS_MAX)
		return end + 1;
	if (flags || words->len)
		espy_buf__putc(words, '|');
	espy_buf__put(words, name + 1, len);
	espy_buf__putc(words, '=');
	espy_buf__sdec(words, (int64_t)v);
	return end + 1;
}

/* Appends a table if it is one of the field. at: behind the parenthesis that opens it. */
static void add_table(struct espy_buf *words, const char *at, bool flags, const char *field)
{
	const char *end = end_of_argument(at);

	if (!end || *end != ',' || !is_field(at, end, field))
		return;
	at = end;
	if (flags) { /* what stands between two names */
		at = end_of_argument(at + 1);
		if (!at || *at != ',')
			return;
	}
	while (at)
		at = add_entry(words, at, flags);
}

void espy_print_fmt__words(struct espy_buf *words, const char *print_fmt, const char *field)
{
	static const char flags[] = "__print_flags(", symbols[] = "__print_symbolic(";

	for (const char *at = print_fmt; !words->len && (at = strstr(at, flags)); at += sizeof(flags) - 1)
		add_table(words, at + sizeof(flags) - 1, true, field);
	for (const char *at = print_fmt; !words->len && (at = strstr(at, symbols)); at += sizeof(symbols) - 1)
		add_table(words, at + sizeof(symbols) - 1, false, field);
}

bool espy_print_fmt__is_address(const char *print_fmt, const char *field)
{
	static const char cast[] = "(void *)REC->";
	const size_t len = strlen(field);

	for (const char *at = print_fmt; (at = strstr(at, cast));) {
		at += sizeof(cast) - 1;
		if (!strncmp(at, field, len) && !isalnum((unsigned char)at[len]) && at[len] != '_')
			return true;
	}
	return false;
}

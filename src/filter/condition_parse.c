/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses conditions: text to a tree, or to a message that tells the place and the expectation. */
#include "filter/condition.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	const char *text, *at;
	struct espy_condition *c;
	struct espy_condition_error *e;
	unsigned depth;
	bool failed;
};

#define NO_NODE 0xffffu

/* Makes the message; the first one stays. Returns NO_NODE for functions that return nodes. */
static uint16_t __attribute__((format(printf, 3, 4))) wrong(struct parser *p, const char *at, const char *fmt, ...)
{
	va_list ap;

	if (p->failed)
		return NO_NODE;
	p->failed = true;
	p->e->at = (size_t)(at - p->text);
	va_start(ap, fmt);
	vsnprintf(p->e->text, sizeof(p->e->text), fmt, ap);
	va_end(ap);
	return NO_NODE;
}

static void skip_blanks(struct parser *p)
{
	p->at += strspn(p->at, " \t\n");
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Returns the words by which a message names the thing at `at`. */
static const char *found(const char *at, char *buf, size_t size)
{
	size_t len = 1;

	if (!*at)
		return "the end";
	while (is_word(*at) && len < 40 && is_word(at[len]))
		len++;
	if (isprint((unsigned char)*at))
		snprintf(buf, size, "'%.*s'", (int)len, at);
	else
		snprintf(buf, size, "a byte 0x%02x", (unsigned char)*at);
	return buf;
}

static bool takes(struct parser *p, const char *what)
{
	const size_t len = strlen(what);

	skip_blanks(p);
	if (strncmp(p->at, what, len))
		return false;
	p->at += len;
	return true;
}

static uint16_t new_node(struct parser *p, uint8_t kind, uint16_t a, uint16_t b)
{
	if (a == NO_NODE || b == NO_NODE)
		return NO_NODE;
	if (p->c->node_cnt == ESPY_CONDITION_NODES)
		return wrong(p, p->at, "the condition is too long: at most %u tests and operators", ESPY_CONDITION_NODES);
	p->c->nodes[p->c->node_cnt] = (struct espy_condition_node){ .kind = kind, .a = a, .b = b };
	return (uint16_t)p->c->node_cnt++;
}

static bool put_byte(struct parser *p, char c)
{
	if (p->c->text_len == sizeof(p->c->text))
		return false;
	p->c->text[p->c->text_len++] = c;
	return true;
}

/* ---- values */

/* Returns the byte of an escape behind a backslash; -1: it is not known. */
static int escape(struct parser *p)
{
	static const char from[] = "ntr\\\"'0ae*", to[] = "\n\t\r\\\"'\0\a\033*";
	const char *known = *p->at ? strchr(from, *p->at) : NULL;

	if (known) {
		p->at++;
		return (unsigned char)to[known - from];
	}
	if (*p->at == 'x' && isxdigit((unsigned char)p->at[1]) && isxdigit((unsigned char)p->at[2])) {
		const char hex[3] = { p->at[1], p->at[2], 0 };

		p->at += 3;
		return (int)strtol(hex, NULL, 16);
	}
	wrong(p, p->at - 1, "\\n \\t \\r \\a \\e \\0 \\\\ \\\" \\' \\* and \\xHH are known behind a backslash");
	return -1;
}

/*
 * Puts one character of a text. A regular expression has backslashes of its own: only \n \t \xHH and that of the quote
 * count here, the others stay in front of their character.
 */
static bool put_character(struct parser *p, bool regex, char quote)
{
	int c = (unsigned char)*p->at++;

	if (c == '\\' && regex && *p->at && *p->at != quote && !strchr("ntx", *p->at)) {
		if (!put_byte(p, (char)c))
			return false;
		c = (unsigned char)*p->at++;
	} else if (c == '\\') {
		c = escape(p);
		if (c < 0)
			return false;
	}
	return put_byte(p, (char)c);
}

static void parse_text(struct parser *p, struct espy_condition_term *t, bool regex, bool may_star)
{
	const char *start = p->at++, quote = *start;
	bool star = false;

	t->kind = ESPY_TERM_TEXT;
	t->text = p->c->text_len;
	while (*p->at != quote) {
		if (!*p->at) {
			wrong(p, start, "the text has no end: a %c is missing", quote);
			return;
		}
		star = *p->at == '*';
		if (!put_character(p, regex, quote)) {
			wrong(p, start, "the condition is too long"); /* unless escape() has said more */
			return;
		}
	}
	p->at++;
	t->star = star && may_star;
	p->c->text_len -= t->star;
	t->text_len = p->c->text_len - t->text;
	if (!put_byte(p, 0))
		wrong(p, start, "the condition is too long");
	/* The name beside it decides: a text, or the number of the character. */
	if (quote == '\'' && t->text_len == 1 && !t->star && !regex) {
		t->kind = ESPY_TERM_CHAR;
		t->u = (unsigned char)p->c->text[t->text];
	}
}

static const struct {
	const char *name;
	double ns;
} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "min", 60e9 } };

/* Returns the factor of the unit at `at`, or 0. */
static double unit(const char *at, size_t *len)
{
	for (*len = 0; is_word(at[*len]);)
		++*len;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == *len && !strncmp(units[i].name, at, *len))
			return units[i].ns;
	return 0;
}

static void parse_number(struct parser *p, struct espy_condition_term *t)
{
	const char *start = p->at;
	char *end_int, *end_float, number[64];
	size_t len, unit_len;

	errno = 0;
	t->u = strtoull(start, &end_int, 0);
	const bool too_large = errno == ERANGE;
	/* A copy: "1.5e3" is a number, and "5min" is not five of an unknown format. */
	snprintf(number, sizeof(number), "%.*s", (int)strspn(start, "0123456789.eE+-abcdefABCDEFxX"), start);
	const double d = strtod(number, &end_float);

	len = (size_t)(end_float - number);
	t->kind = ESPY_TERM_UINT;
	p->at = end_int;
	if (len > (size_t)(end_int - start)) {
		t->kind = ESPY_TERM_DOUBLE;
		t->d = d;
		p->at = start + len;
		if (!isfinite(d)) {
			wrong(p, start, "this number is too large");
			return;
		}
	} else if (too_large || (t->minus && t->u > 1ull << 63)) {
		wrong(p, start, "this number does not fit into 64 bits");
		return;
	}
	if (!is_word(*p->at) && *p->at != '.')
		return;
	const double ns = unit(p->at, &unit_len);

	if (!ns) {
		len = (size_t)(p->at - start) + strspn(p->at, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.");
		wrong(p, start, "'%.*s' is not a number", len < 40 ? (int)len : 40, start);
		return;
	}
	const double time = (t->kind == ESPY_TERM_DOUBLE ? t->d : (double)t->u) * ns;

	if (time >= 9e18) {
		wrong(p, start, "this time is too long");
		return;
	}
	t->kind = ESPY_TERM_TIME;
	t->u = (uint64_t)(time + 0.5);
	p->at += unit_len;
}

static void parse_constant(struct parser *p, struct espy_condition_term *t)
{
	t->kind = ESPY_TERM_WORD;
	t->text = p->c->text_len;
	while (is_word(*p->at))
		if (!put_byte(p, *p->at++)) {
			wrong(p, p->at, "the condition is too long");
			return;
		}
	t->text_len = p->c->text_len - t->text;
	if (!put_byte(p, 0))
		wrong(p, p->at, "the condition is too long");
}

static struct espy_condition_term *new_term(struct parser *p)
{
	struct espy_condition_term *t = &p->c->terms[p->c->term_cnt];

	skip_blanks(p);
	if (p->c->term_cnt == ESPY_CONDITION_TERMS) {
		wrong(p, p->at, "there can be at most %u values", ESPY_CONDITION_TERMS);
		return NULL;
	}
	p->c->term_cnt++;
	*t = (struct espy_condition_term){ .at = (uint32_t)(p->at - p->text) };
	return t;
}

static void parse_value(struct parser *p, const struct espy_condition_node *n)
{
	struct espy_condition_term *t;
	char buf[64];

	for (;;) {
		t = new_term(p);
		if (!t)
			return;
		const char *start = p->at;

		t->minus = *p->at == '-';
		p->at += t->minus;
		if (isdigit((unsigned char)*p->at) || (*p->at == '.' && isdigit((unsigned char)p->at[1])))
			parse_number(p, t);
		else if (is_word(*p->at))
			parse_constant(p, t);
		else if ((*p->at == '"' || *p->at == '\'') && !t->minus)
			parse_text(p, t, n->op == ESPY_TEST_MATCH, n->op == ESPY_TEST_EQ);
		else
			wrong(p, start, "a number, a constant or a \"text\" is expected, not %s",
			      found(start, buf, sizeof(buf)));
		if (p->failed)
			return;
		skip_blanks(p);
		if (*p->at != '|' || p->at[1] == '|' || t->kind == ESPY_TERM_TEXT)
			return;
		t->joined = true;
		p->at++;
	}
}

static void parse_set(struct parser *p, const struct espy_condition_node *n)
{
	char buf[64];

	if (!takes(p, "{")) {
		wrong(p, p->at, "{ is expected behind in, not %s", found(p->at, buf, sizeof(buf)));
		return;
	}
	do {
		parse_value(p, n);
		if (p->failed)
			return;
	} while (takes(p, ","));
	if (!takes(p, "}"))
		wrong(p, p->at, ", or } is expected, not %s", found(p->at, buf, sizeof(buf)));
}

/* ---- tests */

static const struct {
	const char *text;
	uint8_t op, negated;
} operators[] = {
	/* The longer ones first. */
	{ "==", ESPY_TEST_EQ, 0 },     { "!=", ESPY_TEST_EQ, 1 },	 { "<=", ESPY_TEST_LE, 0 },
	{ ">=", ESPY_TEST_GE, 0 },     { "^=", ESPY_TEST_PREFIX, 0 },	 { "$=", ESPY_TEST_SUFFIX, 0 },
	{ "*=", ESPY_TEST_CONTAINS, 0 }, { "=~", ESPY_TEST_MATCH, 0 },	 { "!~", ESPY_TEST_MATCH, 1 },
	{ "<", ESPY_TEST_LT, 0 },      { ">", ESPY_TEST_GT, 0 },	 { "&", ESPY_TEST_ANY, 0 },
	{ "has", ESPY_TEST_BITS, 0 },  { "in", ESPY_TEST_EQ, 0 },
};

static void parse_operator(struct parser *p, struct espy_condition_node *n)
{
	char buf[64];

	skip_blanks(p);
	n->op_at = (uint32_t)(p->at - p->text);
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		const size_t len = strlen(operators[i].text);
		const bool letters = is_word(operators[i].text[0]);

		if (strncmp(p->at, operators[i].text, len) || (letters && is_word(p->at[len])) || !strncmp(p->at, "&&", 2))
			continue;
		p->at += len;
		n->op = operators[i].op;
		n->negated = operators[i].negated;
		n->set = !strcmp(operators[i].text, "in");
		return;
	}
	wrong(p, p->at, "%sone of == != < <= > >= & ^= $= *= =~ !~ has in is expected, not %s",
	      *p->at == '=' ? "a comparison is written ==; " : "", found(p->at, buf, sizeof(buf)));
}

/* Parses a name, and keeps it without blanks. */
static void parse_name(struct parser *p, struct espy_condition_node *n)
{
	const char *start;
	char buf[64];

	skip_blanks(p);
	start = p->at;
	n->at = (uint32_t)(start - p->text);
	n->name = p->c->text_len;
	if (!is_word(*p->at) || isdigit((unsigned char)*p->at)) {
		wrong(p, start, "a name is expected, not %s", found(start, buf, sizeof(buf)));
		return;
	}
	for (;;) {
		/* A member behind a pointer has one name, with a dot. */
		if (*p->at == '-' && p->at[1] == '>' && is_word(p->at[2])) {
			if (!put_byte(p, '.'))
				wrong(p, start, "the condition is too long");
			p->at += 2;
		}
		if (*p->at == '[') {
			const size_t digits = strspn(p->at + 1, "0123456789");

			if (!digits || digits > 6 || p->at[1 + digits] != ']') {
				wrong(p, p->at, "[NUMBER] is expected: the element of an array");
				return;
			}
			for (size_t i = 0; i < digits + 1; i++)
				if (!put_byte(p, *p->at++))
					wrong(p, start, "the condition is too long");
		} else if (!is_word(*p->at) && !(*p->at == '.' && is_word(p->at[1]))) {
			break;
		}
		if (p->c->text_len - n->name >= ESPY_CONDITION_NAME_MAX - 1) {
			wrong(p, start, "a name is at most %u characters long", ESPY_CONDITION_NAME_MAX - 1);
			return;
		}
		if (!put_byte(p, *p->at++)) {
			wrong(p, start, "the condition is too long");
			return;
		}
	}
	if (!put_byte(p, 0))
		wrong(p, start, "the condition is too long");
}

static uint16_t parse_test(struct parser *p)
{
	struct espy_condition_node n = { .kind = ESPY_CONDITION_TEST };
	uint16_t node;

	parse_name(p, &n);
	if (!p->failed)
		parse_operator(p, &n);
	n.a = (uint16_t)p->c->term_cnt;
	if (!p->failed && n.set)
		parse_set(p, &n);
	else if (!p->failed)
		parse_value(p, &n);
	if (p->failed)
		return NO_NODE;
	n.b = (uint16_t)(p->c->term_cnt - n.a);
	node = new_node(p, ESPY_CONDITION_TEST, 0, 0);
	if (node != NO_NODE)
		p->c->nodes[node] = n;
	return node;
}

static uint16_t parse_condition(struct parser *p);

static uint16_t parse_not(struct parser *p)
{
	const char *start;
	uint16_t node;
	char buf[64];

	skip_blanks(p);
	start = p->at;
	if (*p->at != '!' && *p->at != '(')
		return parse_test(p);
	if (++p->depth > ESPY_CONDITION_DEPTH)
		return wrong(p, start, "parentheses and ! go at most %u deep", ESPY_CONDITION_DEPTH);
	p->at++;
	if (*start == '!') {
		node = new_node(p, ESPY_CONDITION_NOT, parse_not(p), 0);
	} else {
		node = parse_condition(p);
		if (node != NO_NODE && !takes(p, ")"))
			node = wrong(p, p->at, "&&, || or ) is expected, not %s", found(p->at, buf, sizeof(buf)));
	}
	p->depth--;
	return node;
}

static uint16_t parse_and(struct parser *p)
{
	uint16_t left = parse_not(p);

	while (left != NO_NODE && takes(p, "&&"))
		left = new_node(p, ESPY_CONDITION_AND, left, parse_not(p));
	return left;
}

static uint16_t parse_condition(struct parser *p)
{
	uint16_t left = parse_and(p);

	while (left != NO_NODE && takes(p, "||"))
		left = new_node(p, ESPY_CONDITION_OR, left, parse_and(p));
	return left;
}

int espy_condition__parse(struct espy_condition *c, const char *text, struct espy_condition_error *e)
{
	struct parser p = { .text = text, .at = text, .c = c, .e = e };
	char buf[64];

	*c = (struct espy_condition){ .node_cnt = 0 };
	*e = (struct espy_condition_error){ .at = 0 };
	c->root = parse_condition(&p);
	skip_blanks(&p);
	if (c->root != NO_NODE && *p.at)
		wrong(&p, p.at, "&&, || or the end is expected, not %s", found(p.at, buf, sizeof(buf)));
	return p.failed ? -EINVAL : 0;
}

int espy_condition__parse_name(const char *text, size_t at, char name[ESPY_CONDITION_NAME_MAX], struct espy_condition_error *e)
{
	struct espy_condition *c = calloc(1, sizeof(*c));
	struct parser p = { .text = text, .at = text + at, .c = c, .e = e };
	struct espy_condition_node n = { .kind = ESPY_CONDITION_TEST };
	char buf[64];

	if (!c)
		return -ENOMEM;
	*e = (struct espy_condition_error){ .at = 0 };
	parse_name(&p, &n);
	skip_blanks(&p);
	if (*p.at)
		wrong(&p, p.at, "nothing is expected behind the name of a value, not %s", found(p.at, buf, sizeof(buf)));
	if (!p.failed)
		strcpy(name, c->text + n.name);
	free(c);
	return p.failed ? -EINVAL : 0;
}

int espy_condition__each_name(const struct espy_condition *c, int (*fn)(void *ctx, const char *name, size_t at),
			      void *ctx)
{
	int ret = 0;

	for (uint32_t i = 0; i < c->node_cnt && !ret; i++)
		if (c->nodes[i].kind == ESPY_CONDITION_TEST)
			ret = fn(ctx, c->text + c->nodes[i].name, c->nodes[i].at);
	return ret;
}

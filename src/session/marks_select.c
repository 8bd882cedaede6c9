/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The language of -m (marks.h): a word of the command line to rules, or to a message that says where and what. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "session/marks.h"

struct parser {
	const char *text, *at;
	char *why;
	size_t why_sz;
	const char *bad; /* where the message points to */
};

static int expected(struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int expected(struct parser *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, p->why_sz, fmt, ap);
	va_end(ap);
	if (!p->bad)
		p->bad = p->at;
	return -EINVAL;
}

static void skip_blanks(struct parser *p)
{
	p->at += strspn(p->at, " \t\n");
}

static bool is_pattern_char(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_.*?:-$@", c));
}

/* One pattern into `out`. */
static int parse_pattern(struct parser *p, char out[ESPY_AGENT_PATTERN_MAX])
{
	const char *start = p->at;
	size_t len, colons = 0;

	while (is_pattern_char(*p->at))
		colons += *p->at++ == ':';
	len = (size_t)(p->at - start);
	if (!len)
		return expected(p, "the name of a mark is expected (app:req_done, app:*)");
	if (len >= ESPY_AGENT_PATTERN_MAX) {
		p->bad = start;
		return expected(p, "a name is at most %u characters long", ESPY_AGENT_PATTERN_MAX - 1);
	}
	if (colons > 1 || start[0] == ':' || start[len - 1] == ':') {
		p->bad = strchr(start, ':');
		return expected(p, "SUBSYSTEM:NAME is expected, with one colon");
	}
	memcpy(out, start, len);
	out[len] = 0;
	return 0;
}

static const struct {
	const char *text;
	uint8_t cmp;
} operators[] = {
	/* The longer ones first. */
	{ "==", ESPY_CMP_EQ },	   { "!=", ESPY_CMP_NE }, { "<=", ESPY_CMP_LE }, { ">=", ESPY_CMP_GE },
	{ "^=", ESPY_CMP_PREFIX }, { "<", ESPY_CMP_LT },  { ">", ESPY_CMP_GT },	 { "&", ESPY_CMP_AND },
};

static int parse_operator(struct parser *p, uint8_t *cmp)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		size_t len = strlen(operators[i].text);

		if (strncmp(p->at, operators[i].text, len) || !strncmp(p->at, "&&", 2))
			continue;
		p->at += len;
		*cmp = operators[i].cmp;
		return 0;
	}
	if (*p->at == '=')
		return expected(p, "a comparison is written ==");
	return expected(p, "one of == != < <= > >= & ^= is expected");
}

/* What stands behind a backslash: its value, or -1. */
static int parse_escape(struct parser *p)
{
	static const char from[] = "ntr\\\"'0ae", to[] = "\n\t\r\\\"'\0\a\033";
	const char *found = *p->at ? strchr(from, *p->at) : NULL;

	if (found) {
		p->at++;
		return (unsigned char)to[found - from];
	}
	if (*p->at == 'x' && isxdigit((unsigned char)p->at[1]) && isxdigit((unsigned char)p->at[2])) {
		const char hex[3] = { p->at[1], p->at[2], 0 };

		p->at += 3;
		return (int)strtol(hex, NULL, 16);
	}
	return -1;
}

static int parse_string(struct parser *p, struct espy_agent_pred *pred)
{
	const char *start = p->at++;

	pred->type = ESPY_CONST_STRING;
	for (pred->str_len = 0; *p->at != '"';) {
		int c = (unsigned char)*p->at;

		if (!c) {
			p->bad = start;
			return expected(p, "the string has no end: \" is missing");
		}
		p->at++;
		if (c == '\\') {
			c = parse_escape(p);
			if (c < 0) {
				p->bad = p->at - 1;
				return expected(p, "\\n \\t \\r \\\\ \\\" \\0 and \\xHH are known after a backslash");
			}
		}
		if (pred->str_len == sizeof(pred->str) - 1) {
			p->bad = start;
			return expected(p, "a string to compare with is at most %zu bytes long", sizeof(pred->str) - 1);
		}
		pred->str[pred->str_len++] = (char)c;
	}
	p->at++;
	if (pred->cmp != ESPY_CMP_EQ && pred->cmp != ESPY_CMP_NE && pred->cmp != ESPY_CMP_PREFIX) {
		p->bad = start;
		return expected(p, "strings are compared by == != or ^= (begins with)");
	}
	return 0;
}

static int parse_char(struct parser *p, struct espy_agent_pred *pred)
{
	const char *start = p->at++;
	int c = (unsigned char)*p->at;

	if (c && c != '\'') {
		p->at++;
		if (c == '\\')
			c = parse_escape(p);
	} else {
		c = -1;
	}
	if (c < 0 || *p->at != '\'') {
		p->bad = start;
		return expected(p, "one character in single quotes is expected");
	}
	p->at++;
	pred->type = ESPY_CONST_INT;
	pred->i = c;
	return 0;
}

static int parse_number(struct parser *p, struct espy_agent_pred *pred)
{
	const char *start = p->at;
	char *end_int, *end_float;
	const bool negative = *start == '-';

	/* As pointers are shown. */
	if (!strncmp(p->at, "NULL", 4) && !isalnum((unsigned char)p->at[4]) && p->at[4] != '_' &&
	    pred->cmp != ESPY_CMP_PREFIX) {
		pred->type = ESPY_CONST_UINT;
		p->at += 4;
		return 0;
	}
	errno = 0;
	unsigned long long u = strtoull(start + negative, &end_int, 0);
	const bool too_large = errno == ERANGE || (negative && u > 1ull << 63);
	double d = strtod(start, &end_float);

	if (end_float == start || !(isdigit((unsigned char)start[negative]) || start[negative] == '.'))
		return expected(p, "a number, 'c' or a \"string\" is expected");
	if (end_float > end_int) {
		if (!isfinite(d))
			return expected(p, "this number is too large");
		pred->type = ESPY_CONST_DOUBLE;
		pred->d = d;
		p->at = end_float;
	} else {
		if (too_large)
			return expected(p, "this number does not fit into 64 bits");
		pred->type = negative ? ESPY_CONST_INT : ESPY_CONST_UINT;
		pred->u = negative ? 0 - (uint64_t)u : u;
		p->at = end_int;
	}
	if (isalnum((unsigned char)*p->at) || *p->at == '_' || *p->at == '.') {
		p->bad = start;
		return expected(p, "this is not a number");
	}
	if (pred->cmp == ESPY_CMP_PREFIX) {
		p->bad = start;
		return expected(p, "^= (begins with) wants a \"string\"");
	}
	if (pred->cmp == ESPY_CMP_AND && pred->type == ESPY_CONST_DOUBLE) {
		p->bad = start;
		return expected(p, "& wants an integer");
	}
	return 0;
}

static int parse_condition(struct parser *p, struct espy_agent_pred *pred)
{
	const char *start = p->at;
	size_t len;
	int err;

	memset(pred, 0, sizeof(*pred));
	while (isalnum((unsigned char)*p->at) || *p->at == '_' || *p->at == '.')
		p->at++;
	len = (size_t)(p->at - start);
	if (!len || isdigit((unsigned char)*start)) {
		p->bad = start;
		return expected(p, "the name of an argument is expected (size, or arg0 for the first)");
	}
	if (len >= sizeof(pred->arg)) {
		p->bad = start;
		return expected(p, "the name of an argument is at most %zu characters long", sizeof(pred->arg) - 1);
	}
	memcpy(pred->arg, start, len);
	skip_blanks(p);
	err = parse_operator(p, &pred->cmp);
	if (err)
		return err;
	skip_blanks(p);
	if (*p->at == '"')
		return parse_string(p, pred);
	if (*p->at == '\'') {
		if (pred->cmp == ESPY_CMP_PREFIX)
			return expected(p, "^= (begins with) wants a \"string\"");
		return parse_char(p, pred);
	}
	return parse_number(p, pred);
}

static int parse_conditions(struct parser *p, struct espy_agent_rule *rule)
{
	int err;

	for (;;) {
		skip_blanks(p);
		if (rule->npreds == ESPY_AGENT_PREDS)
			return expected(p, "at most %u conditions are possible", ESPY_AGENT_PREDS);
		err = parse_condition(p, &rule->preds[rule->npreds]);
		if (err)
			return err;
		rule->npreds++;
		skip_blanks(p);
		if (!*p->at)
			return 0;
		if (!strncmp(p->at, "||", 2))
			return expected(p, "only && joins conditions; for \"or\" give -m twice");
		if (strncmp(p->at, "&&", 2))
			return expected(p, "&& or the end is expected");
		p->at += 2;
	}
}

int espy_marks_select__add(struct espy_mark_rules *r, const char *text, size_t *at, char *why, size_t why_sz)
{
	struct parser p = { .text = text, .at = text, .why = why, .why_sz = why_sz };
	char patterns[ESPY_AGENT_RULES][ESPY_AGENT_PATTERN_MAX];
	struct espy_agent_rule rule = { 0 };
	size_t cnt = 0;
	int err = 0;

	for (;;) {
		skip_blanks(&p);
		if (r->cnt + cnt >= ESPY_AGENT_RULES) {
			err = expected(&p, "at most %u names of marks can be given", ESPY_AGENT_RULES);
			break;
		}
		err = parse_pattern(&p, patterns[cnt]);
		if (err)
			break;
		cnt++;
		skip_blanks(&p);
		if (*p.at != ',')
			break;
		p.at++;
	}
	if (!err && *p.at) {
		if (strncmp(p.at, "if", 2) || !isspace((unsigned char)p.at[2])) {
			err = expected(&p, "',', 'if' or the end is expected");
		} else {
			p.at += 2;
			err = parse_conditions(&p, &rule);
		}
	}
	*at = (size_t)((p.bad ? p.bad : p.at) - text);
	if (err)
		return err;
	struct espy_agent_rule *v = realloc(r->v, (r->cnt + cnt) * sizeof(*v));

	if (!v)
		return -ENOMEM;
	r->v = v;
	for (size_t i = 0; i < cnt; i++) {
		struct espy_agent_rule *to = &r->v[r->cnt++];

		*to = rule;
		to->id = (uint32_t)r->cnt;
		memcpy(to->pattern, patterns[i], sizeof(to->pattern));
	}
	return 0;
}

void espy_marks_select__free(struct espy_mark_rules *r)
{
	free(r->v);
	*r = (struct espy_mark_rules){ 0 };
}

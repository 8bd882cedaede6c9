/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes predicates of conditions. First it binds each test to names and constants, in the order of the text, so that
 * it tells the first mistake. Then it joins the tests: each gets the places where evaluation goes on.
 */
#include "filter/condition.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/errno_names.h"

#define ERRNO_MAX 4095u
#define REGEX_MAX 256u   /* bytes of a regular expression */
#define REPEATS_MAX 500u /* the product of its counts in braces */

struct binder {
	const struct espy_condition *c;
	const struct espy_names *names;
	struct espy_predicate *p;
	struct espy_condition_error *e;
	struct espy_test tests[ESPY_CONDITION_TERMS]; /* of the value that begins with this term */
	uint32_t made; /* tests in p, which is filled from its end */
};

static int __attribute__((format(printf, 3, 4))) wrong(struct binder *b, size_t at, const char *fmt, ...)
{
	va_list ap;

	b->e->at = at;
	va_start(ap, fmt);
	vsnprintf(b->e->text, sizeof(b->e->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static bool put_text(struct binder *b, const char *text, size_t len, uint32_t *at)
{
	struct espy_predicate *p = b->p;

	if (sizeof(p->text) - p->text_len <= len)
		return false;
	*at = p->text_len;
	memcpy(p->text + p->text_len, text, len);
	p->text[p->text_len + len] = 0;
	p->text_len += (uint32_t)len + 1;
	return true;
}

/* Returns the place of a name in the predicate. */
static int put_name(struct binder *b, const struct espy_condition_node *n, const struct espy_name_info *info, uint8_t *place)
{
	const char *name = b->c->text + n->name;
	struct espy_predicate *p = b->p;

	for (uint32_t i = 0; i < p->name_cnt; i++)
		if (p->names[i].ref == info->ref && p->names[i].type == info->type &&
		    !strcmp(p->text + p->names[i].text, name)) {
			*place = (uint8_t)i;
			return 0;
		}
	if (p->name_cnt == ESPY_PREDICATE_NAMES)
		return wrong(b, n->at, "there can be at most %u different names", ESPY_PREDICATE_NAMES);
	struct espy_predicate_name *to = &p->names[p->name_cnt];

	*to = (struct espy_predicate_name){ .ref = info->ref, .type = info->type, .flags = info->flags };
	if (!put_text(b, name, strlen(name), &to->text))
		return wrong(b, n->at, "the condition is too long");
	*place = (uint8_t)p->name_cnt++;
	return 0;
}

/* ---- text */

/*
 * Tells whether a regular expression has no operators but ^ and $. Then *op and text[0..] are a cheaper comparison,
 * which sources can make.
 */
static bool is_plain(const char *regex, char *text, size_t *len, uint8_t *op)
{
	const bool begins = *regex == '^';
	bool ends = false;

	*len = 0;
	for (regex += begins; *regex; regex++) {
		if (!regex[1] && *regex == '$') {
			ends = true;
			break;
		}
		if (*regex == '\\' && regex[1] && strchr(".[]()*+?{}|^$\\/", regex[1]))
			regex++;
		else if (strchr(".[]()*+?{}|^$\\", *regex))
			return false;
		text[(*len)++] = *regex;
	}
	*op = begins ? (ends ? ESPY_TEST_EQ : ESPY_TEST_PREFIX) : ends ? ESPY_TEST_SUFFIX : ESPY_TEST_CONTAINS;
	return true;
}

/*
 * Returns why a regular expression may take the C library too long; NULL: it does not. A trace may bring conditions.
 * The library compiles a repeated part as often as its count says, and references need searches without bound.
 */
static const char *is_dear(const char *regex, size_t len)
{
	unsigned long product = 1;

	if (len > REGEX_MAX)
		return "it is too long";
	for (; *regex; regex++) {
		if (*regex == '\\' && regex[1]) {
			if (isdigit((unsigned char)*++regex))
				return "it refers to a part of itself";
			continue;
		}
		if (*regex != '{')
			continue;
		unsigned long most = 1;

		for (const char *at = regex + 1; isdigit((unsigned char)*at) || *at == ',';) {
			char *end;
			const unsigned long n = strtoul(at, &end, 10);

			most = n > most ? n : most;
			at = end > at ? end : at + 1;
		}
		product = most > REPEATS_MAX ? REPEATS_MAX + 1 : product * most;
		if (product > REPEATS_MAX)
			return "it repeats too much";
	}
	return NULL;
}

static int check_regex(struct binder *b, const struct espy_condition_term *t, const char *text)
{
	char why[128];
	regex_t r;
	int err;

	if (strlen(text) != t->text_len)
		return wrong(b, t->at, "a regular expression cannot have a byte 0");
	const char *dear = is_dear(text, t->text_len);

	if (dear)
		return wrong(b, t->at, "this regular expression is not taken: %s", dear);
	err = regcomp(&r, text, REG_EXTENDED | REG_NOSUB);
	if (err) {
		regerror(err, &r, why, sizeof(why));
		return wrong(b, t->at, "this is no regular expression: %s", why);
	}
	regfree(&r);
	return 0;
}

static int bind_text(struct binder *b, const struct espy_condition_node *n, const struct espy_condition_term *t,
		     const struct espy_name_info *info, struct espy_test *test)
{
	char plain[ESPY_PREDICATE_TEXT];
	const char *text = b->c->text + t->text;
	size_t len = t->text_len;

	test->type = ESPY_VALUE_TEXT;
	if (t->star)
		test->op = ESPY_TEST_PREFIX;
	if (n->op == ESPY_TEST_MATCH && is_plain(text, plain, &len, &test->op))
		text = plain;
	else
		len = t->text_len;
	/* A text that ends inside the captured bytes is whole. */
	if (info->cap && ((test->op == ESPY_TEST_EQ && len >= info->cap) || (test->op == ESPY_TEST_PREFIX && len > info->cap)))
		return wrong(b, t->at, "only %u bytes of %s are captured; -s %zu captures enough", info->cap,
			     b->c->text + n->name, len + 1);
	test->text_len = (uint32_t)len;
	if (!put_text(b, text, len, &test->text))
		return wrong(b, t->at, "the condition is too long");
	return 0;
}

/* ---- numbers */

static bool errno_by_name(const char *name, uint64_t *out)
{
	for (unsigned e = 1; *name == 'E' && e <= ERRNO_MAX; e++) {
		const char *n = espy_errno_name(e);

		if (n && !strcmp(n, name)) {
			*out = e;
			return true;
		}
	}
	return false;
}

/* Finds the value of a word: a constant of the name, an error, or NULL. -ENOENT: it is none of them. */
static int bind_word(struct binder *b, const struct espy_condition_node *n, const struct espy_condition_term *t,
		     const struct espy_name_info *info, uint64_t *value, uint64_t *mask)
{
	const char *word = b->c->text + t->text, *name = b->c->text + n->name;

	if (b->names->constant && !b->names->constant(b->names->ctx, info, word, value, mask))
		return 0;
	if (!strcmp(word, "NULL")) {
		*value = *mask = 0;
		return 0;
	}
	if (!errno_by_name(word, value))
		return -ENOENT;
	*mask = *value;
	if (info->flags & ESPY_NAME_ERRNO && t->minus)
		return wrong(b, t->at, "%s is positive: %s (ret is negative)", name, word);
	if (info->flags & ESPY_NAME_RESULT && !t->minus)
		return wrong(b, t->at, "an error is returned as a negative number: %s %s -%s", name,
			     n->negated ? "!=" : "==", word);
	return 0;
}

static int bind_integer(struct binder *b, const struct espy_condition_node *n, const struct espy_condition_term *t,
			const struct espy_name_info *info, uint64_t *value, uint64_t *mask)
{
	const char *name = b->c->text + n->name;
	int err = 0;

	switch (t->kind) {
	case ESPY_TERM_WORD:
		err = bind_word(b, n, t, info, value, mask);
		break;
	case ESPY_TERM_TIME:
		*value = t->u;
		if (!(info->flags & ESPY_NAME_DURATION))
			return wrong(b, t->at, "%s is no time: a number without unit is expected", name);
		break;
	case ESPY_TERM_UINT:
	case ESPY_TERM_CHAR:
		if (info->flags & ESPY_NAME_DURATION && t->u)
			return wrong(b, t->at, "a time has a unit: ns, us, ms, s or min");
		*value = *mask = t->u;
		break;
	default:
		return wrong(b, t->at, "a text or a number with a fraction cannot be joined by |");
	}
	if (err == -ENOENT)
		return wrong(b, t->at, "'%s' is neither a number nor an error%s%s", b->c->text + t->text,
			     b->names->constant ? ", nor a constant of " : "", b->names->constant ? name : "");
	if (t->minus) {
		*value = 0 - *value;
		*mask = *value;
	}
	return err;
}

/* Cuts the constant to the width of the value. */
static void cut_to_width(const struct espy_name_info *info, struct espy_test *test)
{
	const unsigned shift = 64 - 8u * info->width;

	if (!info->width || info->width > 8 || test->type == ESPY_VALUE_DOUBLE)
		return;
	if (test->op != ESPY_TEST_EQ && test->op != ESPY_TEST_BITS && test->op != ESPY_TEST_ANY)
		return;
	test->u <<= shift;
	test->mask = test->mask << shift >> shift;
	if (info->type == ESPY_VALUE_INT && test->op == ESPY_TEST_EQ) {
		test->i >>= shift;
		test->type = ESPY_VALUE_INT;
	} else {
		test->u >>= shift;
		test->type = ESPY_VALUE_UINT;
	}
}

static int bind_double(struct binder *b, const struct espy_condition_node *n, const struct espy_condition_term *t,
		       const struct espy_name_info *info, struct espy_test *test)
{
	if (test->op == ESPY_TEST_ANY || test->op == ESPY_TEST_BITS)
		return wrong(b, n->op_at, "%s wants an integer", test->op == ESPY_TEST_ANY ? "&" : "has");
	if (t->joined)
		return wrong(b, t->at, "a number with a fraction cannot be joined by |");
	if (info->flags & ESPY_NAME_DURATION)
		return wrong(b, t->at, "a time has a unit: ns, us, ms, s or min");
	test->type = ESPY_VALUE_DOUBLE;
	test->d = t->minus ? -t->d : t->d;
	return 0;
}

/* Binds the terms of one value, from t on. */
static int bind_number(struct binder *b, const struct espy_condition_node *n, const struct espy_condition_term *t,
		       const struct espy_name_info *info, struct espy_test *test)
{
	const struct espy_condition_term *first = t;
	bool negative = false;

	if (t->kind == ESPY_TERM_DOUBLE)
		return bind_double(b, n, t, info, test);
	for (;; t++) {
		uint64_t value = 0, mask = 0;
		int err = bind_integer(b, n, t, info, &value, &mask);

		if (err)
			return err;
		test->u |= value;
		test->mask |= mask;
		/* Constants of tables are stored sign-extended: AT_FDCWD. */
		negative |= (t->minus && value) || (t->kind == ESPY_TERM_WORD && info->type == ESPY_VALUE_INT && value >> 63);
		if (!t->joined)
			break;
	}
	test->type = negative ? ESPY_VALUE_INT : ESPY_VALUE_UINT;
	if (test->op == ESPY_TEST_BITS && !test->mask)
		return wrong(b, first->at, "this has no bits: compare with ==");
	if (test->op != ESPY_TEST_BITS)
		test->mask = 0;
	cut_to_width(info, test);
	if (test->op == ESPY_TEST_ANY || test->op == ESPY_TEST_BITS) {
		test->type = ESPY_VALUE_UINT;
		if (info->type == ESPY_VALUE_DOUBLE)
			return wrong(b, n->op_at, "%s has no bits: it is a number with a fraction", b->c->text + n->name);
	} else if (info->type == ESPY_VALUE_DOUBLE) {
		test->d = test->type == ESPY_VALUE_INT ? (double)test->i : (double)test->u;
		test->type = ESPY_VALUE_DOUBLE;
	}
	return 0;
}

/* ---- tests */

static int check_operator(struct binder *b, const struct espy_condition_node *n, const struct espy_condition_term *t, bool text)
{
	static const char *const names[] = { "", "==", "<", "<=", ">", ">=", "&", "has", "^=", "$=", "*=", "=~" };
	static const char *const says[] = { [ESPY_TEST_PREFIX] = "begins with",
					    [ESPY_TEST_SUFFIX] = "ends with",
					    [ESPY_TEST_CONTAINS] = "contains",
					    [ESPY_TEST_MATCH] = "matches" };

	if (text && n->op != ESPY_TEST_EQ && n->op < ESPY_TEST_PREFIX)
		return wrong(b, n->op_at, "text is compared by == != ^= $= *= =~ !~ or in, not by %s", names[n->op]);
	if (!text && n->op >= ESPY_TEST_PREFIX)
		return wrong(b, t->at, "%s (%s) wants a \"text\"", n->negated ? "!~" : names[n->op], says[n->op]);
	return 0;
}

/* Tells whether the value is a text. So is a character beside a name that is no number, or where text must stand. */
static bool means_text(const struct binder *b, const struct espy_condition_node *n, const struct espy_condition_term *t)
{
	struct espy_name_info info = { 0 };
	char why[sizeof(b->e->text)];

	if (t->kind != ESPY_TERM_CHAR || t->joined)
		return t->kind == ESPY_TERM_TEXT;
	return n->op >= ESPY_TEST_PREFIX ||
	       b->names->find(b->names->ctx, b->c->text + n->name, false, &info, why, sizeof(why)) == -EINVAL ||
	       info.flags & ESPY_NAME_TEXT;
}

/* Tells whether a number is a mistake beside a text: 0 is the NULL pointer. */
static bool is_number(const struct espy_condition_term *t)
{
	return t->kind == ESPY_TERM_DOUBLE || t->kind == ESPY_TERM_TIME || (t->kind == ESPY_TERM_UINT && t->u);
}

/* Binds one value of one test. */
static int bind_value(struct binder *b, const struct espy_condition_node *n, uint16_t term, uint8_t *bound)
{
	const struct espy_condition_term *t = &b->c->terms[term];
	const char *name = b->c->text + n->name;
	const bool text = means_text(b, n, t);
	struct espy_test *test = &b->tests[term];
	struct espy_name_info info = { 0 };
	char why[sizeof(b->e->text)] = "";
	const struct espy_condition_error before = *b->e;
	uint8_t got = 0;
	int err;

	*test = (struct espy_test){ .op = n->op, .negated = n->negated };
	err = check_operator(b, n, t, text);
	if (!err && n->op == ESPY_TEST_MATCH)
		err = check_regex(b, t, b->c->text + t->text);
	if (err)
		return err;
	err = b->names->find(b->names->ctx, name, text, &info, why, sizeof(why));
	if (err && !b->names->lenient)
		return wrong(b, err == -ENOENT ? n->at : t->at, "%s", why);
	if (err == -EINVAL)
		wrong(b, t->at, "%s", why);
	if (!err || err == -EINVAL)
		got = ESPY_BOUND_NAME;
	if (!err && !text && is_number(t) && info.flags & ESPY_NAME_TEXT)
		err = wrong(b, t->at, "%s is a text: a \"text\" is expected, not a number", name);
	if (!err)
		err = text ? bind_text(b, n, t, &info, test) : bind_number(b, n, t, &info, test);
	if (!err)
		got |= ESPY_BOUND_ALL;
	else if (!b->names->lenient)
		return err;
	else
		*test = (struct espy_test){ .op = ESPY_TEST_NEVER };
	if (b->names->lenient && (!err || !got || *before.text)) /* the first mistake about a known name stays */
		*b->e = before;
	if (bound)
		bound[term] |= got;
	return put_name(b, n, err ? &(struct espy_name_info){ 0 } : &info, &test->name);
}

/* Returns the first term behind the value that begins with `term`. */
static uint16_t next_value(const struct espy_condition *c, uint16_t term)
{
	while (c->terms[term].joined)
		term++;
	return (uint16_t)(term + 1);
}

/* ---- joining */

/* Puts a test in front of the others. Returns its place. */
static uint16_t put_test(struct binder *b, const struct espy_test *t, uint16_t yes, uint16_t no)
{
	const uint16_t place = (uint16_t)(ESPY_PREDICATE_TESTS - ++b->made);

	b->p->tests[place] = *t;
	b->p->tests[place].yes = yes;
	b->p->tests[place].no = no;
	return place;
}

/* Puts the tests of a node, the last first; evaluation leaves them for yes or no. Returns where it begins. */
static uint16_t join(struct binder *b, uint16_t node, uint16_t yes, uint16_t no)
{
	const struct espy_condition_node *n = &b->c->nodes[node];
	uint16_t values[ESPY_CONDITION_TERMS], cnt = 0;

	switch (n->kind) {
	case ESPY_CONDITION_AND:
		return join(b, n->a, join(b, n->b, yes, no), no);
	case ESPY_CONDITION_OR:
		return join(b, n->a, yes, join(b, n->b, yes, no));
	case ESPY_CONDITION_NOT:
		return join(b, n->a, no, yes);
	default:
		break;
	}
	for (uint16_t t = n->a; t < n->a + n->b; t = next_value(b->c, t))
		values[cnt++] = t;
	for (uint16_t other = no; cnt; no = other)
		other = put_test(b, &b->tests[values[--cnt]], yes, no);
	return no;
}

int espy_condition__bind(const struct espy_condition *c, const struct espy_names *names, struct espy_predicate *p,
			 uint8_t bound[ESPY_CONDITION_TERMS], struct espy_condition_error *e)
{
	struct binder b = { .c = c, .names = names, .p = p, .e = e };
	uint32_t cnt = 0;

	memset(p, 0, sizeof(*p));
	for (uint32_t i = 0; i < c->node_cnt; i++) {
		const struct espy_condition_node *n = &c->nodes[i];

		if (n->kind != ESPY_CONDITION_TEST)
			continue;
		for (uint16_t t = n->a; t < n->a + n->b; t = next_value(c, t)) {
			int err = bind_value(&b, n, t, bound);

			if (err)
				return err;
			if (++cnt > ESPY_PREDICATE_TESTS)
				return wrong(&b, c->terms[t].at, "there can be at most %u comparisons",
					     ESPY_PREDICATE_TESTS);
		}
	}
	join(&b, (uint16_t)c->root, ESPY_TEST_HOLDS, ESPY_TEST_FAILS);
	/* The tests stand at the end of the array. */
	const uint16_t gap = (uint16_t)(ESPY_PREDICATE_TESTS - b.made);

	p->test_cnt = b.made;
	memmove(p->tests, p->tests + gap, b.made * sizeof(*p->tests));
	memset(p->tests + b.made, 0, gap * sizeof(*p->tests));
	for (uint32_t i = 0; i < p->test_cnt; i++) {
		struct espy_test *t = &p->tests[i];

		t->yes = t->yes >= ESPY_TEST_HOLDS ? t->yes : (uint16_t)(t->yes - gap);
		t->no = t->no >= ESPY_TEST_HOLDS ? t->no : (uint16_t)(t->no - gap);
	}
	return 0;
}

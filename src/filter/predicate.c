/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks and evaluates predicates in user space. predicate_parts.c deals with their parts. */
#include "filter/predicate.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

struct espy_evaluator {
	struct espy_predicate p;
	regex_t regex[ESPY_PREDICATE_TESTS]; /* of the MATCH tests */
	uint64_t compiled;		     /* the compiled ones, as a bit set */
};
_Static_assert(ESPY_PREDICATE_TESTS <= 64, "compiled is one word");

static bool is_number(unsigned type)
{
	return type == ESPY_VALUE_INT || type == ESPY_VALUE_UINT || type == ESPY_VALUE_DOUBLE;
}

static bool fits_operator(const struct espy_test *t)
{
	switch (t->op) {
	case ESPY_TEST_NEVER:
		return true;
	case ESPY_TEST_EQ:
		return is_number(t->type) || t->type == ESPY_VALUE_TEXT;
	case ESPY_TEST_LT:
	case ESPY_TEST_LE:
	case ESPY_TEST_GT:
	case ESPY_TEST_GE:
		return is_number(t->type);
	case ESPY_TEST_ANY:
	case ESPY_TEST_BITS:
		return t->type == ESPY_VALUE_UINT;
	case ESPY_TEST_PREFIX:
	case ESPY_TEST_SUFFIX:
	case ESPY_TEST_CONTAINS:
	case ESPY_TEST_MATCH:
		return t->type == ESPY_VALUE_TEXT;
	}
	return false;
}

static bool is_target(const struct espy_predicate *p, uint32_t from, uint32_t to)
{
	return to == ESPY_TEST_HOLDS || to == ESPY_TEST_FAILS || (to > from && to < p->test_cnt);
}

int espy_predicate__check(const struct espy_predicate *p)
{
	if (p->test_cnt > ESPY_PREDICATE_TESTS || p->name_cnt > ESPY_PREDICATE_NAMES ||
	    p->text_len > ESPY_PREDICATE_TEXT)
		return -EBADMSG;
	for (uint32_t i = 0; i < p->name_cnt; i++)
		if (p->names[i].text >= p->text_len ||
		    !memchr(p->text + p->names[i].text, 0, p->text_len - p->names[i].text))
			return -EBADMSG;
	for (uint32_t i = 0; i < p->test_cnt; i++) {
		const struct espy_test *t = &p->tests[i];

		if (t->name >= p->name_cnt || t->negated > 1 || !fits_operator(t) || !is_target(p, i, t->yes) ||
		    !is_target(p, i, t->no))
			return -EBADMSG;
		if (t->type == ESPY_VALUE_TEXT &&
		    (t->text >= p->text_len || t->text_len >= p->text_len - t->text || p->text[t->text + t->text_len]))
			return -EBADMSG;
	}
	return 0;
}

bool espy_predicate__same(const struct espy_predicate *a, const struct espy_predicate *b)
{
	return a->test_cnt == b->test_cnt && a->name_cnt == b->name_cnt && a->text_len == b->text_len &&
	       !memcmp(a->tests, b->tests, a->test_cnt * sizeof(*a->tests)) &&
	       !memcmp(a->names, b->names, a->name_cnt * sizeof(*a->names)) && !memcmp(a->text, b->text, a->text_len);
}

/* ---- one test */

enum order { BELOW, EQUAL, ABOVE, UNORDERED };

static enum order order_of_doubles(long double a, long double b)
{
	return a < b ? BELOW : a > b ? ABOVE : a == b ? EQUAL : UNORDERED;
}

/* Orders numbers by value: -1 is below 18446744073709551615. A long double holds every integer of 64 bits. */
static enum order order_of_numbers(const struct espy_filter_value *v, const struct espy_test *t)
{
	if (v->type == ESPY_VALUE_DOUBLE || t->type == ESPY_VALUE_DOUBLE) {
		const long double a = v->type == ESPY_VALUE_DOUBLE ? (long double)v->d
				      : v->type == ESPY_VALUE_INT  ? (long double)v->i
								   : (long double)v->u;
		const long double b = t->type == ESPY_VALUE_DOUBLE ? (long double)t->d
				      : t->type == ESPY_VALUE_INT  ? (long double)t->i
								   : (long double)t->u;

		return order_of_doubles(a, b);
	}
	const bool a_negative = v->type == ESPY_VALUE_INT && v->i < 0, b_negative = t->type == ESPY_VALUE_INT && t->i < 0;

	if (a_negative != b_negative)
		return a_negative ? BELOW : ABOVE;
	return v->u < t->u ? BELOW : v->u > t->u ? ABOVE : EQUAL; /* two negative numbers are ordered alike */
}

static bool number_holds(const struct espy_test *t, const struct espy_filter_value *v)
{
	switch (t->op) {
	case ESPY_TEST_ANY:
		return v->u & t->u;
	case ESPY_TEST_BITS:
		return (v->u & t->mask) == t->u;
	default:
		break;
	}
	const enum order order = order_of_numbers(v, t);

	switch (t->op) {
	case ESPY_TEST_EQ:
		return order == EQUAL;
	case ESPY_TEST_LT:
		return order == BELOW;
	case ESPY_TEST_LE:
		return order == BELOW || order == EQUAL;
	case ESPY_TEST_GT:
		return order == ABOVE;
	case ESPY_TEST_GE:
		return order == ABOVE || order == EQUAL;
	default:
		return false;
	}
}

/* Tells whether text contains `with`. Texts are short: looking for the first byte is faster than memmem(). */
static bool contains(const char *text, size_t len, const char *with, size_t n)
{
	const char *end = text + len;

	if (!n)
		return true;
	while ((size_t)(end - text) >= n) {
		text = memchr(text, with[0], (size_t)(end - text) - n + 1);
		if (!text)
			return false;
		if (!memcmp(text, with, n))
			return true;
		text++;
	}
	return false;
}

static bool text_holds(const struct espy_test *t, const struct espy_filter_value *v, const char *with,
		       const regex_t *regex)
{
	const size_t n = t->text_len;

	switch (t->op) {
	case ESPY_TEST_EQ:
		return v->len == n && !v->cut && !memcmp(v->text, with, n);
	case ESPY_TEST_PREFIX:
		return v->len >= n && !memcmp(v->text, with, n);
	case ESPY_TEST_SUFFIX:
		return v->len >= n && !v->cut && !memcmp(v->text + v->len - n, with, n);
	case ESPY_TEST_CONTAINS:
		return contains(v->text, v->len, with, n);
	case ESPY_TEST_MATCH: {
		regmatch_t span = { .rm_so = 0, .rm_eo = (regoff_t)v->len };

		return regex && !regexec(regex, v->text, 1, &span, REG_STARTEND | (v->cut ? REG_NOTEOL : 0));
	}
	default:
		return false;
	}
}

static bool holds(const struct espy_predicate *p, const struct espy_test *t, const struct espy_filter_value *v,
		  const regex_t *regex)
{
	const bool wants_text = t->type == ESPY_VALUE_TEXT;

	if (t->op == ESPY_TEST_NEVER || v->type == ESPY_VALUE_NONE || (v->type == ESPY_VALUE_TEXT) != wants_text)
		return false;
	if (wants_text)
		return text_holds(t, v, p->text + t->text, regex) != t->negated;
	if (v->type == ESPY_VALUE_DOUBLE && (t->op == ESPY_TEST_ANY || t->op == ESPY_TEST_BITS))
		return false; /* it has no bits: as if it were missing */
	return number_holds(t, v) != t->negated;
}

bool espy_test__holds(const struct espy_predicate *p, const struct espy_test *t, const struct espy_filter_value *v)
{
	return holds(p, t, v, NULL);
}

/* ---- the whole */

int espy_evaluator__new(struct espy_evaluator **out, const struct espy_predicate *p)
{
	struct espy_evaluator *e;
	int err = espy_predicate__check(p);

	*out = NULL;
	if (err)
		return err;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->p = *p;
	for (uint32_t i = 0; i < p->test_cnt; i++) {
		if (p->tests[i].op != ESPY_TEST_MATCH)
			continue;
		if (regcomp(&e->regex[i], e->p.text + p->tests[i].text, REG_EXTENDED)) {
			espy_evaluator__free(e);
			return -EBADMSG;
		}
		e->compiled |= 1ull << i;
	}
	*out = e;
	return 0;
}

void espy_evaluator__free(struct espy_evaluator *e)
{
	if (!e)
		return;
	for (uint32_t i = 0; i < ESPY_PREDICATE_TESTS; i++)
		if (e->compiled >> i & 1)
			regfree(&e->regex[i]);
	free(e);
}

bool espy_evaluator__holds(const struct espy_evaluator *e, espy_value_fn get, void *ctx)
{
	const struct espy_predicate *p = &e->p;
	struct espy_filter_value values[ESPY_PREDICATE_NAMES];
	uint32_t fetched = 0, at = p->test_cnt ? 0 : ESPY_TEST_HOLDS;

	while (at < p->test_cnt) {
		const struct espy_test *t = &p->tests[at];
		struct espy_filter_value *v = &values[t->name];

		if (!(fetched >> t->name & 1)) {
			v->type = ESPY_VALUE_NONE;
			v->cut = false;
			if (t->op != ESPY_TEST_NEVER && get(ctx, p->names[t->name].ref, espy_predicate__name(p, t), v))
				v->type = ESPY_VALUE_NONE;
			fetched |= t->op != ESPY_TEST_NEVER ? 1u << t->name : 0;
		}
		at = holds(p, t, v, e->compiled >> at & 1 ? &e->regex[at] : NULL) ? t->yes : t->no;
	}
	return at == ESPY_TEST_HOLDS;
}

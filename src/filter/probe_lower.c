/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes the tests that the kernel runs from the condition of a rule of -u. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "filter/lower_trigger.h"
#include "filter/mark_names.h"
#include "filter/probe_select.h"
#include "record/mark_def.h"

/* Makes a test of a number. The kernel compares numbers of one sign, so espy tests a constant of the other. */
static bool lower_number(const struct espy_test *t, struct espy_probe_test *out)
{
	const bool orders = t->op != ESPY_TEST_ANY && t->op != ESPY_TEST_BITS;

	if (t->type != ESPY_VALUE_INT && t->type != ESPY_VALUE_UINT)
		return false;
	if (orders && (out->is_signed ? t->type == ESPY_VALUE_UINT : t->type == ESPY_VALUE_INT) && t->i < 0)
		return false;
	out->number = t->i;
	out->mask = t->mask;
	return true;
}

static bool lower_text(const struct espy_predicate *p, const struct espy_test *t, const struct espy_probe_fetch *f,
		       struct espy_probe_test *out)
{
	const uint32_t len = t->text_len + (t->op == ESPY_TEST_EQ); /* with the NUL */

	if (t->type != ESPY_VALUE_TEXT || (t->op != ESPY_TEST_EQ && t->op != ESPY_TEST_PREFIX) || len >= sizeof(out->text) ||
	    f->what != ESPY_PROBE_STRING || f->src == ESPY_PROBE_COMM)
		return false;
	out->what = ESPY_PROBE_TEST_TEXT;
	out->text_len = (uint8_t)len;
	memcpy(out->text, p->text + t->text, t->text_len);
	return true;
}

/* Makes the kernel's form of a test, without its targets. Returns false if the kernel cannot make the test. */
static bool lower(const struct espy_probe_rule *rule, const struct espy_predicate *p, const struct espy_test *t,
		  struct espy_probe_test *out)
{
	const uint64_t ref = p->names[t->name].ref;

	*out = (struct espy_probe_test){ .negated = t->negated };
	out->compare = espy_lower_compare(t);
	if (!out->compare)
		return false;
	switch (ref) {
	case ESPY_PROBE_NAME_PID:
		out->what = ESPY_PROBE_TEST_PID;
		return lower_number(t, out);
	case ESPY_PROBE_NAME_TID:
		out->what = ESPY_PROBE_TEST_TID;
		return lower_number(t, out);
	case ESPY_PROBE_NAME_DURATION:
		out->what = ESPY_PROBE_TEST_DURATION;
		return lower_number(t, out);
	}
	const struct espy_probe_fetch *f = &rule->plan.fetches[ref];

	out->arg = (uint8_t)ref;
	if (f->what != ESPY_PROBE_NUMBER)
		return lower_text(p, t, f, out);
	if (rule->args[ref].bits)
		return false; /* the kernel sees the number around it */
	out->what = ESPY_PROBE_TEST_ARG;
	out->is_signed = f->is_signed;
	return lower_number(t, out);
}

static bool takes(void *ctx, const struct espy_predicate *p, uint32_t first, uint32_t end)
{
	struct espy_probe_test test;

	for (uint32_t i = first; i < end; i++)
		if (!lower(ctx, p, &p->tests[i], &test))
			return false;
	return true;
}

static uint8_t target(uint16_t to)
{
	return to == ESPY_TEST_HOLDS ? ESPY_PROBE_HOLDS : to == ESPY_TEST_FAILS ? ESPY_PROBE_FAILS : (uint8_t)to;
}

int espy_probe_lower(struct espy_probe_rule *rule, struct espy_condition_error *e)
{
	struct espy_predicate whole, near, rest;
	uint8_t kinds[ESPY_MARK_MAX_ARGS];
	char *format;
	int err;

	rule->plan.test_cnt = 0;
	rule->tested = !rule->condition;
	if (!rule->condition)
		return 0;
	espy_probe_kinds(rule, kinds);
	format = espy_probe_format(rule);
	if (!format)
		return -ENOMEM;
	struct espy_mark_def words = { .nargs = rule->plan.arg_cnt };

	for (unsigned i = 0; i < words.nargs; i++) {
		words.args[i].words = rule->args[i].words;
		words.args[i].words_len = rule->args[i].words ? strlen(rule->args[i].words) : 0;
		if (rule->args[i].letter == 'g')
			kinds[i] = ESPY_MARK_DOUBLE; /* whatever its size is */
	}
	struct espy_probe_names n = {
		.args = { .format = format, .kinds = kinds, .nargs = rule->plan.arg_cnt, .def = &words },
		.returns = rule->returns,
	};
	const struct espy_names names = { .ctx = &n,
					  .find = espy_probe_names__find,
					  .constant = espy_mark_names__constant };

	err = espy_condition__bind(rule->condition, &names, &whole, NULL, e);
	free(format);
	if (err)
		return err;
	espy_predicate__split(&whole, takes, rule, &near, &rest);
	if (near.test_cnt > ESPY_PROBE_TESTS)
		return 0; /* espy tests all of it behind the source anyway */
	for (uint32_t i = 0; i < near.test_cnt; i++) {
		struct espy_probe_test *t = &rule->plan.tests[i];

		lower(rule, &near, &near.tests[i], t);
		t->yes = target(near.tests[i].yes);
		t->no = target(near.tests[i].no);
	}
	rule->plan.test_cnt = near.test_cnt;
	rule->tested = !rest.test_cnt;
	return 0;
}

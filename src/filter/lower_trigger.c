/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter/lower_trigger.h"

#include <errno.h>
#include <string.h>
#include "filter/call_names.h"

uint8_t espy_lower_compare(const struct espy_test *t)
{
	static const uint8_t compares[] = {
		[ESPY_TEST_EQ] = ESPY_COMPARE_EQ, [ESPY_TEST_LT] = ESPY_COMPARE_LT,	[ESPY_TEST_LE] = ESPY_COMPARE_LE,
		[ESPY_TEST_GT] = ESPY_COMPARE_GT, [ESPY_TEST_GE] = ESPY_COMPARE_GE,	[ESPY_TEST_ANY] = ESPY_COMPARE_ANY,
		[ESPY_TEST_BITS] = ESPY_COMPARE_BITS, [ESPY_TEST_PREFIX] = ESPY_COMPARE_PREFIX,
	};

	return t->op < sizeof(compares) ? compares[t->op] : 0;
}

/* Makes a test that always holds, or never. */
static void say(struct espy_trigger_test *out, bool holds)
{
	out->compare = ESPY_COMPARE_BITS;
	out->mask = 0;
	out->number = !holds;
}

/* Makes a test of a number. The kernel compares numbers of one sign, so this decides about a constant of the other. */
static bool lower_number(const struct espy_test *t, struct espy_trigger_test *out)
{
	const bool orders = t->op != ESPY_TEST_ANY && t->op != ESPY_TEST_BITS;

	if (t->type != ESPY_VALUE_INT && t->type != ESPY_VALUE_UINT)
		return false;
	out->number = t->i;
	out->mask = t->mask;
	if (orders && out->is_signed && t->type == ESPY_VALUE_UINT && t->u >> 63)
		say(out, t->op == ESPY_TEST_LT || t->op == ESPY_TEST_LE);
	else if (orders && !out->is_signed && t->type == ESPY_VALUE_INT && t->i < 0)
		say(out, t->op == ESPY_TEST_GT || t->op == ESPY_TEST_GE);
	return true;
}

static bool lower_text(const struct espy_predicate *p, const struct espy_test *t, bool counted, uint32_t max,
		       struct espy_trigger_test *out)
{
	const uint32_t len = t->text_len + (t->op == ESPY_TEST_EQ && !counted); /* with the NUL */

	if (t->type != ESPY_VALUE_TEXT || (t->op != ESPY_TEST_EQ && t->op != ESPY_TEST_PREFIX) || len > max)
		return false;
	out->text_len = (uint16_t)len;
	memcpy(out->text, p->text + t->text, t->text_len);
	return true;
}

/* Makes the kernel's form of a test, without its targets. Returns false if the kernel cannot make the test. */
static bool lower(const struct espy_predicate *p, const struct espy_test *t, struct espy_trigger_test *out)
{
	const struct espy_call_ref ref = espy_call_ref(p->names[t->name].ref);

	*out = (struct espy_trigger_test){ .negated = t->negated, .width = 8, .arg = ref.arg, .op = ref.op };
	out->compare = espy_lower_compare(t);
	if (!out->compare)
		return false;
	switch (ref.what) {
	case ESPY_CALL_RET:
	case ESPY_CALL_ERRNO:
		out->what = ref.what == ESPY_CALL_RET ? ESPY_TRIGGER_RET : ESPY_TRIGGER_ERRNO;
		out->is_signed = 1;
		return lower_number(t, out);
	case ESPY_CALL_PID:
	case ESPY_CALL_TID:
	case ESPY_CALL_UID:
		out->what = ref.what == ESPY_CALL_PID ? ESPY_TRIGGER_PID :
			    ref.what == ESPY_CALL_TID ? ESPY_TRIGGER_TID : ESPY_TRIGGER_UID;
		return lower_number(t, out);
	case ESPY_CALL_ARG:
		out->what = ESPY_TRIGGER_ARG;
		out->width = ref.width;
		out->is_signed = ref.is_signed;
		return lower_number(t, out);
	case ESPY_CALL_TEXT:
		out->what = ESPY_TRIGGER_TEXT;
		return lower_text(p, t, ref.counted, ESPY_TRIGGER_TEXT_MAX, out);
	case ESPY_CALL_COMM:
		out->what = ESPY_TRIGGER_COMM;
		return lower_text(p, t, false, ESPY_TRIGGER_COMM_MAX, out);
	default:
		return false;
	}
}

bool espy_lower_trigger__takes(void *ctx, const struct espy_predicate *p, uint32_t first, uint32_t end)
{
	struct espy_trigger_test test;

	(void)ctx;
	for (uint32_t i = first; i < end; i++)
		if (!lower(p, &p->tests[i], &test))
			return false;
	return true;
}

static uint8_t target(uint16_t to)
{
	return to == ESPY_TEST_HOLDS ? ESPY_TRIGGER_HOLDS : to == ESPY_TEST_FAILS ? ESPY_TRIGGER_FAILS : (uint8_t)to;
}

int espy_lower_trigger(const struct espy_predicate *p, struct espy_trigger *t, uint32_t *which)
{
	if (p->test_cnt > ESPY_TRIGGER_TESTS)
		return -E2BIG;
	t->test_cnt = p->test_cnt;
	for (uint32_t i = 0; i < p->test_cnt; i++) {
		*which = i;
		if (!lower(p, &p->tests[i], &t->tests[i]))
			return -EOPNOTSUPP;
		t->tests[i].yes = target(p->tests[i].yes);
		t->tests[i].no = target(p->tests[i].no);
	}
	return 0;
}

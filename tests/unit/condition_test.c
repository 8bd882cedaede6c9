/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The condition language: grammar, operators, missing values, messages, parts; and that a predicate means what its text says. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "filter/condition.h"

/* ---- a table of names for these tests: the values stand in the names' references */

static struct espy_filter_value values[] = {
	{ .type = ESPY_VALUE_INT, .i = -5 },			       /* n, ret */
	{ .type = ESPY_VALUE_UINT, .u = ~0ull },		       /* big */
	{ .type = ESPY_VALUE_DOUBLE, .d = 1.5 },		       /* d */
	{ .type = ESPY_VALUE_TEXT, .text = "/etc/passwd", .len = 11 }, /* s */
	{ .type = ESPY_VALUE_TEXT, .text = "abc", .len = 3, .cut = true }, /* cut */
	{ .type = ESPY_VALUE_NONE },				       /* gone */
	{ .type = ESPY_VALUE_UINT, .u = 0x41 },			       /* flags */
	{ .type = ESPY_VALUE_UINT, .u = 20 * 1000 * 1000 },	       /* duration */
	{ .type = ESPY_VALUE_INT, .i = 2 },			       /* errno */
	{ .type = ESPY_VALUE_UINT, .u = 0xffffffff },		       /* u32 */
	{ .type = ESPY_VALUE_TEXT, .text = "a\0b\n", .len = 4 },	       /* bytes */
	{ .type = ESPY_VALUE_UINT, .u = 0 },			       /* p */
};
static const struct {
	const char *name;
	uint8_t value, width, flags, type;
} known[] = {
	{ "n", 0, 0, 0, ESPY_VALUE_INT },	   { "big", 1, 0, 0, ESPY_VALUE_UINT },
	{ "d", 2, 0, 0, ESPY_VALUE_DOUBLE },	   { "s", 3, 0, 0, ESPY_VALUE_TEXT },
	{ "cut", 4, 0, 0, ESPY_VALUE_TEXT },	   { "gone", 5, 0, 0, ESPY_VALUE_INT },
	{ "gone_text", 5, 0, 0, ESPY_VALUE_TEXT }, { "flags", 6, 4, 0, ESPY_VALUE_UINT },
	{ "ret", 0, 8, ESPY_NAME_RESULT, ESPY_VALUE_INT }, { "errno", 8, 8, ESPY_NAME_ERRNO, ESPY_VALUE_INT },
	{ "duration", 7, 0, ESPY_NAME_DURATION, ESPY_VALUE_UINT }, { "u32", 9, 4, 0, ESPY_VALUE_UINT },
	{ "bytes", 10, 0, 0, ESPY_VALUE_TEXT }, { "msg.iov[0].base", 0, 0, 0, ESPY_VALUE_INT },
	{ "p", 11, 8, ESPY_NAME_TEXT, ESPY_VALUE_UINT },
};

static int find(void *ctx, const char *name, bool text, struct espy_name_info *out, char *why, size_t why_sz)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(known[i].name, name))
			continue;
		*out = (struct espy_name_info){
			.type = known[i].type, .width = known[i].width, .flags = known[i].flags, .ref = known[i].value
		};
		if (text == (known[i].type == ESPY_VALUE_TEXT))
			return 0;
		snprintf(why, why_sz, "%s is the other kind", name);
		return -EINVAL;
	}
	snprintf(why, why_sz, "there is no %s", name);
	return -ENOENT;
}

static int constant(void *ctx, const struct espy_name_info *name, const char *word, uint64_t *value, uint64_t *mask)
{
	/* A group of two bits, and a flag of its own. */
	static const struct {
		const char *name;
		uint64_t value, mask;
	} all[] = { { "RDONLY", 0, 3 }, { "WRONLY", 1, 3 }, { "RDWR", 2, 3 }, { "CREAT", 0x40, 0x40 }, { "NONE", 0, 0 } };

	for (size_t i = 0; name->ref == 6 && i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i].name, word)) {
			*value = all[i].value;
			*mask = all[i].mask;
			return 0;
		}
	return -ENOENT;
}

static const struct espy_names strict = { .find = find, .constant = constant };
static const struct espy_names lenient = { .find = find, .constant = constant, .lenient = true };

static int get(void *ctx, uint64_t ref, const char *name, struct espy_filter_value *out)
{
	unsigned *calls = ctx;

	if (calls)
		++*calls;
	if (ref >= sizeof(values) / sizeof(values[0]))
		return -EINVAL;
	*out = values[ref];
	return values[ref].type ? 0 : -ENOENT;
}

static struct espy_condition_error error;

static int make(const char *text, const struct espy_names *names, struct espy_predicate *p)
{
	struct espy_condition c;
	int err = espy_condition__parse(&c, text, &error);

	return err ? err : espy_condition__bind(&c, names, p, NULL, &error);
}

static bool run(const struct espy_predicate *p)
{
	struct espy_evaluator *e;
	bool yes;

	assert_int_equal(espy_evaluator__new(&e, p), 0);
	yes = espy_evaluator__holds(e, get, NULL);
	espy_evaluator__free(e);
	return yes;
}

static bool holds(const char *text)
{
	struct espy_predicate p;

	if (make(text, &strict, &p))
		fail_msg("%s: refused at %zu: %s", text, error.at, error.text);
	assert_int_equal(espy_predicate__check(&p), 0);
	return run(&p);
}

static void operators(void **state)
{
	static const char *const yes[] = {
		"n == -5", "n != 5", "n < -4", "n <= -5", "n > -6", "n >= -5.0", "n < -4.5", "n < 18446744073709551615",
		"big > 9223372036854775808", "big != -1", "big < 1.8446744073709552e19", "d > 1", "d == 1.5", "d < 2",
		"n in {1, -5, 7}", "!(n in {1, 2})", "n == -0x5", "n == -05", "msg.iov[0].base == -5", "msg->iov[0]->base == -5", "n<0&&d>0",
		"s == \"/etc/passwd\"", "s != \"/etc\"", "s ^= \"/etc/\"", "s $= \"wd\"", "s *= \"c/p\"", "s =~ \"^/e.c/\"",
		"s =~ \"^/etc/(passwd|group)$\"", "s !~ \"^/usr\"", "s == \"/etc/*\"", "s != \"/usr/*\"", "s == \"*\"",
		"s in {\"x\", \"/etc/passwd\"}", "s in {'x', '/etc/passwd'}", "s == '/etc/passwd'", "s != 'x'", "s ^= '/etc/'", "s *= 'p'",
		"s =~ '^/e.c/'", "s == '/etc/*'", "s != 'it\\'s'", "p == NULL", "p == 0", "s in {\"/e*\"}", "s =~ \"etc\"", "s =~ \"wd$\"", "s =~ \"^/etc/passwd$\"",
		"s !~ \"a\\.b\"", "bytes == \"a\\0b\\n\"", "bytes =~ \"b.$\"", "bytes *= \"\\x00b\"", "s *= \"\"",
		"s *= \"/etc/passwd\"", "s *= \"swd\"", "!(s *= \"/etc/passwd2\")", "!(s *= \"wdx\")", "s *= \"ss\"",
		"flags == 'A'", "flags & 0x41", "flags & CREAT", "flags has CREAT", "flags has WRONLY", "flags has CREAT|WRONLY",
		"flags == CREAT|WRONLY", "flags has 0x40|1", "!(flags has RDONLY)", "!(flags has RDWR)", "flags & 0x50|2",
		"errno == ENOENT", "errno in {EACCES, ENOENT}", "ret != -ENOENT", "duration > 10ms", "duration == 0.02s",
		"duration <= 20000us", "duration > 0", "duration < 1min", "u32 == -1", "u32 == 0xffffffff", "n != NULL",
		"n == 1 || n == 2 || n == -5", "n == -5 && (d == 0 || d == 1.5)", "!(n == 1 && d == 1.5)", "!!(n == -5)",
		"! n == 1", "n == 1 || !(n == 2) && d == 1.5", " \tn==-5\n", "(((n == -5)))",
	};
	static const char *const no[] = {
		"n == 5", "n > -5", "n == -5.5", "d == 1", "s == \"/etc\"", "s ^= \"etc\"", "s $= \"pass\"", "s =~ \"^etc\"",
		"s !~ \"passwd\"", "s == \"/usr*\"", "s in {\"x\", \"y\"}", "flags has CREAT|RDWR", "flags & 2", "s == \"/etc/\\*\"",
		"errno == EACCES", "duration > 1s", "n == -5 && n == 1", "!(n == -5)", "!(n == -5 || n == 1)", "flags has RDONLY",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (!holds(yes[i]))
			fail_msg("%s does not hold", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (holds(no[i]))
			fail_msg("%s holds", no[i]);
}

static void missing_values(void **state)
{
	static const char *const tests[] = {
		"gone == 1", "gone != 1", "gone < 1", "gone > 1", "gone & 1", "gone has 1", "gone in {0, 1}",
		"gone_text == \"x\"", "gone_text != \"x\"", "gone_text =~ \"a|b\"", "gone_text !~ \"a|b\"", "gone_text ^= \"\"",
		"gone_text != \"x*\"", "gone_text *= \"\"",
	};
	char turned[64];

	(void)state;
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		snprintf(turned, sizeof(turned), "!(%s)", tests[i]);
		if (holds(tests[i]) || !holds(turned))
			fail_msg("%s", tests[i]);
	}
	/* What was cut is longer than what was captured. */
	assert_false(holds("cut == \"abc\""));
	assert_true(holds("cut != \"abc\""));
	assert_true(holds("cut ^= \"abc\""));
	assert_false(holds("cut $= \"c\""));
	assert_false(holds("cut =~ \"c$\""));
	assert_false(holds("cut =~ \"[c]$\""));
	assert_true(holds("cut =~ \"[c]\""));
}

/* What one kind of event does not have is missing there. */
static void lenient_tables(void **state)
{
	static const struct {
		const char *text;
		bool yes;
	} rows[] = {
		{ "other == 1", false }, { "!(other == 1)", true }, { "n == -5 || other == 1", true },
		{ "n == CREAT", false }, { "!(n == CREAT)", true }, { "s > 5", false }, { "n == \"x\"", false },
		{ "other in {1, 2} || n in {CREAT, -5}", true },
	};
	struct espy_predicate p;
	struct espy_condition c;
	uint8_t bound[ESPY_CONDITION_TERMS] = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(make(rows[i].text, &lenient, &p), 0);
		assert_int_equal(run(&p), rows[i].yes);
		espy_predicate__fold(&p, NULL, NULL);
		assert_int_equal(espy_predicate__check(&p), 0);
		assert_int_equal(run(&p), rows[i].yes);
	}
	assert_int_equal(espy_condition__parse(&c, "other == 1 || n == CREAT || n == -5", &error), 0);
	assert_int_equal(espy_condition__bind(&c, &lenient, &p, bound, &error), 0);
	assert_int_equal(bound[0], 0);
	assert_int_equal(bound[1], ESPY_BOUND_NAME);
	assert_int_equal(bound[2], ESPY_BOUND_NAME | ESPY_BOUND_ALL);
}

static void errors(void **state)
{
	static const struct {
		const char *text;
		size_t at;
		const char *says;
	} rows[] = {
		{ "", 0, "a name is expected, not the end" },
		{ "3 > 2", 0, "a name is expected, not '3'" },
		{ "n", 1, "one of == != < <= > >= & ^= $= *= =~ !~ has in is expected, not the end" },
		{ "n = 1", 2, "a comparison is written ==" },
		{ "n has_1", 2, "one of ==" },
		{ "n == ", 5, "is expected, not the end" },
		{ "n == 12z", 5, "'12z' is not a number" },
		{ "n == 99999999999999999999", 5, "64 bits" },
		{ "n == -9223372036854775809", 6, "64 bits" },
		{ "n == 1e999", 5, "too large" },
		{ "n == 1.5ms", 5, "n is no time" },
		{ "duration > 5", 11, "a time has a unit" },
		{ "duration > '5'", 11, "a time has a unit" },
		{ "duration > 5.5", 11, "a time has a unit" },
		{ "duration > 1e30s", 11, "too long" },
		{ "s == \"abc", 5, "the text has no end" },
		{ "s == \"a\\q\"", 7, "behind a backslash" },
		{ "s < \"a\"", 2, "not by <" },
		{ "n ^= 1", 5, "begins with" },
		{ "s =~ \"a(\"", 5, "no regular expression" },
		{ "s =~ \"a\\x00(b|c)\"", 5, "byte 0" },
		{ "n & 1.5", 2, "& wants an integer" },
		{ "n has 1.5", 2, "has wants an integer" },
		{ "d & 1", 2, "no bits" },
		{ "flags has NONE", 10, "no bits" },
		{ "n == 'ab", 5, "a ' is missing" },
		{ "n == '", 5, "a ' is missing" },
		{ "n == 1|1.5", 7, "fraction" },
		{ "n == 1|\"x\"", 7, "joined" },
		{ "n == 1 t", 7, "&&, || or the end is expected, not 't'" },
		{ "n == 1 &&", 9, "a name is expected" },
		{ "n == 1 && || n == 2", 10, "a name is expected" },
		{ "(n == 1", 7, "&&, || or ) is expected" },
		{ "n == 1)", 6, "or the end is expected" },
		{ "n in 5", 5, "{ is expected" },
		{ "n in {1 2}", 8, ", or } is expected, not '2'" },
		{ "n in {}", 6, "is expected, not '}'" },
		{ "x[a] == 1", 1, "[NUMBER]" },
		{ "other == 1", 0, "there is no other" },
		{ "n == 1 && other == 1", 10, "there is no other" },
		{ "n == \"x\"", 5, "the other kind" },
		{ "n == 'ab'", 5, "the other kind" },
		{ "s == 5", 5, "the other kind" },
		{ "p == 5", 5, "p is a text: a \"text\" is expected" },
		{ "p in {NULL, 1.5}", 12, "p is a text" },
		{ "n == FOO", 5, "'FOO' is neither a number nor an error, nor a constant of n" },
		{ "ret == ENOENT", 7, "ret == -ENOENT" },
		{ "errno == -ENOENT", 9, "errno is positive: ENOENT" },
		{ "n == \001", 5, "a byte 0x01" },
	};
	struct espy_predicate p;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(&error, 0, sizeof(error));
		if (make(rows[i].text, &strict, &p) != -EINVAL || error.at != rows[i].at ||
		    !strstr(error.text, rows[i].says))
			fail_msg("%s: at %zu: %s", rows[i].text, error.at, error.text);
	}
}

/* Everything is bounded, and what is too much says so. */
static void limits(void **state)
{
	static char text[200000];
	struct espy_predicate p;
	size_t at = 0;

	(void)state;
	for (int i = 0; i < 60; i++)
		at += (size_t)sprintf(text + at, "%sn == %d", i ? " || " : "", i);
	assert_int_equal(make(text, &strict, &p), 0);
	assert_int_equal(p.test_cnt, 60);
	assert_int_equal(p.name_cnt, 1);
	for (int i = 0; i < 10000; i++)
		at += (size_t)sprintf(text + at, " || n == %d", i);
	assert_int_equal(make(text, &strict, &p), -EINVAL);
	assert_non_null(strstr(error.text, "at most"));
	memset(text, '(', 10000);
	text[10000] = 0;
	assert_int_equal(make(text, &strict, &p), -EINVAL);
	memset(text, '!', 10000);
	assert_int_equal(make(text, &strict, &p), -EINVAL);
	memset(text, 'a', 10000);
	assert_int_equal(make(text, &strict, &p), -EINVAL);
	memcpy(text, "s == \"", 6);
	assert_int_equal(make(text, &strict, &p), -EINVAL);
	text[9999] = '"';
	assert_int_equal(make(text, &strict, &p), -EINVAL);
	assert_non_null(strstr(error.text, "too long"));
}

/* ---- random conditions */

static unsigned seed = 1;
static unsigned rnd(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

/* Writes a condition of a few tests; returns whether it holds, computed beside the module. */
static bool random_condition(struct espy_buf *b, unsigned depth)
{
	static const struct {
		const char *text;
		bool yes;
	} leaves[] = {
		{ "n == -5", true },	     { "n > 3", false },	   { "big != 0", true },     { "d < 1", false },
		{ "s ^= \"/etc\"", true },   { "s == \"x\"", false },	   { "gone != 1", false },   { "gone_text =~ \".\"", false },
		{ "flags has CREAT", true }, { "errno in {ENOENT, 7}", true }, { "s !~ \"[x-z]$\"", true }, { "duration > 1s", false },
	};
	bool a, c;

	switch (depth ? rnd(5) : 0) {
	case 0:
	case 1: {
		const unsigned i = rnd(sizeof(leaves) / sizeof(leaves[0]));

		espy_buf__puts(b, leaves[i].text);
		return leaves[i].yes;
	}
	case 2:
		espy_buf__puts(b, "!(");
		a = random_condition(b, depth - 1);
		espy_buf__puts(b, ")");
		return !a;
	case 3:
		espy_buf__puts(b, "(");
		a = random_condition(b, depth - 1);
		espy_buf__puts(b, ") && (");
		c = random_condition(b, depth - 1);
		espy_buf__puts(b, ")");
		return a && c;
	default:
		espy_buf__puts(b, "(");
		a = random_condition(b, depth - 1);
		espy_buf__puts(b, ") || (");
		c = random_condition(b, depth - 1);
		espy_buf__puts(b, ")");
		return a || c;
	}
}

static bool takes_numbers(void *ctx, const struct espy_predicate *p, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++)
		if (p->tests[i].type == ESPY_VALUE_TEXT)
			return false;
	return true;
}

static int known_numbers(void *ctx, const struct espy_predicate *p, const struct espy_test *t)
{
	struct espy_filter_value v = { 0 };

	if (t->type == ESPY_VALUE_TEXT)
		return -1;
	get(NULL, p->names[t->name].ref, "", &v);
	return espy_test__holds(p, t, &v);
}

/* The result, the parts, what is left when some of it is known, and the text that is shown for it all mean the same. */
static void generated(void **state)
{
	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct espy_predicate p, near, rest, folded, again;
		struct espy_buf b = { 0 }, shown = { 0 };
		const bool yes = random_condition(&b, 4);

		espy_buf__putc(&b, 0);
		if (make(b.data, &strict, &p)) {
			assert_non_null(strstr(error.text, "at most"));
			espy_buf__free(&b);
			continue;
		}
		assert_int_equal(espy_predicate__check(&p), 0);
		assert_int_equal(run(&p), yes);
		espy_predicate__split(&p, takes_numbers, NULL, &near, &rest);
		assert_int_equal(espy_predicate__check(&near), 0);
		assert_int_equal(espy_predicate__check(&rest), 0);
		assert_int_equal(near.test_cnt + rest.test_cnt, p.test_cnt);
		assert_true(takes_numbers(NULL, &near, 0, near.test_cnt));
		assert_int_equal(run(&near) && run(&rest), yes);
		folded = p;
		espy_predicate__fold(&folded, known_numbers, NULL);
		assert_int_equal(espy_predicate__check(&folded), 0);
		assert_int_equal(run(&folded), yes);
		espy_predicate__print(&p, &shown);
		espy_buf__putc(&shown, 0);
		if (make(shown.data, &strict, &again))
			fail_msg("%s is shown as %s: %s", b.data, shown.data, error.text);
		if (run(&again) != yes)
			fail_msg("%s is shown as %s", b.data, shown.data);
		espy_buf__free(&b);
		espy_buf__free(&shown);
	}
}

/* A value is asked for once, and only if it matters. */
static void values_are_fetched_late(void **state)
{
	struct espy_evaluator *e;
	struct espy_predicate p;
	unsigned calls = 0;

	(void)state;
	assert_int_equal(make("n == 1 && s == \"x\"", &strict, &p), 0);
	assert_int_equal(espy_evaluator__new(&e, &p), 0);
	assert_false(espy_evaluator__holds(e, get, &calls));
	assert_int_equal(calls, 1);
	espy_evaluator__free(e);
	assert_int_equal(make("n == 1 || n == 2 || n in {3, 4, -5}", &strict, &p), 0);
	assert_int_equal(espy_evaluator__new(&e, &p), 0);
	calls = 0;
	assert_true(espy_evaluator__holds(e, get, &calls));
	assert_int_equal(calls, 1);
	espy_evaluator__free(e);
}

static void damaged_predicates(void **state)
{
	struct espy_predicate good, p;
	struct espy_evaluator *e;

	(void)state;
	assert_int_equal(make("n == 1 && s =~ \"a|b\" || big > 7", &strict, &good), 0);
	for (size_t i = 0; i < sizeof(good); i++) {
		if (i == offsetof(struct espy_predicate, text) + 200)
			break;
		for (unsigned k = 0; k < 3; k++) {
			p = good;
			((uint8_t *)&p)[i] ^= (uint8_t)(1u << (k * 3));
			if (!espy_evaluator__new(&e, &p)) {
				espy_evaluator__holds(e, get, NULL);
				espy_evaluator__free(e);
			}
		}
	}
	p = good;
	p.tests[1].yes = 1;
	assert_int_equal(espy_predicate__check(&p), -EBADMSG);
	p = good;
	p.tests[1].text_len = ESPY_PREDICATE_TEXT;
	assert_int_equal(espy_evaluator__new(&e, &p), -EBADMSG);
	p = good;
	p.tests[0].name = 9;
	assert_int_equal(espy_evaluator__new(&e, &p), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operators), cmocka_unit_test(missing_values), cmocka_unit_test(lenient_tables),
		cmocka_unit_test(errors), cmocka_unit_test(limits), cmocka_unit_test(generated),
		cmocka_unit_test(values_are_fetched_late), cmocka_unit_test(damaged_predicates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The language of -m, and its conditions on arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <errno.h>
#include <cmocka.h>
#include "record/mark_format.h"
#include "filter/def_filter.h"
#include "filter/marks_select.h"

static void test_good(void **state)
{
	struct espy_mark_rules r = { 0 };
	char why[200];
	size_t at;

	(void)state;
	assert_int_equal(
		espy_marks_select__add(&r, "app:req_*,db:? if size >= 0x10 && path ^= \"/t\\\"\\x41\" && d < -1.5e3",
				       &at, why, sizeof(why)),
		0);
	assert_int_equal(r.cnt, 2);
	assert_string_equal(r.v[0].agent.pattern, "app:req_*");
	assert_string_equal(r.v[1].agent.pattern, "db:?");
	assert_int_equal(r.v[0].agent.npreds, 3);
	assert_string_equal(r.v[1].agent.preds[0].arg, "size");
	assert_int_equal(r.v[1].agent.preds[0].cmp, ESPY_CMP_GE);
	assert_int_equal(r.v[1].agent.preds[0].type, ESPY_CONST_UINT);
	assert_int_equal(r.v[1].agent.preds[0].u, 16);
	assert_int_equal(r.v[1].agent.preds[1].str_len, 4);
	assert_memory_equal(r.v[1].agent.preds[1].str, "/t\"A", 4);
	assert_true(r.v[1].agent.preds[2].d == -1500.0);
	assert_int_not_equal(r.v[0].agent.id, r.v[1].agent.id);
	assert_int_equal(espy_marks_select__add(&r, "*", &at, why, sizeof(why)), 0);
	assert_int_equal(espy_marks_select__add(&r, "x if arg0 == -1 && c != 'x' && f & 010", &at, why, sizeof(why)),
			 0);
	assert_int_equal(r.v[3].agent.preds[0].type, ESPY_CONST_INT);
	assert_int_equal(r.v[3].agent.preds[0].i, -1);
	assert_int_equal(r.v[3].agent.preds[1].i, 'x');
	assert_int_equal(r.v[3].agent.preds[2].u, 8);
	assert_int_equal(espy_marks_select__add(&r, "x if p != NULL && q == 0", &at, why, sizeof(why)), 0);
	assert_int_equal(r.v[4].agent.preds[0].type, ESPY_CONST_UINT);
	assert_int_equal(r.v[4].agent.preds[0].u, 0);
	assert_int_equal(r.v[4].agent.npreds, 2);
	assert_int_equal(espy_marks_select__add(&r, "db:query ( str arg0 , str arg15 ),db:* if arg0 ^= \"a\"", &at, why,
						sizeof(why)),
			 0);
	assert_string_equal(r.v[5].agent.pattern, "db:query");
	assert_int_equal(r.v[5].strings, 0x8001);
	assert_int_equal(r.v[6].strings, 0);
	assert_int_equal(r.v[6].agent.npreds, 1);
	espy_marks_select__free(&r);
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *why;
		size_t at;
	} rows[] = {
		{ "", "the name of a mark", 0 },
		{ "app:*,", "the name of a mark", 6 },
		{ "a:b:c", "one colon", 1 },
		{ "a:x(", "'str' and an argument", 4 },
		{ "a:x(arg0)", "'str' and an argument", 4 },
		{ "a:x(str size)", "arg0 to arg", 8 },
		{ "a:x(str arg16)", "arg0 to arg", 8 },
		{ "a:x(str arg1", "',' or ')'", 12 },
		{ "a:x(str arg1) y", "'if' or the end", 14 },
		{ "a:x iff y", "'if' or the end", 4 },
		{ "a:x if", "',', 'if' or the end", 4 },
		{ "a:x if ", "a name is expected", 7 },
		{ "a:x if 3 > 2", "a name is expected", 7 },
		{ "a:x if s", "one of == != < <= > >=", 8 },
		{ "a:x if s = 1", "written ==", 9 },
		{ "a:x if s == ", "a number", 12 },
		{ "a:x if s == 12z", "not a number", 12 },
		{ "a:x if s == 99999999999999999999", "64 bits", 12 },
		{ "a:x if s == -9223372036854775809", "64 bits", 13 },
		{ "a:x if s == 1e999", "too large", 12 },
		{ "a:x if s == \"abc", "no end", 12 },
		{ "a:x if s == \"a\\q\"", "backslash", 14 },
		{ "a:x if s < \"a\"", "text is compared by", 9 },
		{ "a:x if s ^= 1", "begins with", 12 },
		{ "a:x if s & 1.5", "integer", 9 },
		{ "a:x if s == 'ab", "a ' is missing", 12 },
		{ "a:x if s == NULLS", "a number", 12 },
		{ "a:x if s == '", "a ' is missing", 12 },
		{ "a:x if s == 1 || t = 2", "written ==", 19 },
		{ "a:x if s == 1 t", "&&, || or the end", 14 },
		{ "a:x if (s == 1", "or )", 14 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct espy_mark_rules r = { 0 };
		char why[200] = "";
		size_t at = 999;
		int err = espy_marks_select__add(&r, rows[i].text, &at, why, sizeof(why));

		if (err != -EINVAL || !strstr(why, rows[i].why) || at != rows[i].at)
			fail_msg("'%s': %d at %zu: %s", rows[i].text, err, at, why);
		assert_int_equal(r.cnt, 0);
	}
}

/* What goes to the agent, and whether something is left. */
static void test_lowered(void **state)
{
	static const struct {
		const char *text;
		unsigned npreds;
		bool rest;
	} rows[] = {
		{ "x if a == 1 && b ^= \"x\" && c != 2", 3, false },
		{ "x if s == \"abc*\" && f has 8", 2, false },
		{ "x if s =~ \"^abc\" && s =~ \"^abc$\"", 2, false },
		{ "x if a == 1 && (b == 2 || c == 3) && d > 1.5", 2, true },
		{ "x if a == 1 || b == 2", 0, true },
		{ "x if !(a == 1) && b == 2", 1, true },
		{ "x if s =~ \"a.c\" && a == ENOENT", 1, true },
		{ "x if f has 9", 0, true },
		{ "x if a in {1, 2}", 0, true },
		{ "x if a in {1}", 1, false },
		{ "x if s != \"abc*\"", 0, true },
		{ "x if a==1&&b==1&&c==1&&d==1&&e==1&&f==1&&g==1&&h==1&&i==1", 8, true },
		{ "x if s == \"123456789012345678901234567890123456789012345678901234567890123\"", 1, false },
		{ "x if s == \"1234567890123456789012345678901234567890123456789012345678901234\"", 0, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct espy_mark_rules r = { 0 };
		char why[200];
		size_t at;

		assert_int_equal(espy_marks_select__add(&r, rows[i].text, &at, why, sizeof(why)), 0);
		if (r.v[0].agent.npreds != rows[i].npreds || r.v[0].rest != rows[i].rest)
			fail_msg("%s: %u, %d", rows[i].text, r.v[0].agent.npreds, r.v[0].rest);
		espy_marks_select__free(&r);
	}
}

static void test_long_words(void **state)
{
	struct espy_mark_rules r = { 0 };
	char text[5000], why[200];
	size_t at;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = 0;
	assert_int_equal(espy_marks_select__add(&r, text, &at, why, sizeof(why)), -EINVAL);
	memcpy(text, "x if ", 5);
	assert_int_equal(espy_marks_select__add(&r, text, &at, why, sizeof(why)), -EINVAL);
	memcpy(text, "x if a == \"", 11);
	assert_int_equal(espy_marks_select__add(&r, text, &at, why, sizeof(why)), -EINVAL);
	for (unsigned i = 0; i < 40; i++)
		assert_int_equal(espy_marks_select__add(&r, "a:b", &at, why, sizeof(why)), i < 32 ? 0 : -EINVAL);
	espy_marks_select__free(&r);
}

static void test_patterns(void **state)
{
	(void)state;
	assert_true(espy_mark_glob("app:*", "app", 3, "req", 3));
	assert_true(espy_mark_glob("a*b*c", "p", 1, "axxbxbxc", 8));
	assert_false(espy_mark_glob("a*b*c", "p", 1, "axxbxbx", 7));
	assert_true(espy_mark_glob("???", "p", 1, "abc", 3));
	assert_false(espy_mark_glob("", "p", 1, "a", 1));
	assert_true(espy_mark_glob("*", "p", 1, "", 0));
	/* as in the source */
	assert_true(espy_mark_glob("app_req_done", "app", 3, "req_done", 8));
	assert_true(espy_mark_glob("app_req_*", "app", 3, "req_done", 8));
	assert_true(espy_mark_glob("req_*", "app", 3, "req_done", 8));
	assert_false(espy_mark_glob("app_req", "app", 3, "req_done", 8));
	assert_false(espy_mark_glob("app_req:done", "app", 3, "req_done", 8));
}

/* One condition on one argument. */
static bool holds(const char *cond, const char *format, uint8_t kind, const void *args, size_t len)
{
	struct {
		struct espy_rec_mark_def def;
		char rest[64];
	} d = { .def = { .rec = { .size = sizeof(d), .type = ESPY_REC_MARK_DEF },
			 .def = 3, .nargs = 1, .provider_sz = 2, .name_sz = 2, .format_sz = (uint16_t)(strlen(format) + 1) } };
	struct {
		struct espy_rec_mark mark;
		char args[64];
	} m = { .mark = { .rec = { .size = sizeof(m), .type = ESPY_REC_MARK }, .def = 3, .len = (uint32_t)len } };
	struct espy_mark_rules r = { 0 };
	char text[200], why[200];
	size_t at;

	assert_true(len <= sizeof(m.args) && strlen(format) < sizeof(d.rest) - 5);
	d.rest[0] = (char)kind;
	memcpy(d.rest + 1, "p\0x", 4);
	strcpy(d.rest + 5, format);
	memcpy(m.args, args, len);
	snprintf(text, sizeof(text), "x if %s", cond);
	assert_int_equal(espy_marks_select__add(&r, text, &at, why, sizeof(why)), 0);
	struct espy_def_filter *f = espy_def_filter__of_marks(&r);

	assert_int_equal(espy_def_filter__define(f, &d.def.rec), 0);
	const bool yes = espy_def_filter__wants(f, &m.mark.rec);

	espy_def_filter__free(f);
	espy_marks_select__free(&r);
	return yes;
}

static void test_conditions(void **state)
{
	int64_t n = -5;
	uint64_t big = ~0ull;
	double d = 1.5;
	struct {
		uint32_t len, status;
		char s[8];
	} str = { 5, 0, "/tmp!" };

	(void)state;
	assert_true(holds("n < 3", "n=%d", ESPY_MARK_I32, &n, 8));
	assert_true(holds("n < 18446744073709551615", "n=%d", ESPY_MARK_I32, &n, 8));
	assert_true(holds("n == -5", "n=%d", ESPY_MARK_I64, &n, 8));
	assert_true(holds("arg0 < -4.5", "%d", ESPY_MARK_I64, &n, 8));
	assert_true(holds("n < -4.5 && n > -5.5 && n >= -5.0 && n <= -4.9 && n != -5.5", "n=%d", ESPY_MARK_I32, &n, 8));
	assert_false(holds("n == -5.5", "n=%d", ESPY_MARK_I32, &n, 8));
	assert_false(holds("n > -4.5", "n=%d", ESPY_MARK_I32, &n, 8));
	assert_true(holds("n < 1e30 && n > -1e30 && n != 1e30", "n=%d", ESPY_MARK_I32, &n, 8));
	assert_false(holds("n >= 1e30", "n=%d", ESPY_MARK_I32, &n, 8));
	assert_false(holds("b == 1.8446744073709552e19", "b=%lu", ESPY_MARK_U64, &big, 8));
	assert_true(holds("b > 1e19 && b < 1.8446744073709552e19", "b=%lu", ESPY_MARK_U64, &big, 8));
	assert_false(holds("b == 9.007199254740993e15", "b=%lu", ESPY_MARK_U64, &(uint64_t){ 9007199254740993 }, 8));
	assert_true(holds("b > -0.5", "b=%lu", ESPY_MARK_U64, &(uint64_t){ 0 }, 8));
	assert_false(holds("b < -0.5", "b=%lu", ESPY_MARK_U64, &(uint64_t){ 0 }, 8));
	assert_true(holds("b > 9223372036854775808", "b=%lu", ESPY_MARK_U64, &big, 8));
	assert_false(holds("b == -1", "b=%lu", ESPY_MARK_U64, &big, 8));
	assert_true(holds("d > 1", "d=%f", ESPY_MARK_DOUBLE, &d, 8));
	assert_false(holds("d == 1", "d=%f", ESPY_MARK_DOUBLE, &d, 8));
	d = __builtin_nan("");
	assert_false(holds("d == 1", "d=%f", ESPY_MARK_DOUBLE, &d, 8));
	assert_true(holds("d != 1", "d=%f", ESPY_MARK_DOUBLE, &d, 8));
	assert_true(holds("s ^= \"/tmp\"", "s=%s", ESPY_MARK_STRING, &str, 16));
	assert_true(holds("s == \"/tmp!\"", "s=%s", ESPY_MARK_STRING, &str, 16));
	assert_true(holds("s != \"/tmp\"", "s=%s", ESPY_MARK_STRING, &str, 16));
	assert_false(holds("s == 1", "s=%s", ESPY_MARK_STRING, &str, 16));
	assert_false(holds("other == 1", "s=%s", ESPY_MARK_STRING, &str, 16));
	assert_true(holds("s =~ \"^/t.p\" && s $= \"!\" && !(s *= \"x\") && s in {\"/usr*\", \"/tmp*\"}", "s=%s", ESPY_MARK_STRING, &str, 16));
	assert_true(holds("other == 1 || n in {-5, 7}", "n=%d", ESPY_MARK_I32, &n, 8));
	assert_true(holds("!(other == 1)", "n=%d", ESPY_MARK_I32, &n, 8));
	assert_true(holds("arg.n == -5 && n & 8 && n has 9", "n=%d", ESPY_MARK_I32, &n, 8));
	/* A string that is missing fails each test. */
	str.len = 0;
	str.status = 1;
	assert_false(holds("s == \"\"", "s=%s", ESPY_MARK_STRING, &str, 8));
	assert_false(holds("s != \"x\"", "s=%s", ESPY_MARK_STRING, &str, 8));
	assert_true(holds("!(s == \"x\")", "s=%s", ESPY_MARK_STRING, &str, 8));
	str.len = 5;
	str.status = 0;
	/* Bytes that are cut off are not read. */
	assert_false(holds("s ^= \"/tmp\"", "s=%s", ESPY_MARK_STRING, &str, 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	 cmocka_unit_test(test_bad),	    cmocka_unit_test(test_long_words),
		cmocka_unit_test(test_patterns), cmocka_unit_test(test_conditions), cmocka_unit_test(test_lowered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

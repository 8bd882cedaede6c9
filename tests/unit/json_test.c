/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The writer of JSON: commas, numbers that doubles cannot hold, text that is UTF-8 and text that is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include "base/json.h"

static struct espy_buf buf;
static struct espy_json json;

static int setup(void **state)
{
	(void)state;
	json = (struct espy_json){ .b = &buf };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	espy_buf__free(&buf);
	return 0;
}

static void expect(const char *text)
{
	assert_false(buf.failed);
	assert_int_equal(buf.len, strlen(text));
	assert_memory_equal(buf.data, text, buf.len);
	buf.len = 0;
	json.more = false;
}

static void test_structure(void **state)
{
	(void)state;
	espy_json__open(&json, '{');
	espy_json__key(&json, "a");
	espy_json__open(&json, '[');
	espy_json__u64(&json, 1);
	espy_json__open(&json, '{');
	espy_json__close(&json, '}');
	espy_json__bool(&json, true);
	espy_json__null(&json);
	espy_json__close(&json, ']');
	espy_json__key_n(&json, "bcd", 1);
	espy_json__open(&json, '[');
	espy_json__close(&json, ']');
	espy_json__close(&json, '}');
	expect("{\"a\":[1,{},true,null],\"b\":[]}");
}

static void test_numbers(void **state)
{
	(void)state;
	espy_json__open(&json, '[');
	espy_json__u64(&json, 9007199254740991u);
	espy_json__u64(&json, 9007199254740992u);
	espy_json__u64(&json, UINT64_MAX);
	espy_json__i64(&json, -9007199254740991);
	espy_json__i64(&json, -9007199254740992);
	espy_json__i64(&json, INT64_MIN);
	espy_json__double(&json, 0.1);
	espy_json__double(&json, 1.0 / 3);
	espy_json__double(&json, -1e300);
	espy_json__double(&json, NAN);
	espy_json__double(&json, INFINITY);
	espy_json__close(&json, ']');
	expect("[9007199254740991,\"9007199254740992\",\"18446744073709551615\",-9007199254740991,\"-9007199254740992\","
	       "\"-9223372036854775808\",0.1,0.3333333333333333,-1e+300,null,null]");
}

static void test_strings(void **state)
{
	(void)state;
	espy_json__str(&json, "plain, and longer than eight bytes");
	expect("\"plain, and longer than eight bytes\"");
	espy_json__str(&json, "a\"b\\c\n\t\x1b[31m\x7f");
	expect("\"a\\\"b\\\\c\\n\\t\\u001b[31m\\u007f\"");
	espy_json__text(&json, "nul\0in it", 9);
	expect("\"nul\\u0000in it\"");
	/* Two, three and four bytes; a control character of the upper half, which terminals obey. */
	espy_json__str(&json, "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\xa7 \xc2\x9b");
	expect("\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\xa7 \\u009b\"");
	espy_json__text(&json, "cut \xe2\x82", 6);
	expect("\"cut \\ufffd\\ufffd\"");
}

/* Each place of a word of eight bytes, and behind it. */
static void test_special_anywhere(void **state)
{
	(void)state;
	for (size_t at = 0; at < 20; at++) {
		char text[21] = "abcdefghijklmnopqrst", want[32];

		text[at] = '"';
		snprintf(want, sizeof(want), "\"%.*s\\\"%s\"", (int)at, text, text + at + 1);
		espy_json__str(&json, text);
		expect(want);
	}
}

static void test_not_utf8(void **state)
{
	static const char *const bad[] = {
		"\xff", "\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80", "long enough for a word \xe9", "\xe2\x82",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(espy_json__utf8(&json, bad[i], strlen(bad[i])));
		expect("");
	}
	espy_json__open(&json, '[');
	espy_json__bytes(&json, "ok", 2);
	espy_json__bytes(&json, "\xff", 1);
	espy_json__bytes(&json, "\xff\0", 2);
	espy_json__bytes(&json, "\xff\0\x10", 3);
	espy_json__bytes(&json, "", 0);
	espy_json__close(&json, ']');
	expect("[\"ok\",{\"base64\":\"/w==\"},{\"base64\":\"/wA=\"},{\"base64\":\"/wAQ\"},\"\"]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_structure, setup, teardown),
		cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_strings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_special_anywhere, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_utf8, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

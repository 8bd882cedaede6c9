/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of values in the kernel's texts about tracepoints; also in texts that no kernel writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "source/print_fmt.h"

/* Looks for the names of the field `x`. */
static void expect_words(const char *args, const char *wanted)
{
	struct espy_buf words = { 0 };
	char text[4096];

	assert_true(snprintf(text, sizeof(text), "\nprint fmt: \"x=%%s\", %s\n", args) <
		    (int)sizeof(text));
	espy_print_fmt__words(&words, text, "x");
	espy_buf__putc(&words, 0);
	assert_string_equal(words.data, wanted);
	espy_buf__free(&words);
}

static void test_symbols(void **state)
{
	(void)state;
	expect_words("__print_symbolic(REC->x, { 0, \"HI\" }, { 1, \"TIMER\" })", "HI=0|TIMER=1");
	expect_words("(int)REC->y, __print_symbolic((int)(REC->x), {-1, \"NONE\"},{ 0x10UL, \"MORE\" })",
		     "NONE=-1|MORE=16");
	/* A number that the text does not tell, and a name that would be taken for something else. */
	expect_words("__print_symbolic(REC->x, { SOME_NUMBER, \"A\" }, { 2, \"B\" }, { 3, \"C D\" }, { 4, \"E=F\" })",
		     "B=2");
}

static void test_flags(void **state)
{
	(void)state;
	expect_words("(REC->x) ? __print_flags(REC->x, \"|\", {( unsigned long)((((1UL))) << (10))|1, \"A\"}, { 1 << 2 "
		     "| 1, \"B\" }) : \"none\"",
		     "|A=1025|B=5");
	expect_words("__print_flags(REC->x & (((1 + 2 * 4) << 1) - 1), \"|\", { ~(u64)0 & 0xff ^ 1, \"A\" }, { 0, "
		     "\"NONE\" })",
		     "|A=254");
}

static void test_other_values(void **state)
{
	(void)state;
	expect_words("__print_symbolic(REC->xy, { 0, \"A\" })", "");
	expect_words("__print_symbolic(REC->y, { 0, \"A\" }), REC->x", "");
	expect_words("__print_symbolic((REC->x >> 13) & 7, { 0, \"A\" })", "");
	expect_words("__print_symbolic(REC->x & REC->y, { 0, \"A\" })", "");
	expect_words("__print_symbolic(REC->x && 1, { 0, \"A\" })", "");
	expect_words("__print_symbolic(!REC->x, { 0, \"A\" })", "");
	expect_words("__print_symbolic(REC->y, { 0, \"A\" }), __print_symbolic(REC->x, { 0, \"B\" })", "B=0");
}

static void test_damaged(void **state)
{
	static const char *const bad[] = { "__print_symbolic(",
					   "__print_symbolic(REC->x",
					   "__print_symbolic(REC->x,",
					   "__print_symbolic(REC->x, {",
					   "__print_symbolic(REC->x, { 1",
					   "__print_symbolic(REC->x, { 1, \"A",
					   "__print_symbolic(REC->x, { 1, \"A\"",
					   "__print_symbolic(REC->x, { 1 \"A\" })",
					   "__print_symbolic(REC->x, { , \"A\" })",
					   "__print_symbolic(REC->x, { 1 +, \"A\" })",
					   "__print_symbolic(REC->x, { (1, \"A\" })",
					   "__print_symbolic(REC->, { 1, \"A\" })",
					   "__print_flags(REC->x)",
					   "__print_flags(REC->x, \"|)",
					   "__print_flags(REC->x, \"|\"" };
	char deep[1200] = "__print_symbolic(REC->x, { ";

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_words(bad[i], "");
	memset(deep + strlen(deep), '(', 1000);
	expect_words(deep, "");
	memset(strchr(deep, '{') + 1, '~', 1000);
	expect_words(deep, "");
}

static void test_addresses(void **state)
{
	static const char text[] = "\nprint fmt: \"%pS %u\", (void *)REC->call_site, REC->call";

	(void)state;
	assert_true(espy_print_fmt__is_address(text, "call_site"));
	assert_false(espy_print_fmt__is_address(text, "call"));
	assert_false(espy_print_fmt__is_address("", "call_site"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbols), cmocka_unit_test(test_flags),	  cmocka_unit_test(test_other_values),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/amount.h"

static void test_sizes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0 bytes" },	{ 1, "1 byte" },	  { 999, "999 bytes" },	      { 1000, "1.0 kB" },
		{ 9949, "9.9 kB" },	{ 9960, "10 kB" },	  { 45300, "45 kB" },	      { 999499, "999 kB" },
		{ 999500, "1.0 MB" },	{ 4300000, "4.3 MB" },	  { 37000000, "37 MB" },      { 2500000000, "2.5 GB" },
		{ UINT64_MAX, "18 EB" },
	};
	char text[ESPY_AMOUNT_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(espy_amount__bytes(text, rows[i].bytes), rows[i].text);
	assert_string_equal(espy_amount__s(1), "");
	assert_string_equal(espy_amount__s(0), "s");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sizes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

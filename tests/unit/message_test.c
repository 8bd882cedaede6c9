/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Messages: any length, and no byte that a terminal would obey. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "cli/message.h"

static char *line_of(size_t *len, const char *prefix, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *line = espy_message__line(prefix, fmt, ap, len);
	va_end(ap);
	return line;
}

static void test_foreign_bytes(void **state)
{
	size_t len;
	char *line = line_of(&len, "es\033py", "a\nb\033[31m%s\x7f %d", "\x9b\xff", 7);

	(void)state;
	assert_int_equal(len, strlen(line));
	assert_string_equal(line, "es\\033py: a\\012b\\033[31m\\233\\377\\177 7\n");
	free(line);
}

static void test_long(void **state)
{
	size_t len, size = 200000;
	char *name = malloc(size + 1);

	(void)state;
	memset(name, 'x', size);
	name[size] = '\0';
	char *line = line_of(&len, name, "%s", name);
	assert_int_equal(len, 2 * size + 3);
	assert_int_equal(line[len - 1], '\n');
	free(line);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_foreign_bytes), cmocka_unit_test(test_long) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

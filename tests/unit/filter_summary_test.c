/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tables of -c: columns, order, widths, the last line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "describe/builtin.h"
#include "session/summary.h"

static struct espy_image image;

static int open_image(void **state)
{
	size_t size;
	const void *data = espy_builtin_image(ESPY_ABI_X86_64, &size);

	(void)state;
	return espy_image__open(&image, data, size, NULL);
}

static void count(struct espy_summary_table *t, uint32_t nr, unsigned n, uint64_t ns, int64_t ret)
{
	struct espy_call_view *v = calloc(1, sizeof(*v));

	v->image = &image;
	v->nr = nr;
	v->has_exit = true;
	v->enter_ns = 1000;
	v->exit_ns = 1000 + ns;
	v->ret = ret;
	while (n--)
		espy_summary__call(t, v);
	free(v);
}

static void expect(struct espy_summary_table *t, const char *text)
{
	struct espy_buf b = { 0 };

	espy_summary__print(t, &b);
	espy_buf__putc(&b, 0);
	assert_string_equal(b.data, text);
	espy_buf__free(&b);
	espy_summary__free(t);
}

static void test_default(void **state)
{
	const struct espy_session_opts o = { .sort_by = ESPY_COL_TOTAL_TIME };
	struct espy_summary_table *t = espy_summary__new(&o);

	(void)state;
	count(t, 0, 3, 1000000, 5);    /* read */
	count(t, 257, 1, 9000000, -2); /* openat */
	count(t, 3, 2, 0, 0);	       /* close */
	count(t, 1, 2, 0, 0);	       /* write: the same time as close, the smaller number */
	expect(t, "% time     seconds  usecs/call     calls    errors syscall\n"
		  "------ ----------- ----------- --------- --------- ----------------\n"
		  " 75.00    0.009000        9000         1         1 openat\n"
		  " 25.00    0.003000        1000         3           read\n"
		  "  0.00    0.000000           0         2           write\n"
		  "  0.00    0.000000           0         2           close\n"
		  "------ ----------- ----------- --------- --------- ----------------\n"
		  "100.00    0.012000        1500         8         1 total\n");
}

static void test_columns(void **state)
{
	const struct espy_session_opts o = {
		.columns = { ESPY_COL_NAME, ESPY_COL_MIN_TIME, ESPY_COL_WALL_MAX, ESPY_COL_CALLS, ESPY_COL_ERRORS },
		.column_cnt = 5,
		.sort_by = ESPY_COL_NAME,
		.sort_given = true,
	};
	struct espy_summary_table *t = espy_summary__new(&o);

	(void)state;
	count(t, 0, 1, 1000, 5);
	count(t, 0, 1, 2000, 5);
	count(t, 3, 1, 500, 0);
	expect(t, "syscall          shortest wall-max     calls    errors\n"
		  "---------------- -------- -------- --------- ---------\n"
		  "close            0.000000 0.000000         1          \n"
		  "read             0.000001 0.000002         2          \n"
		  "---------------- -------- -------- --------- ---------\n"
		  "total            0.000000 0.000002         3          \n");
}

static void test_zero_times(void **state)
{
	const struct espy_session_opts o = {
		.columns = { ESPY_COL_TIME_PERCENT, ESPY_COL_NAME },
		.column_cnt = 2,
		.sort_none = true,
		.sort_given = true,
	};
	struct espy_summary_table *t = espy_summary__new(&o);

	(void)state;
	count(t, 0xbad, 1, 0, -38);
	expect(t, "% time syscall\n------ ----------------\n  0.00 syscall_0xbad\n------ ----------------\n100.00 "
		  "total\n");
}

static void test_wide_data(void **state)
{
	const struct espy_session_opts o = {
		.columns = { ESPY_COL_TOTAL_TIME, ESPY_COL_NAME },
		.column_cnt = 2,
		.sort_by = ESPY_COL_TOTAL_TIME,
	};
	struct espy_summary_table *t = espy_summary__new(&o);

	(void)state;
	count(t, 0, 1, 1234567890123456ull, 0);
	expect(t, "       seconds syscall\n-------------- ----------------\n1234567.890123 read\n"
		  "-------------- ----------------\n1234567.890123 total\n");
}

static void test_overhead(void **state)
{
	const struct espy_session_opts o = {
		.columns = { ESPY_COL_TOTAL_TIME, ESPY_COL_MIN_TIME, ESPY_COL_NAME },
		.column_cnt = 3,
		.sort_by = ESPY_COL_TOTAL_TIME,
		.have_overhead = true,
		.overhead_us = 2,
	};
	struct espy_summary_table *t = espy_summary__new(&o);

	(void)state;
	count(t, 0, 2, 5000, 0);
	count(t, 3, 1, 1000, 0);
	expect(t, "    seconds shortest syscall\n----------- -------- ----------------\n   0.000006 0.000003 read\n"
		  "   0.000000 0.000000 close\n----------- -------- ----------------\n   0.000006 0.000000 total\n");
}

static void test_nothing(void **state)
{
	const struct espy_session_opts o = { 0 };
	struct espy_summary_table *t = espy_summary__new(&o);

	(void)state;
	expect(t, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default),	  cmocka_unit_test(test_columns),  cmocka_unit_test(test_zero_times),
		cmocka_unit_test(test_wide_data), cmocka_unit_test(test_overhead), cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, open_image, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tables of -c: columns, order, widths, the last line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "describe/builtin.h"
#include "sink/line_output.h"
#include "sink/summary.h"

static struct espy_image image;

static int open_image(void **state)
{
	size_t size;
	const void *data = espy_builtin_image(ESPY_ABI_X86_64, &size);

	(void)state;
	return espy_image__open(&image, data, size, NULL);
}

static void count(struct espy_sink *t, uint32_t nr, unsigned n, uint64_t ns, int64_t ret)
{
	struct espy_call_view *v = calloc(1, sizeof(*v));
	const struct espy_event e = { .type = ESPY_EVENT_CALL_END, .call = v };

	v->image = &image;
	v->nr = nr;
	v->has_exit = true;
	v->enter_ns = 1000;
	v->exit_ns = 1000 + ns;
	v->ret = ret;
	while (n--)
		t->ops->event(t, &e);
	free(v);
}

/* The sink writes its table into a file of no name. */
static struct espy_sink *make(struct espy_summary_options *o)
{
	struct espy_sink *t;

	o->size = sizeof(*o);
	assert_int_equal(espy_line_output__fd(&o->output, fileno(tmpfile())), 0);
	assert_int_equal(espy_summary__new(&t, o), 0);
	return t;
}

static void expect(struct espy_sink *t, struct espy_summary_options *o, const char *text)
{
	char got[4096];

	t->ops->finish(t);
	const ssize_t n = pread(o->output->fd, got, sizeof(got) - 1, 0);
	assert_true(n >= 0);
	got[n] = 0;
	assert_string_equal(got, text);
	assert_int_equal(t->ops->close(t), 0);
	close(o->output->fd);
	espy_line_output__close(o->output);
}

static void test_default(void **state)
{
	struct espy_summary_options o = { .sort_by = ESPY_COL_TOTAL_TIME };
	struct espy_sink *t = make(&o);

	(void)state;
	count(t, 0, 3, 1000000, 5);    /* read */
	count(t, 257, 1, 9000000, -2); /* openat */
	count(t, 3, 2, 0, 0);	       /* close */
	count(t, 1, 2, 0, 0);	       /* write: the same time as close, the smaller number */
	expect(t, &o, "% time     seconds  usecs/call     calls    errors syscall\n"
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
	struct espy_summary_options o = {
		.columns = (const enum espy_summary_column[]){ ESPY_COL_NAME, ESPY_COL_MIN_TIME, ESPY_COL_WALL_MAX, ESPY_COL_CALLS, ESPY_COL_ERRORS },
		.column_count = 5,
		.sort_by = ESPY_COL_NAME,
	};
	struct espy_sink *t = make(&o);

	(void)state;
	count(t, 0, 1, 1000, 5);
	count(t, 0, 1, 2000, 5);
	count(t, 3, 1, 500, 0);
	expect(t, &o, "syscall          shortest wall-max     calls    errors\n"
		  "---------------- -------- -------- --------- ---------\n"
		  "close            0.000000 0.000000         1          \n"
		  "read             0.000001 0.000002         2          \n"
		  "---------------- -------- -------- --------- ---------\n"
		  "total            0.000000 0.000002         3          \n");
}

static void test_zero_times(void **state)
{
	struct espy_summary_options o = {
		.columns = (const enum espy_summary_column[]){ ESPY_COL_TIME_PERCENT, ESPY_COL_NAME },
		.column_count = 2,
		.unsorted = true,
	};
	struct espy_sink *t = make(&o);

	(void)state;
	count(t, 0xbad, 1, 0, -38);
	expect(t, &o, "% time syscall\n------ ----------------\n  0.00 syscall_0xbad\n------ ----------------\n100.00 "
		  "total\n");
}

static void test_wide_data(void **state)
{
	struct espy_summary_options o = {
		.columns = (const enum espy_summary_column[]){ ESPY_COL_TOTAL_TIME, ESPY_COL_NAME },
		.column_count = 2,
		.sort_by = ESPY_COL_TOTAL_TIME,
	};
	struct espy_sink *t = make(&o);

	(void)state;
	count(t, 0, 1, 1234567890123456ull, 0);
	expect(t, &o, "       seconds syscall\n-------------- ----------------\n1234567.890123 read\n"
		  "-------------- ----------------\n1234567.890123 total\n");
}

static void test_overhead(void **state)
{
	struct espy_summary_options o = {
		.columns = (const enum espy_summary_column[]){ ESPY_COL_TOTAL_TIME, ESPY_COL_MIN_TIME, ESPY_COL_NAME },
		.column_count = 3,
		.sort_by = ESPY_COL_TOTAL_TIME,
		.overhead_ns = 2000,
	};
	struct espy_sink *t = make(&o);

	(void)state;
	count(t, 0, 2, 5000, 0);
	count(t, 3, 1, 1000, 0);
	expect(t, &o, "    seconds shortest syscall\n----------- -------- ----------------\n   0.000006 0.000003 read\n"
		  "   0.000000 0.000000 close\n----------- -------- ----------------\n   0.000006 0.000000 total\n");
}

static void test_nothing(void **state)
{
	struct espy_summary_options o = { 0 };
	struct espy_sink *t = make(&o);

	(void)state;
	expect(t, &o, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default),	  cmocka_unit_test(test_columns),  cmocka_unit_test(test_zero_times),
		cmocka_unit_test(test_wide_data), cmocka_unit_test(test_overhead), cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, open_image, NULL);
}

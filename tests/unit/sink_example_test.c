/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sink of CONTRIBUTING.md: what is shown there compiles, and writes what it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "describe/builtin.h"
#include "sink/line_output.h"
#include "sink/sink_kind.h"

extern const struct espy_sink_kind espy_sink_kind_tsv;

static void test_line(void **state)
{
	static struct espy_call_view view;
	struct espy_sink_options o = { .size = sizeof(o), .name = "tsv" };
	struct espy_event e = { .type = ESPY_EVENT_CALL_END, .tid = 42, .call = &view };
	struct espy_image image;
	struct espy_sink *sink;
	char text[64] = "";
	size_t size;
	const int fd = memfd_create("lines", 0);
	const void *blob = espy_builtin_image(ESPY_ABI_X86_64, &size);

	(void)state;
	assert_int_equal(espy_image__open(&image, blob, size, NULL), 0);
	view.image = &image;
	view.nr = (uint32_t)espy_image__find_syscall(&image, "openat");
	view.ret = -2;
	view.enter_ns = 1000;
	view.exit_ns = 1700;
	assert_int_equal(espy_line_output__fd(&o.output, fd), 0);
	assert_int_equal(espy_sink_kind_tsv.make(&sink, &o, NULL), 0);
	espy_line_output__close(o.output);
	sink->ops->event(sink, &e);
	assert_int_equal(sink->ops->close(sink), 0);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "42\topenat\t-2\t700\n");
	close(fd);
}

static void test_names(void **state)
{
	(void)state;
	assert_non_null(espy_sink_kind__find("json"));
	assert_null(espy_sink_kind__find("tsv"));
	assert_null(espy_sink_kind__find(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_line), cmocka_unit_test(test_names) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

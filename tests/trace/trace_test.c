/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is written is read again, byte for byte; options, sections, rotation, seeking, following. */
#include "kit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void same(const struct stream *want, const struct stream *got)
{
	assert_int_equal(got->records, want->records);
	assert_int_equal(got->size, want->size);
	if (want->size)
		assert_memory_equal(got->bytes, want->bytes, want->size);
}

static void round_trip(const struct stream *s, int level)
{
	const struct espy_trace_write_opts o = { .level = level, .block_bytes = 64 << 10 };
	struct espy_trace_read_stats st;
	struct damages d = { 0 };
	struct stream got = { 0 };
	const char *path = test_file("round");

	write_trace(path, s, &o);
	assert_int_equal(read_trace(path, &got, &d, &st), 0);
	same(s, &got);
	assert_int_equal(d.count, 0);
	assert_true(st.finished);
	assert_int_equal(st.records, s->records);
	assert_int_equal(st.unknown_sections, 0);
	stream_free(&got);
}

static void test_round_trips(void **state)
{
	static const int levels[] = { 0, 1, 3, 19 };
	struct stream s = { 0 };

	for (unsigned i = 0; i < 4; i++) {
		round_trip(&s, levels[i]); /* no records at all */
		stream_of_types(&s);
		round_trip(&s, levels[i]);
		stream_of_calls(&s, 5000, i);
		round_trip(&s, levels[i]);
		stream_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trips),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	remove_test_dir();
	return failed;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is written is read again, byte for byte; options, sections, file heads. */
#include "trace_harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "trace/columns.h"
#include "trace/crc32c.h"
#include "trace/trace_format.h"

static void same(const struct stream *want, const struct stream *got)
{
	assert_int_equal(got->records, want->records);
	assert_int_equal(got->size, want->size);
	if (want->size)
		assert_memory_equal(got->bytes, want->bytes, want->size);
}

static uint64_t of_later_versions(const struct stream *s)
{
	uint64_t n = 0;

	for (size_t at = 0; at < s->size; at += ((const struct espy_rec *)(s->bytes + at))->size) {
		const unsigned type = ((const struct espy_rec *)(s->bytes + at))->type;

		n += (type > ESPY_REC_STACK && type < ESPY_REC_PROBE) || type > ESPY_REC_MORE;
	}
	return n;
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
	assert_int_equal(st.unknown_records, of_later_versions(s));
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

/* One by one or many at once: the same. */
static void test_marks(void **state)
{
	for (unsigned seed = 1; seed <= 12; seed++) {
		const struct espy_trace_write_opts o = { .path = test_file("marks"),
							 .force = true,
							 .level = seed % 4 ? 1 : 0,
							 .block_bytes = 64 << 10 };
		struct stream s = { 0 }, got = { 0 };
		struct espy_trace_read_stats st;
		struct espy_trace_writer *w;
		struct damages d = { 0 };
		unsigned at_random = seed;

		stream_of_marks(&s, 20000, seed);
		write_trace(o.path, &s, &o);
		assert_int_equal(read_trace(o.path, &got, &d, &st), 0);
		same(&s, &got);
		stream_free(&got);

		assert_int_equal(espy_trace_writer__open(&w, &o), 0);
		for (size_t at = 0, end = 0; at < s.size; at = end) {
			for (unsigned cnt = 1 + rnd(&at_random) % 2000; cnt-- && end < s.size;)
				end += ((const struct espy_rec *)(s.bytes + end))->size;
			assert_int_equal(espy_trace_writer__records(w, s.bytes + at, end - at), 0);
		}
		assert_int_equal(espy_trace_writer__close(w), 0);
		assert_int_equal(read_trace(o.path, &got, &d, &st), 0);
		same(&s, &got);
		assert_int_equal(st.records, s.records);
		assert_int_equal(d.count, 0);
		stream_free(&got);
		stream_free(&s);
	}
}

/* What counts up takes next to nothing. */
static void test_counting_marks(void **state)
{
	const struct espy_trace_write_opts o = { .level = 1 };
	struct stream s = { 0 };
	size_t size;

	for (unsigned i = 0; i < 50000; i++) {
		struct {
			struct espy_rec_mark m;
			uint64_t args[2];
		} r = { { { sizeof(r), 0, ESPY_REC_MARK, 0, 0, 5, 5, 1000000 + 100ull * i }, 1, 16 }, { i, 50000 } };

		stream_add(&s, &r.m.rec);
	}
	write_trace(test_file("words"), &s, &o);
	free(slurp(test_file("words"), &size));
	assert_true(size < 50000);
	stream_free(&s);
}

/* The columns alone: what the reader does not deliver is none of their affair. */
static void test_odd_records(void **state)
{
	struct espy_columns_pack *p = espy_columns_pack__new();

	for (unsigned seed = 1; seed <= 40; seed++) {
		struct stream s = { 0 };
		size_t size = 0, n;

		stream_of_odd_ones(&s, 400, seed);
		assert_int_equal(espy_columns_pack__records(p, s.bytes, s.size), 0);
		for (unsigned i = 0; i < COLUMNS; i++, size += n)
			espy_columns_pack__column(p, i, &n);
		uint8_t *copy = malloc(size + 8), *raw = malloc(s.size), *to = copy;

		for (unsigned i = 0; i < COLUMNS; i++, to += n) {
			const void *column = espy_columns_pack__column(p, i, &n);

			memcpy(to, column, n);
		}
		assert_int_equal(espy_columns_unpack(copy, size, raw, s.size), 0);
		assert_memory_equal(raw, s.bytes, s.size);
		/* neither more nor less than it is */
		assert_int_equal(espy_columns_unpack(copy, size, raw, s.size - 8), -EBADMSG);
		assert_int_equal(espy_columns_unpack(copy, size - 1, raw, s.size), -EBADMSG);
		free(copy);
		free(raw);
		stream_free(&s);
	}
	espy_columns_pack__free(p);
}

/* More tasks and kinds than a block may have: it is stored as it is. */
static void test_many_tasks_and_kinds(void **state)
{
	struct stream s = { 0 };

	for (unsigned i = 0; i < 20000; i++) {
		const struct espy_rec_lost lost = { .rec = { sizeof(lost), 0, ESPY_REC_LOST, i & 0xff,
							     (uint16_t)(i * 7), i, i / 3, i } };

		stream_add(&s, &lost.rec);
	}
	const struct espy_trace_write_opts o = { .level = 1, .block_bytes = 1 << 20 };
	struct damages d = { 0 };
	struct stream got = { 0 };

	write_trace(test_file("many"), &s, &o);
	assert_int_equal(read_trace(test_file("many"), &got, &d, NULL), 0);
	same(&s, &got);
	assert_int_equal(d.count, 0);
	stream_free(&s);
	stream_free(&got);
}

static void test_wrong_records(void **state)
{
	struct espy_trace_writer *w;
	const struct espy_trace_write_opts o = { .path = test_file("wrong") };
	struct espy_rec rec = { .size = 16 };

	assert_int_equal(espy_trace_writer__open(&w, &o), 0);
	assert_int_equal(espy_trace_writer__record(w, &rec), -EINVAL);
	rec.size = 28;
	assert_int_equal(espy_trace_writer__record(w, &rec), -EINVAL);
	rec.size = ESPY_REC_MAX + 8;
	assert_int_equal(espy_trace_writer__record(w, &rec), -EINVAL);
	assert_int_equal(espy_trace_writer__section(w, ESPY_SECTION_RECORDS, 0, "", 0), -EINVAL);
	assert_int_equal(espy_trace_writer__close(w), 0);
}

static void test_sections(void **state)
{
	struct espy_trace_writer *w;
	const struct espy_trace_write_opts o = { .path = test_file("sections"), .level = 3 };
	struct espy_trace_meta *m = espy_trace_meta__new();
	struct espy_trace_reader *r;
	const struct espy_rec_attached rec = { .rec = { .size = sizeof(rec), .type = ESPY_REC_ATTACHED, .tid = 1 } };
	const struct espy_rec *got;
	const void *data;
	size_t size;
	char why[128];

	assert_int_equal(espy_trace_meta__add_text(m, "Host", "x"), -EINVAL);
	assert_int_equal(espy_trace_meta__add_text(m, "host", "first"), 0);
	assert_int_equal(espy_trace_meta__add_text(m, "empty", ""), 0);
	assert_int_equal(espy_trace_meta__add_number(m, "n", 1ull << 40), 0);
	assert_int_equal(espy_trace_writer__open(&w, &o), 0);
	data = espy_trace_meta__bytes(m, &size);
	assert_int_equal(espy_trace_writer__section(w, ESPY_SECTION_META, 0, data, size), 0);
	assert_int_equal(espy_trace_writer__section(w, ESPY_SECTION_IMAGE, 7, "seven", 5), 0);
	assert_int_equal(espy_trace_writer__section(w, (enum espy_trace_section)99, 7, "from the future", 15), 0);
	assert_int_equal(espy_trace_writer__record(w, &rec.rec), 0);
	/* what comes later counts more, and is there before the first record is read */
	espy_trace_meta__free(m);
	m = espy_trace_meta__new();
	assert_int_equal(espy_trace_meta__add_text(m, "host", "second"), 0);
	data = espy_trace_meta__bytes(m, &size);
	assert_int_equal(espy_trace_writer__section(w, ESPY_SECTION_META, 0, data, size), 0);
	assert_int_equal(espy_trace_writer__record(w, &rec.rec), 0);
	assert_int_equal(espy_trace_writer__close(w), 0);
	espy_trace_meta__free(m);

	struct stat st;

	assert_int_equal(stat(o.path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(espy_trace_reader__open(&r, o.path, NULL, why, sizeof(why)), 0);
	assert_string_equal(espy_trace_reader__meta(r, "host", &size), "second");
	assert_int_equal(size, 6);
	assert_string_equal(espy_trace_reader__meta(r, "empty", &size), "");
	assert_int_equal(espy_trace_reader__meta_number(r, "n", 5), 1ull << 40);
	assert_int_equal(espy_trace_reader__meta_number(r, "host", 5), 5);
	assert_null(espy_trace_reader__meta(r, "nothing", &size));
	assert_int_equal(espy_trace_reader__section(r, ESPY_SECTION_IMAGE, 7, 0, &data, &size), 0);
	assert_int_equal(size, 5);
	assert_memory_equal(data, "seven", 5);
	assert_int_equal(espy_trace_reader__section(r, ESPY_SECTION_IMAGE, 6, 0, &data, &size), -ENOENT);
	assert_int_equal(espy_trace_reader__next(r, &got), 1);
	assert_int_equal(espy_trace_reader__next(r, &got), 1);
	assert_int_equal(espy_trace_reader__next(r, &got), 0);

	struct espy_trace_read_stats rs;

	espy_trace_reader__stats(r, &rs);
	assert_int_equal(rs.unknown_sections, 1);
	assert_int_equal(rs.blocks, 2);
	assert_true(rs.finished);
	espy_trace_reader__close(r);
}

static void test_existing_files(void **state)
{
	struct espy_trace_writer *w;
	char path[192];
	struct espy_trace_write_opts o = { .path = path };
	size_t size;

	snprintf(path, sizeof(path), "%s", test_file("existing"));
	spill(path, "precious", 8);
	assert_int_equal(espy_trace_writer__open(&w, &o), -EEXIST);
	o.force = true;
	assert_int_equal(espy_trace_writer__open(&w, &o), 0);
	assert_int_equal(espy_trace_writer__close(w), 0);
	char *bytes = slurp(path, &size);

	assert_true(size > 8);
	free(bytes);
	/* a directory is not replaced, and a file in one that is not there is not made */
	o.path = test_dir();
	assert_int_equal(espy_trace_writer__open(&w, &o), -EISDIR);
	o.path = test_file("nowhere/file");
	assert_int_equal(espy_trace_writer__open(&w, &o), -ENOENT);
	o.path = "/dev/null";
	o.force = false;
	assert_int_equal(espy_trace_writer__open(&w, &o), 0);
	assert_int_equal(espy_trace_writer__close(w), 0);
	o.path = path;
	o.level = 20;
	assert_int_equal(espy_trace_writer__open(&w, &o), -EINVAL);
}

static void test_not_a_trace(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *why;
	} cases[] = {
		{ "", 0, "it is empty" },
		{ "execve(\"/bin/true\", ...) = 0\n", 29, "it is not a trace of espy" },
		{ "\x89" "ESPY", 5, "it is not a trace of espy" },
		{ "\x89" "ESPY\r\n\x1a", 8, "it ends in the middle of the file head" },
	};
	struct espy_trace_reader *r;
	char why[128];

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		spill(test_file("other"), cases[i].bytes, cases[i].size);
		assert_int_equal(espy_trace_reader__open(&r, test_file("other"), NULL, why, sizeof(why)), -EINVAL);
		assert_string_equal(why, cases[i].why);
	}
	assert_int_equal(espy_trace_reader__open(&r, test_file("nothing"), NULL, why, sizeof(why)), -ENOENT);
	assert_int_equal(espy_trace_reader__open(&r, test_dir(), NULL, why, sizeof(why)), -EISDIR);
}

/* The file head as a later version might write it. */
static void test_newer_files(void **state)
{
	struct stream s = { 0 };
	struct espy_trace_file_head h;
	struct espy_trace_reader *r;
	char why[128];
	size_t size;

	stream_of_types(&s);
	write_trace(test_file("newer"), &s, NULL);
	stream_free(&s);
	uint8_t *bytes = slurp(test_file("newer"), &size);

	memcpy(&h, bytes, sizeof(h));
	for (unsigned how = 0; how < 4; how++) {
		uint8_t head[120] = { 0 };
		struct espy_trace_file_head other = h;
		uint32_t crc;

		other.size = sizeof(head);
		memcpy(head + sizeof(h), "zstd\0columns\0rainbow", 21);
		if (how == 0)
			other.needed |= 1ull << 17; /* bits 0 and 1 are there */
		if (how == 1)
			other.optional = UINT64_MAX;
		if (how == 2)
			other.major++;
		if (how == 3)
			other.byte_order = 0x04030201;
		memcpy(head, &other, sizeof(other));
		crc = espy_crc32c(0, head, sizeof(head) - 4);
		memcpy(head + sizeof(head) - 4, &crc, 4);
		uint8_t *file = malloc(size + sizeof(head));

		memcpy(file, head, sizeof(head));
		memcpy(file + sizeof(head), bytes + h.size, size - h.size);
		spill(test_file("newer"), file, sizeof(head) + size - h.size);
		free(file);
		int err = espy_trace_reader__open(&r, test_file("newer"), NULL, why, sizeof(why));

		assert_int_equal(err, how == 1 ? 0 : -EINVAL);
		if (how == 0)
			assert_string_equal(why, "needs a newer espy: the trace uses the feature 'rainbow'");
		if (how == 1)
			espy_trace_reader__close(r);
		if (how == 2)
			assert_string_equal(why, "needs a newer espy: the format has version 2.0, this espy reads 1");
		if (how == 3)
			assert_string_equal(why, "it was written on a machine of the other byte order");
	}
	free(bytes);
}

static void test_crc32c(void **state)
{
	uint8_t bytes[300];
	unsigned seed = 3;

	assert_int_equal(espy_crc32c(0, "123456789", 9), 0xe3069283u); /* the check value of the polynomial */
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)rnd(&seed);
	for (unsigned from = 0; from < 9; from++)
		for (unsigned to = from; to < sizeof(bytes); to += 7) {
			const uint32_t whole = espy_crc32c(0, bytes + from, to - from);

			assert_int_equal(whole, espy_crc32c_table(0, bytes + from, to - from));
			const unsigned half = (to - from) / 2;

			assert_int_equal(whole, espy_crc32c(espy_crc32c(0, bytes + from, half), bytes + from + half, to - from - half));
		}
}

static const char *kept_file;

/* round_trip_test --keep FILE: makes the file that is kept beside this test. */
static int keep(const char *path)
{
	struct stream s = { 0 };

	stream_of_types(&s);
	stream_of_calls(&s, 200, 1);
	write_trace(path, &s, NULL);
	printf("%llu records, %zu bytes, CRC 0x%08x\n", (unsigned long long)s.records, s.size,
	       espy_crc32c(0, s.bytes, s.size));
	stream_free(&s);
	return 0;
}

/* A file of version 1 of the format. Every later espy must read the same from it. */
static void test_kept_file(void **state)
{
	struct espy_trace_read_stats st;
	struct damages d = { 0 };
	struct stream got = { 0 };
	struct espy_trace_reader *r;
	const void *image;
	size_t size;
	char why[128];

	if (!kept_file)
		skip();
	assert_int_equal(read_trace(kept_file, &got, &d, &st), 0);
	assert_int_equal(d.count, 0);
	assert_true(st.finished);
	assert_int_equal(st.unknown_sections, 0);
	assert_int_equal(got.records, 272);
	assert_int_equal(got.size, 24832);
	assert_int_equal(espy_crc32c(0, got.bytes, got.size), 0x7708cfe8u);
	stream_free(&got);
	assert_int_equal(espy_trace_reader__open(&r, kept_file, NULL, why, sizeof(why)), 0);
	assert_string_equal(espy_trace_reader__meta(r, "host", &size), "here");
	assert_int_equal(espy_trace_reader__meta_number(r, "page_size", 0), 4096);
	assert_int_equal(espy_trace_reader__section(r, ESPY_SECTION_IMAGE, 2, 0, &image, &size), 0);
	assert_int_equal(size, 31);
	assert_memory_equal(image, "the image, the image, the image", 31);
	espy_trace_reader__close(r);
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "--keep"))
		return keep(argv[2]);
	kept_file = argc > 1 ? argv[1] : NULL;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_counting_marks),
		cmocka_unit_test(test_odd_records),
		cmocka_unit_test(test_many_tasks_and_kinds),
		cmocka_unit_test(test_wrong_records),
		cmocka_unit_test(test_sections),
		cmocka_unit_test(test_existing_files),
		cmocka_unit_test(test_not_a_trace),
		cmocka_unit_test(test_newer_files),
		cmocka_unit_test(test_crc32c),
		cmocka_unit_test(test_kept_file),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	remove_test_dir();
	return failed;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Damaged files: cut at every length, every bit flipped, pieces missing or foreign, claims that are not true. */
#include "trace_harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>
#include "trace/columns.h"
#include "trace/crc32c.h"
#include "trace/trace_format.h"

/* A sanitizer needs terabytes of addresses. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif

struct part { /* a section of the sample */
	uint64_t offset, end;
	unsigned kind;
	size_t from, to; /* RECORDS: its records in the stream */
};

static struct stream sample;
static uint8_t *file;
static size_t size, head_size;
static struct part parts[32];
static unsigned part_cnt;

static const char *sample_path(void)
{
	return test_file("sample");
}

static int make_sample(int level)
{
	const struct espy_trace_write_opts o = { .path = sample_path(), .force = true, .level = level };
	struct espy_trace_meta *m = espy_trace_meta__new();
	struct espy_trace_writer *w;
	struct espy_trace_file_head h;
	size_t bytes, at = 0;

	part_cnt = 0;
	stream_of_types(&sample);
	stream_of_calls(&sample, 40, 1);
	assert_int_equal(espy_trace_writer__open(&w, &o), 0);
	assert_int_equal(espy_trace_meta__add_text(m, "host", "here"), 0);
	const void *meta = espy_trace_meta__bytes(m, &bytes);

	assert_int_equal(espy_trace_writer__section(w, ESPY_SECTION_META, 0, meta, bytes), 0);
	espy_trace_meta__free(m);
	assert_int_equal(espy_trace_writer__section(w, ESPY_SECTION_IMAGE, 0, "an image", 8), 0);
	for (unsigned n = 0; at < sample.size; n++) {
		const struct espy_rec *rec = (const struct espy_rec *)(sample.bytes + at);

		if (n % 25 == 24)
			assert_int_equal(espy_trace_writer__flush(w), 0);
		assert_int_equal(espy_trace_writer__record(w, rec), 0);
		at += rec->size;
	}
	assert_int_equal(espy_trace_writer__close(w), 0);
	file = slurp(sample_path(), &size);
	memcpy(&h, file, sizeof(h));
	head_size = h.size;
	size_t records = 0;

	for (at = head_size; at < size;) {
		struct espy_section_head s;
		struct part *p = &parts[part_cnt++];

		assert_true(part_cnt < 32 && size - at >= sizeof(s));
		memcpy(&s, file + at, sizeof(s));
		*p = (struct part){ at, at + sizeof(s) + s.stored_sz, s.kind, records, records };
		if (s.kind == ESPY_SECTION_RECORDS)
			p->to = records += s.raw_sz;
		at = p->end;
	}
	assert_int_equal(records, sample.size);
	assert_true(part_cnt >= 8);
	return 0;
}

static int make_packed_sample(void **state)
{
	return make_sample(1);
}

static int make_plain_sample(void **state)
{
	return make_sample(0);
}

static int free_sample(void **state)
{
	stream_free(&sample);
	free(file);
	return 0;
}

/* The records of all parts but `without` (or NULL) that end at or before `end`. */
static void expect(const struct stream *got, const struct part *without, uint64_t end)
{
	size_t at = 0;

	for (unsigned i = 0; i < part_cnt; i++) {
		const struct part *p = &parts[i];
		const size_t n = p->to - p->from;

		if (p == without || p->end > end || !n)
			continue;
		assert_true(got->size - at >= n);
		assert_memory_equal(got->bytes + at, sample.bytes + p->from, n);
		at += n;
	}
	assert_int_equal(at, got->size);
}

static void test_truncation(void **state)
{
	for (size_t n = 0; n <= size; n++) {
		struct espy_trace_read_stats st;
		struct damages d = { 0 };
		struct stream got = { 0 };
		bool boundary = n == head_size;
		uint64_t cut = head_size;

		spill(sample_path(), file, n);
		int err = read_trace(sample_path(), &got, &d, &st);

		if (n < head_size) {
			assert_int_equal(err, -EINVAL);
			continue;
		}
		for (unsigned i = 0; i < part_cnt; i++) {
			boundary |= n == parts[i].end;
			if (parts[i].end <= n)
				cut = parts[i].end;
		}
		assert_int_equal(err, 0);
		expect(&got, NULL, n);
		assert_int_equal(d.count, boundary ? 0 : 1);
		if (!boundary) {
			assert_int_equal(d.first_offset, cut);
			assert_int_equal(d.skipped, n - cut);
		}
		assert_int_equal(st.finished, n == size);
		stream_free(&got);
	}
	spill(sample_path(), file, size);
}

/* Each bit with ROUNDS; else one of nine, so that each place in a byte has its turn. */
static void test_flips(void **state)
{
	const size_t step = getenv("ROUNDS") ? 1 : 9;
	uint8_t *copy = malloc(size);

	memcpy(copy, file, size);
	for (size_t bit = 0; bit < 8 * size; bit += step) {
		const size_t at = bit / 8;
		const struct part *hit = NULL;
		struct damages d = { 0 };
		struct stream got = { 0 };

		copy[at] ^= (uint8_t)(1u << bit % 8);
		spill(sample_path(), copy, size);
		copy[at] ^= (uint8_t)(1u << bit % 8);
		int err = read_trace(sample_path(), &got, &d, NULL);

		if (at < 8) { /* the magic: it is no trace any more */
			assert_int_equal(err, -EINVAL);
			continue;
		}
		for (unsigned i = 0; i < part_cnt; i++)
			if (at >= parts[i].offset && at < parts[i].end)
				hit = &parts[i];
		assert_int_equal(err, 0);
		expect(&got, hit, size);
		assert_int_equal(d.count, 1);
		assert_int_equal(d.first_offset, hit ? hit->offset : 0);
		assert_int_equal(d.skipped, hit ? hit->end - hit->offset : head_size);
		stream_free(&got);
	}
	free(copy);
	spill(sample_path(), file, size);
}

/* The same through a pipe, where nothing can be read twice. */
static void test_flips_in_a_stream(void **state)
{
	for (unsigned i = 0; i < part_cnt; i++) {
		const size_t at[2] = { parts[i].offset + 30, parts[i].end - 1 };

		for (unsigned k = 0; k < 2; k++) {
			uint8_t *copy = malloc(size);
			struct damages d = { 0 };
			struct stream got = { 0 };
			int fds[2];
			const int old = dup(STDIN_FILENO);

			memcpy(copy, file, size);
			copy[at[k]] ^= 4;
			assert_int_equal(pipe(fds), 0);
			const pid_t pid = fork();

			if (!pid) {
				for (size_t off = 0; off < size; off += 13)
					if (write(fds[1], copy + off, size - off < 13 ? size - off : 13) < 0)
						_exit(1);
				_exit(0);
			}
			close(fds[1]);
			dup2(fds[0], STDIN_FILENO);
			close(fds[0]);
			assert_int_equal(read_trace("-", &got, &d, NULL), 0);
			dup2(old, STDIN_FILENO);
			close(old);
			waitpid(pid, NULL, 0);
			expect(&got, &parts[i], size);
			assert_true(d.count >= 1);
			assert_int_equal(d.first_offset, parts[i].offset);
			free(copy);
			stream_free(&got);
		}
	}
}

static void read_bytes(const uint8_t *bytes, size_t n, struct stream *got, struct damages *d)
{
	*got = (struct stream){ 0 };
	*d = (struct damages){ 0 };
	spill(sample_path(), bytes, n);
	assert_int_equal(read_trace(sample_path(), got, d, NULL), 0);
}

static void test_pieces(void **state)
{
	uint8_t *copy = malloc(2 * size + 100);
	const struct part *p = NULL;
	struct damages d;
	struct stream got;

	for (unsigned i = 0; !p; i++)
		if (parts[i].kind == ESPY_SECTION_RECORDS && parts[i - 1].kind == ESPY_SECTION_RECORDS)
			p = &parts[i];
	/* one is missing */
	memcpy(copy, file, p->offset);
	memcpy(copy + p->offset, file + p->end, size - p->end);
	read_bytes(copy, size - (p->end - p->offset), &got, &d);
	expect(&got, p, size);
	assert_int_equal(d.count, 1);
	assert_string_equal(d.first_what, "a section is missing here, or is not in its place");
	stream_free(&got);
	/* garbage between two */
	memcpy(copy + p->offset, "garbage garbage garbage", 23);
	memcpy(copy + p->offset + 23, file + p->offset, size - p->offset);
	read_bytes(copy, size + 23, &got, &d);
	expect(&got, NULL, size);
	assert_int_equal(d.count, 1);
	assert_int_equal(d.first_offset, p->offset);
	assert_int_equal(d.skipped, 23);
	stream_free(&got);
	/* behind the end */
	memcpy(copy, file, size);
	memcpy(copy + size, "more", 4);
	read_bytes(copy, size + 4, &got, &d);
	expect(&got, NULL, size);
	assert_int_equal(d.count, 1);
	assert_int_equal(d.first_offset, size);
	stream_free(&got);
	/* another trace behind it: its sections are not ours */
	memcpy(copy, file, p->end);
	memcpy(copy + p->end, file, size);
	for (unsigned i = 0; i < part_cnt; i++) {
		struct espy_section_head h;

		memcpy(&h, copy + p->end + parts[i].offset, sizeof(h));
		h.file_id ^= 1;
		h.head_crc = espy_crc32c(0, &h, sizeof(h) - 4);
		memcpy(copy + p->end + parts[i].offset, &h, sizeof(h));
	}
	read_bytes(copy, p->end + size, &got, &d);
	expect(&got, NULL, p->end);
	assert_int_equal(d.count, 1);
	assert_int_equal(d.first_offset, p->end);
	stream_free(&got);
	free(copy);
	spill(sample_path(), file, size);
}

/* A section in place of the second one, with heads and checksums that are right. */
static size_t put_section(uint8_t *to, struct espy_section_head h, const void *payload, size_t n)
{
	memcpy(to, file, head_size);
	h.mark = ESPY_SECTION_MARK;
	memcpy(&h.file_id, file + offsetof(struct espy_trace_file_head, file_id), 8);
	h.payload_crc = espy_crc32c(0, payload, n);
	h.head_crc = espy_crc32c(0, &h, sizeof(h) - 4);
	memcpy(to + head_size, &h, sizeof(h));
	memcpy(to + head_size + sizeof(h), payload, n);
	return head_size + sizeof(h) + n;
}

static void check_claim(struct espy_section_head h, const void *payload, size_t n, uint32_t stored_sz, const char *what)
{
	uint8_t *bytes = malloc(head_size + sizeof(h) + n);
	struct damages d;
	struct stream got;

	h.stored_sz = stored_sz;
	if (!h.encoded_sz)
		h.encoded_sz = h.raw_sz;
	n = put_section(bytes, h, payload, n);
	read_bytes(bytes, n, &got, &d);
	assert_int_equal(got.records, 0);
	assert_int_equal(d.count, 1);
	assert_string_equal(d.first_what, what);
	free(bytes);
	stream_free(&got);
}

static void claims(void)
{
	static const uint8_t zeros[ESPY_BLOCK_RAW_MAX];
	const struct espy_section_head records = { .kind = ESPY_SECTION_RECORDS };
	struct espy_section_head h = records;
	uint8_t bomb[64 << 10];
	static const char *const cut = "the file ends in the middle of a section";
	static const char *const larger = "a section claims to be larger than sections are";
	static const char *const packed = "a section cannot be unpacked";

	h.raw_sz = UINT32_MAX;
	check_claim(h, "", 0, UINT32_MAX, larger);
	h.raw_sz = ESPY_BLOCK_RAW_MAX;
	check_claim(h, "", 0, ESPY_BLOCK_RAW_MAX, cut);
	check_claim(h, "", 0, 0, packed);
	/* eight megabytes of nothing, from a few hundred bytes: made, as a block may be so large; but no records */
	size_t n = ZSTD_compress(bomb, sizeof(bomb), zeros, sizeof(zeros), 3);

	assert_false(ZSTD_isError(n));
	h.compression = ESPY_COMPRESSION_ZSTD;
	check_claim(h, bomb, n, (uint32_t)n, "the head of a record in a block is wrong");
	/* more in the frame than the head says */
	h.raw_sz = 4096;
	check_claim(h, bomb, n, (uint32_t)n, packed);
	/* what is compressed is not what the section holds */
	h.encoded_sz = ESPY_BLOCK_RAW_MAX;
	check_claim(h, bomb, n, (uint32_t)n, packed);
	/* columns of no records, and more of them than sections may have */
	h.encoding = ESPY_ENCODING_COLUMNS;
	check_claim(h, bomb, n, (uint32_t)n, packed);
	h.encoded_sz++;
	check_claim(h, bomb, n, (uint32_t)n, larger);
	/* columns that claim to be huge */
	uint32_t columns[COLUMNS] = { [COL_CODES] = UINT32_MAX, [COL_WORDS] = 1 };

	h.compression = ESPY_COMPRESSION_NONE;
	h.encoded_sz = sizeof(columns);
	check_claim(h, columns, sizeof(columns), sizeof(columns), packed);
	h.encoded_sz = 8;
	check_claim(h, columns, 8, 8, packed);
	h.encoded_sz = sizeof(columns);
	h.encoding = 9;
	check_claim(h, columns, sizeof(columns), sizeof(columns), "a section is encoded in a way that is not known");
	/*
	 * a record that goes beyond its block, one that is too small for its type, one without the words its flags tell
	 * of, one of an ABI that does not exist */
	struct espy_rec rec[2] = { { .size = 56 } };

	h = records;
	h.raw_sz = sizeof(rec);
	check_claim(h, rec, sizeof(rec), sizeof(rec), "the head of a record in a block is wrong");
	rec[0] = (struct espy_rec){ .size = 24, .type = ESPY_REC_FORK };
	check_claim(h, rec, sizeof(rec), sizeof(rec), "the head of a record in a block is wrong");
	rec[0] = (struct espy_rec){ .size = 48, .type = ESPY_REC_EXIT, .flags = 6 };
	check_claim(h, rec, sizeof(rec), sizeof(rec), "the head of a record in a block is wrong");
	rec[0] = (struct espy_rec){ .size = 48, .abi = ESPY_ABI_CNT, .type = ESPY_REC_STOPPED };
	check_claim(h, rec, sizeof(rec), sizeof(rec), "the head of a record in a block is wrong");
}

static void test_claims(void **state)
{
	claims();
#ifndef SANITIZED
	/* once more with little memory: nothing huge is needed */
	const pid_t pid = fork();

	if (!pid) {
		const struct rlimit little = { 200 << 20, 200 << 20 };

		setrlimit(RLIMIT_AS, &little);
		claims();
		_exit(0);
	}
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
#endif
}

/* Heads that claim to overlap: each is looked at, but their bytes not again and again. */
static void test_overlapping(void **state)
{
	enum { HEADS = 30000 };
	uint8_t *bytes = calloc(1, head_size + HEADS * sizeof(struct espy_section_head));
	struct espy_section_head h = { .mark = ESPY_SECTION_MARK, .kind = ESPY_SECTION_RECORDS, .payload_crc = 1 };
	struct damages d;
	struct stream got;

	memcpy(bytes, file, head_size);
	memcpy(&h.file_id, file + offsetof(struct espy_trace_file_head, file_id), 8);
	for (unsigned i = 0; i < HEADS; i++) {
		h.seq = i;
		h.stored_sz = (HEADS - 1 - i) * (uint32_t)sizeof(h);
		h.stored_sz -= h.stored_sz > 40 ? 40 : 0; /* ends where no section begins */
		h.head_crc = espy_crc32c(0, &h, sizeof(h) - 4);
		memcpy(bytes + head_size + i * sizeof(h), &h, sizeof(h));
	}
	read_bytes(bytes, head_size + HEADS * sizeof(h), &got, &d);
	assert_int_equal(got.records, 0);
	assert_true(d.count > 0);
	free(bytes);
	stream_free(&got);
	spill(sample_path(), file, size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_truncation), cmocka_unit_test(test_flips),   cmocka_unit_test(test_flips_in_a_stream),
		cmocka_unit_test(test_pieces),	   cmocka_unit_test(test_claims),  cmocka_unit_test(test_overlapping),
	};
	int failed = cmocka_run_group_tests(tests, make_packed_sample, free_sample);

	failed += cmocka_run_group_tests(tests, make_plain_sample, free_sample);
	remove_test_dir();
	return failed;
}

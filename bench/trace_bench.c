/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The trace file: bytes a call, and the time to write and to read a call, by level of compression.
 *
 *   trace_bench [-s] [-l LEVEL] [RECORDS]   RECORDS: made by `tap FILE PROG`; without it, calls made by a seed
 *
 * Sizes are of the stream once through; times are of the stream repeated until it has a million calls (user and system time
 * of this process, best of three). -s: also seek in a file of a gigabyte.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "trace/trace.h"

#define CALLS 1000000u

static uint8_t *records;
static size_t size;
static unsigned long calls, all;
static uint64_t span_ns; /* from the first record to the last */
static char path[64] = "/tmp/espy-trace-bench.XXXXXX";

static void fail(const char *what, int err)
{
	fprintf(stderr, "trace_bench: %s: %s\n", what, strerror(-err));
	unlink(path);
	exit(1);
}

static double cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return ((double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec) * 1e9 +
	       ((double)u.ru_utime.tv_usec + (double)u.ru_stime.tv_usec) * 1e3;
}

/* Reads and stats, of one task: what a program that does little else makes. */
static void make_records(void)
{
	unsigned seed = 1;

	size = 0;
	records = malloc(256 * 20000);
	if (!records)
		fail("records", -ENOMEM);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t words[28] = { 0 };
		struct espy_rec *rec = (struct espy_rec *)words;

		seed = seed * 1664525u + 1013904223u;
		*rec = (struct espy_rec){ 8 * 10, ESPY_ABI_X86_64,     ESPY_REC_EXIT, ESPY_RF_ENTER_NS | 3, 0, 500,
					  500,	  1000000 + 900ull * i };
		words[3] = 1;
		words[4] = rec->time_ns - (seed >> 22);
		words[5] = seed >> 30;
		words[6] = 0x7ffc12340000 + 64 * (seed >> 29);
		words[7] = 1;
		memcpy(&words[8], &(struct espy_item){ .len = 1, .status = ESPY_ITEM_AT_EXIT }, 8);
		words[9] = seed >> 24;
		memcpy(records + size, words, rec->size);
		size += rec->size;
	}
}

static void load(const char *name)
{
	struct stat st;
	const int fd = open(name, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		fail(name, -errno);
	records = malloc((size_t)st.st_size + 8);
	if (!records || read(fd, records, (size_t)st.st_size) != st.st_size)
		fail(name, -EIO);
	size = (size_t)st.st_size;
	close(fd);
}

static struct espy_rec *next(size_t *at)
{
	struct espy_rec *rec = (struct espy_rec *)(records + *at);

	*at += rec->size;
	return rec;
}

static void measure_stream(void)
{
	uint64_t first = 0, last = 0;

	for (size_t at = 0; at < size;) {
		const struct espy_rec *rec = next(&at);

		if (rec->size < sizeof(*rec) || rec->size % 8 || at > size)
			fail("records", -EINVAL);
		all++;
		calls += rec->type == ESPY_REC_EXIT;
		first = first ? first : rec->time_ns;
		last = rec->time_ns ? rec->time_ns : last;
	}
	span_ns = last - first + 1000;
	if (!calls)
		fail("no calls among the records", -EINVAL);
}

/* The same stream once more, later. */
static void shift(void)
{
	for (size_t at = 0; at < size;) {
		struct espy_rec *rec = next(&at);
		uint64_t enter;

		if (rec->time_ns)
			rec->time_ns += span_ns;
		if (rec->type == ESPY_REC_EXIT && rec->flags & ESPY_RF_ENTER_NS) {
			memcpy(&enter, (uint8_t *)rec + 32, 8);
			enter += span_ns;
			memcpy((uint8_t *)rec + 32, &enter, 8);
		}
	}
}

/* A checkpoint: as many records as a session of some hundred tasks and files tells. */
static int give_state(void *ctx, struct espy_trace_writer *w)
{
	int err = 0;

	for (uint32_t i = 0; i < 1000 && !err; i++) {
		const struct espy_rec_attached rec = { .rec = { .size = sizeof(rec), .type = ESPY_REC_ATTACHED, .tid = i } };

		err = espy_trace_writer__record(w, &rec.rec);
	}
	return err;
}

static uint64_t write_file(int level, unsigned rounds, uint64_t until_bytes, struct espy_trace_write_stats *st)
{
	const struct espy_trace_write_opts o = {
		.path = path, .force = true, .level = level, .state = give_state,
	};
	struct espy_trace_writer *w;
	struct stat file;
	int err = espy_trace_writer__open(&w, &o);

	if (err)
		fail(path, err);
	for (unsigned i = 0; i < rounds || until_bytes; i++) {
		for (size_t at = 0; at < size && !err;)
			err = espy_trace_writer__record(w, next(&at));
		if (err)
			fail("writing", err);
		shift();
		espy_trace_writer__stats(w, st);
		if (until_bytes && st->file_bytes >= until_bytes)
			break;
	}
	err = espy_trace_writer__close(w);
	if (err || stat(path, &file))
		fail("closing", err);
	return (uint64_t)file.st_size;
}

static double shift_ns(unsigned rounds)
{
	const double t = cpu_ns();

	for (unsigned i = 0; i < rounds; i++)
		shift();
	return cpu_ns() - t;
}

static struct espy_trace_reader *open_file(void)
{
	struct espy_trace_reader *r;
	char why[128];
	int err = espy_trace_reader__open(&r, path, NULL, why, sizeof(why));

	if (err)
		fail(why, err);
	return r;
}

static void read_file(void)
{
	struct espy_trace_reader *r = open_file();
	const struct espy_rec *rec;
	int err;

	while ((err = espy_trace_reader__next(r, &rec)) > 0)
		;
	if (err)
		fail("reading", err);
	espy_trace_reader__close(r);
}

static void row(int level)
{
	const unsigned rounds = (unsigned)(CALLS / calls) + 1;
	struct espy_trace_write_stats st;
	double write_ns = 1e18, read_ns = 1e18;
	const uint64_t once = write_file(level, 1, 0, &st);

	for (unsigned i = 0; i < (level > 9 ? 1 : 3); i++) {
		const double shifting = shift_ns(rounds);
		double t = cpu_ns();

		write_file(level, rounds, 0, &st);
		t = cpu_ns() - t - shifting;
		write_ns = t < write_ns ? t : write_ns;
		t = cpu_ns();
		read_file();
		t = cpu_ns() - t;
		read_ns = t < read_ns ? t : read_ns;
	}
	printf("level %2d: %6.2f bytes a call, %6.1f ns to write a call, %6.1f ns to read one, %.1f MB held\n", level,
	       (double)once / (double)calls, write_ns / ((double)rounds * (double)calls),
	       read_ns / ((double)rounds * (double)calls), (double)st.memory_bytes / 1e6);
}

static double seek_ms(uint64_t time_ns)
{
	struct timespec a, b;
	const struct espy_rec *rec;

	clock_gettime(CLOCK_MONOTONIC, &a);
	struct espy_trace_reader *r = open_file();
	int err = espy_trace_reader__seek(r, time_ns);

	if (!err && espy_trace_reader__next(r, &rec) != 1)
		err = -ENODATA;
	if (err)
		fail("seeking", err);
	clock_gettime(CLOCK_MONOTONIC, &b);
	espy_trace_reader__close(r);
	return (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
}

static void seek_rows(int level)
{
	struct espy_trace_write_stats st;
	struct espy_trace_read_stats rs;
	const uint64_t bytes = write_file(level, 0, 1000000000, &st);
	struct espy_trace_reader *r = open_file();

	espy_trace_reader__stats(r, &rs);
	espy_trace_reader__close(r);
	const uint64_t middle = rs.first_ns + (rs.last_ns - rs.first_ns) / 2;

	printf("open in the middle of %.2f GB: %.1f ms with the index", (double)bytes / 1e9, seek_ms(middle));
	/* without index and end, as if the recorder had been killed */
	if (truncate(path, (off_t)(bytes - 100)))
		fail(path, -errno);
	printf(", %.1f ms without\n", seek_ms(middle));
}

int main(int argc, char **argv)
{
	static const int levels[] = { 0, 1, 3, 5, 6, 9, 19 };
	int c, only = -1;
	bool seek = false;

	while ((c = getopt(argc, argv, "sl:")) != -1) {
		if (c == '?')
			return 2;
		if (c == 's')
			seek = true;
		else
			only = atoi(optarg);
	}
	if (optind < argc)
		load(argv[optind]);
	else
		make_records();
	measure_stream();
	printf("%lu records, %lu calls, %.1f bytes a call as they come\n", all, calls, (double)size / (double)calls);
	if (mkstemp(path) < 0)
		fail(path, -errno);
	for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (only < 0 || only == levels[i])
			row(levels[i]);
	if (seek)
		seek_rows(only < 0 ? 1 : only);
	unlink(path);
	return 0;
}

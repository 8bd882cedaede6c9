/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of the trace file share: records made by a seed, files in a directory of their own. */
#ifndef TESTS_TRACE_TRACE_HARNESS_H
#define TESTS_TRACE_TRACE_HARNESS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "trace/trace.h"

/* A growing list of records, one after the other. */
struct stream {
	uint8_t *bytes;
	size_t size, cap;
	uint64_t records;
};
void stream_add(struct stream *s, const struct espy_rec *rec);
void stream_free(struct stream *s);

/* Records as a source sends them: n calls of several tasks, with what happens between; the same for the same seed. */
void stream_of_calls(struct stream *s, unsigned n, unsigned seed);
/* One of every type that is known. */
void stream_of_types(struct stream *s);
/* Marks of several definitions and tasks, in longer and shorter runs, with what comes between. */
void stream_of_marks(struct stream *s, unsigned n, unsigned seed);
/* What no source of today sends, but a record may be. */
void stream_of_odd_ones(struct stream *s, unsigned n, unsigned seed);

/* The directory of the test, and a name in it (static memory). */
const char *test_dir(void);
const char *test_file(const char *name);
void remove_test_dir(void);

/* A file with these records, META and an IMAGE; opts may be NULL. */
void write_trace(const char *path, const struct stream *s, const struct espy_trace_write_opts *opts);

struct damages {
	unsigned count;
	uint64_t first_offset, skipped;
	char first_what[128];
};
/* All records of a file; r->size is what they have. 0 or what open or next returned. */
int read_trace(const char *path, struct stream *got, struct damages *damages, struct espy_trace_read_stats *st);

void *slurp(const char *path, size_t *size);
void spill(const char *path, const void *bytes, size_t size);

uint32_t rnd(unsigned *seed);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The trace file: a stream of records (record/record.h) on disk, with the descriptions that another machine needs to
 * decode it. espy-trace-format(5) has the layout. A writer and a reader know only the heads of records; the session
 * knows the rest.
 *
 * All functions return 0 or a negative errno unless said otherwise. None prints, none exits.
 */
#ifndef ESPY_TRACE_H
#define ESPY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "record/record.h"

/* Kinds of sections. Append only; a reader steps over unknown ones, and counts them. */
enum espy_trace_section {
	ESPY_SECTION_META = 1,    /* names and values about the recording (espy_trace_meta) */
	ESPY_SECTION_IMAGE = 2,   /* compiled descriptions of one ABI (describe/image.h); `id` = enum espy_abi */
	ESPY_SECTION_RECORDS = 3, /* a block of records */
	ESPY_SECTION_INDEX = 4,   /* of blocks, by time and task; at the end of a finished file */
	ESPY_SECTION_END = 5,     /* directory of sections, the last thing in a finished file */
};

/* ---- writing ---- */

struct espy_trace_writer;

struct espy_trace_write_opts {
	const char *path;     /* created with mode 0600; "-": standard output (no rotation, no index) */
	bool force;           /* replace an existing file; else -EEXIST */
	int level;            /* of zstd, 1-19; 0: not compressed */
	size_t block_bytes;   /* raw bytes of a block; 0: a sensible size. The writer holds a small multiple of it */
	unsigned flush_ms;    /* __tick writes a block that is older; 0: 1000 */
	uint64_t rotate_bytes; /* begin a new file beyond that size; 0: never. Files are PATH.0, PATH.1, ... (newest highest) */
	unsigned keep;        /* files kept when rotating; 0: all */
	/*
	 * The writer calls it at the start of every file but the first, and at checkpoints. It gives records of the
	 * state after the records so far (tasks, descriptors, facts, open calls) to espy_trace_writer__record, for a
	 * reader that begins there. NULL: the trace holds no state.
	 */
	int (*state)(void *ctx, struct espy_trace_writer *w);
	void *state_ctx; /* of describe() too */
	/*
	 * The writer calls it before it writes a block of records, state included. It gives the descriptions that a
	 * reader of the block needs, and that file number `file` of the set does not have yet, to
	 * espy_trace_writer__section. The writer does not repeat them in a later file, but calls describe() for that
	 * file, too. NULL: the trace holds none.
	 */
	int (*describe)(void *ctx, struct espy_trace_writer *w, unsigned file);
	/*
	 * Raw bytes of records between two checkpoints; 0: 64 MB. At a checkpoint the writer calls state(), and puts
	 * its records into blocks that only a reader which begins there delivers.
	 */
	uint64_t checkpoint_bytes;
};

/* Makes the file. Returns 0, -EEXIST, or -errno of open and write. */
int espy_trace_writer__open(struct espy_trace_writer **out, const struct espy_trace_write_opts *o);
/*
 * Adds a META or IMAGE section, before the first record. Copies the data. The writer repeats the section in each
 * rotated file, unless opts->describe() gives it.
 */
int espy_trace_writer__section(struct espy_trace_writer *w, enum espy_trace_section kind, uint32_t id, const void *data,
			       size_t size);
/*
 * Appends a copy of a record. After an error of writing (full disk) each call returns that error; the file then ends
 * with a whole block.
 */
int espy_trace_writer__record(struct espy_trace_writer *w, const struct espy_rec *rec);
/* Appends copies of records that lie one behind the other, `size` bytes in all. */
int espy_trace_writer__records(struct espy_trace_writer *w, const void *records, size_t size);
/*
 * Makes sure that neither a checkpoint nor a new file begins within the next `size` bytes of records, which belong
 * together. The caller calls it while opts->state() still gives the state before these records.
 */
int espy_trace_writer__reserve(struct espy_trace_writer *w, size_t size);
/* Writes a block that is older than flush_ms; now_ns: CLOCK_MONOTONIC. The caller calls it often. */
int espy_trace_writer__tick(struct espy_trace_writer *w, uint64_t now_ns);
/* Writes all records so far. May then begin the next file. */
int espy_trace_writer__flush(struct espy_trace_writer *w);

struct espy_trace_write_stats {
	uint64_t records, file_bytes; /* records: without state. file_bytes: of all files */
	unsigned files;
	size_t memory_bytes; /* of the writer */
};
void espy_trace_writer__stats(const struct espy_trace_writer *w, struct espy_trace_write_stats *st);
/* Writes the rest, index and end. Frees w, also after an error. Returns the writer's first error. */
int espy_trace_writer__close(struct espy_trace_writer *w);

/* META: builds the bytes of the section. Names are of [a-z0-9_.]; values are any bytes. */
struct espy_trace_meta; /* growing list */
struct espy_trace_meta *espy_trace_meta__new(void);
int espy_trace_meta__add(struct espy_trace_meta *m, const char *name, const void *value, size_t size);
int espy_trace_meta__add_text(struct espy_trace_meta *m, const char *name, const char *value);
int espy_trace_meta__add_number(struct espy_trace_meta *m, const char *name, uint64_t value);
const void *espy_trace_meta__bytes(const struct espy_trace_meta *m, size_t *size);
void espy_trace_meta__free(struct espy_trace_meta *m);

/* ---- reading ---- */

struct espy_trace_reader;

struct espy_trace_damage {
	uint64_t offset;  /* in the file */
	uint64_t skipped; /* unusable bytes, as far as known */
	const char *what; /* "checksum differs", "file ends in the middle of a block", ... */
	const char *file; /* name of the file, one of a rotated set */
};

struct espy_trace_read_opts {
	/* The reader calls it at damage, and goes on with the next whole block. NULL: the reader only counts. */
	void (*damage)(void *ctx, const struct espy_trace_damage *d);
	void *damage_ctx;
	bool follow; /* the file may still grow: an incomplete end is no damage */
};

/*
 * Opens a trace. "-": standard input, read once from front to back. The name given to the writer opens a rotated set:
 * all of its files that still exist, in order, as one stream. Returns 0 or a negative errno. -EINVAL: no trace; why[]
 * gives the reason in words: empty, other magic, other byte order, needs a newer espy because of feature NAME.
 */
int espy_trace_reader__open(struct espy_trace_reader **out, const char *path, const struct espy_trace_read_opts *o,
			    char *why, size_t why_sz);
/*
 * Gives the n-th newest section of a kind other than RECORDS, counted from 0. *data is valid until close; of an IMAGE,
 * until the reader begins the next file of a set. Returns 0 or -ENOENT.
 */
int espy_trace_reader__section(struct espy_trace_reader *r, enum espy_trace_section kind, uint32_t id, unsigned n,
			       const void **data, size_t *size);
/* Returns a number that grows when sections come or go: espy_trace_reader__section() may then give other sections. */
uint64_t espy_trace_reader__section_changes(const struct espy_trace_reader *r);
/*
 * Returns a value of META, of *size bytes; NULL: META has no such name. A NUL follows a text of add_text; *size does
 * not count it.
 */
const void *espy_trace_reader__meta(struct espy_trace_reader *r, const char *name, size_t *size);
uint64_t espy_trace_reader__meta_number(struct espy_trace_reader *r, const char *name, uint64_t otherwise);
/*
 * Gives the next record. Returns 1 and *rec, which is valid until the next call. The reader has checked its size: a
 * multiple of 8, at least its type's struct, at most ESPY_REC_MAX. Returns 0 at the end (follow: no record yet, call
 * again later), or -errno (reading failed).
 */
int espy_trace_reader__next(struct espy_trace_reader *r, const struct espy_rec **rec);
/*
 * Goes to the last checkpoint before the first record at or after time_ns (CLOCK_MONOTONIC of the recording), or to the
 * front of the file. The records of the state there come next, then all that follow, so records before time_ns come
 * first. Uses the index if the file has one, else the heads of blocks. -ESPIPE: a stream.
 */
int espy_trace_reader__seek(struct espy_trace_reader *r, uint64_t time_ns);

/* Returns the least size of a record of this type and flags; of an unknown type, the size of the head. */
size_t espy_rec_least_size(const struct espy_rec *rec);

struct espy_trace_read_stats {
	uint64_t records, blocks, damaged;
	uint64_t unknown_sections; /* of kinds that this version does not know */
	uint64_t unknown_records;  /* of types that this version does not know; the reader delivers them */
	bool finished;             /* the reader has found END: the recorder ended in order */
	uint64_t first_ns, last_ns;
	uint64_t offset;     /* bytes read so far; of the current file */
	unsigned files;	     /* that the reader has opened */
	uint64_t file_bytes; /* their sizes at that time; 0: streams have none */
};
void espy_trace_reader__stats(const struct espy_trace_reader *r, struct espy_trace_read_stats *st);
void espy_trace_reader__close(struct espy_trace_reader *r);

#endif

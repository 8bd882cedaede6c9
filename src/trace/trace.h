/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The trace file: a stream of records (record/record.h) on disk, with all that is needed to decode it elsewhere.
 * The layout is described in espy-trace-format(5). A writer and a reader know records only by their header; what
 * they mean is the session's affair.
 *
 * All functions return 0 or a negative errno unless said otherwise. None prints, none exits.
 */
#ifndef ESPY_TRACE_H
#define ESPY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "record/record.h"

/* Kinds of sections. Append only; a reader steps over those that it does not know, and counts them. */
enum espy_trace_section {
	ESPY_SECTION_META = 1,    /* names and values: what, where, how (espy_trace_meta) */
	ESPY_SECTION_IMAGE = 2,   /* compiled descriptions of one ABI (describe/image.h); `id` = enum espy_abi */
	ESPY_SECTION_RECORDS = 3, /* a block of records */
	ESPY_SECTION_INDEX = 4,   /* of blocks, by time and task; at the end of a finished file */
	ESPY_SECTION_END = 5,     /* directory of sections, the last thing in a finished file */
};

/* ---- writing ---- */

struct espy_trace_writer;

struct espy_trace_write_opts {
	size_t size;          /* of this struct, for later growth */
	const char *path;     /* created with mode 0600; "-": standard output (no rotation, no index) */
	bool force;           /* an existing file is replaced; else -EEXIST */
	int level;            /* of zstd, 1-19; 0: not compressed */
	size_t block_bytes;   /* raw bytes of a block; 0: a sensible size. Memory is bounded by a small multiple of it */
	unsigned flush_ms;    /* a block that is older is written by __tick; 0: 1000 */
	uint64_t rotate_bytes; /* begin a new file beyond that size; 0: never. Files are PATH.0, PATH.1, ... (newest highest) */
	unsigned keep;        /* files kept when rotating; 0: all */
	/*
	 * Called at the start of every file but the first, and at checkpoints: gives, through espy_trace_writer__record, what
	 * a reader that begins there must know (tasks, descriptors, facts, open calls), as it is after the records that were
	 * given so far. NULL: nothing.
	 */
	int (*state)(void *ctx, struct espy_trace_writer *w);
	void *state_ctx; /* of describe() too */
	/*
	 * Called before a block of records is written, state or not: gives, through espy_trace_writer__section, the
	 * descriptions that somebody needs who reads its records, as far as file number `file` of the set does not have them
	 * yet. They are not written again in later files: it is called for those too. NULL: nothing.
	 */
	int (*describe)(void *ctx, struct espy_trace_writer *w, unsigned file);
	/*
	 * Raw bytes of records between two checkpoints; 0: 64 MB. At a checkpoint state() is called too, and what it gives is put
	 * into blocks that only a reader that begins there delivers.
	 */
	uint64_t checkpoint_bytes;
};

/* -EEXIST, or errno of open and write. */
int espy_trace_writer__open(struct espy_trace_writer **out, const struct espy_trace_write_opts *o);
/*
 * META and IMAGE sections: before the first record; kept and written again at the start of each rotated file, unless
 * opts->describe() gives them. Copied.
 */
int espy_trace_writer__section(struct espy_trace_writer *w, enum espy_trace_section kind, uint32_t id, const void *data,
			       size_t size);
/* Append a record (copied). After an error of writing (full disk) returns that error, again and again; nothing is torn. */
int espy_trace_writer__record(struct espy_trace_writer *w, const struct espy_rec *rec);
/* Append records that lie one behind the other, `size` bytes in all (copied). */
int espy_trace_writer__records(struct espy_trace_writer *w, const void *records, size_t size);
/*
 * A record is about to come, and with it others that belong to it, together `size` bytes: no checkpoint and no new file
 * shall begin among them. To be called while opts->state() still gives what was before them.
 */
int espy_trace_writer__reserve(struct espy_trace_writer *w, size_t size);
/* Writes what has waited for long; now_ns: CLOCK_MONOTONIC. Call it often. */
int espy_trace_writer__tick(struct espy_trace_writer *w, uint64_t now_ns);
/* Writes the records that have come so far, whatever their age. Then perhaps the next file begins. */
int espy_trace_writer__flush(struct espy_trace_writer *w);

struct espy_trace_write_stats {
	uint64_t records, raw_bytes, file_bytes; /* file_bytes: of all files; state is not counted among the records */
	unsigned files;
	size_t memory_bytes; /* what the writer holds */
};
void espy_trace_writer__stats(const struct espy_trace_writer *w, struct espy_trace_write_stats *st);
/* Writes the rest, index and end; frees w whatever happens. Returns the first error there was. */
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
	uint64_t skipped; /* bytes that could not be used, as far as known */
	const char *what; /* "checksum differs", "file ends in the middle of a block", ... */
	const char *file; /* its name: that of one file of a rotated set */
};

struct espy_trace_read_opts {
	size_t size;
	/* Damage is told here when it is met; reading goes on with the next whole block. NULL: not told (but counted). */
	void (*damage)(void *ctx, const struct espy_trace_damage *d);
	void *damage_ctx;
	bool follow; /* the file may still be growing: what is cut off at its end is not damage but not yet there */
};

/*
 * "-": standard input, read once from front to back. -EINVAL: not a trace (why[] says in words: empty, other magic, other
 * byte order, needs a newer espy because of feature NAME). A rotated set is opened by the name given to the writer: all of its
 * files that still exist, in order, as one stream.
 */
int espy_trace_reader__open(struct espy_trace_reader **out, const char *path, const struct espy_trace_read_opts *o,
			    char *why, size_t why_sz);
/*
 * Gives the n-th newest section of that kind, counted from 0, which is no block of records. *data is valid until close, that of an IMAGE
 * until the next file of a set is begun. 0 or -ENOENT.
 */
int espy_trace_reader__section(struct espy_trace_reader *r, enum espy_trace_section kind, uint32_t id, unsigned n,
			       const void **data, size_t *size);
/* Grows when sections come or go: what was asked of them before may have other answers now. */
uint64_t espy_trace_reader__section_changes(const struct espy_trace_reader *r);
/*
 * A value of META; NULL if there is none. Not terminated: *size bytes (texts written by add_text have no NUL
 * counted, but one follows in memory).
 */
const void *espy_trace_reader__meta(struct espy_trace_reader *r, const char *name, size_t *size);
uint64_t espy_trace_reader__meta_number(struct espy_trace_reader *r, const char *name, uint64_t otherwise);
/*
 * The next record: 1 and *rec (valid until the next call; every size in its fixed head checked: it is a multiple of 8, at
 * least as large as its type's struct, and at most ESPY_REC_MAX), 0 at the end (follow: nothing more yet, call again
 * later), or -errno (reading failed).
 */
int espy_trace_reader__next(struct espy_trace_reader *r, const struct espy_rec **rec);
/*
 * Continue with the last checkpoint before the first record at or after time_ns (CLOCK_MONOTONIC of the recording), or at the
 * front of the file if there is none: first the records that tell the state there, then all that follow, so that records
 * before the wanted time come first. By the index if there is one, else by the heads of blocks. -ESPIPE: a stream.
 */
int espy_trace_reader__seek(struct espy_trace_reader *r, uint64_t time_ns);

/* What a record of its type and flags has at least; of a type that is not known: its head. */
size_t espy_rec_least_size(const struct espy_rec *rec);

struct espy_trace_read_stats {
	uint64_t records, blocks, damaged, skipped_bytes;
	uint64_t unknown_sections; /* of kinds that this version does not know */
	uint64_t unknown_records;  /* of types that it does not know; they are delivered */
	bool finished;             /* END was found: the recorder ended in order */
	uint64_t first_ns, last_ns;
	uint16_t machine;    /* e_machine of ELF: where it was recorded; 0: not known */
	uint64_t created_ns; /* CLOCK_REALTIME; of the current file */
	uint64_t offset;     /* how far it was read; of the current file */
	unsigned files;	     /* that were opened */
	uint64_t file_bytes; /* their sizes at that time; 0: streams have none */
};
void espy_trace_reader__stats(const struct espy_trace_reader *r, struct espy_trace_read_stats *st);
void espy_trace_reader__close(struct espy_trace_reader *r);

#endif

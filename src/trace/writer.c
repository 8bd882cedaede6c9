/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Gathers records to a block, and writes the block when it is full or old. The file is whole at every moment: a
 * recorder that dies leaves a trace that reads up to its last block.
 */
#include "trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include "base/align.h"
#include "base/array.h"
#include "base/clock.h"
#include "trace/section_codec.h"
#include "trace/crc32c.h"
#include "trace/index.h"
#include "trace/output.h"

#define BLOCK_BYTES (2u << 20)
#define BLOCK_BYTES_MIN (64u << 10)
#define FLUSH_MS 1000u
#define CHECKPOINT_BYTES (64u << 20)

struct kept { /* sections with which every file of the set begins */
	enum espy_trace_section kind;
	uint32_t id;
	void *data;
	uint32_t size;
	struct kept *next;
};

struct espy_trace_writer {
	struct espy_trace_write_opts o;
	struct espy_output out;
	struct espy_section_codec *codec;
	int error;	 /* the first one: nothing is written after it */
	bool in_state;	 /* o.state is running */
	bool in_describe; /* o.describe is running */
	bool has_blocks; /* in this file, state left out */
	uint64_t file_id;
	uint32_t seq;

	/* the block that is being gathered */
	uint8_t *block;
	size_t used, cap;
	uint32_t records;
	uint64_t first_ns, last_ns, since_ns; /* since_ns: CLOCK_MONOTONIC when its first record came */
	struct espy_index_tasks tasks;

	struct espy_index index; /* of this file */
	struct espy_end_entry *sections;
	uint32_t section_cnt;
	size_t section_cap;
	struct espy_end_head end;	  /* totals of this file */
	uint64_t since_checkpoint; /* raw bytes */
	struct kept *kept;
	size_t kept_bytes;
	struct espy_trace_write_stats stats;
};

static int fail(struct espy_trace_writer *w, int err)
{
	if (err && !w->error)
		w->error = err;
	return err;
}

static int put(struct espy_trace_writer *w, const void *head, size_t head_sz, const void *body, size_t body_sz)
{
	int err = espy_output__write(&w->out, head, head_sz, body, body_sz);

	if (!err)
		w->stats.file_bytes += head_sz + body_sz;
	return err;
}

static uint64_t needed_features(const struct espy_trace_writer *w)
{
	return (w->o.describe ? 1u << ESPY_TRACE_NEEDS_PARTS : 0) |
	       (w->o.level ? 1u << ESPY_TRACE_NEEDS_ZSTD | 1u << ESPY_TRACE_NEEDS_COLUMNS : 0);
}

static int write_file_head(struct espy_trace_writer *w)
{
	static const char *const names[ESPY_TRACE_FEATURES] = {
		[ESPY_TRACE_NEEDS_ZSTD] = "zstd",
		[ESPY_TRACE_NEEDS_COLUMNS] = "columns",
		[ESPY_TRACE_NEEDS_PARTS] = "parts",
	};
	uint8_t bytes[256] = { 0 };
	struct espy_trace_file_head h = {
		.magic = ESPY_TRACE_MAGIC,
		.major = ESPY_TRACE_MAJOR,
		.minor = ESPY_TRACE_MINOR,
		.byte_order = ESPY_TRACE_BYTE_ORDER,
		.machine = ESPY_ARCH_ELF_MACHINE,
		.word_bits = 8 * sizeof(long),
		.needed = needed_features(w),
		.file_id = w->file_id,
		.number = w->out.number,
		.created_ns = espy_clock_ns(CLOCK_REALTIME),
	};
	size_t at = sizeof(h);

	for (unsigned i = 0; i < ESPY_TRACE_FEATURES; i++)
		if (h.needed >> i & 1) {
			memcpy(bytes + at, names[i], strlen(names[i]));
			at += strlen(names[i]) + 1;
		}
	h.size = (uint32_t)espy_pad8(at + sizeof(uint32_t));
	memcpy(bytes, &h, sizeof(h));
	const uint32_t crc = espy_crc32c(0, bytes, h.size - sizeof(crc));

	memcpy(bytes + h.size - sizeof(crc), &crc, sizeof(crc));
	w->seq = 0;
	w->section_cnt = 0;
	w->has_blocks = false;
	w->end = (struct espy_end_head){ .entry_sz = sizeof(struct espy_end_entry) };
	espy_index__clear(&w->index);
	w->stats.files++;
	return put(w, bytes, h.size, NULL, 0);
}

/* Writes a section. head: its kind, its id and the members of its kind. */
static int write_section(struct espy_trace_writer *w, struct espy_section_head *head, const void *data, size_t size)
{
	const void *stored;

	head->mark = ESPY_SECTION_MARK;
	head->file_id = w->file_id;
	head->raw_sz = (uint32_t)size;
	head->seq = w->seq;
	int err = espy_section_codec__encode(w->codec, head, data, &stored);

	if (!err)
		err = put(w, head, sizeof(*head), stored, head->stored_sz);
	if (!err)
		w->seq++;
	return err;
}

static int write_other(struct espy_trace_writer *w, enum espy_trace_section kind, uint32_t id, const void *data, size_t size)
{
	struct espy_section_head head = { .kind = (uint16_t)kind, .id = id };
	const uint64_t offset = w->out.offset;

	if (!espy_array__grow(w->sections, w->section_cnt, w->section_cap))
		return -ENOMEM;
	int err = write_section(w, &head, data, size);

	if (!err)
		w->sections[w->section_cnt++] = (struct espy_end_entry){ offset, (uint32_t)kind, id };
	return err;
}

/* Writes the descriptions of a block in front of it: so any beginning of the file can be read. */
static int describe(struct espy_trace_writer *w)
{
	if (!w->o.describe)
		return 0;
	w->in_describe = true;
	int err = w->o.describe(w->o.state_ctx, w, w->out.number);
	w->in_describe = false;
	return err;
}

static int write_block(struct espy_trace_writer *w)
{
	struct espy_section_head head = {
		.kind = ESPY_SECTION_RECORDS,
		.id = w->in_state ? ESPY_BLOCK_STATE : ESPY_BLOCK_RECORDS,
		.records = w->records,
		.first_ns = w->in_state ? 0 : w->first_ns,
		.last_ns = w->in_state ? 0 : w->last_ns,
	};

	if (!w->used)
		return 0;
	int err = describe(w);

	if (err)
		return err;
	const uint64_t offset = w->out.offset;

	err = write_section(w, &head, w->block, w->used);
	if (err)
		return err;
	w->end.blocks++;
	/* State repeats known facts with old times, so no search for a time shall look in it. */
	if (!w->in_state) {
		w->has_blocks = true;
		w->end.records += w->records;
		w->end.raw_bytes += w->used;
		w->since_checkpoint += w->used;
		espy_times__widen(&w->end.first_ns, &w->end.last_ns, w->first_ns, w->last_ns);
		err = w->out.path ? espy_index__add(&w->index, offset, &head, &w->tasks) : 0;
	}
	w->used = 0;
	w->records = 0;
	w->first_ns = w->last_ns = 0;
	espy_index_tasks__clear(&w->tasks);
	return err;
}

static int write_end(struct espy_trace_writer *w)
{
	int err = 0;
	size_t size;

	if (w->out.path) {
		void *bytes = espy_index__bytes(&w->index, &size);

		err = bytes ? write_other(w, ESPY_SECTION_INDEX, 0, bytes, size) : -ENOMEM;
		free(bytes);
	}
	if (err)
		return err;
	w->end.sections = w->section_cnt;
	const size_t entries_sz = w->section_cnt * sizeof(*w->sections);
	const struct espy_end_tail tail = { .end_offset = w->out.offset, .mark = ESPY_END_MARK };
	struct espy_section_head head = { .kind = ESPY_SECTION_END };

	size = sizeof(w->end) + entries_sz + sizeof(tail);
	uint8_t *bytes = malloc(size);

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, &w->end, sizeof(w->end));
	if (entries_sz)
		memcpy(bytes + sizeof(w->end), w->sections, entries_sz);
	memcpy(bytes + size - sizeof(tail), &tail, sizeof(tail));
	err = write_section(w, &head, bytes, size);
	free(bytes);
	return err;
}

/* Writes the state that a reader needs that begins here. */
static int write_state(struct espy_trace_writer *w)
{
	const uint64_t offset = w->out.offset;
	int err;

	w->since_checkpoint = 0;
	if (!w->o.state)
		return 0;
	w->in_state = true;
	err = w->o.state(w->o.state_ctx, w);
	if (!err)
		err = write_block(w);
	w->in_state = false;
	return err || w->out.offset == offset || !w->out.path ? err : espy_index__add_checkpoint(&w->index, offset);
}

static int next_file(struct espy_trace_writer *w)
{
	int err = write_end(w);

	if (!err)
		err = espy_output__next(&w->out, w->o.keep);
	if (!err)
		err = write_file_head(w);
	for (const struct kept *k = w->kept; k && !err; k = k->next)
		err = write_other(w, k->kind, k->id, k->data, k->size);
	return err ? err : write_state(w);
}

int espy_trace_writer__flush(struct espy_trace_writer *w)
{
	int err = w->error;

	if (!err)
		err = write_block(w);
	if (!err && w->out.rotates && !w->in_state && w->has_blocks && w->out.offset >= w->o.rotate_bytes)
		err = next_file(w);
	else if (!err && !w->in_state && w->since_checkpoint >= w->o.checkpoint_bytes)
		err = write_state(w);
	return fail(w, err);
}

int espy_trace_writer__open(struct espy_trace_writer **out, const struct espy_trace_write_opts *o)
{
	struct espy_trace_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->o = *o;
	w->out.fd = -1;
	err = w->o.level < 0 || w->o.level > 19 || !w->o.path ? -EINVAL : 0;
	if (err)
		goto bad;
	if (!w->o.block_bytes)
		w->o.block_bytes = BLOCK_BYTES;
	if (w->o.block_bytes < BLOCK_BYTES_MIN)
		w->o.block_bytes = BLOCK_BYTES_MIN;
	if (w->o.block_bytes > ESPY_BLOCK_RAW_MAX / 2)
		w->o.block_bytes = ESPY_BLOCK_RAW_MAX / 2;
	if (!w->o.flush_ms)
		w->o.flush_ms = FLUSH_MS;
	if (!w->o.checkpoint_bytes)
		w->o.checkpoint_bytes = CHECKPOINT_BYTES;
	w->cap = w->o.block_bytes > ESPY_REC_MAX ? w->o.block_bytes : ESPY_REC_MAX;
	w->block = malloc(w->cap);
	w->codec = espy_section_codec__new(w->o.level);
	err = w->block && w->codec ? 0 : -ENOMEM;
	/* no secret: it only must differ from the id of other files */
	if (!err && getrandom(&w->file_id, sizeof(w->file_id), GRND_NONBLOCK) != sizeof(w->file_id))
		w->file_id = espy_clock_ns(CLOCK_REALTIME) ^ espy_now_ns() << 20;
	if (!err)
		err = espy_output__open(&w->out, w->o.path, w->o.force, w->o.rotate_bytes && strcmp(w->o.path, "-"));
	if (!err) {
		err = write_file_head(w);
		if (!err)
			err = espy_output__keep(&w->out);
		if (err)
			espy_output__close(&w->out);
	}
	w->o.path = NULL; /* the caller's */
	if (err)
		goto bad;
	*out = w;
	return 0;
bad:
	espy_section_codec__free(w->codec);
	free(w->block);
	free(w);
	return err;
}

static int keep(struct espy_trace_writer *w, enum espy_trace_section kind, uint32_t id, const void *data, size_t size)
{
	struct kept **at = &w->kept;

	while (*at && ((*at)->kind != kind || (*at)->id != id))
		at = &(*at)->next;
	void *copy = malloc(size + 1);

	if (!copy || (!*at && !(*at = calloc(1, sizeof(**at))))) {
		free(copy);
		return -ENOMEM;
	}
	struct kept *k = *at;

	if (size)
		memcpy(copy, data, size);
	w->kept_bytes += size - k->size;
	free(k->data);
	k->kind = kind;
	k->id = id;
	k->data = copy;
	k->size = (uint32_t)size;
	return 0;
}

int espy_trace_writer__section(struct espy_trace_writer *w, enum espy_trace_section kind, uint32_t id, const void *data,
			       size_t size)
{
	if (kind == ESPY_SECTION_RECORDS || kind == ESPY_SECTION_INDEX || kind == ESPY_SECTION_END ||
	    (unsigned)kind > UINT16_MAX || size > ESPY_SECTION_RAW_MAX - 4096)
		return -EINVAL;
	int err = w->out.rotates && !w->in_describe ? keep(w, kind, id, data, size) : 0;

	if (!err)
		err = w->error ? w->error : w->in_describe ? 0 : write_block(w);
	if (!err)
		err = write_other(w, kind, id, data, size);
	return fail(w, err);
}

/* Notes a record for the facts about its block. */
static inline void note(struct espy_trace_writer *w, const struct espy_rec *rec)
{
	w->records++;
	espy_times__widen(&w->first_ns, &w->last_ns, rec->time_ns, rec->time_ns);
	espy_index_tasks__add(&w->tasks, rec->tid);
}

/* Appends `cnt` noted records, for which there is room. */
static void append(struct espy_trace_writer *w, const uint8_t *records, size_t size, uint64_t cnt)
{
	if (!size)
		return;
	if (!w->used)
		w->since_ns = espy_now_ns();
	memcpy(w->block + w->used, records, size);
	w->used += size;
	if (!w->in_state)
		w->stats.records += cnt;
}

int espy_trace_writer__records(struct espy_trace_writer *w, const void *records, size_t size)
{
	const uint8_t *from = records, *at = from, *end = from + size;
	uint64_t cnt = 0;

	if (w->error)
		return w->error;
	for (const struct espy_rec *rec; at < end; at += rec->size, cnt++) {
		rec = (const struct espy_rec *)(const void *)at;
		if (rec->size < sizeof(*rec) || rec->size % 8 || rec->size > ESPY_REC_MAX ||
		    rec->size > (size_t)(end - at))
			return -EINVAL;
		if (w->used + (size_t)(at - from) + rec->size > w->o.block_bytes && (w->used || at > from)) {
			append(w, from, (size_t)(at - from), cnt);
			from = at;
			cnt = 0;
			int err = w->in_state ? fail(w, write_block(w)) : espy_trace_writer__flush(w);

			if (err)
				return err;
		}
		note(w, rec);
	}
	append(w, from, (size_t)(at - from), cnt);
	return 0;
}

int espy_trace_writer__record(struct espy_trace_writer *w, const struct espy_rec *rec)
{
	return rec->size ? espy_trace_writer__records(w, rec, rec->size) : -EINVAL;
}

int espy_trace_writer__reserve(struct espy_trace_writer *w, size_t size)
{
	if (w->error)
		return w->error;
	return w->used && w->used + size > w->o.block_bytes ? espy_trace_writer__flush(w) : 0;
}

int espy_trace_writer__tick(struct espy_trace_writer *w, uint64_t now_ns)
{
	if (w->error)
		return w->error;
	if (!w->used || (int64_t)(now_ns - w->since_ns) < (int64_t)w->o.flush_ms * 1000000)
		return 0;
	return espy_trace_writer__flush(w);
}

void espy_trace_writer__stats(const struct espy_trace_writer *w, struct espy_trace_write_stats *st)
{
	*st = w->stats;
	st->memory_bytes = sizeof(*w) + w->cap + espy_section_codec__memory(w->codec) + espy_index__memory(&w->index) +
			   w->section_cap * sizeof(*w->sections) + w->kept_bytes;
}

int espy_trace_writer__close(struct espy_trace_writer *w)
{
	if (!w)
		return 0;
	int err = w->error ? w->error : write_block(w);

	if (!err)
		err = write_end(w);
	int close_err = espy_output__close(&w->out);

	espy_section_codec__free(w->codec);
	espy_index__free(&w->index);
	while (w->kept) {
		struct kept *k = w->kept;

		w->kept = k->next;
		free(k->data);
		free(k);
	}
	free(w->sections);
	free(w->block);
	free(w);
	return err ? err : close_err;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reader: record after record, block after block, file after file. */
#include "trace/reader_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "record/call_record.h"
#include "trace/index.h"
#include "trace/meta.h"

/* The least size of a record of each type. One of an unknown type has at least its head. */
static const uint8_t least_size[] = {
	[ESPY_REC_PAD] = sizeof(struct espy_rec),
	[ESPY_REC_ENTER] = sizeof(struct espy_rec_call),
	[ESPY_REC_EXIT] = sizeof(struct espy_rec_call),
	[ESPY_REC_FORK] = sizeof(struct espy_rec_fork),
	[ESPY_REC_EXEC] = sizeof(struct espy_rec_exec),
	[ESPY_REC_TASK_EXIT] = sizeof(struct espy_rec_task_exit),
	[ESPY_REC_SIGNAL] = sizeof(struct espy_rec_signal),
	[ESPY_REC_STOPPED] = sizeof(struct espy_rec),
	[ESPY_REC_LOST] = sizeof(struct espy_rec_lost),
	[ESPY_REC_COMM] = sizeof(struct espy_rec),
	[ESPY_REC_DETACHED] = sizeof(struct espy_rec),
	[ESPY_REC_FDNAME] = sizeof(struct espy_rec_fdname),
	[ESPY_REC_ATTACHED] = sizeof(struct espy_rec_attached),
	[ESPY_REC_FACT] = sizeof(struct espy_rec_fact),
	[ESPY_REC_PAUSE] = sizeof(struct espy_rec_pause),
	[ESPY_REC_MARK] = sizeof(struct espy_rec_mark),
	[ESPY_REC_MARK_DEF] = sizeof(struct espy_rec_mark_def),
	[ESPY_REC_CLOCK] = sizeof(struct espy_rec_clock),
	[ESPY_REC_MAP] = sizeof(struct espy_rec_map),
	[ESPY_REC_END] = sizeof(struct espy_rec_end),
	[ESPY_REC_STACK] = sizeof(struct espy_rec_stack),
	[ESPY_REC_PROBE] = sizeof(struct espy_rec_probe),
	[ESPY_REC_PROBE_DEF] = sizeof(struct espy_rec_probe_def),
	[ESPY_REC_MORE] = sizeof(struct espy_rec_more),
};

static bool is_known(const struct espy_rec *rec)
{
	return rec->type < sizeof(least_size) && least_size[rec->type];
}

size_t espy_rec_least_size(const struct espy_rec *rec)
{
	size_t least = is_known(rec) ? least_size[rec->type] : sizeof(*rec);

	if (rec->type == ESPY_REC_ENTER || rec->type == ESPY_REC_EXIT)
		least = espy_call__items_off(rec->flags);
	return least;
}

static bool head_is_good(const struct espy_rec *rec, size_t left)
{
	return left >= sizeof(*rec) && rec->size <= left && rec->size % 8 == 0 && rec->size <= ESPY_REC_MAX &&
	       rec->size >= espy_rec_least_size(rec) && rec->abi < ESPY_ABI_CNT;
}

/* Reads the next block. Returns 1: it is there; 0: there is no more; or -errno. */
static int next_block(struct espy_trace_reader *r)
{
	for (;;) {
		struct espy_section_head head;
		const uint8_t *stored, *rest;
		const char *why;
		int got = 0;

		if (!r->ended) {
			got = espy_reader__next_section(r, &head, &stored);
			if (got < 0)
				return got;
		}
		if (!got) {
			/* An unfinished file may still grow, unless there is a next one. */
			got = espy_reader__next_file(r);
			if (got <= 0)
				return got;
			continue;
		}
		const uint64_t offset = r->offset - sizeof(head) - head.stored_sz;

		if (head.kind != ESPY_SECTION_RECORDS) {
			espy_reader__other_section(r, &head, stored, offset);
			if (head.kind != ESPY_SECTION_END)
				continue;
			r->ended = true;
			r->stats.finished = true;
			const ssize_t more = espy_input__at(&r->in, r->offset, 1, &rest);

			if (more > 0) {
				const uint64_t size = espy_input__size(&r->in);

				espy_reader__damage(r, r->offset, size ? size - r->offset : (uint64_t)more,
						    "bytes follow the end of the trace");
			}
			continue;
		}
		r->stats.blocks++;
		/* A reader that has read the blocks before knows all this. */
		if (head.id == ESPY_BLOCK_STATE && !r->wants_state)
			continue;
		r->block = espy_section_codec__decode(r->codec, &head, stored, &why);
		if (!r->block) {
			espy_reader__damage(r, offset, sizeof(head) + head.stored_sz, why);
			continue;
		}
		r->block_sz = head.raw_sz;
		r->block_at = 0;
		r->block_offset = offset;
		if (head.id != ESPY_BLOCK_STATE) {
			r->wants_state = false;
			espy_times__widen(&r->stats.first_ns, &r->stats.last_ns, head.first_ns, head.last_ns);
		}
		return 1;
	}
}

int espy_trace_reader__next(struct espy_trace_reader *r, const struct espy_rec **rec)
{
	for (;;) {
		while (r->block_at == r->block_sz) {
			r->block_at = r->block_sz = 0;
			int got = next_block(r);

			if (got <= 0)
				return got;
		}
		const struct espy_rec *at = (const struct espy_rec *)(r->block + r->block_at);

		if (head_is_good(at, r->block_sz - r->block_at)) {
			r->block_at += at->size;
			r->stats.records++;
			r->stats.unknown_records += !is_known(at);
			*rec = at;
			return 1;
		}
		/* The checksum is right, so the writer wrote it. The records behind it cannot be found. */
		espy_reader__damage(r, r->block_offset, r->block_sz - r->block_at,
				    "the head of a record in a block is wrong");
		r->block_at = r->block_sz;
	}
}

uint64_t espy_trace_reader__section_changes(const struct espy_trace_reader *r)
{
	return r->kept_changes;
}

int espy_trace_reader__section(struct espy_trace_reader *r, enum espy_trace_section kind, uint32_t id, unsigned n,
			       const void **data, size_t *size)
{
	for (const struct espy_kept_section *k = r->kept; k; k = k->older)
		if (k->kind == kind && k->id == id && !n--) {
			*data = k->data;
			*size = k->size;
			return 0;
		}
	return -ENOENT;
}

const void *espy_trace_reader__meta(struct espy_trace_reader *r, const char *name, size_t *size)
{
	for (const struct espy_kept_section *k = r->kept; k; k = k->older) {
		const void *value =
			k->kind == ESPY_SECTION_META ? espy_trace_meta__find(k->data, k->size, name, size) : NULL;

		if (value)
			return value;
	}
	return NULL;
}

uint64_t espy_trace_reader__meta_number(struct espy_trace_reader *r, const char *name, uint64_t otherwise)
{
	size_t size;
	const void *value = espy_trace_reader__meta(r, name, &size);

	if (value && size == sizeof(otherwise))
		memcpy(&otherwise, value, sizeof(otherwise));
	return otherwise;
}

struct place {
	uint64_t block;	     /* the first that reaches the time; else the end of the readable part */
	uint64_t checkpoint; /* the last one before it, or the first section */
	bool found;
};

/* Finds the place by the index. Returns false if there is none, or it does not reach so far. */
static bool place_by_index(const struct espy_trace_reader *r, uint64_t time_ns, struct place *p)
{
	struct espy_index_view v;
	uint32_t i = 0;

	if (!r->index || !espy_index_open(r->index->data, r->index->size, &v))
		return false;
	while (i < v.entry_cnt && v.entries[i].last_ns < time_ns)
		i++;
	if (i == v.entry_cnt)
		return false;
	*p = (struct place){ .block = v.entries[i].offset, .checkpoint = r->first_section, .found = true };
	for (i = 0; i < v.checkpoint_cnt && v.checkpoints[i] < p->block; i++)
		p->checkpoint = v.checkpoints[i];
	/* A lying index leads to a place where no section begins, which shows as damage. */
	if (p->checkpoint < r->first_section)
		p->checkpoint = r->first_section;
	return true;
}

/* Finds the place from head to head. It skips records, but not the sections by which they are decoded. */
static int place_by_heads(struct espy_trace_reader *r, uint64_t time_ns, struct place *p)
{
	bool in_state = false;

	*p = (struct place){ .block = r->first_section, .checkpoint = r->first_section };
	for (;;) {
		struct espy_section_head head;
		const ssize_t n = pread(r->in.fd, &head, sizeof(head), (off_t)p->block);
		const bool is_state = n == (ssize_t)sizeof(head) && head.kind == ESPY_SECTION_RECORDS &&
				      head.id == ESPY_BLOCK_STATE;

		if (n < 0)
			return -errno;
		/* the end, or damage: __next will tell which */
		if (n < (ssize_t)sizeof(head) || espy_section_codec__check_head(&head, r->file_id))
			return 0;
		if (is_state && !in_state)
			p->checkpoint = p->block;
		if (head.kind == ESPY_SECTION_RECORDS)
			in_state = is_state;
		p->found = head.kind == ESPY_SECTION_RECORDS && !is_state && head.last_ns >= time_ns;
		if (p->found)
			return 0;
		const uint8_t *stored;

		if (head.kind < ESPY_SECTION_RECORDS && espy_reader__section_at(r, p->block, &head, &stored))
			espy_reader__other_section(r, &head, stored, p->block);
		p->block += sizeof(head) + head.stored_sz;
	}
}

int espy_trace_reader__seek(struct espy_trace_reader *r, uint64_t time_ns)
{
	struct place p = { .found = false };
	char why[128];
	int err = 0;

	if (!r->in.regular)
		return -ESPIPE;
	/* It goes from the first file of a set to the one that reaches so far. */
	for (size_t i = 0; i < r->file_cnt && !err && !p.found; i++) {
		r->continues = false;
		if (r->numbers)
			err = espy_reader__open_file(r, i, why, sizeof(why));
		if (!err && !place_by_index(r, time_ns, &p))
			err = place_by_heads(r, time_ns, &p);
	}
	if (err)
		return err;
	r->offset = p.checkpoint;
	r->seq_known = false;
	r->ended = false;
	r->wants_state = true;
	r->block_at = r->block_sz = 0;
	return 0;
}

void espy_trace_reader__stats(const struct espy_trace_reader *r, struct espy_trace_read_stats *st)
{
	*st = r->stats;
	st->offset = r->offset;
}

void espy_trace_reader__close(struct espy_trace_reader *r)
{
	if (!r)
		return;
	espy_input__close(&r->in);
	espy_section_codec__free(r->codec);
	espy_kept_section__free(r->kept);
	espy_kept_section__free(r->index);
	free(r->numbers);
	free(r->file_name);
	free(r->path);
	free(r);
}

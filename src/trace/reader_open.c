/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens a file or a rotated set: reads the front of a file, and its end. */
#include "trace/reader_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/array.h"
#include "trace/crc32c.h"
#include "trace/output.h"

/* Bits of `needed` that this version understands. */
#define UNDERSTOOD ((1ull << ESPY_TRACE_FEATURES) - 1)

/* Writes the file's name for a feature; its number if the names are damaged. */
static void name_feature(const struct espy_trace_file_head *h, const char *names, size_t names_sz, unsigned bit, char *out,
			 size_t out_sz)
{
	for (unsigned i = 0; i <= bit; i++) {
		const char *nul = memchr(names, 0, names_sz);

		if (!(h->needed >> i & 1))
			continue;
		if (!nul || nul == names)
			break;
		if (i == bit) {
			size_t n = 0;

			for (const char *p = names; p < nul && n + 1 < out_sz && *p > ' ' && *p < 0x7f; p++)
				out[n++] = *p;
			out[n] = 0;
			return;
		}
		names_sz -= (size_t)(nul + 1 - names);
		names = nul + 1;
	}
	snprintf(out, out_sz, "%u", bit);
}

static int check_features(const struct espy_trace_file_head *h, const char *names, size_t names_sz, char *why, size_t why_sz)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		char name[64];

		if (!((h->needed & ~UNDERSTOOD) >> bit & 1))
			continue;
		name_feature(h, names, names_sz, bit, name, sizeof(name));
		snprintf(why, why_sz, "needs a newer espy: the trace uses the feature '%s'", name);
		return -EINVAL;
	}
	return 0;
}

static int read_file_head(struct espy_trace_reader *r, char *why, size_t why_sz)
{
	struct espy_trace_file_head h;
	const uint8_t *bytes;
	uint32_t crc;
	ssize_t n = espy_input__at(&r->in, 0, sizeof(h), &bytes);

	if (n < 0)
		return (int)n;
	if (!n) {
		snprintf(why, why_sz, "it is empty");
		return -EINVAL;
	}
	if ((size_t)n < sizeof(h.magic) || memcmp(bytes, ESPY_TRACE_MAGIC, sizeof(h.magic))) {
		snprintf(why, why_sz, "it is not a trace of espy");
		return -EINVAL;
	}
	if ((size_t)n < sizeof(h)) {
		snprintf(why, why_sz, "it ends in the middle of the file head");
		return -EINVAL;
	}
	memcpy(&h, bytes, sizeof(h));
	if (h.byte_order == __builtin_bswap32(ESPY_TRACE_BYTE_ORDER)) {
		snprintf(why, why_sz, "it was written on a machine of the other byte order");
		return -EINVAL;
	}
	bool good = h.size >= sizeof(h) + sizeof(crc) && h.size <= ESPY_TRACE_HEAD_MAX && h.size % 8 == 0;

	if (good) {
		n = espy_input__at(&r->in, 0, h.size, &bytes);
		if (n < 0)
			return (int)n;
		good = (size_t)n >= h.size;
	}
	if (good) {
		memcpy(&crc, bytes + h.size - sizeof(crc), sizeof(crc));
		good = crc == espy_crc32c(0, bytes, h.size - sizeof(crc));
	}
	if (good) {
		if (h.byte_order != ESPY_TRACE_BYTE_ORDER || h.major != ESPY_TRACE_MAJOR) {
			snprintf(why, why_sz, "needs a newer espy: the format has version %u.%u, this espy reads %u", h.major,
				 h.minor, ESPY_TRACE_MAJOR);
			return -EINVAL;
		}
		int err = check_features(&h, (const char *)bytes + sizeof(h), h.size - sizeof(h) - sizeof(crc), why, why_sz);

		if (err)
			return err;
		r->file_id = h.file_id;
		r->number = h.number;
		r->first_section = h.size;
		return 0;
	}
	/* The head is damaged except for its magic. The sections, if there are any, tell more. */
	struct espy_section_head head;
	int found = espy_reader__find_head(r, sizeof(h.magic), true, &r->first_section);

	if (found < 0)
		return found;
	if (!found || espy_input__at(&r->in, r->first_section, sizeof(head), &bytes) < (ssize_t)sizeof(head)) {
		snprintf(why, why_sz, "its file head is damaged, and no section follows");
		return -EINVAL;
	}
	memcpy(&head, bytes, sizeof(head));
	r->file_id = head.file_id;
	r->number = UINT32_MAX;
	espy_reader__damage(r, 0, r->first_section, "the checksum of the file head differs");
	return 0;
}

/* Reads the sections before the first block: a user of the reader needs them before any record. */
static int read_front(struct espy_trace_reader *r)
{
	struct espy_section_head head;
	const uint8_t *stored;
	int got;

	while ((got = espy_reader__next_section(r, &head, &stored)) > 0) {
		const uint64_t offset = r->offset - sizeof(head) - head.stored_sz;

		if (head.kind == ESPY_SECTION_RECORDS || head.kind == ESPY_SECTION_END) {
			r->offset = offset; /* __next reads it again */
			r->seq = head.seq;
			break;
		}
		espy_reader__other_section(r, &head, stored, offset);
	}
	return got < 0 ? got : 0;
}

/* Reads the directory of a finished regular file: sections behind the records are as good as those before. */
static void read_directory(struct espy_trace_reader *r)
{
	const uint64_t size = espy_input__size(&r->in);
	struct espy_section_head head;
	struct espy_end_tail tail;
	struct espy_end_head end;
	const uint8_t *bytes;

	if (size < sizeof(tail) || espy_input__at(&r->in, size - sizeof(tail), sizeof(tail), &bytes) < (ssize_t)sizeof(tail))
		return;
	memcpy(&tail, bytes, sizeof(tail));
	if (tail.mark != ESPY_END_MARK || tail.end_offset >= size || tail.end_offset < r->offset ||
	    !espy_reader__section_at(r, tail.end_offset, &head, &bytes) || head.kind != ESPY_SECTION_END ||
	    head.encoding || head.compression || head.stored_sz < sizeof(end) + sizeof(tail) ||
	    tail.end_offset + sizeof(head) + head.stored_sz != size)
		return;
	memcpy(&end, bytes, sizeof(end));
	const size_t room = head.stored_sz - sizeof(end) - sizeof(tail);

	if (end.entry_sz != sizeof(struct espy_end_entry) || end.sections > room / sizeof(struct espy_end_entry))
		return;
	r->stats.finished = true;
	espy_reader__other_section(r, &head, bytes, tail.end_offset);
	struct espy_end_entry *entries = malloc(room + 1);

	if (!entries)
		return;
	memcpy(entries, bytes + sizeof(end), room);
	for (uint32_t i = 0; i < end.sections && i < 4096; i++)
		if (entries[i].offset >= r->offset && entries[i].offset < tail.end_offset &&
		    entries[i].kind <= ESPY_SECTION_INDEX &&
		    espy_reader__section_at(r, entries[i].offset, &head, &bytes) && head.kind == entries[i].kind &&
		    head.kind != ESPY_SECTION_RECORDS)
			espy_reader__other_section(r, &head, bytes, entries[i].offset);
	free(entries);
}

int espy_reader__open_file(struct espy_trace_reader *r, size_t which, char *why, size_t why_sz)
{
	char *name = NULL;

	if (r->numbers) {
		if (asprintf(&name, "%s.%u", r->path, r->numbers[which]) < 0)
			return -ENOMEM;
	} else {
		name = strdup(r->path);
		if (!name)
			return -ENOMEM;
	}
	if (r->file_name && r->numbers)
		espy_reader__drop_images(r, r->at_number);
	free(r->file_name);
	r->file_name = name;
	espy_input__close(&r->in);
	espy_kept_section__free(r->index);
	r->index = NULL;
	r->at_number = r->numbers ? r->numbers[which] : 0;
	r->ended = r->looked_again = false;
	r->seq = 0;
	r->seq_known = true;
	r->block = NULL;
	r->block_sz = r->block_at = 0;
	int err = espy_input__open(&r->in, name);

	if (err)
		return err;
	r->stats.files++;
	r->stats.file_bytes += espy_input__size(&r->in);
	if (!r->in.regular)
		r->o.follow = false; /* a reader of a pipe waits anyway */
	const uint64_t file_id = r->file_id;

	err = read_file_head(r, why, why_sz);
	if (err)
		return err;
	r->wants_state = !r->continues || r->file_id != file_id;
	r->offset = r->first_section;
	r->stats.finished = false;
	err = read_front(r);
	if (!err && r->in.regular) {
		read_directory(r);
		espy_input__again(&r->in);
	}
	return err;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

struct numbers {
	uint32_t *v;
	size_t cnt, cap;
};

static int add_number(void *ctx, const char *path, uint32_t number)
{
	struct numbers *n = ctx;

	if (!espy_array__grow(n->v, n->cnt, n->cap))
		return -ENOMEM;
	n->v[n->cnt++] = number;
	return 0;
}

/* Lists the numbers of the files PATH.N, sorted. -ENOENT if there are none. */
static int list_set(const char *path, uint32_t **numbers, size_t *count)
{
	struct numbers n = { .v = NULL };
	const int err = espy_output_each(path, add_number, &n);

	if (err == -ENOMEM || !n.cnt) {
		free(n.v);
		return err == -ENOMEM ? err : -ENOENT;
	}
	qsort(n.v, n.cnt, sizeof(*n.v), by_number);
	*numbers = n.v;
	*count = n.cnt;
	return 0;
}

/* Tells whether the file has its head, which the writer writes in one piece. */
static bool has_head(const char *path, uint32_t number)
{
	struct stat st;
	char *name;

	if (asprintf(&name, "%s.%u", path, number) < 0)
		return false;
	const bool has = stat(name, &st) < 0 || st.st_size >= (off_t)sizeof(struct espy_trace_file_head);

	free(name);
	return has;
}

int espy_reader__next_file(struct espy_trace_reader *r)
{
	if (!r->numbers)
		return 0;
	const uint32_t now = r->at_number;
	const uint64_t file_id = r->file_id;
	uint32_t *numbers = NULL;
	size_t count, next = 0;

	/* The writer may have begun a file since, and deleted others. */
	int err = list_set(r->path, &numbers, &count);

	if (err)
		return err == -ENOENT ? 0 : err;
	for (; next < count && numbers[next] <= now; next++)
		;
	free(r->numbers);
	r->numbers = numbers;
	r->file_cnt = count;
	/* The writer may have added records before it began the next file. */
	if (r->o.follow && !r->ended && !r->looked_again && next < count) {
		r->looked_again = true;
		return 1;
	}
	for (; next < count; next++) {
		char why[128] = "";

		if (r->o.follow && !has_head(r->path, numbers[next]))
			return 0; /* just begun */
		r->continues = r->ended && numbers[next] == now + 1;
		err = espy_reader__open_file(r, next, why, sizeof(why));
		if (!err && r->file_id == file_id) {
			if (r->number != now + 1)
				espy_reader__damage(r, 0, 0, "files of the set are missing before this one");
			return 1;
		}
		r->ended |= err != 0; /* nothing is to be read from it */
		if (err == -ENOENT)   /* deleted meanwhile */
			continue;
		if (err && err != -EINVAL)
			return err;
		espy_reader__damage(r, 0, espy_input__size(&r->in),
				    err ? "a file of the set is not readable" : "a file of another recording is in the set");
		r->file_id = file_id;
		r->ended = true; /* nothing is to be read from it */
	}
	return 0;
}

int espy_trace_reader__open(struct espy_trace_reader **out, const char *path, const struct espy_trace_read_opts *o,
			    char *why, size_t why_sz)
{
	struct espy_trace_reader *r = calloc(1, sizeof(*r));
	int err;

	if (why_sz)
		why[0] = 0;
	if (!r)
		return -ENOMEM;
	r->in.fd = -1;
	if (o)
		r->o = *o;
	r->path = strdup(path);
	r->codec = espy_section_codec__new(0);
	err = r->path && r->codec ? 0 : -ENOMEM;
	if (!err && strcmp(path, "-") && access(path, F_OK) < 0) {
		err = list_set(path, &r->numbers, &r->file_cnt);
	} else {
		r->file_cnt = 1;
	}
	if (!err)
		err = espy_reader__open_file(r, 0, why, why_sz);
	if (err) {
		espy_trace_reader__close(r);
		return err;
	}
	*out = r;
	return 0;
}

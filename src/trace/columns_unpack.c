/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes records of columns: the inverse of columns_pack.c, for bytes of any writer. Bounds each read and write. */
#include "trace/columns.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/align.h"
#include "record/record.h"

struct kind {
	struct espy_column_kind k;
	const uint8_t *last; /* record of this kind; NULL: none yet */
};

struct unpack {
	struct {
		const uint8_t *at, *end;
	} col[COLUMNS];
	uint8_t *at, *end; /* the place of the next record; the end of the room */
	bool bad;	   /* a read went beyond the end of a column, or a value is not true */
	uint64_t last_ns;
	struct kind *kinds;
	struct espy_column_task *tasks;
	uint32_t kind_cnt, task_cnt;
};

static inline uint64_t word_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

/* Takes n bytes of a column. NULL: there are fewer. */
static inline const uint8_t *get(struct unpack *u, unsigned col, size_t n)
{
	const uint8_t *bytes = u->col[col].at;

	if (n > (size_t)(u->col[col].end - bytes)) {
		u->bad = true;
		return NULL;
	}
	u->col[col].at += n;
	return bytes;
}

static inline uint64_t get_varint(struct unpack *u, unsigned col)
{
	uint64_t v = 0;

	if (u->col[col].at < u->col[col].end && *u->col[col].at < 0x80) /* most numbers are small */
		return *u->col[col].at++;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		const uint8_t *byte = get(u, col, 1);

		if (!byte)
			return 0;
		v |= (uint64_t)(*byte & 0x7f) << shift;
		if (*byte < 0x80)
			return v;
	}
	u->bad = true;
	return 0;
}

static inline uint64_t get_time(struct unpack *u)
{
	const uint64_t high = get_varint(u, COL_TIMES_HIGH);
	const uint8_t *low = get(u, COL_TIMES_LOW, 1);

	u->last_ns += ((high >> 1 ^ -(high & 1)) << 8) + (low ? *low : 0);
	return u->last_ns;
}

static inline uint64_t get_word(struct unpack *u, unsigned code, uint64_t before)
{
	if (code >= ESPY_CODES) {
		u->bad = true;
		return 0;
	}
	const bool more = code >= ESPY_CODE_MORE;
	const unsigned n = more ? code - ESPY_CODE_MORE : code;
	uint64_t v = 0;

	if (n) {
		const uint8_t *bytes = get(u, COL_WORDS + n - 1, n);

		/* Eight bytes can be read wherever one can. */
		if (bytes)
			v = (uint64_t)((int64_t)(word_at(bytes) << (64 - 8 * n)) >> (64 - 8 * n));
	}
	return more ? before + v : v;
}

/* Gets words, for which there is room. before: words_before of them, zeros behind. A missing word is zero, and bad. */
static inline void get_words(struct unpack *u, size_t words, const uint8_t *before, size_t words_before)
{
	const uint8_t *codes = get(u, COL_CODES, words);
	uint8_t *at = u->at;

	u->at += 8 * words;
	if (!codes) {
		memset(at, 0, 8 * words);
		return;
	}
	for (size_t i = 0; i < words; i++, at += 8) {
		const uint64_t old = i < words_before ? word_at(before + 8 * i) : 0;
		const uint64_t v = codes[i] == ESPY_CODE_MORE ? old : get_word(u, codes[i], old); /* most are what they were */

		memcpy(at, &v, 8);
	}
}

static bool has_room(const struct unpack *u, size_t n)
{
	return n <= (size_t)(u->end - u->at);
}

static struct kind *get_kind(struct unpack *u)
{
	const uint64_t number = get_varint(u, COL_KINDS);

	if (u->bad || number > u->kind_cnt)
		return NULL;
	if (number)
		return &u->kinds[number - 1];
	struct kind *kind = &u->kinds[u->kind_cnt];
	const uint8_t *bytes = get(u, COL_NEW, sizeof(kind->k));

	if (!bytes)
		return NULL;
	memcpy(&kind->k, bytes, sizeof(kind->k));
	kind->last = NULL;
	u->kind_cnt++;
	if (kind->k.items > ESPY_KIND_ITEMS_MAX || kind->k.abi > 15 || kind->k.times & ~(ESPY_TIMES_END | ESPY_TIMES_BEGIN) ||
	    (kind->k.times & ESPY_TIMES_BEGIN && kind->k.words < 2))
		return NULL;
	return kind;
}

static const struct espy_column_task *get_task(struct unpack *u)
{
	const uint64_t number = get_varint(u, COL_TASKS);

	if (u->bad || number > u->task_cnt)
		return NULL;
	if (number)
		return &u->tasks[number - 1];
	const uint8_t *bytes = get(u, COL_NEW, sizeof(u->tasks[0]));

	if (!bytes)
		return NULL;
	memcpy(&u->tasks[u->task_cnt], bytes, sizeof(u->tasks[0]));
	return &u->tasks[u->task_cnt++];
}

static bool get_items(struct unpack *u, const struct espy_column_kind *k, const uint8_t *last)
{
	for (unsigned i = 0; i < k->items; i++) {
		struct espy_item it, old = { .len = 0 };

		if (!has_room(u, sizeof(it)))
			return false;
		get_words(u, 1, last, last ? 1 : 0);
		memcpy(&it, u->at - sizeof(it), sizeof(it));
		if (last)
			memcpy(&old, last, sizeof(old));
		last = last ? last + sizeof(old) : NULL;
		const size_t words = espy_pad8(it.len) / 8, words_before = espy_pad8(old.len) / 8;

		if (u->bad || !has_room(u, 8 * words))
			return false;
		if (k->whole >> i & 1) {
			const uint8_t *bytes = get(u, COL_WORDS + 7, 8 * words);

			if (!bytes)
				return false;
			memcpy(u->at, bytes, 8 * words);
			u->at += 8 * words;
		} else {
			get_words(u, words, last, last ? words_before : 0);
		}
		last = last ? last + 8 * words_before : NULL;
	}
	return true;
}

static bool get_record(struct unpack *u)
{
	struct kind *kind = get_kind(u);
	const struct espy_column_task *task = kind ? get_task(u) : NULL;
	uint8_t *now = u->at;

	if (!task || !has_room(u, sizeof(struct espy_rec) + 8u * kind->k.words))
		return false;
	const struct espy_column_kind *k = &kind->k;
	const uint8_t *last = kind->last ? kind->last + sizeof(struct espy_rec) : NULL;
	const unsigned before = last ? k->words : 0;
	struct espy_rec rec = {
		.abi = k->abi & 15, .type = k->type, .flags = k->flags, .nr = k->nr, .tid = task->tid, .tgid = task->tgid
	};

	u->at += sizeof(rec);
	if (k->times & ESPY_TIMES_BEGIN) {
		const uint64_t begin_ns = get_time(u);

		get_words(u, 1, last, before);
		memcpy(u->at, &begin_ns, 8);
		u->at += 8;
		get_words(u, k->words - 2u, last ? last + 16 : NULL, last ? before - 2 : 0);
	} else {
		get_words(u, k->words, last, before);
	}
	if (k->times & ESPY_TIMES_END)
		rec.time_ns = get_time(u);
	if (!get_items(u, k, last ? last + 8 * k->words : NULL) || u->at - now > ESPY_REC_MAX)
		return false;
	rec.size = (uint32_t)(u->at - now) & 0xfffff;
	memcpy(now, &rec, sizeof(rec));
	kind->last = now;
	return !u->bad;
}

/* Finds the columns. Their sizes stand in front of them, and add up to all bytes. */
static bool find_columns(struct unpack *u, const uint8_t *in, size_t in_sz)
{
	const uint8_t *at = in + ESPY_COLUMN_SIZES;

	if (in_sz < ESPY_COLUMN_SIZES)
		return false;
	for (unsigned i = 0; i < COLUMNS; i++) {
		uint32_t n;

		memcpy(&n, in + 4 * i, 4);
		if (n > in_sz - (size_t)(at - in))
			return false;
		u->col[i].at = at;
		u->col[i].end = at += n;
	}
	return at == in + in_sz;
}

static bool all_is_used(const struct unpack *u)
{
	for (unsigned i = 0; i < COLUMNS; i++)
		if (u->col[i].at != u->col[i].end)
			return false;
	return true;
}

int espy_columns_unpack(const void *in, size_t in_sz, void *raw, size_t raw_sz)
{
	struct unpack u = { .at = raw, .end = (uint8_t *)raw + raw_sz };
	int err = -EBADMSG;

	if (!find_columns(&u, in, in_sz))
		return err;
	/* The most that there can be: no number in the input makes it more. */
	const size_t new_sz = (size_t)(u.col[COL_NEW].end - u.col[COL_NEW].at);

	u.kinds = malloc((new_sz / sizeof(struct espy_column_kind) + 1) * sizeof(*u.kinds));
	u.tasks = malloc((new_sz / sizeof(struct espy_column_task) + 1) * sizeof(*u.tasks));
	if (u.kinds && u.tasks) {
		while (u.at < u.end && get_record(&u))
			;
		err = u.at == u.end && !u.bad && all_is_used(&u) ? 0 : -EBADMSG;
	} else {
		err = -ENOMEM;
	}
	free(u.kinds);
	free(u.tasks);
	return err;
}

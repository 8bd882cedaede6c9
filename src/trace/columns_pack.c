/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes columns of records; columns_unpack.c is the inverse. Reads each record once, writes each column in order. */
#include "trace/columns.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "record/call_record.h"
#include "record/record.h"

/* With more of either a block is hardly made of calls. */
#define KINDS_MAX 4096u
#define TASKS_MAX 4096u

struct kind {
	struct espy_column_kind k;
	const uint8_t *last; /* record of this kind */
};

struct espy_columns_pack {
	uint8_t *data[COLUMNS]; /* the beginning of a column */
	size_t size[COLUMNS];
	uint8_t *arena;
	size_t arena_sz;
	uint32_t kind_cnt, task_cnt;
	struct kind kinds[KINDS_MAX];
	struct espy_column_task tasks[TASKS_MAX];
	uint16_t kind_slots[2 * KINDS_MAX], task_slots[2 * TASKS_MAX]; /* by hash; number, or 0 */
};

/*
 * The ends of the columns, and state between records. It lies on the stack, and its functions are inline: so the
 * compiler knows that no written byte changes it.
 */
struct cursor {
	uint8_t *at[COLUMNS];
	struct espy_columns_pack *p;
	struct kind *kind; /* of the record before */
	uint32_t task;
	uint64_t last_ns;
	unsigned saving; /* bytes that a difference has to save */
};
#define INLINE static inline __attribute__((always_inline))

struct espy_columns_pack *espy_columns_pack__new(void)
{
	return calloc(1, sizeof(struct espy_columns_pack));
}

void espy_columns_pack__free(struct espy_columns_pack *p)
{
	if (p)
		free(p->arena);
	free(p);
}

size_t espy_columns_pack__memory(const struct espy_columns_pack *p)
{
	return sizeof(*p) + p->arena_sz;
}

/*
 * The most that a column can get, in bytes for 24 bytes of records. A record without words has one time, a word in place of the
 * other one. Words are stored eight bytes at a time, so each column has some room beyond.
 */
static const uint8_t per_24[COLUMNS] = {
	[COL_KINDS] = 2,  [COL_TASKS] = 2,	[COL_NEW] = 32,	      [COL_TIMES_LOW] = 2,  [COL_TIMES_HIGH] = 18,
	[COL_CODES] = 3,  [COL_WORDS] = 3,	[COL_WORDS + 1] = 6,  [COL_WORDS + 2] = 9,  [COL_WORDS + 3] = 12,
	[COL_WORDS + 4] = 15, [COL_WORDS + 5] = 18, [COL_WORDS + 6] = 21, [COL_WORDS + 7] = 24,
};
#define ROOM_BEYOND 64u

static int lay_columns(struct espy_columns_pack *p, size_t size)
{
	const size_t units = size / 24 + 1;
	size_t whole = ESPY_COLUMN_SIZES;

	for (unsigned i = 0; i < COLUMNS; i++)
		whole += units * per_24[i] + ROOM_BEYOND;
	if (whole > p->arena_sz) {
		free(p->arena);
		p->arena_sz = 0;
		p->arena = malloc(whole);
		if (!p->arena)
			return -ENOMEM;
		p->arena_sz = whole;
	}
	uint8_t *at = p->arena + ESPY_COLUMN_SIZES;

	for (unsigned i = 0; i < COLUMNS; i++) {
		p->data[i] = at;
		at += units * per_24[i] + ROOM_BEYOND;
	}
	return 0;
}

static inline uint64_t word_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

INLINE void put(struct cursor *c, enum espy_column col, const void *bytes, size_t n)
{
	memcpy(c->at[col], bytes, n);
	c->at[col] += n;
}

INLINE void put_varint(struct cursor *c, enum espy_column col, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*c->at[col]++ = (uint8_t)(v | 0x80);
	*c->at[col]++ = (uint8_t)v;
}

/* Puts a time: its lowest byte is nearly noise, the rest is small. Apart they compress better. */
INLINE void put_time(struct cursor *c, uint64_t ns)
{
	const uint64_t more = ns - c->last_ns;
	const int64_t high = (int64_t)more >> 8;

	*c->at[COL_TIMES_LOW]++ = (uint8_t)more;
	put_varint(c, COL_TIMES_HIGH, (uint64_t)high << 1 ^ (uint64_t)(high >> 63));
	c->last_ns = ns;
}

/* Returns how many bytes hold v and its sign. */
static inline unsigned bytes_of(uint64_t v)
{
	const uint64_t bits = v << 1 ^ (uint64_t)((int64_t)v >> 63);

	return bits ? (71 - (unsigned)__builtin_clzll(bits)) / 8 : 0;
}

/* Puts a word, as a difference if that saves enough bytes: numbers that come again are better off as themselves. */
INLINE void put_word(struct cursor *c, uint64_t v, uint64_t before)
{
	if (v == before) {
		*c->at[COL_CODES]++ = ESPY_CODE_MORE;
		return;
	}
	unsigned code = ESPY_CODE_VALUE, n = bytes_of(v);

	if (n > c->saving) {
		const uint64_t more = v - before;
		const unsigned n_more = bytes_of(more);

		if (n_more + c->saving <= n) {
			code = ESPY_CODE_MORE;
			v = more;
			n = n_more;
		}
	}
	*c->at[COL_CODES]++ = (uint8_t)(code + n);
	if (n) {
		memcpy(c->at[COL_WORDS + n - 1], &v, 8);
		c->at[COL_WORDS + n - 1] += n;
	}
}

/* Puts words. before: words_before of them, zeros behind. */
INLINE void put_words(struct cursor *c, const uint8_t *now, size_t words, const uint8_t *before,
			     size_t words_before)
{
	const size_t both = words < words_before ? words : words_before;
	size_t i = 0;

	for (; i < both; i++)
		put_word(c, word_at(now + 8 * i), word_at(before + 8 * i));
	for (; i < words; i++)
		put_word(c, word_at(now + 8 * i), 0);
}

static inline size_t words_in(uint32_t len)
{
	return espy_pad8(len) / 8;
}

/* Tells whether bytes go as a whole, as texts do. Structs consist of words, most of which are small. */
static bool is_whole(const uint8_t *bytes, uint32_t len)
{
	size_t cost = 0;

	for (size_t i = 0; i < words_in(len); i++) {
		const unsigned n = bytes_of(word_at(bytes + 8 * i));

		cost += n ? 1 + n : 0;
	}
	return len % 8 || 2 * cost > len;
}

static bool is_call(const struct espy_rec *rec)
{
	return rec->type == ESPY_REC_ENTER || rec->type == ESPY_REC_EXIT;
}

/* Divides the record into a kind, `whole` left out. */
static void divide(const struct espy_rec *rec, struct espy_column_kind *k)
{
	const uint8_t *end = (const uint8_t *)rec + rec->size;

	*k = (struct espy_column_kind){ .type = rec->type,
					.abi = rec->abi,
					.flags = rec->flags,
					.nr = rec->nr,
					.words = (uint16_t)((rec->size - sizeof(*rec)) / 8),
					.times = rec->time_ns ? ESPY_TIMES_END : 0 };
	if (!is_call(rec))
		return;
	const unsigned has_enter = rec->flags & ESPY_RF_ENTER_NS ? 1 : 0;
	const unsigned words = (espy_call__items_off(rec->flags) - (unsigned)sizeof(*rec)) / 8;

	if (words > k->words)
		return;
	unsigned items = 0;

	for (const uint8_t *at = (const uint8_t *)(rec + 1) + 8 * words; at < end; items++) {
		struct espy_item it;

		memcpy(&it, at, sizeof(it)); /* the size of a record is a multiple of 8 */
		at += sizeof(it);
		/* A record without the form of a call is words like others. */
		if (it.len > (size_t)(end - at) || items == ESPY_KIND_ITEMS_MAX)
			return;
		at += 8 * words_in(it.len);
	}
	k->words = (uint16_t)words;
	k->items = (uint8_t)items;
	k->times |= has_enter ? ESPY_TIMES_BEGIN : 0;
}

static uint64_t whole_items(const uint8_t *items, unsigned n)
{
	uint64_t whole = 0;

	for (unsigned i = 0; i < n; i++) {
		struct espy_item it;

		memcpy(&it, items, sizeof(it));
		items += sizeof(it);
		whole |= (uint64_t)is_whole(items, it.len) << i;
		items += 8 * words_in(it.len);
	}
	return whole;
}

/* Finds the kind of the record; NULL: there are too many. *is_new: it has not come before. */
static struct kind *find_kind(struct espy_columns_pack *p, const struct espy_rec *rec, bool *is_new)
{
	struct espy_column_kind k;
	uint64_t key[2];

	divide(rec, &k);
	memcpy(key, &k, sizeof(key));
	uint32_t slot = (uint32_t)((key[0] * 0x9e3779b97f4a7c15u ^ key[1] * 0xff51afd7ed558ccdu) >> 40) % (2 * KINDS_MAX);

	*is_new = false;
	for (; p->kind_slots[slot]; slot = (slot + 1) % (2 * KINDS_MAX)) {
		struct kind *old = &p->kinds[p->kind_slots[slot] - 1];

		if (!memcmp(&old->k, key, sizeof(key)))
			return old;
	}
	if (p->kind_cnt == KINDS_MAX)
		return NULL;
	*is_new = true;
	k.whole = whole_items((const uint8_t *)(rec + 1) + 8 * k.words, k.items);
	struct kind *new = &p->kinds[p->kind_cnt++];

	*new = (struct kind){ .k = k };
	p->kind_slots[slot] = (uint16_t)p->kind_cnt;
	return new;
}

/* Finds the number of the record's task, from 1; 0: there are too many. */
static uint32_t find_task(struct espy_columns_pack *p, const struct espy_rec *rec, bool *is_new)
{
	const struct espy_column_task t = { rec->tid, rec->tgid };
	uint32_t slot = (uint32_t)(word_at((const uint8_t *)&t) * 0x9e3779b97f4a7c15u >> 40) % (2 * TASKS_MAX);

	*is_new = false;
	while (p->task_slots[slot] && memcmp(&p->tasks[p->task_slots[slot] - 1], &t, sizeof(t)))
		slot = (slot + 1) % (2 * TASKS_MAX);
	if (!p->task_slots[slot]) {
		if (p->task_cnt == TASKS_MAX)
			return 0;
		*is_new = true;
		p->tasks[p->task_cnt++] = t;
		p->task_slots[slot] = (uint16_t)p->task_cnt;
	}
	return p->task_slots[slot];
}

/* Puts kind and task. A record that begins as the one before does, without items, needs no search. */
INLINE int put_head(struct cursor *c, const struct espy_rec *rec)
{
	const struct espy_rec *before = c->kind ? (const struct espy_rec *)(const void *)c->kind->last : NULL;
	bool new_kind = false, new_task = false;

	if (!before || c->kind->k.items || memcmp(rec, before, offsetof(struct espy_rec, time_ns)) ||
	    !rec->time_ns != !before->time_ns) {
		c->kind = find_kind(c->p, rec, &new_kind);
		c->task = find_task(c->p, rec, &new_task);
		if (!c->kind || !c->task)
			return -E2BIG;
	}
	put_varint(c, COL_KINDS, new_kind ? 0 : (uint64_t)(c->kind - c->p->kinds) + 1);
	put_varint(c, COL_TASKS, new_task ? 0 : c->task);
	if (new_kind)
		put(c, COL_NEW, &c->kind->k, sizeof(c->kind->k));
	if (new_task)
		put(c, COL_NEW, &rec->tid, sizeof(struct espy_column_task));
	return 0;
}

INLINE void put_items(struct cursor *c, const struct espy_column_kind *k, const uint8_t *now, const uint8_t *last)
{
	for (unsigned i = 0; i < k->items; i++) {
		struct espy_item it, old = { .len = 0 };

		memcpy(&it, now, sizeof(it));
		if (last)
			memcpy(&old, last, sizeof(old));
		const size_t words = words_in(it.len), words_before = words_in(old.len);

		put_words(c, now, 1, last, last ? 1 : 0);
		now += sizeof(it);
		last = last ? last + sizeof(it) : NULL;
		if (k->whole >> i & 1)
			put(c, COL_WORDS + 7, now, 8 * words);
		else
			put_words(c, now, words, last, last ? words_before : 0);
		now += 8 * words;
		last = last ? last + 8 * words_before : NULL;
	}
}

INLINE int put_record(struct cursor *c, const struct espy_rec *rec)
{
	if (put_head(c, rec))
		return -E2BIG;
	struct kind *kind = c->kind;
	const struct espy_column_kind *k = &kind->k;
	const uint8_t *now = (const uint8_t *)(rec + 1), *last = kind->last ? kind->last + sizeof(*rec) : NULL;
	const unsigned before = last ? k->words : 0;

	c->saving = is_call(rec) ? 2 : 1; /* arguments of marks often count */
	if (k->times & ESPY_TIMES_BEGIN) {
		put_time(c, word_at(now + 8));
		put_words(c, now, 1, last, before);
		put_words(c, now + 16, k->words - 2u, last ? last + 16 : NULL, last ? before - 2 : 0);
	} else {
		put_words(c, now, k->words, last, before);
	}
	if (k->times & ESPY_TIMES_END)
		put_time(c, rec->time_ns);
	put_items(c, k, now + 8 * k->words, last ? last + 8 * k->words : NULL);
	kind->last = (const uint8_t *)rec;
	return 0;
}

int espy_columns_pack__records(struct espy_columns_pack *p, const void *raw, size_t size)
{
	struct cursor c = { .p = p };
	int err = lay_columns(p, size);

	memcpy(c.at, p->data, sizeof(c.at));
	p->kind_cnt = p->task_cnt = 0;
	memset(p->kind_slots, 0, sizeof(p->kind_slots));
	memset(p->task_slots, 0, sizeof(p->task_slots));
	for (size_t at = 0; at < size && !err;) {
		const struct espy_rec *rec = (const struct espy_rec *)(const void *)((const uint8_t *)raw + at);

		err = put_record(&c, rec);
		at += rec->size;
	}
	for (unsigned i = 0; i < COLUMNS && !err; i++) {
		const uint32_t n = (uint32_t)(c.at[i] - p->data[i]);

		p->size[i] = n;
		memcpy(p->arena + 4 * i, &n, 4);
	}
	return err;
}

const void *espy_columns_pack__column(const struct espy_columns_pack *p, unsigned column, size_t *size)
{
	*size = p->size[column];
	if (column)
		return p->data[column];
	*size += ESPY_COLUMN_SIZES;
	return p->arena;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What packing and unpacking share: how a record is divided, and what both remember while they walk a block. Both see the
 * same records in the same order, so that both know the same shapes, tasks and values at every moment.
 */
#ifndef ESPY_TRACE_PACK_IMPL_H
#define ESPY_TRACE_PACK_IMPL_H

#include <stdbool.h>
#include <string.h>
#include "record/record.h"
#include "trace/pack.h"

/* Never renumber: the order of the columns in a packed block. */
enum espy_column {
	COL_SHAPE,	/* which shape */
	COL_TASK,	/* which task */
	COL_NEW,	/* new shapes and tasks, whole */
	COL_GAP_LOW,	/* time from the task's record before to this entry: lowest byte, the rest */
	COL_GAP_HIGH,
	COL_TIME_LOW,	/* from entry to exit */
	COL_TIME_HIGH,
	COL_WORD_MASK,	/* which words differ from the record of this shape before */
	COL_WORD_TAG,	/* how each of these is stored, and */
	COL_WORD_BYTES, /* its bytes */
	COL_ITEM_LEN,	/* of items, and of what follows the words of other records: LEN_* */
	COL_ITEM_MASK,
	COL_ITEM_TAG,
	COL_ITEM_BYTES,
	COL_TEXT,	/* bytes of items */
	COL_PLAIN,	/* records that have no shape */
	COLUMNS
};

/* COL_SHAPE and COL_TASK. */
enum { SHAPE_PLAIN = 0, SHAPE_NEW = 1, SHAPE_FIRST = 2 };
enum { TASK_SAME = 0, TASK_NEW = 1, TASK_FIRST = 2 };

/*
 * COL_ITEM_LEN: words against those of the item before (the last mark of that definition), of the same length; bytes up
 * to a NUL; else twice the length, and one of: so many bytes, so many bytes as words against zeros.
 */
enum { LEN_AS_BEFORE = 0, LEN_STRING = 1, LEN_BYTES = 2, LEN_WORDS = 3 };

/* How a word is stored: method * 9 + number of bytes, lowest first. Never renumber. */
enum espy_word_method {
	WORD_VALUE,    /* itself */
	WORD_INVERTED, /* all bits inverted: small negative numbers */
	WORD_MORE,     /* plus the word before */
	WORD_LESS,     /* subtracted from the word before */
	WORD_PAGES_MORE, /* the same, in units of 4096 */
	WORD_PAGES_LESS,
	WORD_SEEN, /* one byte: a place in the table of words seen */
	WORD_METHODS
};

#define SHAPES_MAX 4096u
#define SHAPE_ITEMS_MAX 250u
#define SHAPE_KEY_MAX (8u + 4u * SHAPE_ITEMS_MAX)
#define SHAPE_KEYS_MAX (512u << 10) /* bytes of all keys */
#define TASKS_MAX 4096u
#define SEEN_SLOTS 256u
#define MARK_SLOTS 256u

/* What records of one shape have in common, as bytes: */
struct shape_key {
	uint8_t type, flags;
	uint16_t nr;
	uint8_t has_time; /* time_ns is not 0 */
	uint8_t items;
	uint16_t reserved;
	uint32_t item[SHAPE_ITEMS_MAX]; /* op, status, index of each */
};

struct shape {
	uint32_t key_off, hash;
	uint16_t key_sz;
	uint8_t words;	  /* without the time of entry */
	uint8_t first;	  /* bytes before the second word: 32, or 40 with the time of entry */
	uint32_t words_end; /* where items, or what follows, begin */
	uint32_t before;  /* offset of the last record of that shape; UINT32_MAX: none */
};

struct task {
	uint32_t tid, tgid;
	uint64_t last_ns;
};

struct model {
	struct shape shapes[SHAPES_MAX];
	uint8_t *keys;
	uint32_t shape_cnt, keys_sz;
	struct task tasks[TASKS_MAX];
	uint32_t task_cnt, task; /* of the record before */
	uint64_t last_ns;
	uint64_t seen[SEEN_SLOTS];
	uint32_t marks[MARK_SLOTS]; /* by definition: offset of the last MARK record; UINT32_MAX: none */
};

/* Where the arguments of a mark with that definition, the word at offset 24, are remembered. */
static inline uint32_t *mark_slot(struct model *m, const uint8_t *record)
{
	return &m->marks[record[24] % MARK_SLOTS];
}

static inline unsigned seen_slot(uint64_t v)
{
	return (unsigned)((v * 0x9e3779b97f4a7c15u) >> 56);
}

/* Words that go to the table: numbers that are long and may come again. */
static inline bool worth_seeing(uint64_t v)
{
	return v >> 16 && (~v) >> 16;
}

static inline uint64_t word_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

/* Records that are not calls: so many words, then bytes. */
static inline unsigned fixed_words(unsigned type)
{
	static const uint8_t words[] = {
		[ESPY_REC_FORK] = 2, [ESPY_REC_EXEC] = 1, [ESPY_REC_TASK_EXIT] = 1, [ESPY_REC_SIGNAL] = 17, [ESPY_REC_LOST] = 1,
		[ESPY_REC_FDNAME] = 1, [ESPY_REC_FACT] = 2, [ESPY_REC_PAUSE] = 1, [ESPY_REC_MARK] = 1, [ESPY_REC_MARK_DEF] = 2,
		[ESPY_REC_CLOCK] = 3, [ESPY_REC_MAP] = 7, [ESPY_REC_END] = 6,
	};

	return type < sizeof(words) ? words[type] : 0;
}

static inline bool is_call(unsigned type)
{
	return type == ESPY_REC_ENTER || type == ESPY_REC_EXIT;
}

/* Fields of records that are not calls are mostly of 32 bits: they are taken as words of their own. */
#define HALVES_MAX (2u * 17u)
static inline void split(uint64_t *to, const uint8_t *from, unsigned halves)
{
	for (unsigned i = 0; i < halves; i++) {
		uint32_t v;

		memcpy(&v, from + 4 * i, 4);
		to[i] = v;
	}
}

/* Where the parts of a record of that shape lie. */
static inline void lay_out(struct shape *s, unsigned type, unsigned flags)
{
	if (is_call(type)) {
		const unsigned more = ESPY_REC_NARGS(flags) + !!(flags & ESPY_RF_IP);

		s->words = (uint8_t)(1 + more);
		s->first = flags & ESPY_RF_ENTER_NS ? 40 : 32;
		s->words_end = s->first + 8 * more;
	} else {
		s->words = (uint8_t)fixed_words(type);
		s->first = 32;
		s->words_end = 24 + 8u * s->words;
	}
}

static inline bool has_enter(const struct shape_key *k)
{
	return is_call(k->type) && k->flags & ESPY_RF_ENTER_NS;
}

static inline void model_clear(struct model *m)
{
	m->shape_cnt = m->keys_sz = m->task_cnt = m->task = 0;
	m->last_ns = 0;
	memset(m->seen, 0, sizeof(m->seen));
	memset(m->marks, 0xff, sizeof(m->marks));
}

struct column {
	uint8_t *at;		/* where the next byte is put, or read */
	uint8_t *data, *end;	/* end: of what may be read */
};

struct espy_pack {
	struct model m;
	struct column cols[COLUMNS];
	uint8_t *arena; /* of the columns */
	size_t arena_sz;
	uint8_t *out;
	size_t out_sz;
	uint16_t shape_slots[2 * SHAPES_MAX], task_slots[2 * TASKS_MAX]; /* by hash; number + 1 */
	bool mark_words;    /* arguments of marks may be packed as words */
	struct shape *mark; /* of the record before, if that was a mark with a time; else NULL */
	uint32_t mark_off;  /* and where it is */
};

int espy_pack__reserve(uint8_t **data, size_t *cap, size_t size);

#endif

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
#include "trace/coder.h"
#include "trace/pack.h"

/* Never renumber: the order of the columns in a packed block. */
enum espy_column {
	COL_SHAPE,   /* which shape */
	COL_TASK,    /* which task */
	COL_NEW,     /* new shapes and tasks, whole */
	COL_GAP_LOW, /* time from the task's record before to this entry: lowest byte, the rest */
	COL_GAP_HIGH,
	COL_TIME_LOW, /* from entry to exit */
	COL_TIME_HIGH,
	COL_WORD_MASK,	/* which words differ from the record of this shape before */
	COL_WORD_TAG,	/* how each of these is stored, and */
	COL_WORD_BYTES, /* its bytes */
	COL_ITEM_LEN,	/* of items, and of what follows the words of other records: LEN_* */
	COL_ITEM_MASK,
	COL_ITEM_TAG,
	COL_ITEM_BYTES,
	COL_TEXT,  /* bytes of items */
	COL_PLAIN, /* records that have no shape */
	COL_CODED, /* what would stand in columns 0, 1, 3-13, coded in the order of records (not in each block) */
	COLUMNS
};
#define COLUMNS_PACKED COL_CODED /* those of a block without the last */

/* COL_SHAPE and COL_TASK. */
enum { SHAPE_PLAIN = 0, SHAPE_NEW = 1, SHAPE_FIRST = 2 };
enum { TASK_SAME = 0, TASK_NEW = 1, TASK_FIRST = 2 };

/*
 * COL_ITEM_LEN: words against those of the item before (the last mark of that definition), of the same length; bytes up
 * to a NUL; else twice the length, and one of: so many bytes, so many bytes as words against zeros. In a block that is
 * coded, no words at all stand for an item that is the same as an earlier one of the block: its number follows, in two
 * bytes.
 */
enum { LEN_AS_BEFORE = 0, LEN_STRING = 1, LEN_BYTES = 2, LEN_WORDS = 3 };
#define LEN_KNOWN LEN_WORDS

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
#define LAST_BITS 16
#define KNOWN_MAX 16384u
#define KNOWN_LEAST 5u /* bytes of an item that gets a number */
#define KNOWN_MOST 4096u
#define KNOWN_LAST_BITS 12

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

struct known { /* an item: where it lies among the records */
	uint32_t off, len;
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
	/* for the contexts of coding: */
	uint32_t shape, before[3]; /* of this record, of those before it: the last one first */
	struct known known[KNOWN_MAX];
	uint32_t known_cnt, item; /* item: number + 1 of the one before in the record; 0: it has none */
	uint16_t known_last[1u << KNOWN_LAST_BITS]; /* the last one at a place */
	uint8_t last[1u << LAST_BITS]; /* masks and tags that stood at a place of a shape the last time, by a hash */
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
	memset(m->last, 0, sizeof(m->last));
	memset(m->known_last, 0, sizeof(m->known_last));
	m->known_cnt = m->item = 0;
	memset(m->seen, 0, sizeof(m->seen));
	memset(m->marks, 0xff, sizeof(m->marks));
	m->shape = 0;
	memset(m->before, 0, sizeof(m->before));
}

/* A record is done. */
static inline void model_next(struct model *m)
{
	m->before[2] = m->before[1];
	m->before[1] = m->before[0];
	m->before[0] = m->shape + 1;
	m->item = 0;
}

/*
 * The contexts under which a byte of a column is coded: what packer and unpacker know of it. Part of the format.
 */
struct contexts {
	uint32_t narrow, wide;
};

static inline struct contexts contexts(enum espy_column col, uint32_t narrow, uint32_t wide)
{
	return (struct contexts){ coder_context(narrow, col), coder_context(wide, col) };
}

/* k: number of the byte in a varint */
static inline struct contexts in_shape(const struct model *m, unsigned k)
{
	return contexts(COL_SHAPE, coder_context(coder_context(m->before[0], m->before[1]), m->before[2]) + k,
			m->before[0] * 16 + k);
}

static inline struct contexts in_task(const struct model *m, unsigned k)
{
	return contexts(COL_TASK, m->task * 16 + k, k);
}

/* The rest of a time; GAP_HIGH depends on what the task has done before, TIME_HIGH on the call alone. */
static inline struct contexts in_time(const struct model *m, enum espy_column high, unsigned k)
{
	const uint32_t shape = m->shape * 16 + k;

	return high == COL_GAP_HIGH ? contexts(high, coder_context(m->before[0], shape), shape)
				    : contexts(high, shape, k);
}

/* The lowest byte: of a time that is long it is noise. */
static inline bool low_is_noise(uint64_t rest)
{
	return rest >= 6;
}

static inline struct contexts in_low(const struct model *m, enum espy_column low, uint64_t rest)
{
	const uint32_t class = (uint32_t)rest / 2, shape = m->shape * 16 + class;

	return contexts(low, low == COL_GAP_LOW ? coder_context(m->before[0], shape) : shape, class);
}

/* Where in a record of the shape: item 0 are the words of the record itself. */
static inline uint32_t place_of(const struct model *m, unsigned item, unsigned word)
{
	return (m->shape * 8 + (item < 7 ? item : 7)) * 64 + (word < 63 ? word : 63);
}

static inline uint8_t *last_at(struct model *m, enum espy_column col, uint32_t place)
{
	return &m->last[coder_context(place, col) >> (32 - LAST_BITS)];
}

static inline struct contexts in_mask(struct model *m, enum espy_column col, uint32_t place)
{
	return col == COL_WORD_MASK ? contexts(col, coder_context(place, *last_at(m, col, place)), place)
				    : contexts(col, place, 0);
}

static inline struct contexts in_tag(struct model *m, enum espy_column col, uint32_t place)
{
	return contexts(col, coder_context(place, *last_at(m, col, place)), place);
}

/* above: the byte above it in the word; 0: it is the highest that is stored */
static inline struct contexts in_word(enum espy_column col, uint32_t place, unsigned tag, unsigned k, unsigned above)
{
	const uint32_t wide = (tag * 8 + k) * 256 + above;

	/* the low bytes of a long number have little to do with its place */
	return tag % 9 >= k + 3 ? contexts(col, wide, tag * 8 + k) : contexts(col, coder_context(place, wide), wide);
}

/* The number of a known item: by the item before it in the record, or the one that was there the last time. */
static inline uint16_t *known_last_at(struct model *m, unsigned item)
{
	return &m->known_last[coder_context(place_of(m, item, 0), COL_TEXT) >> (32 - KNOWN_LAST_BITS)];
}

static inline struct contexts in_known(struct model *m, unsigned item, unsigned high)
{
	const uint32_t place = place_of(m, item, 0), before = m->item ? m->item : *known_last_at(m, item) + 65536u;

	return contexts(COL_TEXT, coder_context(coder_context(place, before), high), coder_context(place, high));
}

/* An item that has a number is at this place. */
static inline void note_known(struct model *m, unsigned item, unsigned number)
{
	m->item = number + 1;
	*known_last_at(m, item) = (uint16_t)(number + 1);
}

/* An item was new, and gets a number if it is worth one. */
static inline void note_item(struct model *m, unsigned item, uint32_t off, uint32_t len)
{
	m->item = 0;
	if (len < KNOWN_LEAST || len > KNOWN_MOST || m->known_cnt == KNOWN_MAX)
		return;
	m->known[m->known_cnt] = (struct known){ off, len };
	note_known(m, item, m->known_cnt++);
}

static inline struct contexts in_length(const struct model *m, unsigned item, unsigned k)
{
	return contexts(COL_ITEM_LEN, place_of(m, item, k), m->shape * 16 + k);
}

struct column {
	uint8_t *at;		/* where the next byte is put, or read */
	uint8_t *data, *end;	/* end: of what may be read */
};

struct espy_pack {
	struct model m;
	struct column cols[COLUMNS];
	struct espy_coder coder;
	bool coding;	/* columns of numbers are coded, not compressed */
	uint8_t *arena; /* of the columns */
	size_t arena_sz;
	uint8_t *out;
	size_t out_sz;
	uint16_t shape_slots[2 * SHAPES_MAX], task_slots[2 * TASKS_MAX]; /* by hash; number + 1 */
	bool mark_words;    /* arguments of marks may be packed as words */
	struct shape *mark; /* of the record before, if that was a mark with a time; else NULL */
	uint32_t mark_off;  /* and where it is */
	uint16_t known_slots[2 * KNOWN_MAX];
	const uint8_t *raw;
};

int espy_pack__reserve(uint8_t **data, size_t *cap, size_t size);
/* Packs what follows a mark, from off on, while it is like it (pack_marks.c). Returns where the first is that is not. */
uint32_t espy_pack__like_marks(struct espy_pack *p, const uint8_t *raw, uint32_t off, uint32_t size);

#endif

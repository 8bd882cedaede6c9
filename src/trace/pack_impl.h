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
#include "trace/mixer.h"
#include "trace/pack.h"
#include "trace/tick.h"

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
	uint32_t before[3]; /* shapes of its records, as model.before */
	uint32_t ret;	    /* of its last call */
	/* mixed: the phase of last_ns, which is of the last call then; the time of what was told after it; 0 */
	struct espy_phase phase, side_phase;
	uint64_t side_ns;
};

struct known { /* an item: where it lies among the records */
	uint32_t off, len;
};

/* Bytes of items in mixed blocks: as many as this are coded, what begins later is compressed. */
#define TEXT_CODED_MAX (128u << 10)
#define TEXT_BITS 16
#define TEXT_PLACE_BITS 12

#define TEXT_ROOM (2 * TEXT_CODED_MAX + ESPY_REC_MAX)

struct text { /* an item, while its bytes are coded */
	uint32_t place, at; /* bytes so far */
	uint64_t bytes;	    /* the last eight, the last one lowest */
	uint32_t word;	    /* a hash of the letters and digits before */
	bool entries;	    /* it consists of directory entries, */
	uint32_t entry, next; /* of which this one begins here, and the next one there, as far as known */
	uint64_t inode;	    /* of the entry before */
	uint32_t match;	    /* where in the text it may go on as it does here; 0: nowhere */
	unsigned trust;
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
	bool mixing;		   /* there are more contexts than two */
	uint32_t magnitude;	   /* of the time before */
	uint32_t tick;
	uint32_t shape, before[3]; /* of this record, of those before it: the last one first, plus 1 */
	uint32_t word;		   /* of this record, the last one that was not as before */
	uint32_t ret;		   /* of this record */
	uint32_t item_before;	   /* item of the record before */
	struct known known[KNOWN_MAX];
	uint32_t known_cnt, item; /* item: number + 1 of the one before in the record; 0: it has none */
	uint16_t known_last[1u << KNOWN_LAST_BITS]; /* the last one at a place */
	/* coded bytes of items, one behind the other; where their last four bytes, or an item at a place, came before */
	uint8_t *text;
	uint32_t text_sz, text_most;
	uint32_t text_at[1u << TEXT_BITS], text_places[1u << TEXT_PLACE_BITS];
	/* offsets below prime_sz are in `prime`, records that are known to all, others in `raw` */
	const uint8_t *prime, *raw;
	uint32_t prime_sz;
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

static inline const uint8_t *record_at(const struct model *m, uint32_t off)
{
	return off < m->prime_sz ? m->prime + off : m->raw + (off - m->prime_sz);
}

static inline uint32_t offset_of(const struct model *m, const uint8_t *bytes)
{
	return m->prime_sz + (uint32_t)(bytes - m->raw);
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
	memset(m->text_at, 0, sizeof(m->text_at));
	memset(m->text_places, 0, sizeof(m->text_places));
	m->text_sz = 1; /* 0 is nowhere */
	m->word = m->ret = m->item_before = m->magnitude = 0;
	m->prime_sz = 0;
}

/* Does the shape tell of getdents64, whose items are struct linux_dirent64? */
static inline bool has_entries(const struct model *m)
{
	const struct shape_key *key = (const struct shape_key *)(const void *)(m->keys + m->shapes[m->shape].key_off);

	return key->type == ESPY_REC_EXIT && key->nr == (key->flags & ESPY_RF_ABI_I386 ? 220 : 217);
}

/* What a call has returned, as far as it tells of what follows. */
static inline uint32_t result_of(const uint8_t *record)
{
	return (uint32_t)word_at(record + 24);
}

/* A record is done. */
static inline void model_next(struct model *m)
{
	struct task *t = &m->tasks[m->task];

	m->before[2] = m->before[1];
	m->before[1] = m->before[0];
	m->before[0] = m->shape + 1;
	if (m->mixing) {
		t->before[2] = t->before[1];
		t->before[1] = t->before[0];
		t->before[0] = m->shape + 1;
		t->ret = m->ret;
		m->item_before = m->item;
		m->word = 0;
	}
	m->item = 0;
}

struct column {
	uint8_t *at;		/* where the next byte is put, or read */
	uint8_t *data, *end;	/* end: of what may be read */
};

struct primed {
	struct model m;
	uint16_t shape_slots[2 * SHAPES_MAX], known_slots[2 * KNOWN_MAX];
};

struct espy_pack {
	struct model m;
	struct column cols[COLUMNS];
	struct espy_coder coder;
	struct espy_mixer mixer, primed_mixer;
	bool bare; /* without a primer */
	uint8_t *primer; /* its records */
	size_t primer_sz;
	struct primed *primed; /* what the primer teaches; NULL: not learnt yet */
	enum espy_packing how;
	uint8_t *arena; /* of the columns */
	size_t arena_sz;
	uint8_t *out;
	size_t out_sz;
	uint16_t shape_slots[2 * SHAPES_MAX], task_slots[2 * TASKS_MAX]; /* by hash; number + 1 */
	bool mark_words;    /* arguments of marks may be packed as words */
	struct shape *mark; /* of the record before, if that was a mark with a time; else NULL */
	uint32_t mark_off;  /* and where it is */
	uint16_t known_slots[2 * KNOWN_MAX];
};

/* As packer and unpacker are before a mixed block of records at `raw`. -ENOMEM; -EBADMSG: of the primer, which is ours. */
int espy_pack__begin_mixed(struct espy_pack *p, const uint8_t *raw);
/* What is large is not kept for what may never come. */
void espy_pack__forget_mixing(struct espy_pack *p);
size_t espy_pack__mixing_memory(const struct espy_pack *p);
/* A packer takes over what an unpacker has learnt: it finds shapes and items that have numbers. */
void espy_pack__find_again(struct espy_pack *p);
int espy_pack__reserve(uint8_t **data, size_t *cap, size_t size);
/* Packs what follows a mark, from off on, while it is like it (pack_marks.c). Returns where the first is that is not. */
uint32_t espy_pack__like_marks(struct espy_pack *p, const uint8_t *raw, uint32_t off, uint32_t size);

#endif

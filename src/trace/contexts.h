/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The contexts under which a byte of a column is coded: what packer and unpacker know of it. Part of the format: the
 * first two of each are those of coded blocks, all of them those of mixed ones.
 */
#ifndef ESPY_TRACE_CONTEXTS_H
#define ESPY_TRACE_CONTEXTS_H

#include "trace/pack_impl.h"

static inline struct espy_mixer_contexts contexts(enum espy_column col, uint32_t narrow, uint32_t wide)
{
	return (struct espy_mixer_contexts){
		.of = { coder_context(narrow, col), coder_context(wide, col) },
		.cnt = 2,
		.set = col,
		.strong = 1,
		.expected = -1,
	};
}

/* One more. */
static inline void and_context(struct espy_mixer_contexts *in, uint32_t a, uint32_t b)
{
	in->of[in->cnt] = coder_context(coder_context(a, b), (in->set < 17 ? in->set
							      : in->set < 20
								      ? 17
								      : 18) * 16 +
								     in->cnt);
	in->cnt++;
}

/* k: number of the byte in a varint */
static inline struct espy_mixer_contexts in_shape(const struct model *m, unsigned k)
{
	struct espy_mixer_contexts in =
		contexts(COL_SHAPE, coder_context(coder_context(m->before[0], m->before[1]), m->before[2]) + k,
			 m->before[0] * 16 + k);

	if (m->mixing) {
		const struct task *t = &m->tasks[m->task];
		const uint32_t two = coder_context(t->before[0], t->before[1]);

		and_context(&in, two, k);
		and_context(&in, coder_context(two, t->before[2]), k);
		in.strong = 4;
		and_context(&in, coder_context(t->before[0], t->ret), k);
		and_context(&in, coder_context(two, m->item_before), k);
	}
	return in;
}

static inline struct espy_mixer_contexts in_task(const struct model *m, unsigned k)
{
	struct espy_mixer_contexts in = contexts(COL_TASK, m->task * 16 + k, k);

	if (m->mixing) {
		and_context(&in, m->before[0], k);
		and_context(&in, coder_context(m->before[0], m->shape), k);
	}
	return in;
}

/* The rest of a time; GAP_HIGH depends on what the task has done before, TIME_HIGH on the call alone. */
static inline struct espy_mixer_contexts in_time(const struct model *m, enum espy_column high, unsigned k)
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

static inline struct espy_mixer_contexts in_low(const struct model *m, enum espy_column low, uint64_t rest)
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

/* A time in mixed blocks: its magnitude, in quarters of a power of two; the three bits that follow; noise. */
static inline struct espy_mixer_contexts in_magnitude(struct model *m, enum espy_column col)
{
	const uint32_t shape = m->shape, last = *last_at(m, col, shape);
	struct espy_mixer_contexts in = contexts(col, coder_context(m->before[0], shape), shape);

	and_context(&in, coder_context(shape, m->ret), last);
	and_context(&in, shape, last);
	and_context(&in, m->magnitude, col == COL_TIME_HIGH ? shape : m->before[0]);
	and_context(&in, m->item, shape);
	and_context(&in, !!m->tasks[m->task].side_ns, shape);
	in.strong = 6;
	return in;
}

/* Which of the steps in a magnitude: upper bits, and those below them */
static inline struct espy_mixer_contexts in_step(const struct model *m, enum espy_column col, unsigned magnitude,
						 unsigned upper)
{
	const uint32_t at = magnitude * 16 + upper;
	struct espy_mixer_contexts in = contexts(col, coder_context(m->shape, at), at);

	and_context(&in, coder_context(m->before[0], m->shape), at);
	in.nibble = true;
	in.strong = 0;
	return in;
}

#define UPPER_NONE 15u

static inline struct espy_mixer_contexts in_landing(const struct espy_landing *l, unsigned magnitude)
{
	return contexts(COL_PLAIN, l->context, magnitude);
}

static inline struct espy_mixer_contexts in_mask(struct model *m, enum espy_column col, uint32_t place)
{
	const uint32_t last = *last_at(m, col, place);
	struct espy_mixer_contexts in =
		col == COL_WORD_MASK ? contexts(col, coder_context(place, last), place) : contexts(col, place, 0);

	if (m->mixing) {
		const struct task *t = &m->tasks[m->task];

		and_context(&in, coder_context(place, last), t->before[0]);
		and_context(&in, coder_context(place, t->before[0]), t->before[1]);
		and_context(&in, coder_context(place, t->ret), last);
	}
	return in;
}

static inline struct espy_mixer_contexts in_tag(struct model *m, enum espy_column col, uint32_t place)
{
	const uint32_t last = *last_at(m, col, place);
	struct espy_mixer_contexts in = contexts(col, coder_context(place, last), place);

	if (m->mixing) {
		const struct task *t = &m->tasks[m->task];

		and_context(&in, coder_context(place, t->before[0]), last);
		and_context(&in, coder_context(place, t->ret), last);
		and_context(&in, coder_context(place, m->word), 0);
	}
	return in;
}

/* stored: the bytes above it in the word; 0: it is the highest that is stored. before: the word before */
static inline struct espy_mixer_contexts in_word(const struct model *m, enum espy_column col, uint32_t place,
						 unsigned tag, unsigned k, uint64_t stored, uint64_t before)
{
	const uint32_t above = (uint8_t)stored, wide = (tag * 8 + k) * 256 + above;
	/* the low bytes of a long number have little to do with its place */
	struct espy_mixer_contexts in =
		tag % 9 >= k + 3 ? contexts(col, wide, tag * 8 + k) : contexts(col, coder_context(place, wide), wide);

	if (m->mixing) {
		const struct task *t = &m->tasks[m->task];
		const uint32_t at = coder_context(place, tag * 8 + k), all = coder_context((uint32_t)stored, at);

		and_context(&in, all, 0);
		and_context(&in, all, t->ret);
		and_context(&in, all, t->before[0]);
		and_context(&in, all, m->word);
		and_context(&in, all, (uint32_t)(before >> 8 * k) & 0xffff);
		and_context(&in, coder_context((uint32_t)stored, tag * 8 + k), 1);
		in.strong = tag % 9 == k + 1 ? 1 : 3;
	}
	return in;
}

/* The number of a known item: by the item before it in the record, or the one that was there the last time. */
static inline uint16_t *known_last_at(struct model *m, unsigned item)
{
	return &m->known_last[coder_context(place_of(m, item, 0), COL_TEXT) >> (32 - KNOWN_LAST_BITS)];
}

static inline struct espy_mixer_contexts in_known(struct model *m, unsigned item, unsigned high)
{
	const uint32_t place = place_of(m, item, 0), last = *known_last_at(m, item),
		       before = m->item ? m->item : last + 65536u;
	struct espy_mixer_contexts in =
		contexts(COL_TEXT, coder_context(coder_context(place, before), high), coder_context(place, high));

	if (m->mixing) {
		and_context(&in, coder_context(place, high), m->item_before);
		and_context(&in, coder_context(place, high), last);
		and_context(&in, m->item_before, high);
		and_context(&in, coder_context(place, high), m->word);
	}
	return in;
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

static inline struct espy_mixer_contexts in_length(struct model *m, unsigned item, unsigned k)
{
	const uint32_t place = place_of(m, item, k);
	struct espy_mixer_contexts in = contexts(COL_ITEM_LEN, place, m->shape * 16 + k);

	if (m->mixing) {
		const uint32_t last = *last_at(m, COL_ITEM_LEN, place);

		and_context(&in, place, last);
		and_context(&in, coder_context(place, last), m->tasks[m->task].before[0]);
		and_context(&in, place, m->word);
		and_context(&in, place, m->item_before);
	}
	return in;
}

/* Bytes of directory entries: an inode, a place in the directory, the length of the entry, a type. Behind it stands the
 * name. */
#define ENTRY_LENGTH 16u
#define ENTRY_NAME 19u

static inline void in_entry(struct espy_mixer_contexts *in, const struct text *x)
{
	const uint32_t at = x->at - x->entry, last = (uint8_t)x->bytes,
		       before = at < 8 ? (uint8_t)(x->inode >> 8 * at) : 0;

	in->set = at < 8 ? 20 : at < ENTRY_LENGTH ? 21 : 22;
	and_context(in, at, before);
	and_context(in, at, 256);
	and_context(in, coder_context(at, before), last);
	and_context(in, coder_context(at, x->bytes & 0xffff), 2);
}

/* Bytes of items. */
static inline struct espy_mixer_contexts in_text(const struct model *m, const struct text *x)
{
	const uint32_t last = (uint32_t)x->bytes;
	struct espy_mixer_contexts in = { .set = 17, .expected = -1 };

	if (x->match) {
		in.expected = m->text[x->match];
		in.trust = x->trust;
		in.set = x->trust < 8 ? 18 : 19;
	}
	if (x->entries && x->at - x->entry < ENTRY_NAME) {
		in_entry(&in, x);
		return in;
	}
	and_context(&in, x->place, (last & 255) | (x->at < 3 ? x->at + 1 : 0) << 8);
	and_context(&in, last & 255, 1);
	and_context(&in, last & 0xffff, 2);
	and_context(&in, last & 0xffffff, 3);
	and_context(&in, last, 4);
	and_context(&in, last, (uint32_t)(x->bytes >> 32) & 0xffff);
	and_context(&in, x->word, last & 255);
	if (x->entries)
		and_context(&in, x->next - x->at, (last & 255) | 256);
	else
		and_context(&in, coder_context(x->place, x->at & 7), (uint32_t)(x->bytes >> 56));
	return in;
}

static inline void text_begin(struct model *m, struct text *x, unsigned item)
{
	const uint32_t place = place_of(m, item, 0);
	uint32_t *last = &m->text_places[coder_context(place, COL_TEXT) >> (32 - TEXT_PLACE_BITS)];

	/* an item without bytes leaves nothing to go on with */
	*x = (struct text){
		.place = place, .match = *last < m->text_sz ? *last : 0, .entries = has_entries(m), .next = UINT32_MAX
	};
	*last = m->text_sz;
}

static inline void entry_next(struct text *x)
{
	const uint32_t at = x->at - x->entry;

	if (at == 8) {
		x->inode = __builtin_bswap64(x->bytes);
	} else if (at == ENTRY_LENGTH + 2) {
		x->next = x->entry + (uint32_t)__builtin_bswap16((uint16_t)x->bytes);
		x->entries = x->next > x->at;
	} else if (x->at == x->next) {
		x->entry = x->at;
		x->next = UINT32_MAX;
	}
}

/* What the byte is, is known. */
static inline void text_next(struct model *m, struct text *x, uint8_t byte)
{
	const uint8_t lower = byte | 0x20;
	uint32_t *here;

	if (x->match && m->text[x->match] == byte) {
		x->match++;
		x->trust += x->trust < MIXER_TRUSTS - 1;
	} else {
		x->match = 0;
		x->trust = 0;
	}
	m->text[m->text_sz++] = byte;
	x->bytes = x->bytes << 8 | byte;
	x->at++;
	x->word = (lower >= 'a' && lower <= 'z') || byte >= 0x80 ? coder_context(x->word, byte) : 0;
	if (x->entries)
		entry_next(x);
	if (x->at < 4)
		return;
	here = &m->text_at[coder_context((uint32_t)x->bytes, 4) >> (32 - TEXT_BITS)];
	if (!x->match && *here) {
		x->match = *here;
		while (x->trust < 16 && x->trust < x->match &&
		       m->text[x->match - 1 - x->trust] == m->text[m->text_sz - 1 - x->trust])
			x->trust++;
		if (x->trust < 4)
			x->match = x->trust = 0;
	}
	*here = m->text_sz;
}

#endif

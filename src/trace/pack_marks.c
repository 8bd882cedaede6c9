/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Packing of marks that come by the million, one like the other. */
#include "trace/pack_word.h"

/* Against a word that is mostly near by: the same way each time leaves columns in which nothing changes. */
static inline void put_near(struct model *m, struct column *tags, struct column *bytes, uint64_t v, uint64_t before)
{
	const bool more = v - before < 256;

	if (!more && before - v >= 256) {
		put_word(m, tags, bytes, v, before);
		return;
	}
	*tags->at++ = (more ? WORD_MORE : WORD_LESS) * 9 + 1;
	*bytes->at++ = (uint8_t)(more ? v - before : before - v);
	if (worth_seeing(v))
		m->seen[seen_slot(v)] = v;
}

/*
 * Marks behind a mark (packed already, at p->mark_off) whose arguments are as long as those of the last mark of their
 * definition, few, and cheap as words: what put_record puts for them, without a look at shapes, and with the places of
 * the columns in registers. Ends at the first that is not so.
 */
uint32_t espy_pack__like_marks(struct espy_pack *p, const uint8_t *raw, uint32_t off, uint32_t size)
{
	const unsigned code = SHAPE_FIRST + (unsigned)(p->mark - p->m.shapes);
	const uint8_t *before = raw + p->mark_off, *now = raw + off;
	struct task *t = &p->m.tasks[p->m.task];
	struct column *c = p->cols, shape = c[COL_SHAPE], task = c[COL_TASK], gap_low = c[COL_GAP_LOW],
		      gap_high = c[COL_GAP_HIGH], fixed = c[COL_WORD_MASK], fixed_tags = c[COL_WORD_TAG],
		      fixed_bytes = c[COL_WORD_BYTES], lens = c[COL_ITEM_LEN], masks = c[COL_ITEM_MASK],
		      tags = c[COL_ITEM_TAG], bytes = c[COL_ITEM_BYTES];
	bool cheap = code < 0x80;

	while (cheap && now < raw + size) {
		const struct espy_rec *rec = (const struct espy_rec *)(const void *)now;
		const unsigned words = (rec->size - 32) / 8; /* of a smaller one: too many */
		const size_t from = (size_t)(tags.at - tags.data) + (size_t)(bytes.at - bytes.data);

		/* The same type, flags, number and task. */
		if (memcmp(now + 4, before + 4, 12) || !rec->time_ns || words - 1 > 7)
			break;
		uint32_t *slot = mark_slot(&p->m, now);
		const uint8_t *like = raw + *slot;

		if (*slot == UINT32_MAX || ((const struct espy_rec *)(const void *)like)->size != rec->size)
			break;
		*shape.at++ = (uint8_t)code;
		*task.at++ = TASK_SAME;
		put_time(&gap_low, &gap_high, rec->time_ns - t->last_ns);
		t->last_ns = rec->time_ns;
		unsigned mask = 0;

		for (unsigned i = 0; i < 2 && word_at(now + 24) != word_at(before + 24); i++) {
			uint32_t v, b;

			memcpy(&v, now + 24 + 4 * i, sizeof(v));
			memcpy(&b, before + 24 + 4 * i, sizeof(b));
			if (v == b)
				continue;
			mask |= 1u << i;
			put_word(&p->m, &fixed_tags, &fixed_bytes, v, b);
		}
		*fixed.at++ = (uint8_t)mask;
		*lens.at++ = LEN_AS_BEFORE;
		mask = 0;
		for (unsigned i = 0; i < words; i++) {
			const uint64_t v = word_at(now + 32 + 8 * i), b = word_at(like + 32 + 8 * i);

			if (v == b)
				continue;
			mask |= 1u << i;
			put_near(&p->m, &tags, &bytes, v, b);
		}
		*masks.at++ = (uint8_t)mask;
		*slot = (uint32_t)(now - raw);
		before = now;
		now += rec->size;
		/* Else the next one is asked whether it is better off as bytes. */
		cheap = (size_t)(tags.at - tags.data) + (size_t)(bytes.at - bytes.data) - from <= 4 * words;
	}
	c[COL_SHAPE] = shape;
	c[COL_TASK] = task;
	c[COL_GAP_LOW] = gap_low;
	c[COL_GAP_HIGH] = gap_high;
	c[COL_WORD_MASK] = fixed;
	c[COL_WORD_TAG] = fixed_tags;
	c[COL_WORD_BYTES] = fixed_bytes;
	c[COL_ITEM_LEN] = lens;
	c[COL_ITEM_MASK] = masks;
	c[COL_ITEM_TAG] = tags;
	c[COL_ITEM_BYTES] = bytes;
	p->m.last_ns = t->last_ns;
	p->mark_off = p->mark->before = (uint32_t)(before - raw);
	return (uint32_t)(now - raw);
}

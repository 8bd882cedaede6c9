/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Packing; unpack.c is its inverse. Each record is read once, and every column is written in order. */
#include "trace/pack_word.h"

#include <errno.h>
#include <stdlib.h>

struct espy_pack *espy_pack__new(bool mark_words)
{
	struct espy_pack *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->m.keys = malloc(SHAPE_KEYS_MAX);
	if (!p->m.keys) {
		free(p);
		return NULL;
	}
	p->mark_words = mark_words;
	return p;
}

void espy_pack__free(struct espy_pack *p)
{
	if (!p)
		return;
	free(p->m.keys);
	espy_coder__free(&p->coder);
	espy_pack__forget_mixing(p);
	free(p->arena);
	free(p->out);
	free(p);
}

size_t espy_pack__memory(const struct espy_pack *p)
{
	return sizeof(*p) + SHAPE_KEYS_MAX + p->arena_sz + p->out_sz + p->coder.cap + espy_pack__mixing_memory(p);
}

int espy_pack__reserve(uint8_t **data, size_t *cap, size_t size)
{
	if (size <= *cap)
		return 0;
	free(*data);
	*cap = 0;
	*data = malloc(size);
	if (!*data)
		return -ENOMEM;
	*cap = size;
	return 0;
}

/* The most that a column can get, in bytes for 24 bytes of records; every column has some room beyond. */
static const uint8_t per_24[COLUMNS] = {
	[COL_SHAPE] = 3,    [COL_TASK] = 3,	 [COL_NEW] = 24,      [COL_GAP_LOW] = 1,     [COL_GAP_HIGH] = 9,
	[COL_TIME_LOW] = 1, [COL_TIME_HIGH] = 9, [COL_WORD_MASK] = 3, [COL_WORD_TAG] = 6,    [COL_WORD_BYTES] = 24,
	[COL_ITEM_LEN] = 9, [COL_ITEM_MASK] = 3, [COL_ITEM_TAG] = 3,  [COL_ITEM_BYTES] = 24, [COL_TEXT] = 24,
	[COL_PLAIN] = 27,   [COL_CODED] = 40,
};

static int lay_columns(struct espy_pack *p, size_t size)
{
	const size_t units = size / 24 + 1;
	size_t at = 0;
	size_t whole = 0;

	for (unsigned i = 0; i < COLUMNS; i++)
		whole += units * per_24[i] + SHAPE_KEY_MAX;
	int err = espy_pack__reserve(&p->arena, &p->arena_sz, whole);

	if (err)
		return err;
	for (unsigned i = 0; i < COLUMNS; i++) {
		p->cols[i].data = p->cols[i].at = p->arena + at;
		at += units * per_24[i] + SHAPE_KEY_MAX;
		p->cols[i].end = p->arena + at;
	}
	return 0;
}

/* The parts that make the shape. false: it has none, and is stored as it is. */
static bool key_of(const struct espy_rec *rec, struct shape_key *k, size_t *key_sz)
{
	const uint8_t *at = (const uint8_t *)rec, *end = at + rec->size;
	struct shape s;

	k->type = rec->type;
	k->flags = rec->flags;
	k->nr = rec->nr;
	k->has_time = rec->time_ns != 0;
	k->items = 0;
	k->reserved = 0;
	lay_out(&s, rec->type, rec->flags);
	if (rec->size < s.words_end)
		return false;
	at += s.words_end;
	while (is_call(rec->type) && at < end) {
		struct espy_item it;

		memcpy(&it, at, sizeof(it)); /* the size of a record is a multiple of 8 */
		at += sizeof(it);
		const size_t padded = ((size_t)it.len + 7) & ~(size_t)7;

		if (padded > (size_t)(end - at) || k->items == SHAPE_ITEMS_MAX)
			return false;
		/* the padding is not stored */
		if (it.len & 7 && word_at(at + padded - 8) >> (8 * (it.len & 7)))
			return false;
		memcpy(&k->item[k->items++], &it, 4);
		at += padded;
	}
	*key_sz = offsetof(struct shape_key, item) + 4u * k->items;
	return true;
}

static uint32_t hash_of(const struct shape_key *k, size_t key_sz)
{
	uint64_t h = word_at((const uint8_t *)k) * 0x9e3779b97f4a7c15u;

	for (unsigned i = 0; i < k->items; i++)
		h = (h ^ k->item[i]) * 0xff51afd7ed558ccdu;
	return (uint32_t)(h >> 32 ^ key_sz);
}

/* NULL: there is no room for another. */
static struct shape *find_shape(struct espy_pack *p, const struct shape_key *k, size_t key_sz, bool *is_new)
{
	struct model *m = &p->m;
	const uint32_t hash = hash_of(k, key_sz);
	uint32_t slot = hash % (2 * SHAPES_MAX);

	for (; p->shape_slots[slot]; slot = (slot + 1) % (2 * SHAPES_MAX)) {
		struct shape *s = &m->shapes[p->shape_slots[slot] - 1];

		if (s->hash == hash && s->key_sz == key_sz && !memcmp(m->keys + s->key_off, k, key_sz)) {
			*is_new = false;
			return s;
		}
	}
	if (m->shape_cnt == SHAPES_MAX || m->keys_sz + key_sz > SHAPE_KEYS_MAX)
		return NULL;
	struct shape *s = &m->shapes[m->shape_cnt++];

	*s = (struct shape){ .key_off = m->keys_sz, .hash = hash, .key_sz = (uint16_t)key_sz, .before = UINT32_MAX };
	lay_out(s, k->type, k->flags);
	memcpy(m->keys + m->keys_sz, k, key_sz);
	m->keys_sz += (uint32_t)key_sz;
	p->shape_slots[slot] = (uint16_t)m->shape_cnt;
	*is_new = true;
	return s;
}

static struct task *put_task(struct espy_pack *p, const struct espy_rec *rec)
{
	struct model *m = &p->m;
	struct task *t = &m->tasks[m->task];

	if (m->task_cnt && t->tid == rec->tid && t->tgid == rec->tgid) {
		PUT_BYTE(p, COL_TASK, TASK_SAME, in_task(m, 0));
		return t;
	}
	uint32_t slot = (rec->tid * 0x9e3779b1u ^ rec->tgid) % (2 * TASKS_MAX);

	for (; p->task_slots[slot]; slot = (slot + 1) % (2 * TASKS_MAX)) {
		const uint32_t task = p->task_slots[slot] - 1u;

		t = &m->tasks[task];
		if (t->tid == rec->tid && t->tgid == rec->tgid) {
			PUT_VARINT(p, COL_TASK, TASK_FIRST + (uint64_t)task, in_task(m, k));
			m->task = task;
			return t;
		}
	}
	PUT_BYTE(p, COL_TASK, TASK_NEW, in_task(m, 0));
	m->task = m->task_cnt++;
	p->task_slots[slot] = (uint16_t)m->task_cnt;
	m->tasks[m->task] = (struct task){ .tid = rec->tid, .tgid = rec->tgid, .last_ns = m->last_ns, .phase = PHASE_UNKNOWN };
	put(&p->cols[COL_NEW], &rec->tid, 8);
	return &m->tasks[m->task];
}

static void put_times(struct espy_pack *p, struct task *t, uint64_t enter_ns, uint64_t time_ns, bool enter)
{
	struct column *c = p->cols;
	const uint64_t gap = (enter ? enter_ns : time_ns) - t->last_ns;

	put_time(&c[COL_GAP_LOW], &c[COL_GAP_HIGH], gap);
	if (enter)
		put_time(&c[COL_TIME_LOW], &c[COL_TIME_HIGH], time_ns - enter_ns);
	t->last_ns = p->m.last_ns = time_ns;
}

/* Words of an item, or (item 0) of the record itself, against those of another. */
static void put_words(struct espy_pack *p, const uint8_t *now, const uint8_t *before, unsigned n,
		      enum espy_column masks, unsigned item)
{
	for (unsigned i = 0; i < n; i += 8) {
		const unsigned to = n - i < 8 ? n - i : 8;
		const uint32_t place = place_of(&p->m, item, i / 8);
		unsigned mask = 0;

		for (unsigned j = 0; j < to; j++)
			if (word_at(now + 8 * (i + j)) != (before ? word_at(before + 8 * (i + j)) : 0))
				mask |= 1u << j;
		PUT_BYTE(p, masks, mask, in_mask(&p->m, masks, place));
		if (p->m.mixing)
			*last_at(&p->m, masks, place) = (uint8_t)mask;
		for (; mask; mask &= mask - 1) {
			const unsigned j = i + (unsigned)__builtin_ctz(mask);

			const uint64_t v = word_at(now + 8 * j), b = before ? word_at(before + 8 * j) : 0;

			if (p->m.mixing)
				mix_word(p, masks + 1, place_of(&p->m, item, j), v, b);
			else
				put_word(&p->m, &p->cols[masks + 1], &p->cols[masks + 2], v, b);
		}
	}
}

/* Is it cheaper as words, most of which are small or like those before, than as bytes? Texts are not. */
static bool as_words(const uint8_t *now, const uint8_t *before, unsigned len)
{
	unsigned cost = 0;

	for (unsigned i = 0; i < len; i += 8) {
		const uint64_t v = word_at(now + i), b = before ? word_at(before + i) : 0;
		const unsigned value = bytes_of(v), diff = bytes_of(v > b ? v - b : b - v);

		cost += v == b ? 0 : 1 + (value < diff ? value : diff);
	}
	return 2 * cost <= len;
}

static void put_length(struct espy_pack *p, uint64_t code, unsigned item)
{
	PUT_VARINT(p, COL_ITEM_LEN, code, in_length(&p->m, item, k));
	if (p->m.mixing)
		*last_at(&p->m, COL_ITEM_LEN, place_of(&p->m, item, 0)) = code < 255 ? (uint8_t)code : 255;
}

/* Bytes up to a NUL need no length. */
static void put_bytes(struct espy_pack *p, const uint8_t *bytes, size_t len, unsigned item)
{
	const bool string = len && memchr(bytes, 0, len) == bytes + len - 1;

	put_length(p, string ? LEN_STRING : 2 * (uint64_t)len + LEN_BYTES, item);
	if (!p->m.mixing || p->m.text_sz >= p->m.text_most) {
		put(&p->cols[COL_TEXT], bytes, len);
		return;
	}
	struct text x;

	text_begin(&p->m, &x, item);
	for (size_t i = 0; i < len; i++) {
		mix_byte(p, bytes[i], in_text(&p->m, &x));
		text_next(&p->m, &x, bytes[i]);
	}
}

/* The slot of an item with the same bytes; or an empty one. */
static uint16_t *find_known(struct espy_pack *p, const uint8_t *bytes, uint32_t len)
{
	uint64_t h = len;

	for (uint32_t i = 0; i + 8 <= len; i += 8) {
		h = (h ^ word_at(bytes + i)) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	for (uint32_t i = len & ~7u; i < len; i++)
		h = (h ^ bytes[i]) * 0xff51afd7ed558ccdu;
	uint32_t slot = (uint32_t)(h >> 32) % (2 * KNOWN_MAX);

	for (; p->known_slots[slot]; slot = (slot + 1) % (2 * KNOWN_MAX)) {
		const struct known *k = &p->m.known[p->known_slots[slot] - 1];

		if (k->len == len && !memcmp(record_at(&p->m, k->off), bytes, len))
			break;
	}
	return &p->known_slots[slot];
}

void espy_pack__find_again(struct espy_pack *p)
{
	struct model *m = &p->m;

	for (uint32_t i = 0; i < m->shape_cnt; i++) {
		struct shape *s = &m->shapes[i];

		s->hash = hash_of((const struct shape_key *)(const void *)(m->keys + s->key_off), s->key_sz);
		uint32_t slot = s->hash % (2 * SHAPES_MAX);

		while (p->shape_slots[slot])
			slot = (slot + 1) % (2 * SHAPES_MAX);
		p->shape_slots[slot] = (uint16_t)(i + 1);
	}
	for (uint32_t i = 0; i < m->known_cnt; i++) {
		uint16_t *slot = find_known(p, record_at(m, m->known[i].off), m->known[i].len);

		if (!*slot)
			*slot = (uint16_t)(i + 1);
	}
}

/* true: it was there before in the block, and its number says all. Else it has got one, maybe. */
static bool put_known(struct espy_pack *p, const uint8_t *bytes, uint32_t len, unsigned item)
{
	struct model *m = &p->m;
	uint16_t *slot = len >= KNOWN_LEAST && len <= KNOWN_MOST ? find_known(p, bytes, len) : NULL;

	if (!slot || !*slot) {
		note_item(m, item, offset_of(m, bytes), len);
		if (slot)
			*slot = (uint16_t)m->item;
		return false;
	}
	const unsigned number = *slot - 1u;

	put_length(p, LEN_KNOWN, item);
	PUT_BYTE(p, COL_TEXT, number >> 8, in_known(m, item, 0));
	PUT_BYTE(p, COL_TEXT, number & 255, in_known(m, item, 1 + (number >> 8)));
	note_known(m, item, number);
	return true;
}

static void put_items(struct espy_pack *p, const uint8_t *now, const uint8_t *before, unsigned n)
{
	for (unsigned item = 1; item <= n; item++) {
		struct espy_item it, old;

		memcpy(&it, now, sizeof(it));
		now += sizeof(it);
		old.len = UINT32_MAX;
		if (before) {
			memcpy(&old, before, sizeof(old));
			before += sizeof(old);
		}
		const uint8_t *like = it.len == old.len ? before : NULL;

		/* what is the same as the time before costs nothing as words */
		const bool same = like && it.len % 8 == 0 && !memcmp(now, like, it.len);

		if (p->m.mixing && !same && put_known(p, now, it.len, item)) {
			/* that is all */
		} else if (it.len && it.len % 8 == 0 && as_words(now, like, it.len)) {
			put_length(p, like ? LEN_AS_BEFORE : 2 * (uint64_t)it.len + LEN_WORDS, item);
			put_words(p, now, like, it.len / 8, COL_ITEM_MASK, item);
		} else {
			put_bytes(p, now, it.len, item);
		}
		now += (it.len + 7) & ~7u;
		if (before)
			before += (old.len + 7) & ~7u;
	}
}

/* What follows the words of a record that is no call: often a name, padded with zeros. */
static void put_rest(struct espy_pack *p, const uint8_t *bytes, size_t n)
{
	const uint8_t *nul = n ? memchr(bytes, 0, n) : NULL;
	const size_t len = nul ? (size_t)(nul - bytes) + 1 : 0;

	/* as long as a name would make it, and nothing but zeros behind it */
	if (len && ((len + 7) & ~(size_t)7) == n && (!(len & 7) || !(word_at(bytes + n - 8) >> (8 * (len & 7)))))
		n = len;
	if (!p->m.mixing || !put_known(p, bytes, (uint32_t)n, 0))
		put_bytes(p, bytes, n, 0);
}

/*
 * Marks of one definition often count something, or repeat a name: as words against those before, if they are as long.
 * Numbers that mean nothing to each other, and texts, are better off as bytes.
 */
static void put_args(struct espy_pack *p, const uint8_t *record, uint32_t size)
{
	const uint8_t *now = record + 32, *like = NULL;
	uint32_t *slot = mark_slot(&p->m, record), len = size - 32;
	const bool known = *slot != UINT32_MAX;

	if (known && ((const struct espy_rec *)(const void *)record_at(&p->m, *slot))->size == size)
		like = record_at(&p->m, *slot) + 32;
	*slot = offset_of(&p->m, record);
	if (len && as_words(now, like, len)) {
		put_length(p, like ? LEN_AS_BEFORE : 2 * (uint64_t)len + LEN_WORDS, 0);
		put_words(p, now, like, len / 8, COL_ITEM_MASK, 1);
	} else {
		put_rest(p, now, len);
	}
}

static void put_fixed(struct espy_pack *p, const struct shape *s, const uint8_t *now, const uint8_t *before, bool call)
{
	uint64_t words[HALVES_MAX], old[HALVES_MAX];

	if (!call) {
		split(words, now + 24, 2 * s->words);
		if (before)
			split(old, before + 24, 2 * s->words);
		put_words(p, (const uint8_t *)words, before ? (const uint8_t *)old : NULL, 2 * s->words, COL_WORD_MASK,
			  0);
	} else if (s->first == 32) {
		put_words(p, now + 24, before ? before + 24 : NULL, s->words, COL_WORD_MASK, 0);
	} else {
		/* the result stands alone before the time of entry */
		words[0] = word_at(now + 24);
		memcpy(words + 1, now + s->first, 8 * (s->words - 1u));
		if (before) {
			old[0] = word_at(before + 24);
			memcpy(old + 1, before + s->first, 8 * (s->words - 1u));
		}
		put_words(p, (const uint8_t *)words, before ? (const uint8_t *)old : NULL, s->words, COL_WORD_MASK, 0);
	}
}

static void put_plain(struct espy_pack *p, const struct espy_rec *rec)
{
	PUT_BYTE(p, COL_SHAPE, SHAPE_PLAIN, in_shape(&p->m, 0));
	put(&p->cols[COL_PLAIN], rec, rec->size);
}

static void put_record(struct espy_pack *p, const uint8_t *now)
{
	const struct espy_rec *rec = (const struct espy_rec *)(const void *)now;
	const uint32_t off = offset_of(&p->m, now);
	struct shape_key key;
	size_t key_sz;
	bool is_new;

	if (!key_of(rec, &key, &key_sz) || p->m.task_cnt == TASKS_MAX) {
		put_plain(p, rec);
		return;
	}
	struct shape *s = find_shape(p, &key, key_sz, &is_new);

	if (!s) {
		put_plain(p, rec);
		return;
	}
	if (is_new) {
		PUT_BYTE(p, COL_SHAPE, SHAPE_NEW, in_shape(&p->m, 0));
		put(&p->cols[COL_NEW], &key, key_sz);
	} else {
		PUT_VARINT(p, COL_SHAPE, SHAPE_FIRST + (uint64_t)(s - p->m.shapes), in_shape(&p->m, k));
	}
	p->m.shape = (uint32_t)(s - p->m.shapes);
	struct task *t = put_task(p, rec);
	const uint8_t *before = s->before == UINT32_MAX ? NULL : record_at(&p->m, s->before);
	const bool enter = has_enter(&key);

	if ((enter || key.has_time) && !p->m.mixing)
		put_times(p, t, enter ? word_at(now + 32) : 0, rec->time_ns, enter);
	put_fixed(p, s, now, before, is_call(key.type));
	if (is_call(key.type)) {
		put_items(p, now + s->words_end, before ? before + s->words_end : NULL, key.items);
	} else if (key.type == ESPY_REC_MARK && p->mark_words) {
		put_args(p, (const uint8_t *)rec, rec->size);
		p->mark = key.has_time && !p->m.mixing ? s : NULL;
		p->mark_off = off;
	} else {
		put_rest(p, now + s->words_end, rec->size - s->words_end);
	}
	if (p->m.mixing) {
		p->m.ret = is_call(key.type) ? result_of(now) : 0;
		mix_times(p, t, now, &key);
	}
	s->before = off;
	model_next(&p->m);
}

/*
 * Marks that follow one another: their shape needs not be looked up. What comes out is the same. Returns where the
 * first is that is not of that shape.
 */
static uint32_t put_marks(struct espy_pack *p, const uint8_t *raw, uint32_t off, uint32_t size)
{
	struct column *c = p->cols;
	struct shape *s = p->mark;

	while ((off = espy_pack__like_marks(p, raw, off, size)) < size) {
		const struct espy_rec *rec = (const struct espy_rec *)(const void *)(raw + off);
		const struct espy_rec *before = (const struct espy_rec *)(const void *)(raw + p->mark_off);

		/* The same type, flags and number; and in put_record it would not be stored as it is. */
		if (memcmp(&rec->type, &before->type, 4) || !rec->time_ns || rec->size < s->words_end ||
		    p->m.task_cnt == TASKS_MAX)
			break;
		put_varint(&c[COL_SHAPE], SHAPE_FIRST + (uint64_t)(s - p->m.shapes));
		put_times(p, put_task(p, rec), 0, rec->time_ns, false);
		put_fixed(p, s, raw + off, raw + p->mark_off, false);
		put_args(p, (const uint8_t *)rec, rec->size);
		p->mark_off = s->before = off;
		off += rec->size;
	}
	p->mark = NULL;
	return off;
}

/* Half of what is stored is text, in which a longer search finds more; elsewhere it costs as much and finds little. */
static int level_of(unsigned column, int level)
{
	return column == COL_TEXT && level >= 3 && level <= 17 ? level + 2 : level;
}

static uint8_t *put_size(uint8_t *at, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*at++ = (uint8_t)(v | 0x80);
	*at++ = (uint8_t)v;
	return at;
}

/* Columns one after the other: all sizes (raw, stored), then the bytes; a column that does not shrink is stored as it is. */
static int put_columns(struct espy_pack *p, ZSTD_CCtx *cctx, int level, size_t *out_sz)
{
	uint8_t heads[COLUMNS * 20];
	const unsigned columns = p->m.mixing ? COLUMNS : COLUMNS_PACKED;
	uint8_t *sizes = heads;
	size_t whole = 0, at = 0;

	for (unsigned i = 0; i < columns; i++)
		whole += ZSTD_compressBound((size_t)(p->cols[i].at - p->cols[i].data));
	int err = espy_pack__reserve(&p->out, &p->out_sz, whole + sizeof(heads));

	if (err)
		return err;
	for (unsigned i = 0; i < columns; i++) {
		const size_t raw_sz = (size_t)(p->cols[i].at - p->cols[i].data);
		size_t n = raw_sz;

		ZSTD_CCtx_setParameter(cctx, ZSTD_c_compressionLevel, level_of(i, level));
		if (raw_sz >= 32 && i != COL_CODED)
			n = ZSTD_compress2(cctx, p->out + sizeof(heads) + at, p->out_sz - sizeof(heads) - at, p->cols[i].data,
					   raw_sz);
		if (ZSTD_isError(n))
			return -ENOMEM;
		/* what gains nothing in size shall cost nothing in reading */
		if (n + n / 32 >= raw_sz) {
			n = raw_sz;
			memcpy(p->out + sizeof(heads) + at, p->cols[i].data, raw_sz);
		}
		sizes = put_size(put_size(sizes, raw_sz), n);
		at += n;
	}
	const size_t heads_sz = (size_t)(sizes - heads);

	memmove(p->out + heads_sz, p->out + sizeof(heads), at);
	memcpy(p->out, heads, heads_sz);
	*out_sz = heads_sz + at;
	return 0;
}

int espy_pack__records(struct espy_pack *p, ZSTD_CCtx *cctx, int level, bool careful, const void *raw, size_t size,
		       const void **out, size_t *out_sz)
{
	struct column *coded = &p->cols[COL_CODED];
	int err = lay_columns(p, size);

	if (err)
		return err;
	p->mark = NULL;
	if (careful) {
		err = espy_pack__begin_mixed(p, raw);
		if (!err)
			err = lay_columns(p, size);
		if (err)
			return err;
		range_encode_begin(&p->mixer.range, coded->data, coded->end);
		p->m.tick = espy_tick__find(raw, size);
		mix_noise(p, p->m.tick, 32);
	} else {
		espy_pack__forget_mixing(p);
		model_clear(&p->m);
		memset(p->shape_slots, 0, sizeof(p->shape_slots));
		memset(p->task_slots, 0, sizeof(p->task_slots));
		p->m.mixing = false;
		p->m.raw = raw;
	}
	for (size_t at = 0; at < size;) {
		put_record(p, (const uint8_t *)raw + at);
		at += ((const struct espy_rec *)((const uint8_t *)raw + at))->size;
		if (p->mark)
			at = put_marks(p, raw, (uint32_t)at, (uint32_t)size);
	}
	*out_sz = 0;
	if (careful && !(coded->at = range_encode_end(&p->mixer.range)))
		return -E2BIG;
	err = put_columns(p, cctx, level, out_sz);
	*out = p->out;
	return err ? err : *out_sz < size ? 0 : -E2BIG;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Unpacking: the inverse of pack.c, over bytes that anybody may have written. Each read and each write is bounded. */
#include "trace/unpack_word.h"

#include <errno.h>

/* Words that lie at `now`, after those at `before` (NULL: zeros), of an item or (0) of the record itself. */
static void get_words(struct unpack *u, uint8_t *now, const uint8_t *before, unsigned n, enum espy_column masks,
		      unsigned item)
{
	struct model *m = &u->p->m;

	for (unsigned i = 0; i < n; i += 8) {
		const unsigned to = n - i < 8 ? n - i : 8;
		const uint32_t place = place_of(m, item, i / 8);
		const unsigned mask = GET_BYTE(u, masks, in_mask(m, masks, place));

		if (u->p->how != PACK_PACKED)
			*last_at(m, masks, place) = (uint8_t)mask;
		for (unsigned j = i; j < i + to; j++) {
			uint64_t v = before ? word_at(before + 8 * j) : 0;

			if (mask >> (j - i) & 1)
				m->word = (uint32_t)(v = get_word(u, masks + 1, place_of(m, item, j), v));
			memcpy(now + 8 * j, &v, 8);
		}
	}
}

static struct shape *get_shape(struct unpack *u, uint64_t code)
{
	struct model *m = &u->p->m;
	const uint8_t *key, *items = NULL;
	struct shape_key k;

	if (code >= SHAPE_FIRST)
		return code - SHAPE_FIRST < m->shape_cnt ? &m->shapes[code - SHAPE_FIRST] : NULL;
	key = get(u, COL_NEW, offsetof(struct shape_key, item));
	if (!key)
		return NULL;
	memcpy(&k, key, offsetof(struct shape_key, item));
	const size_t key_sz = offsetof(struct shape_key, item) + 4u * k.items;

	items = get(u, COL_NEW, 4u * k.items);
	if (!items || k.items > SHAPE_ITEMS_MAX || (k.items && !is_call(k.type)) || m->shape_cnt == SHAPES_MAX ||
	    m->keys_sz + key_sz > SHAPE_KEYS_MAX)
		return NULL;
	struct shape *s = &m->shapes[m->shape_cnt++];

	*s = (struct shape){ .key_off = m->keys_sz, .key_sz = (uint16_t)key_sz, .before = UINT32_MAX };
	lay_out(s, k.type, k.flags);
	memcpy(m->keys + m->keys_sz, &k, offsetof(struct shape_key, item));
	memcpy(m->keys + m->keys_sz + offsetof(struct shape_key, item), items, 4u * k.items);
	m->keys_sz += (uint32_t)key_sz;
	return s;
}

static struct task *get_task(struct unpack *u)
{
	struct model *m = &u->p->m;
	uint64_t code;

	GET_VARINT(u, COL_TASK, code, in_task(m, k));
	if (code == TASK_NEW) {
		const uint8_t *ids = get(u, COL_NEW, 8);

		if (!ids || m->task_cnt == TASKS_MAX)
			return NULL;
		m->task = m->task_cnt++;
		m->tasks[m->task] = (struct task){ .last_ns = m->last_ns, .phase = PHASE_UNKNOWN };
		memcpy(&m->tasks[m->task].tid, ids, 8);
	} else if (code >= TASK_FIRST) {
		if (code - TASK_FIRST >= m->task_cnt)
			return NULL;
		m->task = (uint32_t)(code - TASK_FIRST);
	} else if (!m->task_cnt) {
		return NULL;
	}
	return &m->tasks[m->task];
}

/* As long as a code tells; UINT64_MAX: a text that does not end. */
static uint64_t length_of(const struct unpack *u, uint64_t code)
{
	const struct column *text = &u->p->cols[COL_TEXT];

	if (code != LEN_STRING)
		return (code - LEN_BYTES) / 2;
	const uint8_t *nul = memchr(text->at, 0, (size_t)(text->end - text->at));

	return nul ? (uint64_t)(nul - text->at) + 1 : UINT64_MAX;
}

/* Bytes of items that are coded. They are put to u->at, where there is room for as many as are asked for. */
static bool get_text(struct unpack *u, uint64_t code, unsigned item, uint32_t *len)
{
	struct model *m = &u->p->m;
	const size_t left = (size_t)(u->end - u->at), room = left < ESPY_REC_MAX ? left : ESPY_REC_MAX;
	const uint64_t n = code == LEN_STRING ? room : (code - LEN_BYTES) / 2;
	struct text x;
	size_t at = 0;

	if (n > room)
		return false;
	text_begin(m, &x, item);
	while (at < n) {
		const uint8_t byte = (uint8_t)get_coded(u, in_text(m, &x));

		text_next(m, &x, byte);
		u->at[at++] = byte;
		if (code == LEN_STRING && !byte)
			break;
	}
	if (code == LEN_STRING && (!at || u->at[at - 1]))
		return false;
	*len = (uint32_t)at;
	while (at % 8)
		u->at[at++] = 0;
	u->at += at;
	return true;
}

/* Bytes of which a length tells, at u->at, padded to 8 with zeros. */
static bool get_bytes(struct unpack *u, uint64_t code, unsigned item, uint32_t *len)
{
	struct column *text = &u->p->cols[COL_TEXT];

	if (u->p->how == PACK_MIXED && u->p->m.text_sz < u->p->m.text_most)
		return get_text(u, code, item, len);
	const uint64_t n = length_of(u, code);

	/* room is a multiple of 8 */
	if (n > (size_t)(text->end - text->at) || n > (size_t)(u->end - u->at))
		return false;
	const size_t padded = (n + 7) & ~7ull;

	if (padded)
		memset(u->at + padded - 8, 0, 8);
	memcpy(u->at, text->at, n);
	text->at += n;
	u->at += padded;
	*len = (uint32_t)n;
	return true;
}

/* The bytes of an item of which a number tells, padded like others. */
static bool get_known(struct unpack *u, unsigned item, uint32_t *len)
{
	struct model *m = &u->p->m;
	const unsigned high = get_coded(u, in_known(m, item, 0));
	const unsigned number = high << 8 | get_coded(u, in_known(m, item, 1 + high));

	if (number >= m->known_cnt)
		return false;
	const struct known *k = &m->known[number];
	const size_t padded = (k->len + 7) & ~(size_t)7;

	if (padded > (size_t)(u->end - u->at))
		return false;
	memset(u->at + padded - 8, 0, 8);
	memcpy(u->at, record_at(m, k->off), k->len);
	u->at += padded;
	note_known(m, item, number);
	*len = k->len;
	return true;
}

static uint64_t get_length(struct unpack *u, unsigned item)
{
	struct model *m = &u->p->m;
	uint64_t code;

	GET_VARINT(u, COL_ITEM_LEN, code, in_length(m, item, k));
	if (u->p->how == PACK_MIXED)
		*last_at(m, COL_ITEM_LEN, place_of(m, item, 0)) = code < 255 ? (uint8_t)code : 255;
	return code;
}

/* Items from u->at on; leaves u->at behind them. */
static bool get_items(struct unpack *u, const uint8_t *item_keys, const uint8_t *before, unsigned n)
{
	for (unsigned item = 1; item <= n; item++, item_keys += 4) {
		uint64_t code;
		struct espy_item it, old = { .len = 0 };
		uint8_t *head = u->at;

		if ((size_t)(u->end - u->at) < sizeof(it))
			return false;
		u->at += sizeof(it);
		if (before) {
			memcpy(&old, before, sizeof(old));
			before += sizeof(old);
		}
		code = get_length(u, item);
		const uint8_t *bytes = u->at;
		const bool known = u->p->how != PACK_PACKED && code == LEN_KNOWN;

		if (known) {
			if (!get_known(u, item, &it.len))
				return false;
		} else if (code == LEN_STRING || (code >= LEN_BYTES && code % 2 == LEN_BYTES % 2)) {
			if (!get_bytes(u, code, item, &it.len))
				return false;
		} else {
			const uint64_t len = code == LEN_AS_BEFORE ? old.len : (code - LEN_WORDS) / 2;

			if (len % 8 || len > (size_t)(u->end - u->at) || (code == LEN_AS_BEFORE && !before))
				return false;
			get_words(u, u->at, code == LEN_AS_BEFORE ? before : NULL, (uint32_t)len / 8, COL_ITEM_MASK,
				  item);
			it.len = (uint32_t)len;
			u->at += len;
		}
		/* as the packer does */
		const bool same =
			before && it.len == old.len && it.len % 8 == 0 && !memcmp(bytes, before, it.len);

		if (u->p->how != PACK_PACKED && !known && !same)
			note_item(&u->p->m, item, offset_of(&u->p->m, bytes), it.len);
		memcpy(&it, item_keys, 4);
		memcpy(head, &it, sizeof(it));
		if (before)
			before += (old.len + 7) & ~7u;
	}
	return true;
}

/* What follows the words of a record that is no call, from u->at on; leaves u->at behind it. */
static bool get_rest(struct unpack *u, const uint8_t *now, unsigned type)
{
	const uint32_t off = offset_of(&u->p->m, u->at);
	const uint8_t *like = NULL;
	struct espy_rec old;
	uint32_t bytes;
	const uint64_t code = get_length(u, 0);

	if (type == ESPY_REC_MARK) {
		uint32_t *slot = mark_slot(&u->p->m, now);

		if (*slot != UINT32_MAX)
			like = record_at(&u->p->m, *slot);
		*slot = offset_of(&u->p->m, now);
	}
	if (u->p->how != PACK_PACKED && code == LEN_KNOWN)
		return get_known(u, 0, &bytes);
	if (code == LEN_STRING || (code >= LEN_BYTES && code % 2 == LEN_BYTES % 2)) {
		if (!get_bytes(u, code, 0, &bytes))
			return false;
		if (u->p->how != PACK_PACKED)
			note_item(&u->p->m, 0, off, bytes);
		return true;
	}
	if (type != ESPY_REC_MARK || (code == LEN_AS_BEFORE && !like))
		return false;
	uint64_t len = (code - LEN_WORDS) / 2;

	if (code == LEN_AS_BEFORE) {
		memcpy(&old, like, sizeof(old));
		len = old.size - 32;
		like += 32;
	} else {
		like = NULL;
	}
	if (len % 8 || len > (size_t)(u->end - u->at))
		return false;
	get_words(u, u->at, like, (uint32_t)len / 8, COL_ITEM_MASK, 1);
	u->at += len;
	return true;
}

static void get_fixed(struct unpack *u, const struct shape *s, uint8_t *now, const uint8_t *before, bool call)
{
	uint64_t words[HALVES_MAX], old[HALVES_MAX];

	if (!call) {
		if (before)
			split(old, before + 24, 2 * s->words);
		get_words(u, (uint8_t *)words, before ? (const uint8_t *)old : NULL, 2 * s->words, COL_WORD_MASK, 0);
		for (unsigned i = 0; i < 2u * s->words; i++)
			memcpy(now + 24 + 4 * i, &words[i], 4);
	} else if (s->first == 32) {
		get_words(u, now + 24, before ? before + 24 : NULL, s->words, COL_WORD_MASK, 0);
	} else {
		if (before) {
			old[0] = word_at(before + 24);
			memcpy(old + 1, before + s->first, 8 * (s->words - 1u));
		}
		get_words(u, (uint8_t *)words, before ? (const uint8_t *)old : NULL, s->words, COL_WORD_MASK, 0);
		memcpy(now + 24, words, 8);
		memcpy(now + s->first, words + 1, 8 * (s->words - 1u));
	}
}

static bool get_plain(struct unpack *u)
{
	const uint8_t *bytes = get(u, COL_PLAIN, sizeof(struct espy_rec));
	struct espy_rec rec;

	if (!bytes)
		return false;
	memcpy(&rec, bytes, sizeof(rec));
	if (rec.size < sizeof(rec) || rec.size % 8 || rec.size > (size_t)(u->end - u->at) ||
	    !get(u, COL_PLAIN, rec.size - sizeof(rec)))
		return false;
	memcpy(u->at, bytes, rec.size);
	u->at += rec.size;
	return true;
}

static bool get_record(struct unpack *u)
{
	uint8_t *now = u->at;
	uint64_t code;

	GET_VARINT(u, COL_SHAPE, code, in_shape(&u->p->m, k));
	if (u->bad)
		return false;
	if (code == SHAPE_PLAIN)
		return get_plain(u);
	struct shape *s = get_shape(u, code);

	if (s)
		u->p->m.shape = (uint32_t)(s - u->p->m.shapes);
	struct task *t = s ? get_task(u) : NULL;

	if (!t || s->words_end > (size_t)(u->end - u->at))
		return false;
	struct model *m = &u->p->m;
	const struct shape_key *key = (const struct shape_key *)(m->keys + s->key_off);
	const uint8_t *before = s->before == UINT32_MAX ? NULL : record_at(m, s->before);
	struct espy_rec rec = { .type = key->type, .flags = key->flags, .nr = key->nr, .tid = t->tid, .tgid = t->tgid };

	if (u->p->how != PACK_MIXED)
		get_times(u, t, key, &rec, now);
	get_fixed(u, s, now, before, is_call(key->type));
	u->at += s->words_end;
	if (is_call(key->type)) {
		if (!get_items(u, (const uint8_t *)key->item, before ? before + s->words_end : NULL, key->items))
			return false;
	} else if (!get_rest(u, now, key->type)) {
		return false;
	}
	if (u->p->how == PACK_MIXED) {
		m->ret = is_call(key->type) ? result_of(now) : 0;
		get_mixed_times(u, t, key, &rec, now);
	}
	rec.size = (uint32_t)(u->at - now);
	memcpy(now, &rec, sizeof(rec));
	s->before = offset_of(m, now);
	model_next(m);
	return !u->bad;
}

static bool get_size(const uint8_t **at, const uint8_t *end, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
		const uint8_t byte = *(*at)++;

		*v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* All columns, each with eight zero bytes behind it. */
static int get_columns(struct espy_pack *p, ZSTD_DCtx *dctx, const uint8_t *in, size_t in_sz, size_t raw_sz)
{
	/* by what the packer can make of so many records; see pack.c */
	const uint64_t most = 4 * (uint64_t)raw_sz + COLUMNS * SHAPE_KEY_MAX;
	const unsigned columns = p->how != PACK_PACKED ? COLUMNS : COLUMNS_PACKED;
	uint64_t raw_szs[COLUMNS], stored_szs[COLUMNS], whole = 0;
	const uint8_t *at = in, *in_end = in + in_sz;

	for (unsigned i = 0; i < columns; i++) {
		if (!get_size(&at, in_end, &raw_szs[i]) || !get_size(&at, in_end, &stored_szs[i]) ||
		    raw_szs[i] > most - whole)
			return -EBADMSG;
		whole += raw_szs[i];
	}
	size_t left = (size_t)(in_end - at);
	int err = espy_pack__reserve(&p->arena, &p->arena_sz, whole + 8 * COLUMNS);

	if (err)
		return err;
	uint8_t *to = p->arena;

	for (unsigned i = 0; i < columns; i++) {
		if (stored_szs[i] > left || stored_szs[i] > raw_szs[i])
			return -EBADMSG;
		if (stored_szs[i] == raw_szs[i])
			memcpy(to, at, raw_szs[i]);
		else if (ZSTD_decompressDCtx(dctx, to, raw_szs[i], at, stored_szs[i]) != raw_szs[i])
			return -EBADMSG;
		p->cols[i] = (struct column){ .at = to, .data = to, .end = to + raw_szs[i] };
		memset(to + raw_szs[i], 0, 8);
		to += raw_szs[i] + 8;
		at += stored_szs[i];
		left -= stored_szs[i];
	}
	return left ? -EBADMSG : 0;
}

static int begin(struct espy_pack *p, enum espy_packing how, void *raw, size_t raw_sz)
{
	int err = how == PACK_CODED ? espy_coder__open(&p->coder, raw_sz) : 0;

	p->how = how;
	if (how != PACK_CODED)
		espy_coder__free(&p->coder);
	if (how == PACK_MIXED)
		return espy_pack__begin_mixed(p, raw);
	espy_pack__forget_mixing(p);
	model_clear(&p->m);
	p->m.mixing = false;
	p->m.raw = raw;
	return err;
}

int espy_pack__unpack(struct espy_pack *p, ZSTD_DCtx *dctx, enum espy_packing how, const void *in, size_t in_sz, void *raw,
		      size_t raw_sz)
{
	struct unpack u = { .p = p, .raw = raw, .at = raw, .end = (uint8_t *)raw + raw_sz };
	const struct column *numbers = &p->cols[COL_CODED];
	struct espy_range *range = how == PACK_MIXED ? &p->mixer.range : &p->coder.range;
	int err = begin(p, how, raw, raw_sz);

	if (!err)
		err = get_columns(p, dctx, in, in_sz, raw_sz);
	if (err)
		return err;
	if (how != PACK_PACKED)
		range_decode_begin(range, numbers->at, numbers->end);
	if (how == PACK_MIXED) {
		p->m.tick = (uint32_t)get_noise(range, 32);
		if (p->m.tick && (p->m.tick < TICK_LEAST || p->m.tick >= TICK_MOST))
			return -EBADMSG;
	}
	while (u.at < u.end)
		if (!get_record(&u) || (how != PACK_PACKED && range->beyond > RANGE_BEYOND))
			return -EBADMSG;
	/* nothing may be left over either */
	if (how != PACK_PACKED && !range_decode_end(range))
		return -EBADMSG;
	for (unsigned i = 0; i < COLUMNS_PACKED; i++)
		if (p->cols[i].at != p->cols[i].end)
			return -EBADMSG;
	return 0;
}

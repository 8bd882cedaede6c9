/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/agent/mark_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "record/record.h"

static struct espy_chunk *chunk_at(const struct espy_agent_ring *r, uint32_t i)
{
	return (struct espy_chunk *)(void *)(r->map + r->data_off + (size_t)i * r->chunk_sz);
}

static uint64_t *free_word(const struct espy_agent_ring *r, uint32_t i)
{
	return (uint64_t *)(void *)(r->map + ESPY_RING_FREE_OFF) + i / 64;
}

static uint64_t load64(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

int espy_agent_ring__open(struct espy_agent_ring *r, void *map, size_t size, const struct espy_agent_opened *o)
{
	const struct espy_ring *head = map;

	*r = (struct espy_agent_ring){ .map = map, .size = size, .chunk_sz = o->chunk_sz, .nchunks = o->nchunks };
	if (size < ESPY_RING_FREE_OFF || o->chunk_sz < 4096 || o->chunk_sz > ESPY_RING_CHUNK_MAX ||
	    o->chunk_sz & (o->chunk_sz - 1) || !o->nchunks || o->nchunks > 65536)
		return -EPROTO;
	r->data_off = head->data_off;
	/* The bitmap before, all chunks behind. */
	if (head->magic != ESPY_RING_MAGIC || head->abi != ESPY_AGENT_ABI || r->data_off % 4096 ||
	    r->data_off < ESPY_RING_FREE_OFF + (o->nchunks + 63) / 64 * 8 || r->data_off > size ||
	    (uint64_t)o->chunk_sz * o->nchunks > size - r->data_off)
		return -EPROTO;
	r->done = calloc(o->nchunks, sizeof(*r->done));
	r->open = calloc((o->nchunks + 63) / 64, sizeof(*r->open));
	r->cursors = calloc(o->nchunks, sizeof(*r->cursors));
	if (!r->done || !r->open || !r->cursors) {
		espy_agent_ring__close(r);
		return -ENOMEM;
	}
	return 0;
}

void espy_agent_ring__close(struct espy_agent_ring *r)
{
	free(r->done);
	free(r->open);
	free(r->cursors);
	*r = (struct espy_agent_ring){ 0 };
}

/* The chunk is the program's again. */
static void give_back(struct espy_agent_ring *r, struct espy_ring_cursor *c)
{
	r->done[c->chunk] = c->seq;
	r->open[c->chunk / 64] &= ~(1ull << (c->chunk % 64));
	__atomic_fetch_or(free_word(r, c->chunk), 1ull << (c->chunk % 64), __ATOMIC_RELEASE);
}

static bool refresh_shared(struct espy_agent_ring *r, struct espy_ring_cursor *c);

bool espy_agent_ring__refresh(struct espy_agent_ring *r, struct espy_ring_cursor *c)
{
	const struct espy_chunk *chunk = chunk_at(r, c->chunk);
	const uint8_t *bytes = (const uint8_t *)chunk;
	/* Before the head word: what was written before the chunk was closed is then seen. */
	const uint32_t closed = __atomic_load_n(&chunk->closed, __ATOMIC_ACQUIRE), end = chunk->end;
	uint32_t word;

	if (c->shared)
		return refresh_shared(r, c);
	if (c->ready)
		return true;
	if (c->pos + sizeof(struct espy_mark_record) > r->chunk_sz)
		word = 0;
	else
		word = __atomic_load_n((const uint32_t *)(const void *)(bytes + c->pos), __ATOMIC_ACQUIRE);
	if (!word) {
		/* A closed chunk whose records end further on: one is reserved and not begun. */
		if (!closed || (end > c->pos && end <= r->chunk_sz))
			return true;
		if (end != c->pos)
			r->damaged++;
		give_back(r, c);
		return false;
	}
	if (word & ESPY_RECORD_BUSY)
		return true;
	if (word < sizeof(struct espy_mark_record) || word % 8 || word > r->chunk_sz - c->pos) {
		/* Nothing behind this can be found. */
		r->damaged++;
		give_back(r, c);
		return false;
	}
	struct espy_mark_record rec;

	memcpy(&rec, bytes + c->pos, sizeof(rec));
	c->size = word;
	c->def = rec.def;
	c->time = rec.time;
	c->ready = true;
	return true;
}

/* The same in a shared chunk: what is whole lies below its end, and each record has a word more, for its thread. */
static bool refresh_shared(struct espy_agent_ring *r, struct espy_ring_cursor *c)
{
	const struct espy_chunk *chunk = chunk_at(r, c->chunk);
	const uint32_t closed = __atomic_load_n(&chunk->closed, __ATOMIC_ACQUIRE);
	const uint32_t end = __atomic_load_n(&chunk->end, __ATOMIC_ACQUIRE);
	struct espy_shared_record rec = { 0 };

	if (c->ready || (end == c->pos && !closed))
		return true;
	if (end >= c->pos && end <= r->chunk_sz && end - c->pos >= sizeof(rec))
		memcpy(&rec, (const uint8_t *)chunk + c->pos, sizeof(rec));
	if (rec.mark.size_busy < sizeof(rec) || rec.mark.size_busy % 8 || rec.mark.size_busy > end - c->pos) {
		if (end != c->pos)
			r->damaged++;
		give_back(r, c);
		return false;
	}
	c->size = rec.mark.size_busy - 8;
	c->pos += 8;
	c->def = rec.mark.def;
	c->time = rec.mark.time;
	c->tid = rec.tid;
	c->ready = true;
	return true;
}

static void begin(struct espy_agent_ring *r, uint32_t i, uint64_t seq)
{
	const struct espy_chunk *chunk = chunk_at(r, i);

	r->open[i / 64] |= 1ull << (i % 64);
	r->cursors[r->cursor_cnt++] = (struct espy_ring_cursor){
		.chunk = i,
		.pos = ESPY_CHUNK_HEAD,
		.tid = __atomic_load_n(&chunk->tid, __ATOMIC_RELAXED),
		.lost_before = __atomic_load_n(&chunk->lost_before, __ATOMIC_RELAXED),
		.seq = seq,
		.shared = __atomic_load_n(&chunk->kind, __ATOMIC_RELAXED) == ESPY_CHUNK_SHARED,
	};
}

void espy_agent_ring__look(struct espy_agent_ring *r)
{
	size_t kept = 0;

	/* Before new ones: a chunk that was given back may have been taken again already. */
	for (size_t i = 0; i < r->cursor_cnt; i++)
		if (!r->cursors[i].over)
			r->cursors[kept++] = r->cursors[i];
	r->cursor_cnt = kept;
	for (uint32_t w = 0; w < (r->nchunks + 63) / 64; w++) {
		uint64_t taken = ~load64(free_word(r, w * 64)) & ~r->open[w];

		if (r->nchunks - w * 64 < 64)
			taken &= (1ull << (r->nchunks - w * 64)) - 1;
		for (; taken; taken &= taken - 1) {
			uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(taken);
			uint64_t seq = load64((const uint64_t *)&chunk_at(r, i)->seq);

			if (seq && seq != r->done[i])
				begin(r, i, seq);
		}
	}
	kept = 0;
	for (size_t i = 0; i < r->cursor_cnt; i++)
		if (espy_agent_ring__refresh(r, &r->cursors[i]))
			r->cursors[kept++] = r->cursors[i];
	r->cursor_cnt = kept;
}

void espy_agent_ring__bury(struct espy_agent_ring *r)
{
	for (size_t i = 0; i < r->cursor_cnt; i++) {
		struct espy_ring_cursor *c = &r->cursors[i];
		const uint8_t *bytes = (const uint8_t *)chunk_at(r, c->chunk);

		if (c->over)
			continue;
		if (!c->shared && c->pos + sizeof(struct espy_mark_record) <= r->chunk_sz &&
		    __atomic_load_n((const uint32_t *)(const void *)(bytes + c->pos), __ATOMIC_ACQUIRE) &
			    ESPY_RECORD_BUSY)
			r->torn++;
		give_back(r, c);
	}
	r->cursor_cnt = 0;
}

void espy_agent_ring__losses(const struct espy_agent_ring *r, struct espy_ring_losses *out)
{
	const struct espy_ring *head = (const void *)r->map;

	*out = (struct espy_ring_losses){
		.full = load64((const uint64_t *)&head->lost_full),
		.big = load64((const uint64_t *)&head->lost_big),
		.slot = load64((const uint64_t *)&head->lost_slot),
		.early = load64((const uint64_t *)&head->lost_early),
	};
}

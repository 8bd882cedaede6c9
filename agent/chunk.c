// SPDX-License-Identifier: LGPL-2.1-or-later
// The pieces of a ring: how they are taken from the pool, begun and ended. On the event path, so by its rules
// (event.c).
#include "inside.h"

#include <linux/futex.h>
#include <sys/syscall.h>

int chunk_take_from(const struct ring *ring, uint32_t from)
{
	for (uint32_t i = 0; i <= ring->nwords; i++) {
		uint32_t w = from / 64 + i < ring->nwords ? from / 64 + i : from / 64 + i - ring->nwords;
		uint64_t bits = __atomic_load_n(&ring->free[w], __ATOMIC_RELAXED);

		if (!i)
			bits &= ~0ull << (from % 64);
		while (bits) {
			uint32_t bit = (uint32_t)__builtin_ctzll(bits);
			uint64_t mask = (uint64_t)1 << bit;

			if (__atomic_fetch_and(&ring->free[w], ~mask, __ATOMIC_ACQ_REL) & mask)
				return (int)(w * 64 + bit);
			bits &= ~mask;
		}
	}
	return -1;
}

// Takes the lowest: the last emptied chunks are still in the cache.
int chunk_take(const struct ring *ring)
{
	const int chunk = ring->hand ? newest_take(ring) : chunk_take_from(ring, 0);

	if (chunk >= 0)
		__atomic_store_n(&((struct espy_chunk *)chunk_at(ring, (uint32_t)chunk))->seq, 0, __ATOMIC_RELEASE);
	return chunk;
}

void chunk_begin(const struct ring *ring, struct espy_chunk *c)
{
	c->pid = live->on;
	__atomic_store_n(&c->seq, __atomic_add_fetch(&ring->shared->seq, 1, __ATOMIC_RELAXED), __ATOMIC_RELEASE);
}

static void wake_reader(struct espy_ring *shared)
{
	if (__atomic_load_n(&shared->waiting, __ATOMIC_RELAXED) != 1)
		return;
	__atomic_store_n(&shared->waiting, 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->wake, 1, __ATOMIC_RELEASE);
	sys(SYS_futex, (long)&shared->wake, FUTEX_WAKE, 1, 0, 0, 0);
}

void chunk_end(const struct ring *ring, struct espy_chunk *c)
{
	__atomic_store_n(&c->closed, 1, __ATOMIC_RELEASE);
	wake_reader(ring->shared);
}

static void end_own(const struct ring *ring, uint64_t cur)
{
	struct espy_chunk *c = (void *)chunk_at(ring, CUR_CHUNK(ring, cur));

	c->end = CUR_HEAD(ring, cur);
	chunk_end(ring, c);
	if (ring->hand)
		newest_give(ring, CUR_CHUNK(ring, cur));
}

// With none free, the full one is given up: else, with as many threads as chunks, all would keep a full one for ever.
static void give_up(struct thread *me, const struct ring *ring, uint64_t cur)
{
	if (!CUR_HEAD(ring, cur) || !replace_local(&me->cur[ring->slot], cur, (cur & ~(CUR_TAG - 1)) + CUR_TAG))
		return;
	__atomic_fetch_sub(&live->owners[ring->slot], 1, __ATOMIC_RELAXED);
	end_own(ring, cur);
}

// A signal handler may come in between at any place and do the same: then its chunk stays and ours goes to the reader
// empty.
int chunk_next(struct thread *me, const struct ring *ring, uint64_t cur)
{
	struct espy_chunk *c;
	uint64_t next;
	int bit;

	bit = chunk_take(ring);
	if (bit < 0) {
		give_up(me, ring, cur);
		return 0;
	}
	c = (void *)chunk_at(ring, (uint32_t)bit);
	clear_words((uint64_t *)c + 1, ring->chunk_sz / 8 - 1);
	c->tid = me->tid;
	c->lost_before = me->lost[ring->slot];
	chunk_begin(ring, c);
	next = ((cur & ~(CUR_TAG - 1)) + CUR_TAG) | (uint32_t)bit << ring->chunk_shift | ESPY_CHUNK_HEAD;
	if (!replace_local(&me->cur[ring->slot], cur, next)) {
		c->lost_before = 0;
		end_own(ring, next);
		return 1;
	}
	me->lost[ring->slot] -= (uint32_t)c->lost_before;
	if (CUR_HEAD(ring, cur))
		end_own(ring, cur);
	else
		__atomic_fetch_add(&live->owners[ring->slot], 1, __ATOMIC_RELAXED);
	return 1;
}

void chunk_disown(struct thread *t, const struct ring *ring)
{
	uint64_t cur = t->cur[ring->slot];

	if (CUR_HEAD(ring, cur) && CUR_CHUNK(ring, cur) < ring->nchunks) {
		end_own(ring, cur);
		__atomic_fetch_sub(&live->owners[ring->slot], 1, __ATOMIC_RELAXED);
	}
	t->cur[ring->slot] = 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
// The ring of a flight recorder: it has no reader, and threads take chunks in turn, the oldest first. Part of the event
// path (event.c), once for each chunk.
#include "inside.h"

// Counts the records of a chunk, whatever bytes stand there. -1: a thread is in the middle of one (in a signal handler,
// and will go on with it).
static int64_t count(const struct ring *ring, const struct espy_chunk *c, uint64_t *last)
{
	const uint8_t *bytes = (const uint8_t *)c;
	uint32_t end = __atomic_load_n(&c->end, __ATOMIC_ACQUIRE), pos = ESPY_CHUNK_HEAD;
	int64_t n = 0;

	if (end > ring->chunk_sz)
		end = ring->chunk_sz;
	while (pos + sizeof(struct espy_mark_record) <= end) {
		const struct espy_mark_record *r = (const void *)(bytes + pos);
		uint32_t size = __atomic_load_n(&r->size_busy, __ATOMIC_ACQUIRE);

		if (!size || size & ESPY_RECORD_BUSY)
			return -1;
		if (size < sizeof(*r) || size % 8 || size > end - pos)
			break;
		*last = r->time;
		pos += size;
		n++;
	}
	return n;
}

int newest_take(const struct ring *ring)
{
	// as many times as there may be chunks with a record that is being written
	for (uint32_t tries = 0; tries < 64; tries++) {
		int chunk = chunk_take_from(ring, __atomic_load_n(ring->hand, __ATOMIC_RELAXED) % ring->nchunks);
		struct espy_chunk *c;
		uint64_t last = 0;
		__u64 latest;
		int64_t n;

		if (chunk < 0)
			return -1;
		__atomic_store_n(ring->hand, (uint32_t)chunk + 1, __ATOMIC_RELAXED);
		c = (void *)chunk_at(ring, (uint32_t)chunk);
		if (!__atomic_load_n(&c->seq, __ATOMIC_RELAXED))
			return chunk;
		n = count(ring, c, &last);
		if (n < 0) {
			newest_give(ring, (uint32_t)chunk);
			continue;
		}
		__atomic_store_n(&c->closed, 2, __ATOMIC_RELEASE);
		__atomic_fetch_add(&ring->shared->overwritten, (uint64_t)n, __ATOMIC_RELEASE);
		latest = __atomic_load_n(&ring->shared->over_time, __ATOMIC_RELAXED);
		while (latest < last && !__atomic_compare_exchange_n(&ring->shared->over_time, &latest, last, 0,
								     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
		return chunk;
	}
	return -1;
}

void newest_give(const struct ring *ring, uint32_t chunk)
{
	__atomic_fetch_or(&ring->free[chunk / 64], (uint64_t)1 << (chunk % 64), __ATOMIC_RELEASE);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Room for a record in a thread's own chunk, taken and filled: the middle of the event path, for event.c and
 * probe_hit.c. */
#ifndef ESPY_AGENT_EVENT_ROOM_H
#define ESPY_AGENT_EVENT_ROOM_H

#include "inside.h"

static inline void lose(struct thread *me, const struct ring *ring, __u64 *count)
{
	__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
	me->lost[ring->slot]++;
}

// room: of a chunk, less the record. No chunk is an offset of 0 in one, which wraps to above any room.
static inline __attribute__((always_inline)) int is_full(const struct wanted *w, uint64_t cur, uint32_t room)
{
	return (((uint32_t)cur - ESPY_CHUNK_HEAD) & w->head_mask) > room;
}

// The time of the event is known; is to be read, as the TSC; is to be read by whatever clock there is, unless it is
// known.
enum clock { CLOCK_KNOWN, CLOCK_TSC, CLOCK_ONCE };

// The place of a record of at most half a chunk in the thread's own. 0: not at the first try; *time is unchanged then.
// The time is read between finding the place and taking it, so that times rise within a chunk.
static inline __attribute__((always_inline)) int try_reserve(struct thread *me, const struct wanted *w, uint64_t size,
							     uint32_t room, enum clock clock, uint64_t *time,
							     struct espy_mark_record **r)
{
	uint64_t *place = (void *)((uint8_t *)me + w->cur_off);
	uint64_t cur = __atomic_load_n(place, __ATOMIC_RELAXED), t = *time;

	if (unlikely(is_full(w, cur, room)))
		return 0;
	if (clock == CLOCK_TSC)
		t = espy_code_ticks();
	else if (clock == CLOCK_ONCE && !t)
		t = read_time();
	if (unlikely(!replace_local(place, cur, cur + size)))
		return 0;
	*time = t;
	*r = (void *)(w->data + CUR_OFF(cur));
	return 1;
}

// The same, in another chunk if need be. NULL: there is none.
static inline struct espy_mark_record *reserve(struct thread *me, const struct wanted *w, uint32_t size, uint32_t room,
					       uint64_t *time)
{
	const struct ring *ring = w->ring;

	for (;;) {
		struct espy_mark_record *r;
		uint64_t cur;

		if (likely(try_reserve(me, w, size, room, CLOCK_ONCE, time, &r)))
			return r;
		cur = __atomic_load_n(&me->cur[ring->slot], __ATOMIC_RELAXED);
		if (is_full(w, cur, room) && (share_wanted(me, ring) || !chunk_next(me, ring, cur)))
			return NULL;
	}
}

// As long as this stands there, the rest is being written.
static inline __attribute__((always_inline)) void begin(struct espy_mark_record *r, uint64_t size_def, uint64_t time)
{
	*(volatile uint64_t *)r = size_def | ESPY_RECORD_BUSY;
	r->time = time;
}

static inline void commit(struct espy_mark_record *r, uint32_t size)
{
	__atomic_store_n(&r->size_busy, size, __ATOMIC_RELEASE);
}

// The words from byte `i` to byte `end`. By an index: gcc makes `movsq` of two pointers that rise, which is several
// times as slow.
static inline __attribute__((always_inline)) void copy_words(void *to, const void *from, uint64_t i, uint64_t end)
{
	for (; i < end; i += 8)
		*(uint64_t *)((uint8_t *)to + i) = *(const uint64_t *)((const uint8_t *)from + i);
}

// Two at a time.
static inline __attribute__((always_inline)) void copy_pairs(void *to, const void *from, uint64_t i, uint64_t end)
{
	uint8_t *t = to;
	const uint8_t *f = from;

	if ((i ^ end) & 8) {
		*(uint64_t *)(t + i) = *(const uint64_t *)(f + i);
		i += 8;
	}
	for (; i < end; i += 16) {
		uint64_t a = *(const uint64_t *)(f + i), b = *(const uint64_t *)(f + i + 8);

		*(uint64_t *)(t + i) = a;
		*(uint64_t *)(t + i + 8) = b;
	}
}

// From outside seq tells that a thread that seems to be always in here was out in between; not when a signal handler in
// the middle of it leaves.
static inline void leave(struct thread *me)
{
	barrier();
	if (--me->depth == 0)
		me->seq++;
}

#endif

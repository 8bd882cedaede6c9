/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way of records into rings: takes room for a record, publishes it or gives it up, wakes the reader, tells losses.
 * This file has two forms, and the object is compiled once with each:
 *
 *	one ring of the kernel's for all CPUs, or
 *	ESPY_OWN_RINGS: a ring of our own per CPU, see shared.h, either read as it is written or, as a flight recorder,
 *	overwritten without end.
 *
 * In a ring of our own several writers may be at work at once: a signal is told from an interrupt in the midst of a
 * call. Each takes its room by one atomic addition and publishes its record by writing the mark before it. A writer
 * takes the time of a record after its room. So once the reader has seen how far a ring is taken, no record older than
 * that moment can come there.
 */
#ifndef ESPY_OUT_BPF_H
#define ESPY_OUT_BPF_H

#include "maps.bpf.h"

/* Counts a record that found no room. Returns 0: the caller is done with it. */
static __always_inline int ring_full(void)
{
	lose(ESPY_LOST_RING_FULL);
	return 0;
}

static __always_inline void wake_now(void)
{
	void *r;

	r = bpf_ringbuf_reserve(&espy_ring, 8, 0);
	if (r)
		bpf_ringbuf_discard(r, BPF_RB_FORCE_WAKEUP);
}

#ifndef ESPY_OWN_RINGS

#define OWN_RINGS false

static __always_inline void *spare_ring(void)
{
	u32 zero = 0;

	return shared.spare ? bpf_map_lookup_elem(&espy_spare, &zero) : NULL;
}

/*
 * Takes room in the spare ring. It asks for the place in the first ring before: later records of the same task in the
 * first ring lie at that place or behind it.
 */
#define SPARE_RESERVE(size)                                                                                            \
	({                                                                                                             \
		void *spare = spare_ring(), *aside = NULL;                                                             \
		if (spare) {                                                                                           \
			u64 pos = bpf_ringbuf_query(&espy_ring, BPF_RB_PROD_POS);                                      \
			aside = bpf_ringbuf_reserve(spare, (size) + ESPY_BPF_SPARE_TAIL, 0);                           \
			if (aside)                                                                                     \
				*(u64 *)(aside + (size)) = pos;                                                        \
		}                                                                                                      \
		aside;                                                                                                 \
	})

/* Takes room for a record. `max` is known when the program is loaded; `size` bytes suffice. */
#define OUT_RESERVE(max, size)                                                                                         \
	({                                                                                                             \
		void *room = bpf_ringbuf_reserve(&espy_ring, (max), 0);                                                \
		room ? room : SPARE_RESERVE(max);                                                                      \
	})

/* The same for the programs of the hot path, which leave the call to the general path where there is a spare ring. */
#define FAST_RESERVE(max, size) bpf_ringbuf_reserve(&espy_ring, (max), 0)

/* The hot path found no room. Returns 1 if the general path may find some. */
static __always_inline int fast_full(void)
{
	return shared.spare ? 1 : ring_full();
}

/*
 * Takes room for a record that must not be lost while calls are: in the ring of all records, else in the ring for such
 * records. There its place stands behind it.
 */
#define TASK_RESERVE(size)                                                                                             \
	({                                                                                                             \
		void *life = OUT_RESERVE(size, size);                                                                  \
		if (!life) {                                                                                           \
			void *full = spare_ring();                                                                     \
			struct espy_bpf_place place = { bpf_ringbuf_query(&espy_ring, BPF_RB_PROD_POS),                \
							full ? bpf_ringbuf_query(full, BPF_RB_PROD_POS) : 0 };         \
			life = bpf_ringbuf_reserve(&espy_task_ring, (size) + sizeof(place), 0);                        \
			if (life)                                                                                      \
				*(struct espy_bpf_place *)(life + (size)) = place;                                     \
		}                                                                                                      \
		life;                                                                                                  \
	})

static __always_inline void out_submit(void *rec)
{
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
}

/* The same, of a record that may have become shorter than the room taken for it. */
static __always_inline void out_submit_short(void *rec, u64 size)
{
	out_submit(rec);
}

static __always_inline void out_discard(void *rec)
{
	bpf_ringbuf_discard(rec, BPF_RB_NO_WAKEUP);
}

/*
 * Copies a finished record into the ring. Takes its time now, if time_before_copy() has not. The size is bounded, and
 * the memory has room for ESPY_BPF_SPARE_TAIL bytes behind the record.
 */
static __always_inline int out_copy(struct espy_rec *rec, u64 size)
{
	int err = bpf_ringbuf_output(&espy_ring, rec, size, BPF_RB_NO_WAKEUP);
	void *spare = err ? spare_ring() : NULL;

	if (!spare)
		return err;
	*(u64 *)((void *)rec + size) = bpf_ringbuf_query(&espy_ring, BPF_RB_PROD_POS);
	return bpf_ringbuf_output(spare, rec, size + ESPY_BPF_SPARE_TAIL, BPF_RB_NO_WAKEUP);
}

static __always_inline u64 time_before_copy(void)
{
	return now_if(conf.needs.times);
}

/* Returns the number of unread bytes in the ring that the next record would go to. */
static __always_inline u64 out_unread(void)
{
	return bpf_ringbuf_query(&espy_ring, BPF_RB_AVAIL_DATA);
}

static __always_inline void not_an_event(void)
{
}

/*
 * After a record: wakes a sleeping reader by an empty, discarded record. The program looks at the flag after it has
 * committed the record. The reader sets the flag before its last look at the ring.
 */
static __always_inline void wake_reader(void)
{
	if (shared.want) {
		shared.want = 0;
		wake_now();
	}
}

#else

#define OWN_RINGS true
#define ONE_RECORD (1ull << ESPY_BPF_POS_BITS)

/* CPUs that have come since share the first ring. */
static __always_inline u32 own_ring(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return cpu < conf.rings.cnt ? cpu : 0;
}

#define OWN_HEAD(ring) (&shared.heads[(ring) & (ESPY_BPF_RINGS_MAX - 1)])

/* Takes room for a mark and `size` bytes, a multiple of 8. room: so many units may be taken and unread. */
static __always_inline void *own_reserve(u64 size, u64 room)
{
	u32 ring = own_ring(), chunk;
	struct espy_bpf_head *h = OWN_HEAD(ring);
	u64 bytes = size + ESPY_BPF_UNIT, add = bytes / ESPY_BPF_UNIT + ONE_RECORD, head, off;
	u8 *at;

	if (conf.rings.flight) {
		head = __sync_fetch_and_add(&h->head, add);
		if (head >> ESPY_BPF_POS_BITS == 0xffff)
			__sync_fetch_and_add(&h->turns, 1);
	} else {
		u32 tries = 0;
		s64 unread;

		do {
			head = *(volatile u64 *)&h->head;
			/* Signed: after an interrupt here the reader may be ahead of the value read. */
			unread = (head & ESPY_BPF_POS_MASK) + bytes / ESPY_BPF_UNIT - *(volatile u64 *)&h->consumer;
			if (unread > (s64)room)
				return NULL;
			if (++tries < 8)
				continue;
			/* Interrupted each time. What else may come between the look and the step fits in half of the room. */
			if (unread > (s64)(room >> 1))
				return NULL;
			head = __sync_fetch_and_add(&h->head, add);
			break;
		} while (__sync_val_compare_and_swap(&h->head, head, head + add) != head);
	}
	head &= ESPY_BPF_POS_MASK;
	chunk = ring << conf.rings.chunks_shift | (head * ESPY_BPF_UNIT >> conf.rings.chunk_shift & ((1u << conf.rings.chunks_shift) - 1));
	at = bpf_map_lookup_elem(&espy_chunks, &chunk);
	if (!at)
		return NULL; /* there is no such chunk */
	off = head * ESPY_BPF_UNIT & ((1u << conf.rings.chunk_shift) - 1);
	at += off;
	*(u64 *)at = (head + conf.rings.secret) << 32 | ESPY_BPF_MARK_BUSY | bytes;
	return at + ESPY_BPF_UNIT;
}

#define OUT_RESERVE(max, size) own_reserve(size, conf.rings.room_calls)
#define FAST_RESERVE(max, size) OUT_RESERVE(max, size)
#define TASK_RESERVE(size) own_reserve(size, conf.rings.room_tasks)

static __always_inline int fast_full(void)
{
	return ring_full();
}

/* Publishing orders the record before its mark, and the mark before the look at shared.want. */
static __always_inline void own_publish(void *rec, u64 mark)
{
	u64 *at = rec - ESPY_BPF_UNIT;

	asm volatile("" ::: "memory");
	if (conf.rings.flight) {
		*(volatile u64 *)at = mark;
		__sync_fetch_and_add(&OWN_HEAD(own_ring())->ended, 1);
	} else
		__sync_lock_test_and_set(at, mark);
}

#define OWN_MARK(rec) (*(u64 *)((rec) - ESPY_BPF_UNIT))

static __always_inline void out_submit(void *rec)
{
	own_publish(rec, OWN_MARK(rec) & ~(u64)ESPY_BPF_MARK_BUSY);
}

/* Gives the last bytes of the room back, if nothing was taken behind it since. Returns false if it could not. */
static __always_inline bool own_give_back(u64 mark, u64 bytes, u64 records)
{
	struct espy_bpf_head *h = OWN_HEAD(own_ring());
	u64 head = *(volatile u64 *)&h->head;
	u32 end = (u32)(mark >> 32) - conf.rings.secret + (u32)(mark & ~ESPY_BPF_MARK_BUSY) / ESPY_BPF_UNIT;

	if ((u32)head != end ||
	    __sync_val_compare_and_swap(&h->head, head, head - bytes / ESPY_BPF_UNIT - records) != head)
		return false;
	if (records && !(head >> ESPY_BPF_POS_BITS))
		__sync_fetch_and_add(&h->turns, -1);
	return true;
}

static __always_inline void out_submit_short(void *rec, u64 size)
{
	u64 mark = OWN_MARK(rec), spare = (u32)(mark & ~(u64)ESPY_BPF_MARK_BUSY) - ESPY_BPF_UNIT - size;

	if (spare && own_give_back(mark, spare, 0))
		mark -= spare;
	own_publish(rec, mark & ~(u64)ESPY_BPF_MARK_BUSY);
}

/* Counts the record just begun as no event. */
static __always_inline void not_an_event(void)
{
	__sync_fetch_and_add(&OWN_HEAD(own_ring())->others, 1);
}

static __always_inline void out_discard(void *rec)
{
	u64 mark = OWN_MARK(rec);

	if (own_give_back(mark, (u32)(mark & ~(u64)ESPY_BPF_MARK_BUSY), ONE_RECORD))
		return;
	not_an_event();
	own_publish(rec, (mark & ~(u64)ESPY_BPF_MARK_BUSY) | ESPY_BPF_MARK_GIVEN_UP);
}

static __always_inline int out_copy(struct espy_rec *rec, u64 size)
{
	void *to = own_reserve(size, conf.rings.room_calls);

	if (!to)
		return -1;
	rec->time_ns = bpf_ktime_get_ns();
	CLAMP(size, ESPY_BPF_ITEMS_MAX);
	bpf_probe_read_kernel(to, size, rec);
	out_submit(to);
	return 0;
}

static __always_inline u64 time_before_copy(void)
{
	return 0;
}

/* Returns the number of unread bytes in this CPU's ring. */
static __always_inline u64 out_unread(void)
{
	struct espy_bpf_head *h = OWN_HEAD(own_ring());
	u64 read = *(volatile u64 *)&h->consumer; /* read first: so it is never ahead of head */

	return conf.rings.flight ? 0 : ((*(volatile u64 *)&h->head & ESPY_BPF_POS_MASK) - read) * ESPY_BPF_UNIT;
}

static __always_inline void wake_reader(void)
{
	if (!conf.rings.flight && shared.want) {
		shared.want = 0;
		wake_now();
	}
}

#endif

/*
 * After a record: tells whether to hold a task that is about to run on in user space, because too much is unread. The
 * room above shared.high suffices for the records that all other tasks have on their way. Leaves the reason for the
 * next program in the row.
 */
static __always_inline bool must_wait(void)
{
	if (!conf.hold.room || out_unread() < shared.high)
		return false;
	shared.pause_why[bpf_get_smp_processor_id() & 1023] = ESPY_PAUSE_RING_FULL + 1;
	return true;
}

/*
 * The same after a call of the hot path, where a task asks once in a while. Tasks that share a count ask less often
 * each, but the one that asks is held, and the others then ask in its place.
 */
static __always_inline bool must_wait_fast(struct task_struct *task)
{
	if (!conf.hold.room)
		return false;
	return !(++shared.unasked[task->pid & (ESPY_BPF_UNASKED_CNT - 1)].calls & (ESPY_BPF_ASK_EVERY - 1)) &&
	       must_wait();
}

/* Sends a record of the losses for one reason, if there are any. Returns 0 if it finds no room. */
__noinline int say_lost_by(u32 tid, u32 tgid, u32 reason)
{
	const u32 i = reason & (ESPY_LOST_REASONS - 1);
	struct espy_rec_lost *rec;
	u64 count;

	if (!shared.lost[i])
		return 1;
	rec = OUT_RESERVE(sizeof(*rec), sizeof(*rec));
	if (!rec)
		return 0;
	count = __sync_lock_test_and_set(&shared.lost[i], 0);
	if (!count) { /* the reader was faster */
		out_discard(rec);
		return 1;
	}
	not_an_event();
	*(u32 *)&rec->rec = ESPY_REC_FIRST_WORD(sizeof(*rec), ESPY_ABI_NATIVE, ESPY_REC_LOST);
	rec->rec.flags = 0;
	rec->rec.nr = i;
	rec->rec.tid = tid;
	rec->rec.tgid = tgid;
	rec->rec.time_ns = now_if(conf.needs.times);
	rec->count = count;
	out_submit(rec);
	return 1;
}

/* Sends the records of all losses. Returns false if it finds no room. */
__noinline int say_lost(u32 tid, u32 tgid)
{
	shared.attention = 0;
	for (u32 i = 0; i < ESPY_LOST_REASONS; i++) {
		if (!say_lost_by(tid, tgid, i)) {
			shared.attention = 1;
			return 0;
		}
	}
	return 1;
}

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
// When threads are many: chunks that they share. On the event path, so by its rules (event.c).
//
// A CPU's chunk is written by the thread that runs on it, as one restartable sequence for each record (rseq.S): a thread that
// is preempted or interrupted in the middle begins anew, and one that is killed there has written nothing. So no thread
// ever waits for another one, however many there are, no record is torn, and times rise within a chunk.
//
// Where there is no rseq (before glibc 2.35, or in a thread that has none) a thread claims one of a few other chunks
// for the length of its record: a locked exchange more, and a thread that is preempted in the middle keeps a chunk from
// others, which then take the next.
#include "inside.h"
#include "event_text.h"

#include <sys/syscall.h>

#define TRIES 32

// as rseq.S has them
_Static_assert(offsetof(struct espy_chunk, end) == 20 && offsetof(struct place, last) == 8, "");
_Static_assert(offsetof(struct rseq_write, ncpus) == 16 && offsetof(struct rseq_write, size_def) == 24 &&
		       offsetof(struct rseq_write, tid) == 32 && offsetof(struct rseq_write, pieces) == 48 &&
		       offsetof(struct rseq_write, verified) == 64 && offsetof(struct rseq_write, chunk) == 80 &&
		       offsetof(struct rseq_write, cpu) == 88,
	       "");

// A vfork child has everything of its parent's, also the struct rseq with the CPU it was on, but the kernel does not
// restart its sequences. Only a call can tell. But making such a child takes longer than this, so a thread that was
// itself so little before is itself still.
#define GAP_TICKS 8192u // a third of what was measured from vfork to the child's first instruction
#define GAP_NS 2000u

static void *my_rseq(void)
{
	return thread_pointer() + live->rseq_off;
}

static int is_myself(struct thread *me)
{
	uint32_t tid = (uint32_t)sys(SYS_gettid, 0, 0, 0, 0, 0, 0);

	if (tid != me->tid) {
		if ((uint32_t)sys(SYS_getpid, 0, 0, 0, 0, 0, 0) != live->on)
			return 0;
		me->tid = tid; // its vfork child was here first
	}
	me->verified = read_time();
	return 1;
}

// NULL: none is free.
static struct espy_chunk *take(const struct ring *ring)
{
	int bit = chunk_take(ring);
	struct espy_chunk *c;

	if (bit < 0)
		return NULL;
	c = (void *)chunk_at(ring, (uint32_t)bit);
	*c = (struct espy_chunk){ .kind = ESPY_CHUNK_SHARED, .end = ESPY_CHUNK_HEAD };
	c->lost_before = __atomic_exchange_n(&live->shared_lost[ring->slot], 0, __ATOMIC_RELAXED);
	chunk_begin(ring, c);
	return c;
}

// Another chunk for the CPU. 0: none is free. If another thread was faster, or this one is on another CPU by now, ours
// goes to the reader empty.
static int next_of_cpu(const struct ring *ring, const struct rseq_write *w)
{
	struct espy_chunk *c = take(ring);

	if (!c)
		return 0;
	if (!espy_agent_rseq_swap(w->rseq, &live->cpus[w->cpu].place[ring->slot].chunk, w->cpu, w->chunk, c))
		chunk_end(ring, c);
	else if (w->chunk)
		chunk_end(ring, w->chunk);
	return 1;
}

static int lose(const struct ring *ring)
{
	__atomic_fetch_add(&ring->shared->lost_full, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&live->shared_lost[ring->slot], 1, __ATOMIC_RELAXED);
	return 0;
}

// Into a place that is ours for now.
static int write_claimed(const struct ring *ring, struct place *place, struct rseq_write *w)
{
	struct espy_shared_record *r;
	struct espy_chunk *c = place->chunk;
	// espy can write there what it likes: it is read once, and any value that passes is inside
	uint32_t head = c ? __atomic_load_n(&c->end, __ATOMIC_RELAXED) : 0;
	uint8_t *p;

	if (head - ESPY_CHUNK_HEAD > w->limit) {
		c = take(ring);
		if (!c)
			return lose(ring);
		if (place->chunk)
			chunk_end(ring, place->chunk);
		place->chunk = c;
		head = ESPY_CHUNK_HEAD;
	}
	if (!w->time || w->time < place->last)
		w->time = read_time();
	if (w->time < place->last) // the processor may read it before we have the place, and another CPU's may be ahead
		w->time = place->last;
	place->last = w->time;
	r = (void *)((uint8_t *)c + head);
	r->mark.size_busy = (uint32_t)w->size_def;
	r->mark.def = (uint32_t)(w->size_def >> 32);
	r->mark.time = w->time;
	r->tid = (uint32_t)w->tid;
	r->reserved = 0;
	p = (uint8_t *)(r + 1);
	for (const struct piece *piece = w->pieces; piece < w->pieces_end; piece++) {
		text_copy((uint64_t *)p, piece->from, (uint32_t)piece->len);
		p += (piece->len + 7) & ~7ull;
	}
	__atomic_store_n(&c->end, head + (uint32_t)w->size_def, __ATOMIC_RELEASE);
	return 1;
}

static int write_claim(struct thread *me, const struct ring *ring, struct rseq_write *w)
{
	for (uint32_t i = 0; i < ring->nclaims; i++) {
		struct claim *claim = &live->claims[ring->slot][(me->tid + i) % ring->nclaims];
		uint32_t none = 0;
		int done;

		if (__atomic_load_n(&claim->owner, __ATOMIC_RELAXED) ||
		    !__atomic_compare_exchange_n(&claim->owner, &none, me->tid, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		done = write_claimed(ring, &claim->place, w);
		__atomic_store_n(&claim->owner, 0, __ATOMIC_RELEASE);
		return done;
	}
	return lose(ring);
}

// What was not done at once. how: the first try's answer.
static __attribute__((noinline)) int write_on(struct thread *me, const struct ring *ring, struct rseq_write *w, int how)
{
	for (uint32_t tries = 0; how != RSEQ_NO_CPU && tries < TRIES; tries++) {
		if (how == RSEQ_NO_ROOM && !next_of_cpu(ring, w))
			return lose(ring);
		if (how == RSEQ_VERIFY && !is_myself(me))
			break;
		w->tid = me->tid;
		if (how != RSEQ_NO_ROOM)
			w->time = live->clock == ESPY_AGENT_CLOCK_TSC ? 0 : event_monotonic();
		how = espy_agent_rseq_write(w);
		if (how == RSEQ_DONE)
			return 1;
	}
	return write_claim(me, ring, w);
}

int share_write(struct thread *me, const struct ring *ring, uint32_t def, uint32_t size, const struct piece *pieces,
		uint32_t npieces, uint64_t *time)
{
	struct rseq_write w; // field by field: to zero it first costs as much as all the rest
	int how = RSEQ_NO_CPU;

	w.places = &live->cpus[0].place[ring->slot];
	w.ncpus = ring->ncpus;
	w.limit = ring->chunk_sz - ESPY_CHUNK_HEAD - (size + 8);
	w.size_def = (uint64_t)def << 32 | (size + 8);
	w.tid = me->tid;
	w.time = *time;
	w.pieces = pieces;
	w.pieces_end = pieces + npieces;
	w.verified = &me->verified;
	w.gap = GAP_TICKS;
	if (unlikely(live->clock != ESPY_AGENT_CLOCK_TSC)) {
		w.gap = GAP_NS;
		if (!w.time)
			w.time = event_monotonic();
	}
	if (likely(w.ncpus)) {
		w.rseq = my_rseq();
		how = espy_agent_rseq_write(&w);
	}
	if (unlikely(how != RSEQ_DONE) && !write_on(me, ring, &w, how))
		return 0;
	*time = w.time;
	return 1;
}

// ---- by the helper ----

void share_unclaim(uint32_t tid)
{
	for (uint32_t s = 0; s < ESPY_AGENT_SESSIONS; s++)
		for (uint32_t i = 0; agent.sessions[s].ring && i < agent.sessions[s].ring->nclaims; i++)
			if (__atomic_load_n(&live->claims[s][i].owner, __ATOMIC_RELAXED) == tid)
				__atomic_store_n(&live->claims[s][i].owner, 0, __ATOMIC_RELEASE);
}

static void forget(const struct ring *ring, struct place *place)
{
	if (place->chunk)
		chunk_end(ring, place->chunk);
	*place = (struct place){ 0 };
}

void share_forget(const struct ring *ring)
{
	for (uint32_t i = 0; i < ring->ncpus; i++)
		forget(ring, &live->cpus[i].place[ring->slot]);
	for (uint32_t i = 0; i < ring->nclaims; i++) {
		forget(ring, &live->claims[ring->slot][i].place);
		live->claims[ring->slot][i].owner = 0;
	}
	live->owners[ring->slot] = 0;
	live->shared_lost[ring->slot] = 0;
}

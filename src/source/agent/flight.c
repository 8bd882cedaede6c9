/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The flight recorder of marks. The rings overwrite their oldest chunks by themselves (ESPY_AGENT_NEWEST), and espy
 * reads none until a snapshot is wanted. Then it copies each ring while the program writes on, and drops from the copy
 * the chunks that were overwritten meanwhile. It reads the copies as rings whose programs have ended. espy keeps the
 * newest rings of processes that have ended, in as much memory as one ring may take.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "base/clock.h"
#include "base/search.h"
#include "source/agent/agent_source.h"

#define TRIES 200u
#define ROUNDS 5u
#define PAST_MAX 4096u /* rings; they take mappings, of which a process may have 65530 */
#define PAIR_NS 1000000000ull

/* ---- the clock of long ago */

void espy_agent_past__pair(struct espy_agent_past *c)
{
	const size_t max = sizeof(c->ns) / sizeof(c->ns[0]);
	struct espy_tsc t;

	if (c->cnt && espy_now_ns() - c->ns[c->cnt - 1] < c->gap_ns)
		return;
	if (c->cnt == max) { /* every second pair is enough: clocks drift slowly */
		for (size_t i = 0; i < max / 2; i++) {
			c->ns[i] = c->ns[2 * i];
			c->tsc[i] = c->tsc[2 * i];
		}
		c->cnt = max / 2;
		c->gap_ns *= 2;
	}
	if (!c->cnt)
		c->gap_ns = PAIR_NS;
	espy_tsc__begin(&t);
	c->tsc[c->cnt] = t.tsc[1];
	c->ns[c->cnt++] = t.ns[1];
}

/* Converts a time by the pairs around it; by `now` if it is later or earlier than all pairs. */
static uint64_t past_to_ns(const struct espy_agent_past *c, const struct espy_tsc *now, uint64_t tsc)
{
	size_t at;

	ESPY_SEARCH(at, c->cnt, c->tsc[at] > tsc);
	if (!at || at == c->cnt)
		return espy_tsc__to_ns(now, tsc);
	const double part = (double)(tsc - c->tsc[at - 1]) / (double)(c->tsc[at] - c->tsc[at - 1]);

	return c->ns[at - 1] + (uint64_t)(part * (double)(c->ns[at] - c->ns[at - 1]));
}

/* ---- copies */

static const struct espy_chunk *chunk_of(const struct espy_agent_ring *r, uint32_t i)
{
	return (const struct espy_chunk *)(const void *)(r->map + r->data_off + (size_t)i * r->chunk_sz);
}

static uint64_t seq_of(const struct espy_agent_ring *r, uint32_t i)
{
	return __atomic_load_n(&chunk_of(r, i)->seq, __ATOMIC_ACQUIRE);
}

/* Looks at the whole records of a chunk, one after the other. Returns the offset of their end; *cnt: their number. */
static uint32_t walk(uint8_t *chunk, uint32_t size, void (*each)(void *ctx, struct espy_mark_record *rec), void *ctx,
		     uint64_t *cnt)
{
	uint32_t pos = ESPY_CHUNK_HEAD;
	struct espy_mark_record rec;

	for (*cnt = 0; pos + sizeof(rec) <= size; ++*cnt) {
		memcpy(&rec, chunk + pos, sizeof(rec));
		if (rec.size_busy & ESPY_RECORD_BUSY || rec.size_busy < sizeof(rec) || rec.size_busy % 8 ||
		    rec.size_busy > size - pos)
			break;
		if (each)
			each(ctx, (struct espy_mark_record *)(void *)(chunk + pos));
		pos += rec.size_busy;
	}
	return pos;
}

struct whose {
	struct espy_agent_source *s;
	struct espy_agent_process *p;
};

/* Converts the times of a copy to CLOCK_MONOTONIC. */
static void convert(void *ctx, struct espy_mark_record *rec)
{
	const struct whose *w = ctx;

	if (w->p->tsc)
		rec->time = past_to_ns(&w->s->past, &w->s->clock, rec->time);
}

static void drop(struct espy_agent_ring *copy, uint32_t i)
{
	__atomic_store_n((uint64_t *)(uintptr_t)&chunk_of(copy, i)->seq, 0, __ATOMIC_RELAXED);
}

/*
 * Drops chunks that were overwritten since they were copied. *overwritten is the ring's count of records that are not
 * in the copy. The count is exact if the program overwrites nothing during one look through the copy; the function
 * tries several times.
 */
static void agree(const struct espy_agent_ring *r, struct espy_agent_ring *copy, uint64_t *overwritten,
		  uint64_t *over_time)
{
	const struct espy_ring *head = (const void *)r->map;

	for (unsigned try = 0; try < TRIES; try++) {
		const struct timespec nap = { .tv_nsec = 20000 };
		bool between = false;

		*overwritten = __atomic_load_n(&head->overwritten, __ATOMIC_ACQUIRE);
		for (uint32_t i = 0; i < r->nchunks; i++) {
			if (!seq_of(copy, i))
				continue;
			/* At 2 the program may not have counted its records yet; it soon has. */
			between |= __atomic_load_n(&chunk_of(r, i)->closed, __ATOMIC_ACQUIRE) == 2 &&
				   seq_of(r, i) == seq_of(copy, i);
			if (seq_of(r, i) != seq_of(copy, i))
				drop(copy, i);
		}
		*over_time = __atomic_load_n(&head->over_time, __ATOMIC_RELAXED);
		if (!between && __atomic_load_n(&head->overwritten, __ATOMIC_ACQUIRE) == *overwritten)
			break;
		if (between)
			nanosleep(&nap, NULL);
	}
}

struct numbered {
	uint64_t seq;
	uint32_t chunk;
};

static int newest_first(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	return x->seq < y->seq ? 1 : x->seq > y->seq ? -1 : 0;
}

/*
 * Copies the chunks that had begun at one moment, the newest first: the program overwrites the oldest meanwhile. Later
 * chunks belong to the next snapshot. Returns false if the program was faster and has gone round once.
 */
static bool copy_chunks(const struct espy_agent_ring *r, struct espy_agent_ring *copy, struct numbered *v,
			uint64_t *overwritten, uint64_t *over_time)
{
	const struct espy_ring *head = (const void *)r->map;
	const uint64_t until = __atomic_load_n(&head->seq, __ATOMIC_ACQUIRE);
	size_t cnt = 0;

	for (uint32_t i = 0; i < r->nchunks; i++) {
		drop(copy, i);
		v[cnt] = (struct numbered){ seq_of(r, i), i };
		cnt += v[cnt].seq && v[cnt].seq <= until;
	}
	qsort(v, cnt, sizeof(*v), newest_first);
	for (size_t i = 0; i < cnt; i++) {
		struct espy_chunk *to = (void *)(uintptr_t)chunk_of(copy, v[i].chunk);

		memcpy(to, chunk_of(r, v[i].chunk), r->chunk_sz);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		to->seq = seq_of(r, v[i].chunk) == v[i].seq ? v[i].seq : 0;
	}
	agree(r, copy, overwritten, over_time);
	return __atomic_load_n(&head->seq, __ATOMIC_ACQUIRE) - until < r->nchunks - 1;
}

/* Copies a ring. The caller unmaps the copy's memory: its `map`, of `size` bytes. */
static int copy_ring(struct espy_agent_source *s, struct espy_agent_process *p, struct espy_agent_ring *copy,
		     uint64_t *overwritten, uint64_t *over_time)
{
	struct whose whose = { s, p };
	const struct espy_agent_ring *r = &p->ring;
	const struct espy_agent_opened opened = { .chunk_sz = r->chunk_sz, .nchunks = r->nchunks };
	uint8_t *map = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return -ENOMEM;
	memcpy(map, r->map, sizeof(struct espy_ring));
	struct espy_ring *head = (void *)map;
	head->data_off = r->data_off;
	head->magic = ESPY_RING_MAGIC;
	head->abi = ESPY_AGENT_ABI;
	int err = espy_agent_ring__open(copy, map, r->size, &opened);

	if (err) {
		munmap(map, r->size);
		return err;
	}
	struct numbered *v = calloc(r->nchunks, sizeof(*v));
	for (unsigned try = 0; v && try < ROUNDS && !copy_chunks(r, copy, v, overwritten, over_time); try++)
		;
	free(v);
	/* All bits are 0: every chunk is taken. Chunks with a seq have records. */
	for (uint32_t i = 0; i < r->nchunks; i++) {
		struct espy_chunk *c = (void *)(map + r->data_off + (size_t)i * r->chunk_sz);
		uint64_t cnt;

		if (!c->seq)
			continue;
		c->end = walk((uint8_t *)c, r->chunk_sz, convert, &whose, &cnt);
		c->closed = 1;
		c->lost_before = 0; /* told with the sums */
		if (c->end + sizeof(struct espy_mark_record) <= r->chunk_sz)
			memset((uint8_t *)c + c->end, 0, sizeof(struct espy_mark_record));
	}
	return 0;
}

/* ---- processes that have ended */

static int no_record(void *ctx, const struct espy_rec *rec)
{
	(void)ctx;
	(void)rec;
	return 0;
}

/*
 * Reads the names of all events, which stand in the process's area, and finds the last event: espy does not keep the
 * area.
 */
static void ask_def(void *ctx, struct espy_mark_record *rec)
{
	const struct whose *w = ctx;
	const uint64_t ns = w->p->tsc ? past_to_ns(&w->s->past, &w->s->clock, rec->time) : rec->time;
	int stop = 0;

	w->p->last_ns = ns > w->p->last_ns ? ns : w->p->last_ns;
	espy_agent_process__def(w->s, w->p, rec->def, no_record, NULL, &stop);
}

/* Gives back the pages without records of a ring that no thread writes to any more. Returns the size of the others. */
static uint64_t shrink(struct espy_agent_source *s, struct espy_agent_process *p)
{
	const struct espy_agent_ring *r = &p->ring;
	struct whose whose = { s, p };
	uint64_t kept = 0, cnt;

	for (uint32_t i = 0; i < r->nchunks; i++) {
		uint8_t *chunk = (uint8_t *)(uintptr_t)chunk_of(r, i);

		if (!seq_of(r, i))
			continue;
		const uint32_t end = (walk(chunk, r->chunk_sz, ask_def, &whose, &cnt) + 4095) & ~4095u;

		if (end < r->chunk_sz) /* the rest reads as zeros, as before */
			madvise(chunk + end, r->chunk_sz - end, MADV_REMOVE);
		kept += end;
	}
	return kept;
}

static void forget(struct espy_agent_source *s, struct espy_agent_process **at)
{
	struct espy_agent_process *p = *at;
	const struct espy_ring *head = (const void *)p->map;
	uint64_t cnt;

	/* No thread writes there any more, so the records can be counted in place. */
	for (uint32_t i = 0; i < p->ring.nchunks; i++)
		if (seq_of(&p->ring, i)) {
			walk((uint8_t *)(uintptr_t)chunk_of(&p->ring, i), p->ring.chunk_sz, NULL, NULL, &cnt);
			s->forgotten += cnt;
		}
	s->forgotten += __atomic_load_n(&head->overwritten, __ATOMIC_RELAXED);
	s->forgotten_ns = p->last_ns > s->forgotten_ns ? p->last_ns : s->forgotten_ns;
	s->past_bytes -= p->used;
	s->past_cnt--;
	*at = p->next;
	espy_agent_process__free(p);
}

static struct espy_agent_process **oldest_past(struct espy_agent_source *s)
{
	struct espy_agent_process **oldest = NULL;

	for (struct espy_agent_process **at = &s->processes; *at; at = &(*at)->next)
		if ((*at)->past && (!oldest || (*at)->last_ns < (*oldest)->last_ns))
			oldest = at;
	return oldest;
}

void espy_agent_flight__keep(struct espy_agent_source *s, struct espy_agent_process *p)
{
	p->past = true;
	espy_tsc__update(&s->clock);
	p->used = shrink(s, p);
	s->past_bytes += p->used;
	s->past_cnt++;
	espy_agent__detach(&p->link);
}

void espy_agent_flight__trim(struct espy_agent_source *s)
{
	while (s->past_cnt && (s->past_bytes > s->opts.rings.flight_bytes || s->past_cnt > PAST_MAX))
		forget(s, oldest_past(s));
}

/* ---- the snapshot */

struct kept { /* the ring of a process while a copy takes its place */
	struct espy_agent_ring ring;
	bool ended, tsc;
};

int espy_agent_flight__snapshot(struct espy_agent_source *s, int (*deliver)(void *ctx), void *ctx)
{
	size_t cnt = 0, i = 0;

	s->stats.overwritten = s->forgotten;
	s->stats.whole_since_ns = s->forgotten ? s->forgotten_ns : 0;
	for (const struct espy_agent_process *p = s->processes; p; p = p->next)
		cnt++;
	struct kept *kept = calloc(cnt + 1, sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	espy_tsc__update(&s->clock);
	for (struct espy_agent_process *p = s->processes; p; p = p->next, i++) {
		struct espy_agent_ring copy = { 0 };
		uint64_t overwritten = 0, over_time = 0;

		kept[i] = (struct kept){ p->ring, p->ended, p->tsc };
		if (copy_ring(s, p, &copy, &overwritten, &over_time))
			copy = (struct espy_agent_ring){ 0 };
		if (p->tsc && overwritten)
			over_time = past_to_ns(&s->past, &s->clock, over_time);
		s->stats.overwritten += overwritten;
		if (overwritten && over_time > s->stats.whole_since_ns)
			s->stats.whole_since_ns = over_time;
		p->ring = copy;
		p->ended = true; /* all its records are delivered at once */
		p->tsc = false;
	}
	int n = deliver(ctx);

	i = 0;
	for (struct espy_agent_process *p = s->processes; p; p = p->next, i++) {
		uint8_t *map = p->ring.map;

		espy_agent_ring__close(&p->ring);
		if (map)
			munmap(map, kept[i].ring.size);
		p->ring = kept[i].ring;
		p->ended = kept[i].ended;
		p->tsc = kept[i].tsc;
	}
	free(kept);
	return n;
}

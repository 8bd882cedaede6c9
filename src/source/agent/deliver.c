/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From the rings of all processes to the session, in order of time. The chunk with the oldest event gives all that it
 * has before the next chunk's turn comes, as one run of records: an event that a single thread writes costs one copy.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/clock.h"
#include "record/mark_values.h"
#include "source/agent/agent_source.h"

/* Between taking a time and finishing its record a thread may be interrupted: younger events than this wait. */
#define SLACK_NS 300000ull
/* A run that stays in the first cache, from the ring to the block of a trace. */
#define RUN_MAX (12u << 10)

int espy_agent_source__alloc(struct espy_agent_source *s)
{
	s->run = malloc(RUN_MAX + ESPY_REC_MAX);
	return s->run ? 0 : -ENOMEM;
}

/* What was returned to poll's records: if it is not 0, poll ends with it. */
static void end_if(struct espy_agent_delivery *d, int stop)
{
	if (stop)
		d->stop = stop;
}

static void flush(struct espy_agent_delivery *d)
{
	struct espy_agent_source *s = d->s;
	const struct espy_rec *first = (const void *)s->run;
	const size_t size = s->run_sz;

	if (!size)
		return;
	s->stats.records += s->run_cnt;
	s->stats.bytes += size;
	d->cnt += (int)s->run_cnt;
	s->run_sz = 0;
	s->run_cnt = 0;
	end_if(d, s->opts.marks.fn ? s->opts.marks.fn(d->ctx, first, size) : d->fn(d->ctx, first));
}

static void give(struct espy_agent_delivery *d, const struct espy_rec *rec)
{
	flush(d);
	d->s->stats.records++;
	d->s->stats.bytes += rec->size;
	d->cnt++;
	end_if(d, d->fn(d->ctx, rec));
}

void espy_agent_delivery__lost(struct espy_agent_delivery *d, const struct espy_agent_process *p, unsigned reason,
			       uint64_t count, uint64_t time_ns)
{
	const struct espy_rec_lost lost = {
		.rec = { .size = sizeof(lost),
			 .type = ESPY_REC_LOST,
			 .nr = (uint16_t)reason,
			 .tgid = (uint32_t)p->pid,
			 .time_ns = time_ns },
		.count = count,
	};

	give(d, &lost.rec);
}

/* ---- the order of chunks: a heap by the time of their next event */

static void push(struct espy_agent_source *s, uint64_t time_ns, struct espy_agent_process *p, uint32_t cursor)
{
	if (!espy_array__grow(s->heap, s->heap_cnt, s->heap_cap))
		return; /* it is looked at again with the next look */
	size_t i = s->heap_cnt++;

	while (i && s->heap[(i - 1) / 2].time_ns > time_ns) {
		s->heap[i] = s->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	s->heap[i] = (struct espy_agent_heap_entry){ time_ns, p, cursor };
}

/* The top has a later time now (or is to go: the last one takes its place). */
static void sift(struct espy_agent_source *s)
{
	struct espy_agent_heap_entry e = s->heap[0];
	size_t i = 0;

	for (;;) {
		size_t k = 2 * i + 1;

		if (k >= s->heap_cnt)
			break;
		if (k + 1 < s->heap_cnt && s->heap[k + 1].time_ns < s->heap[k].time_ns)
			k++;
		if (s->heap[k].time_ns >= e.time_ns)
			break;
		s->heap[i] = s->heap[k];
		i = k;
	}
	s->heap[i] = e;
}

/* Up to this time (with it) the top goes before all others, and is old enough. */
static uint64_t turn_ends(const struct espy_agent_delivery *d)
{
	const struct espy_agent_source *s = d->s;
	/* Of a process that has ended everything is here; garbage must not keep us from the rest. */
	uint64_t until = s->heap[0].p->ended ? UINT64_MAX : d->horizon_ns;

	for (size_t i = 1; i < 3 && i < s->heap_cnt; i++)
		if (s->heap[i].time_ns < until)
			until = s->heap[i].time_ns;
	return until;
}

/* ---- events */

static uint64_t to_ns(const struct espy_agent_source *s, const struct espy_agent_process *p, uint64_t time)
{
	return p->tsc ? espy_tsc__to_ns(&s->clock, time) : time;
}

/* What the thread has lost before this chunk. */
static void tell_lost_before(struct espy_agent_delivery *d, struct espy_agent_process *p, struct espy_ring_cursor *c,
			     uint64_t time_ns)
{
	struct espy_ring_losses l;

	/* No more than the ring's own counts say. */
	espy_agent_ring__losses(&p->ring, &l);
	uint64_t total = l.full + l.big + l.slot + l.early;

	if (total > p->lost_shown && c->lost_before <= total - p->lost_shown) {
		p->lost_shown += c->lost_before;
		espy_agent_delivery__lost(d, p, ESPY_LOST_RING_FULL, c->lost_before, time_ns);
	}
	c->lost_before = 0;
}

static struct espy_mark_known *known(struct espy_agent_delivery *d, struct espy_agent_process *p, uint32_t def)
{
	int stop = 0;

	if (def < ESPY_AGENT_DEFS_MAX && p->defs[def].good)
		return &p->defs[def];
	flush(d); /* the definition comes behind what came before */
	struct espy_mark_known *k = espy_agent_process__def(d->s, p, def, d->fn, d->ctx, &stop);

	end_if(d, stop);
	return k;
}

/* Delivers a hit, which begins as a mark does, with the definition of its place in front of the first one. */
static void deliver_hit(struct espy_agent_delivery *d, struct espy_agent_process *p, struct espy_ring_cursor *c,
			const struct espy_rec *head)
{
	struct espy_agent_source *s = d->s;

	flush(d);
	struct espy_rec_mark *rec = (void *)s->run;
	const uint32_t def = c->def, len = espy_agent_ring__take(&p->ring, c, rec + 1);

	rec->rec = *head;
	uint64_t begin;
	const struct espy_rec_probe_def *place = espy_agent_probe__take(s, def, rec, len, &begin);

	if (!place) {
		p->damaged++;
		s->stats.lost[ESPY_LOST_DAMAGED]++;
		return;
	}
	begin = begin ? to_ns(s, p, begin) : 0;
	((struct espy_rec_probe *)(void *)rec)->begin_ns = begin < head->time_ns ? begin : head->time_ns;
	if (!s->probes_told[def - ESPY_PROBE_FIRST_DEF]) {
		s->probes_told[def - ESPY_PROBE_FIRST_DEF] = 1;
		give(d, &place->rec);
	}
	give(d, &rec->rec);
}

/*
 * Of one chunk, whose next event is ready and of that time: all up to `until`. Returns the time of what is next then, 0
 * if there is nothing.
 */
static uint64_t deliver(struct espy_agent_delivery *d, struct espy_agent_process *p, struct espy_ring_cursor *c,
			uint64_t time_ns, uint64_t until)
{
	struct espy_agent_source *s = d->s;
	const size_t most = s->opts.marks.fn ? RUN_MAX : 0;
	const struct espy_mark_known *k = NULL;
	struct espy_rec_mark head = { .rec = { .type = ESPY_REC_MARK, .tgid = (uint32_t)p->pid } };
	uint32_t def = 0;

	if (c->lost_before)
		tell_lost_before(d, p, c, time_ns < d->begun_ns ? time_ns : d->begun_ns);
	do {
		if (c->tid != head.rec.tid || !head.rec.tid)
			c->tid = head.rec.tid = (uint32_t)espy_agent_process__task(p, c->tid);
		if (c->def >= ESPY_PROBE_FIRST_DEF && s->probes_told) {
			head.rec.time_ns = time_ns < d->begun_ns ? time_ns : d->begun_ns;
			deliver_hit(d, p, c, &head.rec);
			if (!c->ready)
				return 0;
			time_ns = to_ns(s, p, c->time);
			continue;
		}
		if (!k || def != c->def) {
			def = c->def;
			k = known(d, p, def);
			head.def = k ? k->number : 0;
		}
		struct espy_rec_mark *rec = (void *)(s->run + s->run_sz);
		const uint32_t len = espy_agent_ring__take(&p->ring, c, rec + 1);

		if (!k ||
		    !(k->fixed ? len == 8u * k->nargs : espy_mark_values__check(rec + 1, len, k->kinds, k->nargs))) {
			p->damaged++;
			s->stats.lost[ESPY_LOST_DAMAGED]++;
		} else {
			head.rec.size = (uint32_t)sizeof(*rec) + len;
			head.len = len;
			*rec = head;
			rec->rec.time_ns = time_ns < d->begun_ns ? time_ns : d->begun_ns;
			s->run_sz += sizeof(*rec) + len;
			s->run_cnt++;
			if (s->run_sz > most)
				flush(d);
		}
		if (!c->ready)
			return 0;
		time_ns = to_ns(s, p, c->time);
	} while (time_ns <= until && !d->stop);
	return time_ns;
}

/* What was lost after the last chunk that told of it; only when nothing is left to be read. */
static void deliver_losses(struct espy_agent_delivery *d, struct espy_agent_process *p)
{
	struct espy_ring_losses now;

	espy_agent_ring__losses(&p->ring, &now);
	const struct {
		uint64_t now, *before;
		unsigned reason;
	} rows[] = {
		{ now.full, &p->lost.full, ESPY_LOST_RING_FULL },
		{ now.big, &p->lost.big, ESPY_LOST_TOO_BIG },
		{ now.slot, &p->lost.slot, ESPY_LOST_NO_THREAD },
		{ now.early, &p->lost.early, ESPY_LOST_EARLY },
	};
	uint64_t total = now.full + now.big + now.slot + now.early;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].now <= *rows[i].before)
			continue; /* counts only grow: one that shrinks is none */
		d->s->stats.lost[rows[i].reason] += rows[i].now - *rows[i].before;
		*rows[i].before = rows[i].now;
	}
	if ((p->damaged || p->ring.damaged) && !p->told_damage) {
		p->told_damage = true;
		espy_agent_source__report(
			d->s, ESPY_REPORT_WARN,
			"process %d has nonsense in its ring; what of it is not an event is left out and counted",
			(int)p->pid);
	}
	if (p->ring.cursor_cnt && !p->ended)
		for (size_t i = 0; i < p->ring.cursor_cnt; i++)
			if (p->ring.cursors[i].ready || p->ring.cursors[i].pos == ESPY_CHUNK_HEAD)
				return;
	if (total > p->lost_shown) {
		espy_agent_delivery__lost(d, p,
					  now.full   ? ESPY_LOST_RING_FULL
					  : now.big  ? ESPY_LOST_TOO_BIG
					  : now.slot ? ESPY_LOST_NO_THREAD
						     : ESPY_LOST_EARLY,
					  total - p->lost_shown, espy_now_ns());
		p->lost_shown = total;
	}
}

void espy_agent_delivery__look(struct espy_agent_delivery *d)
{
	struct espy_agent_source *s = d->s;

	d->begun_ns = espy_now_ns();
	d->horizon_ns = d->begun_ns - SLACK_NS;
	espy_tsc__update(&s->clock);
	s->heap_cnt = 0;
	for (struct espy_agent_process *p = s->processes; p; p = p->next) {
		espy_agent_ring__look(&p->ring);
		for (uint32_t i = 0; i < p->ring.cursor_cnt; i++)
			if (p->ring.cursors[i].ready)
				push(s, to_ns(s, p, p->ring.cursors[i].time), p, i);
	}
	while (s->heap_cnt && !d->stop) {
		const struct espy_agent_heap_entry e = s->heap[0];
		const uint64_t until = turn_ends(d);

		if (e.time_ns > until)
			break;
		s->heap[0].time_ns = deliver(d, e.p, &e.p->ring.cursors[e.cursor], e.time_ns, until);
		if (!s->heap[0].time_ns)
			s->heap[0] = s->heap[--s->heap_cnt];
		if (s->heap_cnt)
			sift(s);
	}
	flush(d);
	for (struct espy_agent_process *p = s->processes; p && !d->stop; p = p->next)
		deliver_losses(d, p);
}

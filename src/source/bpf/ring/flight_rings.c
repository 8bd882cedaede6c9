/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The flight recorder: the records of its rings at one moment, in order of time. The programs go on writing meanwhile.
 * For each ring the reader waits for a moment in which no program writes to it; there are many. Its records up to there
 * are complete, and their number is known. The reader copies them, and leaves out records that the writers have
 * overtaken by then.
 *
 * The reader finds the oldest whole record by its mark, which holds the number of its place.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "source/bpf/bpf_source.h"
#include "base/clock.h"

#define QUIET_TRIES 200000u

/* A ring in a moment in which no program wrote to it. */
struct moment {
	uint64_t end;	 /* position */
	uint64_t events; /* so far: records that were not given up and do not tell a loss */
};

/* The copy of one ring: records one behind the other, without marks and gaps. */
struct copy {
	uint8_t *data;
	size_t size, pos;
	uint64_t events; /* of them that are not LOST records */
	uint64_t old;	 /* of these: delivered by an earlier snapshot */
	uint64_t missed; /* events that were overwritten and never delivered */
	uint64_t overwritten; /* events before the first that is held */
	bool begun; /* its first record has been delivered */
};

static uint64_t now_in(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

/* Returns the events so far, more or less the unfinished ones. */
static uint64_t events_of(const struct espy_bpf_head *h)
{
	return (now_in((const uint64_t *)&h->turns) << (64 - ESPY_BPF_POS_BITS)) +
	       (now_in((const uint64_t *)&h->head) >> ESPY_BPF_POS_BITS) - now_in((const uint64_t *)&h->others);
}

uint64_t bpf_flight__events(const struct bpf_source *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->rings.cnt; i++)
		n += events_of(s->rings.each[i].head);
	return n;
}

/*
 * Finds a moment without a writer: as many records have ended as have begun, before and after the numbers were read. A
 * writer needs a fraction of a microsecond. If a hypervisor takes its CPU, the reader waits for it, but not for ever.
 */
static struct moment quiet_moment(const struct espy_bpf_head *h)
{
	const uint64_t *head = (const uint64_t *)&h->head, *ended = (const uint64_t *)&h->ended;
	struct moment m;

	for (unsigned tries = 0;; tries++) {
		const uint64_t done = now_in(ended), at = now_in(head);
		const struct timespec a_while = { .tv_nsec = 50000 };

		m.events = events_of(h);
		m.end = at & ESPY_BPF_POS_MASK;
		if ((uint16_t)(at >> ESPY_BPF_POS_BITS) == (uint16_t)done && now_in(ended) == done && now_in(head) == at)
			return m;
		if (tries >= QUIET_TRIES)
			return m;
		if (tries % 64 == 63)
			nanosleep(&a_while, NULL);
	}
}

/* Copies what a ring holds of the time up to until_ns. */
static int copy_ring(struct bpf_cpu_ring *c, const struct moment *m, uint64_t until_ns, struct copy *to)
{
	const uint64_t units = c->all->room_tasks;
	uint64_t pos = m->end > units ? m->end - units : 0, later = 0, all, first;

	to->data = malloc((m->end - pos) * ESPY_BPF_UNIT + 1);
	if (!to->data)
		return -ENOMEM;
	while (pos < m->end) {
		struct espy_rec *rec = (struct espy_rec *)(to->data + to->size);
		const uint8_t *at;
		bool given_up, whole = false;
		size_t size = bpf_rings__record_at(c, pos, &at, &given_up);
		uint64_t head;

		if (size / ESPY_BPF_UNIT > m->end - pos)
			size = 0;
		if (size && !given_up) {
			memcpy(rec, at + ESPY_BPF_UNIT, size - ESPY_BPF_UNIT);
			whole = rec->size <= size - ESPY_BPF_UNIT && rec->size >= sizeof(*rec) && !(rec->size % 8);
		}
		/* If writers have overtaken it, older records are of no use either. */
		head = now_in((const uint64_t *)&c->head->head) & ESPY_BPF_POS_MASK;
		if (head > pos + units) {
			pos = head - units;
			to->size = to->events = later = 0;
			continue;
		}
		pos += size ? size / ESPY_BPF_UNIT : 1;
		if (!whole)
			continue;
		/* The copies of the rings are of different moments: later records wait for the next snapshot. */
		if (later || rec->time_ns > until_ns) {
			later += rec->type != ESPY_REC_LOST;
			continue;
		}
		to->events += rec->type != ESPY_REC_LOST;
		to->size += rec->size;
	}
	all = m->events - later;
	first = all > to->events ? all - to->events : 0; /* number of the first event that is held */
	to->overwritten = first;
	to->missed = first > c->events ? first - c->events : 0;
	to->old = c->events > first ? c->events - first : 0;
	c->events = all > c->events ? all : c->events;
	return 0;
}

static bool peek(void *input, uint64_t *time_ns)
{
	struct copy *c = input;

	if (c->pos == c->size) {
		*time_ns = ~0ull;
		return false;
	}
	*time_ns = ((const struct espy_rec *)(c->data + c->pos))->time_ns;
	return true;
}

/* Tells in front of the first record of a ring that the ring is whole from here on. */
static int deliver_begin(const struct copy *c, bpf_ring_fn fn, void *ctx)
{
	const struct espy_rec_lost lost = {
		.rec = { .size = sizeof(lost), .type = ESPY_REC_LOST, .nr = ESPY_LOST_OVERWRITTEN,
			 .time_ns = ((const struct espy_rec *)c->data)->time_ns },
		.count = c->overwritten,
	};

	return fn(ctx, &lost, sizeof(lost));
}

static int deliver_copies(struct copy *copies, uint32_t cnt, bpf_ring_fn fresh, bpf_ring_fn old, void *ctx, int *stop)
{
	void **inputs = calloc(cnt, sizeof(*inputs));
	struct espy_merge merge;
	struct copy *c;
	int err, n = 0;

	if (!inputs)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++)
		inputs[i] = &copies[i];
	err = espy_merge__init(&merge, peek, inputs, cnt, 0);
	free(inputs);
	if (err)
		return err;
	while (!*stop && (c = espy_merge__next(&merge, ~0ull))) {
		const struct espy_rec *rec = (const struct espy_rec *)(c->data + c->pos);
		bool again = c->old > 0;

		if (!c->begun && c->overwritten) {
			n++;
			*stop = deliver_begin(c, old, ctx);
		}
		c->begun = true;
		if (*stop)
			break;
		if (again && rec->type != ESPY_REC_LOST)
			c->old--;
		n++;
		*stop = (again ? old : fresh)(ctx, rec, rec->size);
		c->pos += rec->size;
	}
	espy_merge__free(&merge);
	return n;
}

int bpf_flight__snapshot(struct bpf_source *s, bpf_ring_fn fresh, bpf_ring_fn old, void *ctx, int *stop)
{
	struct bpf_rings *r = &s->rings;
	struct copy *copies = calloc(r->cnt, sizeof(*copies));
	struct moment *moments = calloc(r->cnt, sizeof(*moments));
	const uint64_t until_ns = espy_now_ns();
	int err = copies && moments ? 0 : -ENOMEM;

	*stop = 0;
	for (uint32_t i = 0; i < r->cnt && !err; i++)
		moments[i] = quiet_moment(r->each[i].head);
	for (uint32_t i = 0; i < r->cnt && !err; i++)
		err = copy_ring(&r->each[i], &moments[i], until_ns, &copies[i]);
	if (!err) {
		uint64_t whole_since = 0;

		for (uint32_t i = 0; i < r->cnt; i++) {
			uint64_t first;

			s->stats.overwritten += copies[i].missed;
			if (!peek(&copies[i], &first))
				first = until_ns; /* all that it holds is newer than this snapshot */
			if (copies[i].overwritten && first > whole_since)
				whole_since = first;
		}
		s->stats.whole_since_ns = whole_since;
		err = deliver_copies(copies, r->cnt, fresh, old, ctx, stop);
	}
	for (uint32_t i = 0; copies && i < r->cnt; i++)
		free(copies[i].data);
	free(copies);
	free(moments);
	return err;
}

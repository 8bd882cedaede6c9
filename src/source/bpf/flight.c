/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The flight recorder: what its rings hold, at one moment, in order of time. The programs stop writing while the rings
 * are copied, and what happens meanwhile is counted as lost; then they go on, and the copies are delivered.
 *
 * The oldest whole record is found by its mark: nothing else carries the number of the place where it stands.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "bpf_source.h"

/* One ring at rest: records one behind the other, without marks and gaps. */
struct copy {
	uint8_t *data;
	size_t size, pos;
	uint64_t events; /* of them that are not LOST records */
	uint64_t old;	 /* of these: delivered by an earlier snapshot */
	uint64_t missed; /* events that were overwritten and never delivered */
	uint64_t overwritten; /* events before the first that is held */
	bool begun; /* its first record has been delivered */
};

/*
 * Programs run with preemption or at least RCU's grace period held off: when one has gone by, each that had not seen
 * the flag has ended. The kernel does it for membarrier(2); where it does not, programs of some microseconds are waited
 * for.
 */
static void wait_for_programs(void)
{
	struct timespec long_enough = { .tv_nsec = 50000000 };

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		nanosleep(&long_enough, NULL);
}

/* Events so far: records without those given up and those that say what was lost. */
static uint64_t events_of(const struct espy_bpf_head *h)
{
	return (h->turns << (64 - ESPY_BPF_POS_BITS)) + (h->head >> ESPY_BPF_POS_BITS) - h->others;
}

uint64_t bpf_flight__events(const struct bpf_source *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->rings.cnt; i++)
		n += events_of(s->rings.each[i].head);
	return n;
}

static int copy_ring(struct bpf_cpu_ring *c, struct copy *to)
{
	uint64_t end = c->head->head & ESPY_BPF_POS_MASK, units = c->all->room_life, all = events_of(c->head);
	uint64_t pos = end > units ? end - units : 0, first;

	to->data = malloc((end - pos) * ESPY_BPF_UNIT + 1);
	if (!to->data)
		return -ENOMEM;
	while (pos < end) {
		const struct espy_rec *rec;
		const uint8_t *at;
		bool given_up;
		size_t size = bpf_rings__record_at(c, pos, &at, &given_up);

		if (!size || size / ESPY_BPF_UNIT > end - pos) {
			pos++;
			continue;
		}
		pos += size / ESPY_BPF_UNIT;
		rec = (const struct espy_rec *)(at + ESPY_BPF_UNIT);
		if (given_up || rec->size > size - ESPY_BPF_UNIT || rec->size < sizeof(*rec) || rec->size % 8)
			continue;
		memcpy(to->data + to->size, rec, rec->size);
		to->size += rec->size;
		if (rec->type != ESPY_REC_LOST)
			to->events++;
	}
	first = all - to->events; /* number of the first event that is held */
	to->overwritten = first;
	to->missed = first > c->events ? first - c->events : 0;
	to->old = c->events > first ? c->events - first : 0;
	c->events = all;
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

/* In front of the first record of a ring: from here on it is whole. */
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
	int err = 0;

	*stop = 0;
	if (!copies)
		return -ENOMEM;
	__atomic_store_n(&s->shared->frozen, 1, __ATOMIC_SEQ_CST);
	wait_for_programs();
	for (uint32_t i = 0; i < r->cnt && !err; i++)
		err = copy_ring(&r->each[i], &copies[i]);
	__atomic_store_n(&s->shared->frozen, 0, __ATOMIC_SEQ_CST);
	if (!err) {
		uint64_t whole_since = 0;

		for (uint32_t i = 0; i < r->cnt; i++) {
			uint64_t first;

			s->stats.overwritten += copies[i].missed;
			if (copies[i].overwritten && peek(&copies[i], &first) && first > whole_since)
				whole_since = first;
		}
		s->stats.whole_since_ns = whole_since;
		err = deliver_copies(copies, r->cnt, fresh, old, ctx, stop);
	}
	for (uint32_t i = 0; i < r->cnt; i++)
		free(copies[i].data);
	free(copies);
	return err;
}

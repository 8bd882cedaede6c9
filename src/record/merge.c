/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A heap of the inputs by the least time that each can still give. While the first has a record and the second is not
 * before it, it asks no other input: runs from one input cost next to nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "record/merge.h"

struct espy_merge_place {
	uint64_t time_ns; /* of the next record, or the promise */
	bool has;
	uint32_t order; /* among equals: as given */
	void *input;
};

int espy_merge__init(struct espy_merge *m, espy_merge_peek_fn peek, void *const *inputs, size_t cnt, uint64_t window_ns)
{
	*m = (struct espy_merge){ .peek = peek, .cnt = cnt, .window_ns = window_ns };
	m->heap = calloc(cnt ? cnt : 1, sizeof(*m->heap));
	if (!m->heap)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		m->heap[i] = (struct espy_merge_place){ .order = (uint32_t)i, .input = inputs[i] };
	espy_merge__look(m);
	return 0;
}

void espy_merge__free(struct espy_merge *m)
{
	free(m->heap);
	memset(m, 0, sizeof(*m));
}

/* Tells whether a comes before b. A record goes before a promise of its time: the promised record is not before it. */
static bool before(const struct espy_merge_place *a, const struct espy_merge_place *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	if (a->has != b->has)
		return a->has;
	return a->order < b->order;
}

static void sink(struct espy_merge *m, size_t at)
{
	struct espy_merge_place moving = m->heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= m->cnt)
			break;
		if (child + 1 < m->cnt && before(&m->heap[child + 1], &m->heap[child]))
			child++;
		if (!before(&m->heap[child], &moving))
			break;
		m->heap[at] = m->heap[child];
		at = child;
	}
	m->heap[at] = moving;
}

static void ask(struct espy_merge *m, struct espy_merge_place *p)
{
	uint64_t time_ns = 0;

	p->has = m->peek(p->input, &time_ns);
	p->time_ns = time_ns;
}

void espy_merge__look(struct espy_merge *m)
{
	for (size_t i = 0; i < m->cnt; i++)
		ask(m, &m->heap[i]);
	for (size_t i = m->cnt / 2; i-- > 0;)
		sink(m, i);
	m->taken = false;
}

/* Returns the oldest record if it is old enough, although some input has not promised its time. */
static struct espy_merge_place *overdue(struct espy_merge *m, uint64_t now_ns)
{
	struct espy_merge_place *oldest = NULL;

	for (size_t i = 0; i < m->cnt; i++)
		if (m->heap[i].has && (!oldest || before(&m->heap[i], oldest)))
			oldest = &m->heap[i];
	if (!oldest || oldest->time_ns > now_ns || now_ns - oldest->time_ns < m->window_ns)
		return NULL;
	return oldest;
}

void *espy_merge__next(struct espy_merge *m, uint64_t now_ns)
{
	struct espy_merge_place *p = m->heap;

	if (!m->cnt)
		return NULL;
	if (m->taken) {
		/* Only the input of the last record may have changed. */
		ask(m, &m->heap[m->last]);
		m->taken = false;
		if (!m->last)
			sink(m, 0);
		else
			for (size_t i = m->cnt / 2; i-- > 0;)
				sink(m, i);
	}
	if (!p->has) {
		p = overdue(m, now_ns);
		if (!p)
			return NULL;
	}
	if (p->time_ns < m->given_ns)
		m->late++;
	else
		m->given_ns = p->time_ns;
	m->last = (size_t)(p - m->heap);
	m->taken = true;
	return p->input;
}

uint64_t espy_merge__until(const struct espy_merge *m)
{
	uint64_t until = UINT64_MAX;

	for (size_t i = 0; i < m->cnt; i++)
		if (i != m->last && m->heap[i].time_ns < until)
			until = m->heap[i].time_ns;
	return until;
}

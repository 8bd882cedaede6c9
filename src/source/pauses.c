/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/pauses.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 64u      /* powers of two */
#define MOST (1u << 17) /* a trace may claim any number of tasks */

/* Returns the task's place, or a free one; cap is not 0, and some place is always free. */
static struct espy_paused_task *place_of(const struct espy_pauses *p, uint32_t tid)
{
	uint32_t i = tid * 2654435769u;

	for (i &= p->cap - 1; p->tasks[i].pauses && p->tasks[i].tid != tid; i = (i + 1) & (p->cap - 1))
		;
	return &p->tasks[i];
}

/* Makes room for one more task. */
static bool grow(struct espy_pauses *p)
{
	struct espy_pauses more = { .cnt = p->cnt, .cap = p->cap ? p->cap * 2 : FIRST };

	if (p->cnt < p->cap / 2)
		return true;
	more.tasks = more.cap <= MOST ? calloc(more.cap, sizeof(*more.tasks)) : NULL;
	if (!more.tasks)
		return false;
	for (uint32_t i = 0; i < p->cap; i++)
		if (p->tasks[i].pauses)
			*place_of(&more, p->tasks[i].tid) = p->tasks[i];
	free(p->tasks);
	*p = more;
	return true;
}

void espy_pauses__count(struct espy_pauses *p, struct espy_source_stats *st, const struct espy_rec_pause *rec)
{
	const uint64_t ns = rec->duration_ns;

	st->pauses++;
	st->paused_ns += ns;
	if (ns > st->longest_pause_ns)
		st->longest_pause_ns = ns;
	struct espy_paused_task *t = p->cap ? place_of(p, rec->rec.tid) : NULL;
	if (!t || !t->pauses) {
		if (!grow(p))
			return;
		t = place_of(p, rec->rec.tid);
		*t = (struct espy_paused_task){ .tid = rec->rec.tid, .tgid = rec->rec.tgid };
		p->cnt++;
	}
	t->pauses++;
	t->ns += ns;
	if (ns > t->longest_ns)
		t->longest_ns = ns;
}

void espy_pauses__tell(const struct espy_pauses *p, struct espy_source_stats *st)
{
	struct espy_paused_task *list = st->paused;

	st->paused_tasks = p->cnt;
	memset(list, 0, sizeof(st->paused));
	for (uint32_t i = 0; i < p->cap; i++) {
		unsigned at = ESPY_PAUSED_TASKS;

		/* Its place among the longest-held tasks; a place without pauses comes behind all others. */
		while (at && p->tasks[i].pauses && (!list[at - 1].pauses || list[at - 1].ns < p->tasks[i].ns))
			at--;
		if (at == ESPY_PAUSED_TASKS)
			continue;
		memmove(&list[at + 1], &list[at], (ESPY_PAUSED_TASKS - 1 - at) * sizeof(*list));
		list[at] = p->tasks[i];
	}
}

void espy_pauses__free(struct espy_pauses *p)
{
	free(p->tasks);
	memset(p, 0, sizeof(*p));
}

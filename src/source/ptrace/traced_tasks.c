/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of tasks of the ptrace source: by tid, which is unique while the task is ours. */
#include "ptrace_source.h"

#include <stdlib.h>

static struct espy_ptask **bucket(struct espy_ptrace *p, pid_t tid)
{
	return &p->buckets[(unsigned)tid % ESPY_TASK_BUCKETS];
}

struct espy_ptask *espy_ptask__find(struct espy_ptrace *p, pid_t tid)
{
	struct espy_ptask *t = *bucket(p, tid);

	while (t && t->tid != tid)
		t = t->next;
	return t;
}

struct espy_ptask *espy_ptask__add(struct espy_ptrace *p, pid_t tid, pid_t tgid)
{
	struct espy_ptask *t = calloc(1, sizeof(*t)), **b = bucket(p, tid);

	if (!t)
		return NULL;
	t->tid = tid;
	t->tgid = tgid;
	espy_task_mem__init(&t->mem, tid, &p->late);
	t->next = *b;
	*b = t;
	p->task_cnt++;
	p->stats.tasks++;
	return t;
}

void espy_ptask__remove(struct espy_ptrace *p, struct espy_ptask *t)
{
	struct espy_ptask **at = bucket(p, t->tid);

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	p->task_cnt--;
	if (t->embryo)
		p->embryo_cnt--;
	if (t->delayed_until_ns)
		p->delayed_cnt--;
	espy_task_mem__close(&t->mem);
	free(t->enter);
	free(t->tamper_counts);
	free(t->last_stack);
	free(t);
}

void espy_ptask__each(struct espy_ptrace *p, void (*fn)(struct espy_ptrace *p, struct espy_ptask *t, void *ctx),
		      void *ctx)
{
	unsigned i;

	for (i = 0; i < ESPY_TASK_BUCKETS; i++) {
		struct espy_ptask *t = p->buckets[i], *next;

		for (; t; t = next) {
			next = t->next;
			fn(p, t, ctx);
		}
	}
}

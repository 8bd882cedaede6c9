/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct espy_task *espy_tasks__find(struct espy_tasks *t, uint32_t tid)
{
	struct espy_task *task = t->last;

	if (task && task->tid == tid)
		return task;
	HASH_FIND_INT(t->by_tid, &tid, task);
	if (task)
		t->last = task;
	return task;
}

struct espy_task *espy_tasks__get(struct espy_tasks *t, uint32_t tid, uint32_t tgid)
{
	struct espy_task *task = espy_tasks__find(t, tid);

	if (task)
		return task;
	task = espy_budget__alloc(t->budget, sizeof(*task) + t->slot_sz);
	if (!task)
		return NULL;
	task->slot = task + 1;
	task->tid = tid;
	task->tgid = tgid ? tgid : tid;
	task->last_nr = task->interrupted_nr = ESPY_NR_UNKNOWN;
	HASH_ADD_INT(t->by_tid, tid, task);
	t->last = task;
	t->live++;
	return task;
}

void espy_tasks__detach(struct espy_tasks *t, struct espy_task *task)
{
	if (!task->detached)
		t->live--;
	task->detached = true;
}

void espy_tasks__remove(struct espy_tasks *t, struct espy_task *task)
{
	if (t->drop_slot)
		t->drop_slot(t->slot_ctx, task);
	if (t->last == task)
		t->last = NULL;
	HASH_DEL(t->by_tid, task);
	if (!task->detached)
		t->live--;
	espy_budget__give(t->budget, sizeof(*task) + t->slot_sz + task->enter_cap);
	free(task->enter);
	free(task);
}

void espy_tasks__rename(struct espy_tasks *t, struct espy_task *task, uint32_t tid)
{
	struct espy_task *old;

	HASH_FIND_INT(t->by_tid, &tid, old);
	if (old == task)
		return;
	if (old)
		espy_tasks__remove(t, old);
	HASH_DEL(t->by_tid, task);
	task->tid = tid;
	HASH_ADD_INT(t->by_tid, tid, task);
}

int espy_tasks__begin_call(struct espy_tasks *t, struct espy_task *task, const struct espy_rec *enter)
{
	task->in_call = false;
	if (task->enter_cap < enter->size) {
		const size_t more = enter->size - task->enter_cap;
		struct espy_rec *p = espy_budget__take(t->budget, more) ? realloc(task->enter, enter->size) : NULL;

		if (!p)
			return -ENOMEM;
		task->enter = p;
		task->enter_cap = enter->size;
	}
	memcpy(task->enter, enter, enter->size);
	task->in_call = true;
	return 0;
}

void espy_tasks__clear(struct espy_tasks *t)
{
	struct espy_task *task, *next;

	HASH_ITER(hh, t->by_tid, task, next)
	espy_tasks__remove(t, task);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFERRED_BYTES (ESPY_DEFERRED_MAX * sizeof(struct espy_rec_signal))

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
	if (!espy_budget__take(t->budget, sizeof(*task)))
		return NULL;
	task = calloc(1, sizeof(*task));
	if (!task) {
		espy_budget__give(t->budget, sizeof(*task));
		return NULL;
	}
	task->tid = tid;
	task->tgid = tgid ? tgid : tid;
	task->last_nr = ESPY_NR_UNKNOWN;
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
	if (t->last == task)
		t->last = NULL;
	HASH_DEL(t->by_tid, task);
	if (!task->detached)
		t->live--;
	espy_budget__give(t->budget, sizeof(*task) + task->enter_cap + (task->deferred ? DEFERRED_BYTES : 0));
	free(task->enter);
	free(task->deferred);
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
	task->in_call = task->enter_shown = false;
	task->args_shown = 0;
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

int espy_tasks__defer_signal(struct espy_tasks *t, struct espy_task *task, const struct espy_rec_signal *sig)
{
	if (!task->deferred) {
		if (espy_budget__take(t->budget, DEFERRED_BYTES))
			task->deferred = malloc(DEFERRED_BYTES);
		if (!task->deferred)
			return -ENOMEM;
	}
	if (task->deferred_cnt == ESPY_DEFERRED_MAX)
		return -ENOMEM;
	task->deferred[task->deferred_cnt++] = *sig;
	return 0;
}

void espy_tasks__free(struct espy_tasks *t)
{
	struct espy_task *task, *next;

	HASH_ITER(hh, t->by_tid, task, next)
	espy_tasks__remove(t, task);
}

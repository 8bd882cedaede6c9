/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/text_tasks.h"

#include <stdlib.h>
#include "sink/text_functions.h"

/* A task has fewer ignored signals before its first call; it keeps back no more. */
#define LATER_MAX 64u

struct espy_text_task *espy_text_tasks__find(struct espy_text_tasks *t, uint32_t tid)
{
	struct espy_text_task *task = t->last;

	if (!t->by_tid || (task && task->tid == tid))
		return t->by_tid ? task : NULL;
	HASH_FIND_INT(t->by_tid, &tid, task);
	if (task)
		t->last = task;
	return task;
}

struct espy_text_task *espy_text_tasks__get(struct espy_text_tasks *t, uint32_t tid)
{
	struct espy_text_task *task = espy_text_tasks__find(t, tid);

	if (task)
		return task;
	task = espy_budget__alloc(t->budget, sizeof(*task));
	if (!task)
		return NULL;
	task->tid = tid;
	HASH_ADD_INT(t->by_tid, tid, task);
	return task;
}

void espy_text_task__forget_kept(struct espy_text_task *task)
{
	if (!task)
		return;
	free(task->kept);
	task->kept = NULL;
}

void espy_text_tasks__drop(struct espy_text_tasks *t, struct espy_text_task *task)
{
	if (!task)
		return;
	if (t->last == task)
		t->last = NULL;
	HASH_DEL(t->by_tid, task);
	espy_budget__give(t->budget, sizeof(*task) + (task->later ? LATER_MAX * sizeof(*task->later) : 0));
	free(task->later);
	free(task->kept);
	espy_text_functions__free(task->functions, t->budget);
	free(task);
}

void espy_text_tasks__rename(struct espy_text_tasks *t, struct espy_text_task *task, uint32_t tid)
{
	HASH_DEL(t->by_tid, task);
	task->tid = tid;
	HASH_ADD_INT(t->by_tid, tid, task);
	t->last = NULL;
}

bool espy_text_tasks__keep_signal(struct espy_text_tasks *t, uint32_t tid, const struct espy_rec_signal *sig)
{
	struct espy_text_task *task = espy_text_tasks__get(t, tid);
	const size_t bytes = LATER_MAX * sizeof(*sig);

	if (!task || task->later_cnt == LATER_MAX)
		return task == NULL;
	if (!task->later) {
		task->later = espy_budget__alloc(t->budget, bytes);
		if (!task->later)
			return true;
	}
	task->later[task->later_cnt++] = *sig;
	return true;
}

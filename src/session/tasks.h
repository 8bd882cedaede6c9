/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of tasks, kept from the stream alone (FORK, EXEC, TASK_EXIT records) and seeded from /proc at attach. */
#ifndef ESPY_SESSION_TASKS_H
#define ESPY_SESSION_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>
#include "record/record.h"
#include "describe/image.h"
#include "session/budget.h"

struct espy_sink;

struct espy_task {
	uint32_t tid, tgid;
	struct espy_rec *enter; /* copy of the ENTER record of a call that has not ended; NULL: none */
	size_t enter_cap;	/* bytes allocated for it (kept between calls) */
	bool in_call;		/* enter is valid */
	bool enter_shown;	/* its first half has been written */
	bool detached;		/* let go of: what still comes of it is not shown, and it does not count as live */
	bool announced;		/* "Process N attached" was said */
	bool hidden;		/* of a trace: its lines were not asked for (--pid) */
	unsigned args_shown;	/* arguments that the first half wrote */
	struct espy_rec_signal *deferred; /* ignored signals, shown after the task's next call */
	size_t deferred_cnt;
	uint32_t last_nr;	/* of the last call begun, for -n */
	enum espy_abi abi;	/* of its calls so far */
	struct espy_sink *sink; /* where its lines go */
	UT_hash_handle hh;
};

struct espy_tasks {
	struct espy_task *by_tid;
	struct espy_task *last; /* the one looked up last: most records come in runs of one task */
	size_t live;
	struct espy_budget *budget; /* NULL: no bound */
};

/* The task, made if it is not known (tgid 0: its own leader); NULL without memory. */
struct espy_task *espy_tasks__get(struct espy_tasks *t, uint32_t tid, uint32_t tgid);
/* The task or NULL. */
struct espy_task *espy_tasks__find(struct espy_tasks *t, uint32_t tid);
/* It is watched no longer; stays known, so that what was on its way can be told from news. */
void espy_tasks__detach(struct espy_tasks *t, struct espy_task *task);
void espy_tasks__remove(struct espy_tasks *t, struct espy_task *task);
/* Give a task another tid (exec by a thread that was not the leader); what had that tid is removed before. */
void espy_tasks__rename(struct espy_tasks *t, struct espy_task *task, uint32_t tid);
/* Keep a copy of an ENTER record; -ENOMEM. */
int espy_tasks__begin_call(struct espy_tasks *t, struct espy_task *task, const struct espy_rec *enter);
/* More ignored signals than a task has before a call of its own are not kept back. */
#define ESPY_DEFERRED_MAX 64u
/* Keep an ignored signal for later; -ENOMEM. */
int espy_tasks__defer_signal(struct espy_tasks *t, struct espy_task *task, const struct espy_rec_signal *sig);
void espy_tasks__free(struct espy_tasks *t);

#endif

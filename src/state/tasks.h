/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of tasks, kept from the stream alone (FORK, EXEC, TASK_EXIT records). */
#ifndef ESPY_STATE_TASKS_H
#define ESPY_STATE_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>
#include "describe/image.h"
#include "record/record.h"
#include "state/budget.h"

struct espy_task {
	uint32_t tid, tgid;
	struct espy_rec *enter; /* copy of the ENTER record of a call that has not ended; NULL: none */
	size_t enter_cap;	/* bytes allocated for it (kept between calls) */
	bool in_call;		/* enter is valid */
	bool detached;		/* let go of: its later records are no part of the stream, and it does not count as live */
	bool abi_changed;	/* the record at work is of another ABI than the task's calls before */
	enum espy_abi abi;	/* of its calls so far */
	uint32_t last_nr;	/* of the last call begun, for -n */
	uint32_t interrupted_nr; /* of the call with which it goes on after a stop; ESPY_NR_UNKNOWN: none */
	uint32_t born;		/* the task that its call has made; 0: none */
	void *slot;		/* of the consumer: struct espy_state_opts.slot_sz bytes */
	UT_hash_handle hh;
};

struct espy_tasks {
	struct espy_task *by_tid;
	struct espy_task *last; /* the one looked up last: most records come in runs of one task */
	size_t live;
	struct espy_budget *budget; /* NULL: no bound */
	size_t slot_sz;
	void (*drop_slot)(void *ctx, struct espy_task *task); /* NULL: nothing is to be done */
	void *slot_ctx;
};

/* Returns the task, and makes it if it is not known (tgid 0: its own leader). NULL: no memory. */
struct espy_task *espy_tasks__get(struct espy_tasks *t, uint32_t tid, uint32_t tgid);
/* Returns the task or NULL. */
struct espy_task *espy_tasks__find(struct espy_tasks *t, uint32_t tid);
/* Lets go of a task. The table keeps it, to tell records that were on their way from news. */
void espy_tasks__detach(struct espy_tasks *t, struct espy_task *task);
void espy_tasks__remove(struct espy_tasks *t, struct espy_task *task);
/* Gives a task another tid (exec by a thread that was not the leader), and removes the task that had that tid. */
void espy_tasks__rename(struct espy_tasks *t, struct espy_task *task, uint32_t tid);
/* Keeps a copy of an ENTER record. 0 or -ENOMEM. */
int espy_tasks__begin_call(struct espy_tasks *t, struct espy_task *task, const struct espy_rec *enter);
/* Removes all. */
void espy_tasks__clear(struct espy_tasks *t);

#endif

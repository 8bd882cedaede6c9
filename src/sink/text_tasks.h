/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the text keeps of tasks: of those whose call has been begun, that have signals or an end to be shown later, that were met. */
#ifndef ESPY_SINK_TEXT_TASKS_H
#define ESPY_SINK_TEXT_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>
#include "record/record.h"
#include "state/budget.h"

struct espy_text_task {
	uint32_t tid;
	uint32_t nr;	     /* of the call that was begun last */
	bool begun;	     /* its first half has been written */
	bool shown;	     /* a line of it has been written; kept where the whole system or a cgroup is watched */
	bool line_shown; /* its last call or hit has a line, so the stack has a place; kept where stacks are shown */
	bool left;	     /* it has ended before other threads of its process: the line is due when the last one ends */
	bool left_hidden;    /* and is not wanted */
	uint32_t left_status;
	uint64_t left_ns;
	uint32_t superseded_by; /* the thread that has executed a program in its place, which has not been said yet; 0: none */
	uint64_t superseded_ns;
	char *kept;	     /* the first half of its call's line, which has no status yet; NULL: none */
	bool stopped;	     /* by a signal, and it has made no call since */
	bool cut;	     /* its last line is of a call in which it was killed */
	unsigned args_shown; /* arguments that the first half wrote */
	struct espy_rec_signal *later; /* ignored signals, shown after the task's next call */
	size_t later_cnt;
	struct espy_text_functions *functions; /* that it is in, with --functions; NULL: none so far */
	UT_hash_handle hh;
};

struct espy_text_tasks {
	struct espy_text_task *by_tid, *last; /* last: the one looked up last */
	struct espy_budget *budget;	      /* NULL: no bound */
};

/* Forgets the first half of a line; NULL is let be. */
void espy_text_task__forget_kept(struct espy_text_task *task);
/* NULL: nothing is kept of it. */
struct espy_text_task *espy_text_tasks__find(struct espy_text_tasks *t, uint32_t tid);
/* Made if need be; NULL without memory. */
struct espy_text_task *espy_text_tasks__get(struct espy_text_tasks *t, uint32_t tid);
/* The task may be NULL. */
void espy_text_tasks__drop(struct espy_text_tasks *t, struct espy_text_task *task);
/* Gives it another number, which no other task has. */
void espy_text_tasks__rename(struct espy_text_tasks *t, struct espy_text_task *task, uint32_t tid);
/* Keeps an ignored signal, which does not interrupt the call that it comes in. false: it must be shown at once. */
bool espy_text_tasks__keep_signal(struct espy_text_tasks *t, uint32_t tid, const struct espy_rec_signal *sig);

#endif

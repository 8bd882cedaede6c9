/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The numbers of tasks in pid namespaces below the observer's (pid_namespaces(7)). A call names a task by the number that
 * the task has in the namespace of the caller. Tasks in the observer's own namespace are not here.
 */
#ifndef ESPY_STATE_PID_NUMBERS_H
#define ESPY_STATE_PID_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "record/record.h"
#include "state/budget.h"

struct espy_task_numbers;
struct espy_number_owner;

/* All zero at first. */
struct espy_pid_numbers {
	struct espy_task_numbers *by_tid;
	struct espy_number_owner *by_number;
	struct espy_budget *budget; /* NULL: no bound */
	size_t ended; /* tasks that have ended and are still known */
};

/* Sets the numbers of a task, from the outermost namespace to its own; cnt 0: the task is in the observer's. */
void espy_pid_numbers__set(struct espy_pid_numbers *p, uint32_t tid, const struct espy_pid_number *at, size_t cnt);
/* Returns the inode of a task's namespace; 0: the observer's, or not known. */
uint32_t espy_pid_numbers__namespace(const struct espy_pid_numbers *p, uint32_t tid);
/* Returns the observer's number of the task that has this number in a namespace; *ended: the task has ended. 0: not known. */
uint32_t espy_pid_numbers__find(const struct espy_pid_numbers *p, uint32_t ns, uint32_t number, bool *ended);
/* Notes that a task has ended. Its numbers stay for a while: its parent, or its process group, may outlive it. */
void espy_pid_numbers__end(struct espy_pid_numbers *p, uint32_t tid);
void espy_pid_numbers__clear(struct espy_pid_numbers *p);
/* Calls fn for each task that has not ended. */
void espy_pid_numbers__each(const struct espy_pid_numbers *p,
			    void (*fn)(void *ctx, uint32_t tid, const struct espy_pid_number *at, size_t cnt), void *ctx);

#endif

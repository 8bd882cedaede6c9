/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * After an injection that did not go as planned: no thread may stay traced. A thread may have executed a program, have been
 * ended by one that another thread executes, or have made a thread of which nothing was heard.
 */
#include "source/agent/inject_parts.h"

#include <time.h>
#include <unistd.h>
#include "base/task_list.h"

static bool let_go_one(struct espy_inject_left *left)
{
	struct espy_remote r = espy_remote__traced(left->pid, left->tid);
	const bool done = espy_remote__detach(&r);

	left->tid = r.tid;
	return done;
}

unsigned espy_inject_let_go(struct espy_inject_left *left, unsigned cnt)
{
	unsigned still = 0;

	for (unsigned i = 0; i < cnt; i++)
		if (!let_go_one(&left[i]))
			left[still++] = left[i];
	return still;
}

bool espy_inject__is_left(const struct espy_inject_result *r, pid_t tid)
{
	for (unsigned i = 0; i < r->left_cnt; i++)
		if (r->left[i].tid == tid)
			return true;
	return false;
}

static void let_go(pid_t pid, pid_t tid, struct espy_inject_result *r)
{
	struct espy_inject_left left = { .pid = pid, .tid = tid };
	const struct timespec nap = { .tv_nsec = 50000000 };

	while (!let_go_one(&left)) {
		if (r->left_cnt < ESPY_INJECT_LEFT_MAX) {
			r->left[r->left_cnt++] = left;
			return;
		}
		nanosleep(&nap, NULL);
	}
}

void espy_inject__let_all_go(pid_t pid, struct espy_inject_result *r)
{
	DIR *d = espy_task_list__open(pid);

	for (pid_t tid; (tid = espy_task_list__next(d));) {
		struct espy_inject_status s;

		if (!espy_inject__is_left(r, tid) && !espy_inject__read_status(tid, &s) && s.tracer == gettid())
			let_go(pid, tid, r);
	}
	espy_task_list__close(d);
}

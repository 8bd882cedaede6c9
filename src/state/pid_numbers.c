/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/pid_numbers.h"

#include <stdlib.h>
#include <uthash.h>

/* The most ended tasks that are known. */
#define ENDED_MAX 4096u

/* The task that has a number. */
struct espy_number_owner {
	struct espy_pid_number key;
	struct espy_task_numbers *task;
	UT_hash_handle hh;
};

struct espy_task_numbers {
	uint32_t tid;
	bool ended;
	size_t cnt;
	struct espy_number_owner own[ESPY_PID_LEVELS];
	UT_hash_handle hh;
};

static struct espy_task_numbers *find_task(const struct espy_pid_numbers *p, uint32_t tid)
{
	struct espy_task_numbers *t;

	HASH_FIND_INT(p->by_tid, &tid, t);
	return t;
}

static void drop(struct espy_pid_numbers *p, struct espy_task_numbers *t)
{
	for (size_t i = 0; i < t->cnt; i++)
		if (t->own[i].task)
			HASH_DEL(p->by_number, &t->own[i]);
	HASH_DEL(p->by_tid, t);
	p->ended -= t->ended;
	free(t);
	espy_budget__give(p->budget, sizeof(*t));
}

void espy_pid_numbers__set(struct espy_pid_numbers *p, uint32_t tid, const struct espy_pid_number *at, size_t cnt)
{
	struct espy_task_numbers *t = find_task(p, tid);
	struct espy_number_owner *o;

	if (t)
		drop(p, t);
	t = cnt && cnt <= ESPY_PID_LEVELS ? espy_budget__alloc(p->budget, sizeof(*t)) : NULL;
	if (!t)
		return;
	t->tid = tid;
	t->cnt = cnt;
	HASH_ADD_INT(p->by_tid, tid, t);
	for (size_t i = 0; i < cnt; i++) {
		HASH_FIND(hh, p->by_number, &at[i], sizeof(at[i]), o);
		if (o) { /* the number has come round again */
			HASH_DEL(p->by_number, o);
			o->task = NULL;
		}
		t->own[i].key = at[i];
		t->own[i].task = t;
		o = &t->own[i];
		HASH_ADD(hh, p->by_number, key, sizeof(o->key), o);
	}
}

uint32_t espy_pid_numbers__namespace(const struct espy_pid_numbers *p, uint32_t tid)
{
	const struct espy_task_numbers *t = p->by_tid ? find_task(p, tid) : NULL;

	return t ? t->own[t->cnt - 1].key.ns : 0;
}

uint32_t espy_pid_numbers__find(const struct espy_pid_numbers *p, uint32_t ns, uint32_t number, bool *ended)
{
	const struct espy_pid_number key = { .ns = ns, .number = number };
	struct espy_number_owner *o;

	HASH_FIND(hh, p->by_number, &key, sizeof(key), o);
	if (!o)
		return 0;
	*ended = o->task->ended;
	return o->task->tid;
}

void espy_pid_numbers__end(struct espy_pid_numbers *p, uint32_t tid)
{
	struct espy_task_numbers *t = p->by_tid ? find_task(p, tid) : NULL, *next;

	if (!t || t->ended)
		return;
	t->ended = true;
	if (++p->ended <= ENDED_MAX)
		return;
	/* In the order in which they came. */
	for (t = p->by_tid; t && !t->ended; t = next)
		next = t->hh.next;
	if (t)
		drop(p, t);
}

void espy_pid_numbers__clear(struct espy_pid_numbers *p)
{
	while (p->by_tid)
		drop(p, p->by_tid);
}

void espy_pid_numbers__each(const struct espy_pid_numbers *p,
			    void (*fn)(void *ctx, uint32_t tid, const struct espy_pid_number *at, size_t cnt), void *ctx)
{
	struct espy_pid_number at[ESPY_PID_LEVELS];

	for (const struct espy_task_numbers *t = p->by_tid; t; t = t->hh.next) {
		for (size_t i = 0; i < t->cnt; i++)
			at[i] = t->own[i].key;
		if (!t->ended)
			fn(ctx, t->tid, at, t->cnt);
	}
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which tasks there are, when each was last heard of, and which of them sit in a call for long. A call is recorded at its
 * exit; the one that a program hangs in is seen by looking, from outside and seldom, at /proc/TID/syscall.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "bpf_source.h"

int bpf_tasks__init(struct bpf_tasks *t, size_t limit)
{
	memset(t, 0, sizeof(*t));
	t->place = calloc(limit, sizeof(*t->place));
	t->heard_ms = calloc(limit, sizeof(*t->heard_ms));
	t->shown = calloc(limit, sizeof(*t->shown));
	if (!t->place || !t->heard_ms || !t->shown) {
		bpf_tasks__free(t);
		return -ENOMEM;
	}
	t->limit = limit;
	return 0;
}

void bpf_tasks__free(struct bpf_tasks *t)
{
	free(t->tids);
	free(t->place);
	free(t->heard_ms);
	free(t->shown);
	memset(t, 0, sizeof(*t));
}

void bpf_tasks__add(struct bpf_tasks *t, uint32_t tid, uint32_t now_ms)
{
	if (tid >= t->limit)
		return;
	t->heard_ms[tid] = now_ms;
	t->shown[tid] = 0;
	if (t->place[tid])
		return;
	if (t->cnt == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 256;
		uint32_t *tids = realloc(t->tids, cap * sizeof(*tids));

		if (!tids)
			return; /* it is not looked at when it hangs; nothing else depends on the list */
		t->tids = tids;
		t->cap = cap;
	}
	t->tids[t->cnt++] = tid;
	t->place[tid] = (uint32_t)t->cnt;
}

void bpf_tasks__remove(struct bpf_tasks *t, uint32_t tid)
{
	uint32_t place = tid < t->limit ? t->place[tid] : 0, last;

	if (!place)
		return;
	last = t->tids[--t->cnt];
	t->tids[place - 1] = last;
	t->place[last] = place;
	t->place[tid] = 0;
}

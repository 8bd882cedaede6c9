/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"

void espy_index_tasks__add_slow(struct espy_index_tasks *t, uint32_t tid)
{
	t->last = tid;
	if (t->count > ESPY_INDEX_TASKS_MAX)
		return;
	for (uint32_t i = 0; i < t->count; i++)
		if (t->tids[i] == tid)
			return;
	if (t->count < ESPY_INDEX_TASKS_MAX)
		t->tids[t->count] = tid;
	t->count++;
}

static int grow(struct espy_index *x)
{
	const uint32_t cap = x->cap ? 2 * x->cap : 64;
	void *entries = realloc(x->entries, cap * sizeof(*x->entries));

	if (!entries)
		return -ENOMEM;
	x->entries = entries;
	void *tids = realloc(x->tids, cap * sizeof(*x->tids));

	if (!tids)
		return -ENOMEM;
	x->tids = tids;
	x->cap = cap;
	return 0;
}

/* Merges two entries: `into` also stands for the blocks of `e`, which follow its own. */
static void merge(struct espy_index_entry *into, uint32_t *into_tids, const struct espy_index_entry *e,
		  const uint32_t *tids)
{
	struct espy_index_tasks all = { .count = into->task_cnt };

	into->blocks += e->blocks;
	into->records += e->records;
	espy_times__widen(&into->first_ns, &into->last_ns, e->first_ns, e->last_ns);
	if (into->task_cnt == ESPY_INDEX_ANY_TASK)
		return;
	if (e->task_cnt == ESPY_INDEX_ANY_TASK) {
		into->task_cnt = ESPY_INDEX_ANY_TASK;
		return;
	}
	memcpy(all.tids, into_tids, sizeof(all.tids));
	for (uint32_t i = 0; i < e->task_cnt; i++)
		espy_index_tasks__add_slow(&all, tids[i]);
	memcpy(into_tids, all.tids, sizeof(all.tids));
	into->task_cnt = all.count > ESPY_INDEX_TASKS_MAX ? ESPY_INDEX_ANY_TASK : (uint16_t)all.count;
}

static void halve(struct espy_index *x)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->count; i += 2, n++) {
		if (n != i) {
			x->entries[n] = x->entries[i];
			memcpy(x->tids[n], x->tids[i], sizeof(x->tids[n]));
		}
		if (i + 1 < x->count)
			merge(&x->entries[n], x->tids[n], &x->entries[i + 1], x->tids[i + 1]);
	}
	x->count = n;
	x->blocks_per_entry *= 2;
}

int espy_index__add(struct espy_index *x, uint64_t offset, const struct espy_section_head *head,
		    const struct espy_index_tasks *tasks)
{
	const struct espy_index_entry e = {
		.offset = offset,
		.first_ns = head->first_ns,
		.last_ns = head->last_ns,
		.records = head->records,
		.blocks = 1,
		.task_cnt = tasks->count > ESPY_INDEX_TASKS_MAX ? ESPY_INDEX_ANY_TASK : (uint16_t)tasks->count,
	};

	if (!x->blocks_per_entry)
		x->blocks_per_entry = 1;
	if (x->count && x->entries[x->count - 1].blocks < x->blocks_per_entry) {
		merge(&x->entries[x->count - 1], x->tids[x->count - 1], &e, tasks->tids);
		return 0;
	}
	/* Beyond 2^14 blocks an entry no index is of use: such a file has 10^14 bytes. */
	if (x->count == ESPY_INDEX_ENTRIES_MAX && x->blocks_per_entry < 1u << 14)
		halve(x);
	if (x->count == ESPY_INDEX_ENTRIES_MAX)
		return 0;
	if (x->count == x->cap && grow(x))
		return -ENOMEM;
	x->entries[x->count] = e;
	memcpy(x->tids[x->count], tasks->tids, sizeof(x->tids[0]));
	x->count++;
	return 0;
}

int espy_index__add_checkpoint(struct espy_index *x, uint64_t offset)
{
	/* when there are too many, every second one serves as well */
	if (x->checkpoint_cnt == ESPY_INDEX_CHECKPOINTS_MAX) {
		for (uint32_t i = 0; i < x->checkpoint_cnt / 2; i++)
			x->checkpoints[i] = x->checkpoints[2 * i + 1];
		x->checkpoint_cnt /= 2;
	}
	if (!espy_array__grow(x->checkpoints, x->checkpoint_cnt, x->checkpoint_cap))
		return -ENOMEM;
	x->checkpoints[x->checkpoint_cnt++] = offset;
	return 0;
}

void espy_index__clear(struct espy_index *x)
{
	x->count = x->checkpoint_cnt = 0;
	x->blocks_per_entry = 1;
}

void espy_index__free(struct espy_index *x)
{
	free(x->entries);
	free(x->tids);
	free(x->checkpoints);
	*x = (struct espy_index){ 0 };
}

size_t espy_index__memory(const struct espy_index *x)
{
	return x->cap * (sizeof(*x->entries) + sizeof(*x->tids)) + x->checkpoint_cap * sizeof(*x->checkpoints);
}

static uint32_t listed(const struct espy_index_entry *e)
{
	return e->task_cnt == ESPY_INDEX_ANY_TASK ? 0 : e->task_cnt;
}

void *espy_index__bytes(const struct espy_index *x, size_t *size)
{
	struct espy_index_head head = {
		.entry_sz = sizeof(*x->entries),
		.entries = x->count,
		.checkpoints = x->checkpoint_cnt,
	};
	const size_t checkpoints_sz = x->checkpoint_cnt * sizeof(*x->checkpoints);

	for (uint32_t i = 0; i < x->count; i++)
		head.tids += listed(&x->entries[i]);
	*size = sizeof(head) + x->count * sizeof(*x->entries) + checkpoints_sz + head.tids * sizeof(uint32_t);
	uint8_t *bytes = malloc(*size), *at = bytes;

	if (!bytes)
		return NULL;
	memcpy(at, &head, sizeof(head));
	at += sizeof(head);
	if (x->count)
		memcpy(at, x->entries, x->count * sizeof(*x->entries));
	at += x->count * sizeof(*x->entries);
	if (checkpoints_sz)
		memcpy(at, x->checkpoints, checkpoints_sz);
	at += checkpoints_sz;
	for (uint32_t i = 0; i < x->count; i++) {
		memcpy(at, x->tids[i], listed(&x->entries[i]) * sizeof(uint32_t));
		at += listed(&x->entries[i]) * sizeof(uint32_t);
	}
	return bytes;
}

bool espy_index_open(const void *bytes, size_t size, struct espy_index_view *v)
{
	struct espy_index_head head;

	if (size < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	size -= sizeof(head);
	if (head.entry_sz != sizeof(*v->entries) || head.entries > size / sizeof(*v->entries))
		return false;
	size -= head.entries * sizeof(*v->entries);
	if (head.checkpoints > size / sizeof(*v->checkpoints))
		return false;
	v->entries = (const struct espy_index_entry *)((const uint8_t *)bytes + sizeof(head));
	v->entry_cnt = head.entries;
	v->checkpoints = (const uint64_t *)(v->entries + head.entries);
	v->checkpoint_cnt = head.checkpoints;
	return true;
}

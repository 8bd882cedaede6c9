/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a writer remembers of its blocks: of bounded size, however long the trace is. */
#ifndef ESPY_TRACE_INDEX_H
#define ESPY_TRACE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "trace/trace_format.h"

/* The tasks of a block. */
struct espy_index_tasks {
	uint32_t tids[ESPY_INDEX_TASKS_MAX];
	uint32_t count; /* greater than MAX: any */
	uint32_t last;
};

static inline void espy_index_tasks__clear(struct espy_index_tasks *t)
{
	t->count = 0;
}
void espy_index_tasks__add_slow(struct espy_index_tasks *t, uint32_t tid);
static inline void espy_index_tasks__add(struct espy_index_tasks *t, uint32_t tid)
{
	if (!t->count || tid != t->last)
		espy_index_tasks__add_slow(t, tid);
}

#define ESPY_INDEX_ENTRIES_MAX 16384u
#define ESPY_INDEX_CHECKPOINTS_MAX 16384u

struct espy_index {
	struct espy_index_entry *entries;
	uint32_t (*tids)[ESPY_INDEX_TASKS_MAX];
	uint32_t count, cap;
	uint32_t blocks_per_entry; /* grows when the index is full */
	uint64_t *checkpoints;	   /* offsets */
	uint32_t checkpoint_cnt;
	size_t checkpoint_cap;
};

/* first_ns 0: without times. Forgets nothing: when it is full, neighbours are put together. */
int espy_index__add(struct espy_index *x, uint64_t offset, const struct espy_section_head *head,
		    const struct espy_index_tasks *tasks);
int espy_index__add_checkpoint(struct espy_index *x, uint64_t offset);
void espy_index__clear(struct espy_index *x);
void espy_index__free(struct espy_index *x);
size_t espy_index__memory(const struct espy_index *x);
/* The bytes of the section, malloc'ed. NULL: out of memory. */
void *espy_index__bytes(const struct espy_index *x, size_t *size);

struct espy_index_view {
	const struct espy_index_entry *entries;
	const uint64_t *checkpoints;
	uint32_t entry_cnt, checkpoint_cnt;
};
/* Are these (foreign) bytes an index? Then v points into them. */
bool espy_index_open(const void *bytes, size_t size, struct espy_index_view *v);

#endif

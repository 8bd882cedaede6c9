/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory for the tasks, descriptors and names of a trace file. A running system bounds a live session by its own limits. A
 * file can claim any number.
 */
#ifndef ESPY_STATE_BUDGET_H
#define ESPY_STATE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct espy_budget {
	size_t used, max; /* bytes */
	uint64_t refused; /* how often there was no room; the state does not know these things later */
};

/* Takes bytes; false: the budget has no room. NULL: a budget without bound. */
static inline bool espy_budget__take(struct espy_budget *b, size_t bytes)
{
	if (!b)
		return true;
	if (bytes > b->max - b->used) {
		b->refused++;
		return false;
	}
	b->used += bytes;
	return true;
}

static inline void espy_budget__give(struct espy_budget *b, size_t bytes)
{
	if (b)
		b->used -= bytes;
}

/* Allocates zeroed memory within the budget. NULL: the budget or the memory has no room. */
static inline void *espy_budget__alloc(struct espy_budget *b, size_t bytes)
{
	void *p = NULL;

	if (espy_budget__take(b, bytes)) {
		p = calloc(1, bytes);
		if (!p)
			espy_budget__give(b, bytes);
	}
	return p;
}

#endif

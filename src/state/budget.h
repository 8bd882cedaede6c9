/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory for what a trace file claims there is: tasks, descriptors, names. What a running system can have open bounds a
 * live session; a file can claim anything.
 */
#ifndef ESPY_STATE_BUDGET_H
#define ESPY_STATE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct espy_budget {
	size_t used, max; /* bytes */
	uint64_t refused; /* how often there was no room: what was to be kept is not known later */
};

/* NULL: all is granted. */
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

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sums of PAUSE records: how many, how long, and which tasks most of all. For sources that hold tasks, and for traces. */
#ifndef ESPY_SOURCE_PAUSES_H
#define ESPY_SOURCE_PAUSES_H

#include "source/source.h"

/* By task, in a hash table with free places. All zero: empty. */
struct espy_pauses {
	struct espy_paused_task *tasks; /* pauses 0: free */
	uint32_t cnt, cap;
};

/* Adds a pause here, and to the sums in *st. Out of memory or with too many tasks only the sums have it. */
void espy_pauses__count(struct espy_pauses *p, struct espy_source_stats *st, const struct espy_rec_pause *rec);
/* st->paused and st->paused_tasks. */
void espy_pauses__tell(const struct espy_pauses *p, struct espy_source_stats *st);
void espy_pauses__free(struct espy_pauses *p);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How the clock of the records runs against the time of day. The two drift apart by some microseconds between two records
 * of clocks. A moment is told by the last one before it, so that a call has one time of day, whenever it is shown.
 */
#ifndef ESPY_STATE_CLOCKS_H
#define ESPY_STATE_CLOCKS_H

#include <stdint.h>
#include "record/record.h"

/* A recording writes one at its start and every ten seconds. For a moment before those that are kept, the oldest of them counts. */
#define ESPY_CLOCKS_MAX 16

struct espy_clocks {
	struct espy_rec_clock v[ESPY_CLOCKS_MAX]; /* in the order of the stream */
	unsigned cnt;
	int64_t first_offset_ns; /* as long as there is none; the caller's to set */
};

void espy_clocks__add(struct espy_clocks *c, const struct espy_rec_clock *rec);
/* Returns CLOCK_REALTIME - CLOCK_MONOTONIC at that moment of CLOCK_MONOTONIC. */
int64_t espy_clocks__realtime_offset_ns(const struct espy_clocks *c, uint64_t time_ns);

#endif

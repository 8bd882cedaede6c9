/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Merges streams that are each in order of time into one: the rings of several CPUs, or the records of several sources.
 * Pure: it knows neither records nor clocks, only times, and asks its inputs for the rest.
 *
 * An input shows its next record, or promises that its next record will not be older than some moment. The merge gives
 * out the oldest record of all when no other input can have an older one. It also gives out a record that is older than
 * the window: so one silent input cannot hold up all others. A record that comes after younger ones were given out goes
 * out at once, and is counted.
 */
#ifndef ESPY_MERGE_H
#define ESPY_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Tells the time of an input's next record. True: there is a record of the time *time_ns. False: there is none now, and
 * none before *time_ns will come (0: nothing is known). The merge takes records of one input in its own order, even if
 * a time is less than the time before.
 */
typedef bool (*espy_merge_peek_fn)(void *input, uint64_t *time_ns);

struct espy_merge_place;
struct espy_merge {
	espy_merge_peek_fn peek;
	uint64_t window_ns;
	size_t cnt;
	struct espy_merge_place *heap; /* the input with the least time first */
	bool taken;		       /* the record of the input at heap[last] was given out */
	size_t last;
	uint64_t given_ns; /* the latest time given out */
	uint64_t late;	   /* records given out after younger ones */
};

/* `inputs`: at least one pointer, each handed to peek. Returns 0 or -ENOMEM. */
int espy_merge__init(struct espy_merge *m, espy_merge_peek_fn peek, void *const *inputs, size_t cnt,
		     uint64_t window_ns);
void espy_merge__free(struct espy_merge *m);

/* Asks all inputs anew. The caller calls it when an empty input may have a record. */
void espy_merge__look(struct espy_merge *m);

/*
 * Returns the input with the record to take now. The caller takes the record before the next call. NULL: no record may
 * be taken until another look. now_ns: the time by the clock of the records; a record older by the window always goes.
 */
void *espy_merge__next(struct espy_merge *m, uint64_t now_ns);

/*
 * Returns a time: records of the input that espy_merge__next gave last go before all others if they are older. Valid
 * until the next call of espy_merge__next.
 */
uint64_t espy_merge__until(const struct espy_merge *m);

#endif

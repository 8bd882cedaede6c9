/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Merges streams that are each in order of time into one: the rings of several CPUs, or the records of several sources.
 * Pure: it knows neither records nor clocks, only times, and asks its inputs for the rest.
 *
 * What an input has next is either a record, or the promise that nothing older than some moment will come any more.
 * The oldest record of all is given out when every other input has shown something as late or promised it; and, so that
 * one silent input cannot hold up all others, when it is older than the window. A record that comes after younger ones
 * were given out is given out at once, and counted.
 */
#ifndef ESPY_MERGE_H
#define ESPY_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What an input has next. True: a record of the time *time_ns. False: none now, and none before *time_ns will come
 * (0: nothing is known). Records of one input are taken in its own order, even if a time is less than the one before.
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

/* 0 or -ENOMEM. `inputs` are what peek gets; at least one. */
int espy_merge__init(struct espy_merge *m, espy_merge_peek_fn peek, void *const *inputs, size_t cnt,
		     uint64_t window_ns);
void espy_merge__free(struct espy_merge *m);

/* Asks all inputs anew; call it when those that had nothing may have something. */
void espy_merge__look(struct espy_merge *m);

/*
 * The input whose next record is to be taken now; the caller takes it before the next call. NULL: none may be, until
 * another look. now_ns: the time by the clock of the records; what is older by the window goes in any case.
 */
void *espy_merge__next(struct espy_merge *m, uint64_t now_ns);

/*
 * Behind espy_merge__next, before the next call of it: records of the same input that are older than this go before
 * those of all others.
 */
uint64_t espy_merge__until(const struct espy_merge *m);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* MORE records of a source that reads another process from outside: the bytes of buffers that find no room in the
 * record. */
#ifndef ESPY_SOURCE_MORE_OUT_H
#define ESPY_SOURCE_MORE_OUT_H

#include "source/plan_run.h"

struct espy_more_out {
	void (*emit)(void *ctx,
		     const struct espy_rec *rec); /* a MORE record, which comes before the record in the making */
	void *ctx;
	uint64_t most;	    /* bytes of one buffer in all */
	uint32_t tid, tgid; /* and time_ns: of the records */
	uint64_t time_ns;
	struct espy_rec_more *piece; /* room for one, with ESPY_MORE_PIECE bytes */
};

/*
 * Sends the bytes of a buffer at addr from `from` on, up to `want`, or to the most that is wanted, or to a fault. head:
 * operation, phase and index of its item.
 */
void espy_more_out__put(const struct espy_more_out *m, const struct espy_mem *mem, const struct espy_item *head,
			uint64_t addr, uint64_t from, uint64_t want);

#endif

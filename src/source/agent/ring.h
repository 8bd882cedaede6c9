/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reader of one session's ring (agent/abi.h, "The ring of a session"). The traced program can write anything into it at
 * any moment: what is read is copied first and checked then, nothing of it is used as an address, and whatever it
 * holds, a look ends.
 */
#ifndef ESPY_SOURCE_AGENT_RING_H
#define ESPY_SOURCE_AGENT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "agent/abi.h"

/* No record is larger than its chunk, and with a head of ours each must fit into one of record.h's (ESPY_REC_MAX). */
#define ESPY_RING_CHUNK_MAX (128u << 10)

struct espy_ring_cursor {
	uint32_t chunk; /* its index */
	uint32_t pos;	/* of the next record in it */
	uint32_t tid;
	uint64_t seq;
	uint64_t lost_before;
	/* Of the next record, if `ready`: */
	bool ready;
	bool over; /* its chunk has been given back */
	uint32_t size, def;
	uint64_t time; /* by the agent's clock */
};

struct espy_agent_ring {
	uint8_t *map;
	size_t size;
	uint32_t chunk_sz, nchunks, data_off;
	uint64_t *done;			  /* per chunk: the seq that was read to its end; 0: none */
	uint64_t *open;			  /* a bit per chunk: it has a cursor */
	struct espy_ring_cursor *cursors; /* those with something in them, in no order */
	size_t cursor_cnt;
	uint64_t damaged; /* chunks given up because of nonsense in them */
	uint64_t torn;	  /* records that their writer left unfinished */
};

struct espy_ring_losses {
	uint64_t full, big, slot, early;
};

/* `map` of `size` bytes, kept by the caller until close. -EPROTO: not what was agreed on. */
int espy_agent_ring__open(struct espy_agent_ring *r, void *map, size_t size, const struct espy_agent_opened *o);
void espy_agent_ring__close(struct espy_agent_ring *r);
/* Finds chunks that have begun since, and what is next in each cursor. */
void espy_agent_ring__look(struct espy_agent_ring *r);
/*
 * Copies the arguments of the cursor's next record (ready) to `out`, which holds chunk_sz bytes, and steps on. Returns
 * their length.
 */
uint32_t espy_agent_ring__take(struct espy_agent_ring *r, struct espy_ring_cursor *c, void *out);
/* The writers are dead: what is not ready now never will be. Counts what they left, and frees the chunks. */
void espy_agent_ring__bury(struct espy_agent_ring *r);
void espy_agent_ring__losses(const struct espy_agent_ring *r, struct espy_ring_losses *out);

/*
 * Do these bytes hold arguments of these kinds, all of them and nothing behind? Strings longer than what is there, and
 * states that do not exist, are refused.
 */
bool espy_mark_args__check(const void *args, size_t len, const uint8_t *kinds, unsigned nargs);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reader of one session's ring (agent/abi.h, "The ring of a session"). The traced program can write anything into it at
 * any moment: what is read is copied first and checked then, nothing of it is used as an address, and whatever it
 * holds, a look ends.
 */
#ifndef ESPY_SOURCE_AGENT_MARK_RING_H
#define ESPY_SOURCE_AGENT_MARK_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
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
	bool over;   /* its chunk has been given back */
	bool shared; /* a shared chunk: `pos` is 8 behind a record that is ready, and `tid` is its */
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
/* What is next in the cursor's chunk, where it is not plainly a record. False: nothing any more, it was given back. */
bool espy_agent_ring__refresh(struct espy_agent_ring *r, struct espy_ring_cursor *c);

/*
 * Copies the arguments of the cursor's next record (ready) to `out`, which holds chunk_sz bytes, and steps on. Returns
 * their length. Here, because it is done for each event.
 */
static inline uint32_t espy_agent_ring__take(struct espy_agent_ring *r, struct espy_ring_cursor *c, void *out)
{
	const uint32_t head_sz = (uint32_t)sizeof(struct espy_mark_record), len = c->size - head_sz;
	const uint8_t *at = r->map + r->data_off + (size_t)c->chunk * r->chunk_sz + c->pos;

	/* The lines come from another processor's cache, and a page's end is as far as it looks ahead by itself. */
	__builtin_prefetch(at + 1024);
	/* Most are a few numbers: a call of memcpy costs more than they do. */
	if (len <= 64)
		for (uint32_t i = 0; i < len; i += 8)
			memcpy((uint8_t *)out + i, at + head_sz + i, 8);
	else
		memcpy(out, at + head_sz, len);
	at += c->size;
	c->pos += c->size;
	c->ready = false;
	if (!c->shared && r->chunk_sz - c->pos >= head_sz) {
		const uint32_t word = __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE);

		/* Neither 0 nor busy, and within the chunk. */
		if (word - head_sz <= r->chunk_sz - c->pos - head_sz && !(word & 7)) {
			struct espy_mark_record rec;

			memcpy(&rec, at, sizeof(rec));
			c->size = word;
			c->def = rec.def;
			c->time = rec.time;
			c->ready = true;
			return len;
		}
	}
	c->over = !espy_agent_ring__refresh(r, c);
	return len;
}
/* The writers are dead: what is not ready now never will be. Counts what they left, and frees the chunks. */
void espy_agent_ring__bury(struct espy_agent_ring *r);
void espy_agent_ring__losses(const struct espy_agent_ring *r, struct espy_ring_losses *out);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A plan for putting a jump in the place of instructions.
 *
 *     in:  the bytes of code from a place on, and how many of them the jump takes
 *     out: the whole instructions that the jump displaces, and their copy, which does elsewhere what they did there;
 *          or the reason why there is no such copy
 *
 * The copy is bytes with gaps: a distance or an address depends on where the copy lies. Whoever puts it somewhere fills
 * the gaps in. The copy ends with its last instruction; unless `ends`, a jump to the byte behind the displaced ones
 * belongs behind it.
 *
 * Gaps and hops are part of the agent's protocol as they stand here (agent/abi.h).
 */
#ifndef ESPY_ARCH_DISPLACE_H
#define ESPY_ARCH_DISPLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ESPY_JUMP_SZ 5u	      /* a jump that reaches 2 GB; it displaces at most 4 bytes and an instruction more */
#define ESPY_SHORT_JUMP_SZ 2u /* one that reaches SHORT_JUMP_MIN..MAX from its end */
#define ESPY_SHORT_JUMP_MIN (-128)
#define ESPY_SHORT_JUMP_MAX 127
#define ESPY_DISPLACED_MAX 19u
#define ESPY_COPY_MAX 40u
#define ESPY_COPY_GAPS 4u

enum espy_gap_what {
	ESPY_GAP_DISTANCE = 1, /* 4 bytes: the target, less the address of the copy's byte `end` */
	ESPY_GAP_LOW = 2,      /* 4 bytes: the lower half of the target's address */
	ESPY_GAP_HIGH = 3,     /* 4 bytes: the upper half */
};
struct espy_copy_gap {
	uint8_t at, end; /* places in the copy */
	uint8_t what;	 /* enum espy_gap_what */
	uint8_t reserved;
	int32_t target; /* from the first displaced byte */
};

/* Where a short jump may lead to: 5 bytes that nothing executes, with a long jump in them. */
#define ESPY_HOPS 8u
struct espy_hop {
	int8_t by;		    /* from the end of the short jump */
	uint8_t code[ESPY_JUMP_SZ]; /* what stands there */
};

struct espy_copy {
	uint8_t taken; /* displaced bytes */
	uint8_t len;   /* bytes of the copy */
	uint8_t gap_cnt;
	bool ends;  /* its last instruction never goes on to the next one */
	bool calls; /* it pushes a return address itself: not where the processor keeps a stack of its own for them */
	uint8_t bytes[ESPY_COPY_MAX];
	struct espy_copy_gap gaps[ESPY_COPY_GAPS];
};

enum espy_displace_no {
	ESPY_DISPLACE_OK = 0,
	ESPY_DISPLACE_NO_CODE,	  /* these bytes are no instruction */
	ESPY_DISPLACE_BREAKPOINT, /* a breakpoint stands there */
	ESPY_DISPLACE_LOOP,	  /* a jump that reaches 128 bytes only, and has no longer form */
	ESPY_DISPLACE_CALL,	  /* it calls by an address in a register or in memory */
	ESPY_DISPLACE_ENDS,	  /* it does not go on to the next instruction, which the jump would displace as well */
	ESPY_DISPLACE_FAR,	  /* what it names lies 2 GB away */
	ESPY_DISPLACE_OTHER,	  /* it depends on where it stands */
	ESPY_DISPLACE_CNT,
};
/* Says it as the end of a sentence: "the agent cannot take it: ...". */
const char *espy_displace_words(enum espy_displace_no no);

/* Makes the copy of whole instructions that fill at least `jump_sz` bytes. */
enum espy_displace_no espy_displace(struct espy_copy *c, const uint8_t *code, size_t room, size_t jump_sz);

/*
 * Fills the gaps of a copy's `bytes`, which are to lie at address `to`. from: address of the first displaced byte.
 * Returns false if a target is too far away. The agent, which has no library, fills them so too.
 */
static inline bool espy_copy__fill(const struct espy_copy_gap *gaps, size_t cnt, uint8_t *bytes, uint64_t to,
				   uint64_t from)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct espy_copy_gap *g = &gaps[i];
		const uint64_t target = from + (uint64_t)(int64_t)g->target;
		const int64_t distance = (int64_t)(target - (to + g->end));
		uint32_t v = (uint32_t)distance;

		if (g->what == ESPY_GAP_DISTANCE && distance != (int32_t)distance)
			return false;
		if (g->what != ESPY_GAP_DISTANCE)
			v = (uint32_t)(g->what == ESPY_GAP_HIGH ? target >> 32 : target);
		__builtin_memcpy(bytes + g->at, &v, sizeof(v));
	}
	return true;
}

#endif

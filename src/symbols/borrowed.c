/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/borrowed.h"

#include <elf.h>
#include <string.h>
#include "arch/borrow.h"
#include "arch/insn.h"

#define REACH (1900ll << 20)	 /* upwards: the trampoline lies near the program or library, mostly below it */
#define NEAR (32ll << 20)	 /* other libraries lie so near to one */
#define NEIGHBOURS (512ll << 20) /* and what a program maps */
#define HEAP (64ll << 20)	 /* the agent leaves that above the end of a program to its heap */

static bool is_start(const struct espy_functions *functions, uint64_t addr)
{
	uint64_t start;

	return espy_functions__start(functions, addr, &start) && start == addr;
}

/*
 * Counts the bytes from the place on that nobody changes. Filling is what others change: marks, probes of other tools,
 * hops. Where a function begins another probe may be. Notes where instructions begin.
 */
static unsigned count_known(struct espy_jump_place *p, const struct espy_functions *functions, const uint8_t *code,
			    size_t room)
{
	size_t known = p->copy.taken, n;
	int64_t jump;

	p->starts = 0;
	while (known < ESPY_BORROW_KNOWN && known < room && !is_start(functions, p->addr + known)) {
		if (espy_insn_flow(code + known, room - known, &n, &jump) == ESPY_INSN_FLOW_FILL || !n)
			break;
		/* An instruction that begins here may be the last one before a function. */
		p->starts |= (uint8_t)(1u << known);
		known += n;
	}
	return known < ESPY_BORROW_KNOWN ? (unsigned)known : ESPY_BORROW_KNOWN;
}

/* Tells how likely a process has free memory in the window, for a hop that reaches the trampoline. 0: it has none. */
static unsigned how_free(const struct espy_elf *e, uint64_t addr, uint64_t first, uint64_t last)
{
	int64_t low = INT64_MAX, high = 0;

	for (size_t i = 0; i < e->segment_cnt; i++) {
		const struct espy_elf_segment *s = &e->segments[i];

		if (s->type != PT_LOAD)
			continue;
		low = (int64_t)s->vaddr < low ? (int64_t)s->vaddr : low;
		high = (int64_t)(s->vaddr + s->mem_sz) > high ? (int64_t)(s->vaddr + s->mem_sz) : high;
	}
	if ((int64_t)(first - addr) > REACH)
		return 0;
	/* A program that lies where it says has nothing below. */
	if (e->type == ET_EXEC)
		return (int64_t)first < 0 || (int64_t)last <= high + HEAP ? 0 : 2;
	if ((int64_t)last >= low - NEAR && (int64_t)first <= high + NEAR)
		return 0;
	return (int64_t)last >= low - NEIGHBOURS && (int64_t)first <= high + NEIGHBOURS ? 1 : 2;
}

unsigned espy_borrowed__plan(struct espy_jump_place *p, const struct espy_functions *functions,
			     const struct espy_elf *e, const uint8_t *code, size_t room)
{
	const unsigned in_word = p->addr % 8;
	unsigned best = 0;

	p->written = (uint8_t)(p->copy.taken < 8 - in_word ? p->copy.taken : 8 - in_word);
	p->known = (uint8_t)count_known(p, functions, code, room);
	for (unsigned prefixes = 0; prefixes <= ESPY_BORROW_PREFIXES; prefixes++) {
		uint64_t first, last;
		unsigned free, chosen;

		if (!espy_borrow__window(code, p->written, p->known, prefixes, p->addr, &first, &last))
			continue;
		free = how_free(e, p->addr, first, last);
		chosen = p->written - prefixes - 1u;
		if (free && 2 * chosen + free > best)
			best = 2 * chosen + free;
	}
	if (!best)
		p->known = 0;
	if (p->known > p->copy.taken)
		memcpy(p->code, code, p->known);
	return best;
}

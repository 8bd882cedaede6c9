/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/borrowed.h"

#include <elf.h>
#include <string.h>
#include "arch/borrow.h"
#include "arch/insn.h"

#define HEAP (64ull << 20) /* the agent leaves so much above the end of a program to its heap */

static bool is_start(const struct espy_functions *functions, uint64_t addr)
{
	uint64_t start;

	return espy_functions__start(functions, addr, &start) && start == addr;
}

/*
 * Counts the bytes from the place on that nobody changes. Filling is what others change: marks, probes of other tools,
 * hops. Where a function begins another probe may be.
 */
static unsigned count_known(const struct espy_jump_place *p, const struct espy_functions *functions,
			    const uint8_t *code, size_t room)
{
	size_t known = p->copy.taken, n;
	int64_t jump;

	while (known < ESPY_BORROW_KNOWN && known < room && !is_start(functions, p->addr + known)) {
		if (espy_insn_flow(code + known, room - known, &n, &jump) == ESPY_INSN_FLOW_FILL || !n)
			break;
		/* An instruction that begins here may be the last one before a function. */
		known += n;
	}
	return known < ESPY_BORROW_KNOWN ? (unsigned)known : ESPY_BORROW_KNOWN;
}

/* Tells whether a process may have free memory in the window. */
static bool may_be_free(const struct espy_elf *e, uint64_t first, uint64_t last)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (size_t i = 0; i < e->segment_cnt; i++) {
		const struct espy_elf_segment *s = &e->segments[i];

		if (s->type != PT_LOAD)
			continue;
		low = s->vaddr < low ? s->vaddr : low;
		high = s->vaddr + s->mem_sz > high ? s->vaddr + s->mem_sz : high;
	}
	/* A program that lies where it says has nothing below. */
	if (e->type == ET_EXEC)
		return first <= last && last > high + HEAP && last < 1ull << 47;
	return (int64_t)last < (int64_t)low || (int64_t)last > (int64_t)high;
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

		if (!espy_borrow__window(code, p->written, p->known, prefixes, p->addr, &first, &last) ||
		    !may_be_free(e, first, last))
			continue;
		if (p->written - prefixes > best)
			best = p->written - prefixes;
	}
	if (!best)
		p->known = 0;
	if (p->known > p->copy.taken)
		memcpy(p->code, code, p->known);
	return best;
}

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
static unsigned how_free(const struct espy_elf *e, uint64_t addr, unsigned form, const struct espy_borrow_window *w)
{
	const uint64_t first = w->first, last = w->last;
	int64_t low = INT64_MAX, high = 0;

	/* It reaches as far up and down as jumps do, in steps. */
	if (last - first >= UINT32_MAX - w->step)
		return 2;

	for (size_t i = 0; i < e->segment_cnt; i++) {
		const struct espy_elf_segment *s = &e->segments[i];

		if (s->type != PT_LOAD)
			continue;
		low = (int64_t)s->vaddr < low ? (int64_t)s->vaddr : low;
		high = (int64_t)(s->vaddr + s->mem_sz) > high ? (int64_t)(s->vaddr + s->mem_sz) : high;
	}
	/* Where that is in a library is known when it is loaded. */
	if (form == ESPY_BORROW_BY_MEMORY && e->type != ET_EXEC)
		return 1;
	if (form != ESPY_BORROW_BY_MEMORY && (int64_t)(first - addr) > REACH)
		return 0;
	/* A program that lies where it says has nothing below. */
	if (e->type == ET_EXEC)
		return (int64_t)first < 0 || (int64_t)last <= high + HEAP ? 0 : 2;
	if ((int64_t)last >= low - NEAR && (int64_t)first <= high + NEAR)
		return 0;
	return (int64_t)last >= low - NEIGHBOURS && (int64_t)first <= high + NEIGHBOURS ? 1 : 2;
}

/* Returns how good the best window of the place is. */
static unsigned best_window(const struct espy_jump_place *p, const struct espy_elf *e, const uint8_t *code)
{
	const struct espy_borrow b = { code, p->kept, p->written, p->known };
	unsigned best = 0;

	for (unsigned form = 0; form < ESPY_BORROW_FORMS; form++) {
		struct espy_borrow_window w;
		unsigned free, chosen;

		if (!espy_borrow__window(&b, form, p->addr, &w))
			continue;
		free = how_free(e, p->addr, form, &w);
		chosen = p->written + 4u - w.len;
		if (free && 2 * chosen + free > best)
			best = 2 * chosen + free;
	}
	return best;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned espy_borrowed__plan(struct espy_jump_place *p, const struct espy_functions *functions,
			     const struct espy_elf *e, const uint8_t *code, size_t room)
{
	const unsigned in_word = 8 - p->addr % 8, taken = least(p->copy.taken, ESPY_BORROW_KNOWN);
	unsigned best;

	p->known = (uint8_t)count_known(p, functions, code, room);
	p->kept = 0;
	p->written = (uint8_t)least(taken, in_word);
	best = best_window(p, e, code);
	if (taken > in_word) {
		struct espy_jump_place other = *p;
		unsigned found;

		other.kept = (uint8_t)in_word;
		other.written = (uint8_t)least(taken, in_word + 8);
		found = best_window(&other, e, code);
		if (found > best) {
			best = found;
			p->kept = other.kept;
			p->written = other.written;
		}
	}
	if (!best)
		p->known = 0;
	if (p->known > p->copy.taken)
		memcpy(p->code, code, p->known);
	return best;
}

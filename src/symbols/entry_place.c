/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/entry_place.h"

#include <elf.h>
#include <stdlib.h>
#include "arch/insn.h"

#define LOOK_MAX 64u	    /* bytes from the function's beginning in which the place lies */
#define SHORT_JUMP 128u	    /* no short jump goes farther */
#define CODE_MAX (4u << 20) /* bytes of code around the place to look at */

struct code {
	uint8_t *bytes;
	size_t len; /* without the room behind them */
	uint64_t addr;
};

/* Reads the bytes [from, to), with zeros or more of them behind. */
static bool read_code(struct code *c, const struct espy_elf *e, uint64_t from, uint64_t to)
{
	*c = (struct code){ .addr = from, .len = to - from };
	if (to <= from || c->len > CODE_MAX)
		return false;
	c->bytes = calloc(1, c->len + ESPY_INSN_MAX);
	if (!c->bytes)
		return false;
	if (!espy_elf__read_vaddr(e, from, c->bytes, c->len + ESPY_INSN_MAX) ||
	    !espy_elf__read_vaddr(e, from, c->bytes, c->len))
		return true;
	free(c->bytes);
	return false;
}

/* Finds the first instruction that the kernel emulates, if none before it changes the registers to keep. 0: none. */
static size_t find_emulated(const uint8_t *code, size_t len, uint32_t keep)
{
	uint32_t writes;
	size_t n;

	for (size_t at = 0; at < len; at += n) {
		if (espy_insn_emulated(code + at, len - at))
			return at;
		n = espy_insn_passed(code + at, len - at, &writes);
		if (!n || writes & keep)
			return 0;
	}
	return 0;
}

/*
 * Tells whether no short jump of the code [from, to) goes to an address in [first, last], and, if `fixed` is wanted,
 * none chooses its target. Returns false also if the code around [first, last] cannot be read as instructions.
 */
static bool is_not_reached(const struct espy_elf *e, uint64_t from, uint64_t to, uint64_t first, uint64_t last,
			   bool fixed)
{
	const bool around = from < first && last < to;
	bool clear = true;
	int64_t distance;
	struct code c;

	if (to <= from)
		return true;
	if (!read_code(&c, e, from, to))
		return false;
	for (size_t at = 0, n; at < c.len && clear; at += n) {
		const size_t room = c.len + ESPY_INSN_MAX - at;
		const enum espy_insn_jump jump = espy_insn_jump(c.bytes + at, room, &distance);

		n = espy_insn_length(c.bytes + at, room);
		/* Padding between functions may be no instruction: a jump is looked for at each of its bytes. */
		if (!n && !around)
			n = 1;
		const uint64_t target = c.addr + at + n + (uint64_t)distance;

		clear = n && (jump != ESPY_INSN_CHOOSES || !fixed) &&
			(jump != ESPY_INSN_JUMPS || target < first || target > last);
	}
	free(c.bytes);
	return clear;
}

/* Returns the end of the code at addr, at most `near` bytes behind it: a segment ends there. */
static uint64_t end_of_code(const struct espy_elf *e, uint64_t addr, uint64_t near)
{
	const struct espy_elf_segment *s = espy_elf__segment_at(e, addr);

	return s && s->file_sz - (addr - s->vaddr) < near ? s->vaddr + s->file_sz : addr + near;
}

bool espy_entry__leads_to(const struct espy_functions *functions, const struct espy_elf *e, struct espy_branches *b,
			  const struct espy_function *f, uint64_t place, bool pushes)
{
	const uint64_t first = f->addr + 1, end = f->addr + f->size, behind = end_of_code(e, place, SHORT_JUMP);
	uint64_t before, start;

	/* Another function begins between. */
	if (!espy_functions__start(functions, place, &start) || start != f->addr)
		return false;
	/* No compiler saves a register in a loop, so the target of a switch is no push. */
	if (!is_not_reached(e, f->addr, end, first, place, !pushes))
		return false;
	if (f->addr > SHORT_JUMP && espy_functions__start(functions, f->addr - SHORT_JUMP, &before) &&
	    !is_not_reached(e, before, f->addr, first, place, false))
		return false;
	if (!is_not_reached(e, end, behind, first, place, false))
		return false;
	return !espy_branches__read(b, e) && !espy_branches__may_reach(b, first, place + 1);
}

uint64_t espy_entry_place(const struct espy_functions *functions, const struct espy_elf *e, struct espy_branches *b,
			  const struct espy_function *f, uint32_t keep, enum espy_entry_cost *cost)
{
	const size_t size = f->size < LOOK_MAX ? (size_t)f->size : LOOK_MAX;
	uint64_t place = f->addr;
	struct code c;

	*cost = ESPY_ENTRY_STEPPED;
	if (!read_code(&c, e, f->addr, f->addr + (size ? size : ESPY_INSN_MAX)))
		return f->addr;
	if (espy_insn_unprobed(c.bytes, c.len)) {
		*cost = ESPY_ENTRY_REFUSED;
	} else if (espy_insn_emulated(c.bytes, c.len)) {
		*cost = ESPY_ENTRY_EMULATED;
	} else {
		const size_t at = find_emulated(c.bytes, size, keep);

		if (at && espy_entry__leads_to(functions, e, b, f, f->addr + at,
					       espy_insn_is_push(c.bytes + at, size - at))) {
			place = f->addr + at;
			*cost = ESPY_ENTRY_EMULATED;
		}
	}
	free(c.bytes);
	return place;
}

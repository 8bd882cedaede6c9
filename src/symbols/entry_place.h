/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where in a function a probe of its beginning costs least. The kernel emulates some instructions where they are
 * probed, and steps over a copy of the others, which costs ten times as much. Behind a first instruction of the second
 * kind may stand one of the first kind, at which a probe is hit as often and finds the same arguments.
 */
#ifndef ESPY_SYMBOLS_ENTRY_PLACE_H
#define ESPY_SYMBOLS_ENTRY_PLACE_H

#include "symbols/branches.h"
#include "symbols/functions.h"

enum espy_entry_cost {
	ESPY_ENTRY_EMULATED, /* the kernel emulates the instruction there */
	ESPY_ENTRY_STEPPED,
	ESPY_ENTRY_REFUSED, /* it cannot be probed */
};

/*
 * Returns the address of the place for a probe that wants the registers `keep` (ESPY_INSN_REG) as the function was
 * called with them, and the memory behind them: f->addr, or one behind it. b is read when it is needed first.
 */
uint64_t espy_entry_place(const struct espy_functions *functions, const struct espy_elf *e, struct espy_branches *b,
			  const struct espy_function *f, uint32_t keep, enum espy_entry_cost *cost);

/*
 * Tells whether the program comes to `place` only from the beginning of the function, through all code between. pushes:
 * a register is saved there, which no compiler does in a loop.
 */
bool espy_entry__leads_to(const struct espy_functions *functions, const struct espy_elf *e, struct espy_branches *b,
			  const struct espy_function *f, uint64_t place, bool pushes);

#endif

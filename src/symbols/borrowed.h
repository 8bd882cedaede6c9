/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Places where a jump fits whose last bytes are borrowed (arch/borrow.h). */
#ifndef ESPY_SYMBOLS_BORROWED_H
#define ESPY_SYMBOLS_BORROWED_H

#include "symbols/jump_place.h"

/*
 * Finds out whether the jump at p->addr, which displaces p->copy.taken bytes, can borrow what stands behind them. code:
 * the `room` bytes there. Sets p->kept, p->written and p->known, or p->known to 0. Returns how good its best window
 * is: the more the better; 0: there is none where free memory may be.
 */
unsigned espy_borrowed__plan(struct espy_jump_place *p, const struct espy_functions *functions,
			     const struct espy_elf *e, const uint8_t *code, size_t room);

#endif

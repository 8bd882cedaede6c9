/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which addresses of a file the far jumps in its code may go to. */
#ifndef ESPY_SYMBOLS_BRANCHES_H
#define ESPY_SYMBOLS_BRANCHES_H

#include "symbols/elf_file.h"

struct espy_branches {
	uint64_t first, end; /* addresses that it speaks of */
	uint8_t *targets;    /* bit per address; NULL: not read yet */
};

/*
 * Reads the code of the file, once. Every byte counts as the beginning of an instruction, so a target may be one that
 * no jump has, but none is missing. (Jumps over less than 128 bytes are not looked for: of these every tenth byte would
 * be one.) -ENOMEM, -E2BIG, or what is wrong with the file.
 */
int espy_branches__read(struct espy_branches *b, const struct espy_elf *e);
/* May a jump go to an address in [first, end)? */
bool espy_branches__may_reach(const struct espy_branches *b, uint64_t first, uint64_t end);
void espy_branches__free(struct espy_branches *b);

#endif

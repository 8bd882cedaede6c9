/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The debug information of a file, by libdw. Private to this folder. The file is foreign: a walk over its entries has a
 * limit of depth and of steps, because libdw follows whatever references it finds.
 */
#ifndef ESPY_SYMBOLS_DWARF_IMPL_H
#define ESPY_SYMBOLS_DWARF_IMPL_H

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbols/lines.h"

#define ESPY_DWARF_STEPS (1u << 20) /* entries that one walk looks at */
#define ESPY_DWARF_DEPTH 48u	    /* of entries in each other */

/* Returns the module of the file. *bias: the address of a byte for libdwfl less its address as the file has it. */
Dwfl_Module *espy_lines_of__module(struct espy_lines_of *l, Dwarf_Addr *bias);

/* Finds the unit that has addr, an address as the file has it. *pc: the address as the debug information has it. */
bool espy_unit__find(Dwarf_Die *unit, struct espy_lines_of *l, uint64_t addr, Dwarf_Addr *pc);

/* The entries around an address: the unit first, the innermost block last. */
struct espy_scopes {
	Dwarf_Die v[ESPY_DWARF_DEPTH];
	size_t cnt;
	Dwarf_Addr pc; /* the address, as the debug information has it */
};
/* Finds the entries around an address of a unit. */
void espy_scopes__of_unit(struct espy_scopes *s, Dwarf_Die *unit, Dwarf_Addr pc);
/* Returns the place in v of the innermost function, inlined or not; 0: there is none. */
size_t espy_scopes__function(const struct espy_scopes *s);

#endif

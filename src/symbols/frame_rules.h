/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How the caller's frame is found from an address of code, as the unwind tables say. A stack has some twenty frames,
 * and most addresses come again: their rules are kept, so that libdw reads the tables once for each.
 */
#ifndef ESPY_SYMBOLS_FRAME_RULES_H
#define ESPY_SYMBOLS_FRAME_RULES_H

#include <elfutils/libdwfl.h>
#include "arch/machine_stopped.h"
#include "symbols/unwind.h"

struct espy_frame_rule {
	uint64_t maps, pc; /* which mappings, which address in them; maps 0: no rule is here */
	/* The frame ends (its CFA) so many bytes behind this register. All numbers of registers are DWARF's. */
	int32_t cfa_off;
	uint8_t cfa_reg;
	bool simple; /* the rule is known; false: libdwfl has to find the caller, and only maps and pc are set */
	/* The caller's registers, as bits: those that it has still, and those saved at[] bytes behind the CFA. */
	uint32_t same, saved;
	int16_t at[ESPY_DWARF_REGS];
	struct espy_unwound_frame frame; /* its path is valid as long as libdwfl's mappings are these */
};

struct espy_frame_rules; /* knows the rules of the last some thousand addresses */

struct espy_frame_rules *espy_frame_rules__new(void); /* NULL without memory */
void espy_frame_rules__free(struct espy_frame_rules *rules);
/*
 * Returns the rule at an address of 64-bit code. maps: a number not 0 that no other mappings have had in these rules.
 * The rule is valid until the next call.
 */
const struct espy_frame_rule *espy_frame_rules__at(struct espy_frame_rules *rules, Dwfl *dwfl, uint64_t maps,
						   uint64_t pc);
/* Fills in the file of a frame. Returns false if no known file has the address. */
bool espy_frame__locate(Dwfl *dwfl, uint64_t pc, struct espy_unwound_frame *f);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/frame_rules.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define RULES_LOG2 13u

/* An address has one place. Another with the same place takes it, and costs no more than another look at the tables. */
struct espy_frame_rules {
	struct espy_frame_rule at[1u << RULES_LOG2];
};

struct espy_frame_rules *espy_frame_rules__new(void)
{
	return calloc(1, sizeof(struct espy_frame_rules));
}

void espy_frame_rules__free(struct espy_frame_rules *rules)
{
	free(rules);
}

bool espy_frame__locate(Dwfl *dwfl, uint64_t pc, struct espy_unwound_frame *f)
{
	Dwfl_Module *m = dwfl_addrmodule(dwfl, pc);
	const unsigned char *id = NULL;
	GElf_Addr id_addr;
	GElf_Addr bias = 0;

	*f = (struct espy_unwound_frame){ .addr = pc };
	/* The bias is known once the file is open. */
	if (!m || !dwfl_module_getelf(m, &bias))
		return false;
	f->addr = pc - bias;
	f->path = dwfl_module_info(m, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
	const int n = dwfl_module_build_id(m, &id, &id_addr);

	if (n > 0 && (size_t)n <= sizeof(f->build_id)) {
		memcpy(f->build_id, id, (size_t)n);
		f->build_id_sz = (uint8_t)n;
	}
	return true;
}

/* ---- from tables to rules */

/* Takes where the frame ends, if that is a register and a number: not in the stubs of calls between files. */
static bool take_cfa(struct espy_frame_rule *r, Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t cnt;

	if (dwarf_frame_cfa(frame, &ops, &cnt) || cnt != 1)
		return false;
	const bool wide = ops->atom == DW_OP_bregx;

	if (!wide && (ops->atom < DW_OP_breg0 || ops->atom > DW_OP_breg31))
		return false;
	const Dwarf_Word reg = wide ? ops->number : (Dwarf_Word)(ops->atom - DW_OP_breg0);
	const Dwarf_Word off = wide ? ops->number2 : ops->number;

	if (reg >= ESPY_DWARF_RA || (int64_t)off != (int32_t)off)
		return false;
	r->cfa_reg = (uint8_t)reg;
	r->cfa_off = (int32_t)off;
	return true;
}

/* Takes where the caller's value of one register is. Returns false if an expression says it. */
static bool take_register(struct espy_frame_rule *r, Dwarf_Frame *frame, unsigned reg)
{
	Dwarf_Op room[3], *ops;
	size_t cnt;

	if (dwarf_frame_register(frame, (int)reg, room, &ops, &cnt))
		return false;
	if (!cnt) {
		r->same |= (uint32_t)!ops << reg; /* else the value is lost */
		return true;
	}
	const bool moved = cnt > 1 && ops[1].atom == DW_OP_plus_uconst; /* away from the CFA */
	const Dwarf_Word off = moved ? ops[1].number : 0;
	const size_t used = moved ? 2 : 1;

	if (ops->atom != DW_OP_call_frame_cfa)
		return false;
	if (reg == ESPY_DWARF_SP) /* it is the CFA itself: calls of functions leave no other */
		return cnt == used + 1 && !off && ops[used].atom == DW_OP_stack_value;
	if (cnt != used || (int64_t)off != (int16_t)off)
		return false;
	r->at[reg] = (int16_t)off;
	r->saved |= 1u << reg;
	return true;
}

static bool take_frame(struct espy_frame_rule *r, Dwarf_Frame *frame)
{
	bool signal;

	if (dwarf_frame_info(frame, NULL, NULL, &signal) != ESPY_DWARF_RA || signal || !take_cfa(r, frame))
		return false;
	for (unsigned reg = 0; reg < ESPY_DWARF_REGS; reg++)
		if (!take_register(r, frame, reg))
			return false;
	/* A return address that is still in its register: the same rule would be asked for again. */
	return !(r->same >> ESPY_DWARF_RA & 1);
}

/* Reads the tables as libdwfl does: .eh_frame first. */
static bool read_tables(struct espy_frame_rule *r, Dwfl *dwfl, uint64_t pc)
{
	Dwfl_Module *m = dwfl_addrmodule(dwfl, pc);
	Dwarf_Addr bias = 0;

	for (unsigned debug = 0; debug < 2 && m; debug++) {
		Dwarf_CFI *cfi = debug ? dwfl_module_dwarf_cfi(m, &bias) : dwfl_module_eh_cfi(m, &bias);
		Dwarf_Frame *frame = NULL;

		if (!cfi || dwarf_cfi_addrframe(cfi, pc - bias, &frame))
			continue;
		const bool simple = take_frame(r, frame);

		free(frame);
		return simple;
	}
	return false;
}

/* Addresses are near each other: a product by the golden ratio spreads them. */
static size_t place_of(uint64_t maps, uint64_t pc)
{
	return (pc + maps) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - RULES_LOG2);
}

const struct espy_frame_rule *espy_frame_rules__at(struct espy_frame_rules *rules, Dwfl *dwfl, uint64_t maps,
						   uint64_t pc)
{
	struct espy_frame_rule *r = &rules->at[place_of(maps, pc)];

	if (r->pc == pc && r->maps == maps)
		return r;
	*r = (struct espy_frame_rule){ .maps = maps, .pc = pc };
	r->simple = read_tables(r, dwfl, pc) && espy_frame__locate(dwfl, pc, &r->frame);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the functions and blocks around an address in the debug information of a file. */
#include "symbols/dwarf_impl.h"

struct walk {
	struct espy_scopes *scopes;
	unsigned steps; /* that are left */
};

static bool is_code(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* An entry that has functions in it, and no addresses of its own. */
static bool encloses(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* Puts the entries below `die` around the address. Returns false if there are none. */
static bool descend(struct walk *w, Dwarf_Die *die, unsigned depth)
{
	struct espy_scopes *s = w->scopes;
	Dwarf_Die child;

	if (depth == ESPY_DWARF_DEPTH || s->cnt == ESPY_DWARF_DEPTH || dwarf_child(die, &child))
		return false;
	do {
		const int tag = dwarf_tag(&child);

		if (!w->steps--) {
			w->steps = 0;
			return false;
		}
		if (is_code(tag) && dwarf_haspc(&child, s->pc) > 0) {
			s->v[s->cnt++] = child;
			descend(w, &child, depth + 1);
			return true;
		}
		if (encloses(tag) && descend(w, &child, depth + 1))
			return true;
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

void espy_scopes__of_unit(struct espy_scopes *s, Dwarf_Die *unit, Dwarf_Addr pc)
{
	struct walk w = { s, ESPY_DWARF_STEPS };

	s->v[0] = *unit;
	s->cnt = 1;
	s->pc = pc;
	descend(&w, unit, 0);
}

bool espy_unit__find(Dwarf_Die *unit, struct espy_lines_of *l, uint64_t addr, Dwarf_Addr *pc)
{
	Dwarf_Addr bias, unit_bias;
	Dwfl_Module *module = espy_lines_of__module(l, &bias);
	unsigned steps = ESPY_DWARF_STEPS;
	Dwarf_Die *next = NULL;

	/* The table of addresses in the file is none that every compiler writes. */
	while (steps-- && (next = dwfl_module_nextcu(module, next, &unit_bias))) {
		*pc = addr + bias - unit_bias;
		if (dwarf_haspc(next, *pc) > 0) {
			*unit = *next;
			return true;
		}
	}
	return false;
}

size_t espy_scopes__function(const struct espy_scopes *s)
{
	for (size_t i = s->cnt; i-- > 1;) {
		const int tag = dwarf_tag((Dwarf_Die *)&s->v[i]);

		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
			return i;
	}
	return 0;
}

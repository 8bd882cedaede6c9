/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the parameters of a function lie when it has just been called, and its result when it returns, by the calling
 * convention. A compiler that does not optimise tells only where it will have put them some instructions later.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "arch/machine_regs.h"
#include "symbols/variables_impl.h"

#define HALVES 2u /* a value in registers has so many words at most */

enum word { NOTHING, FLOATING, INTEGER, IN_MEMORY };

struct words {
	enum word v[HALVES];
	unsigned left; /* members to look at: a damaged type may have itself as a member */
};

static void put(struct words *w, uint64_t first, uint64_t last, enum word word)
{
	for (uint64_t i = first / 8; i <= last / 8 && i < HALVES; i++)
		if (w->v[i] < word)
			w->v[i] = word;
}

static void classify(struct words *w, Dwarf_Die *type, uint64_t off, unsigned depth);

static void classify_members(struct words *w, Dwarf_Die *type, uint64_t off, unsigned depth)
{
	uint64_t at, first, bits;
	Dwarf_Die child, member;

	if (dwarf_child(type, &child))
		return;
	do {
		if (dwarf_tag(&child) != DW_TAG_member && dwarf_tag(&child) != DW_TAG_inheritance)
			continue;
		if (!w->left-- || !espy_var_type__place(&child, &at) || !espy_var_type__of(&child, &member)) {
			w->v[0] = IN_MEMORY;
			return;
		}
		espy_var_type__bits(&child, at, &first, &bits);
		if (bits)
			put(w, off + first / 8, off + (first + bits - 1) / 8, INTEGER);
		else
			classify(w, &member, off + at, depth + 1);
	} while (w->v[0] != IN_MEMORY && !dwarf_siblingof(&child, &child));
}

/* Finds which registers have the words of a value of this peeled type, `off` bytes behind its beginning. */
static void classify(struct words *w, Dwarf_Die *type, uint64_t off, unsigned depth)
{
	const uint64_t size = espy_var_type__size(type);
	const int tag = dwarf_tag(type);
	uint64_t encoding = 0, cnt;
	Dwarf_Die element;

	if (!size || size > 16 || off + size > 16 || depth == ESPY_VAR_TYPE_DEPTH) {
		w->v[0] = IN_MEMORY;
	} else if (espy_var_type__is_record(tag)) {
		classify_members(w, type, off, depth);
	} else if (tag == DW_TAG_array_type) {
		if (!espy_var_type__elements(type, &element, &cnt) || !cnt || cnt > size)
			w->v[0] = IN_MEMORY;
		for (uint64_t i = 0; w->v[0] != IN_MEMORY && w->left && i < cnt; i++, w->left--)
			classify(w, &element, off + i * (size / cnt), depth + 1);
	} else {
		if (tag == DW_TAG_base_type)
			espy_dwarf__number(type, DW_AT_encoding, &encoding);
		if ((encoding == DW_ATE_float && size > 8) || encoding == DW_ATE_complex_float)
			w->v[0] = IN_MEMORY;
		else
			put(w, off, off + size - 1, encoding == DW_ATE_float ? FLOATING : INTEGER);
	}
}

static struct words words_of(Dwarf_Die *type)
{
	struct words w = { .left = ESPY_VAR_MEMBERS };

	classify(&w, type, 0, 0);
	return w;
}

struct call {
	unsigned integers, floats; /* registers that are taken */
	uint64_t stack;		   /* bytes of the stack that are taken, behind the return address */
};
#define FLOAT_REGS 8u

/* Takes the place of the next parameter. */
static void take(struct call *c, Dwarf_Die *type, struct espy_var_way *way, bool *is_floating)
{
	static const uint8_t regs[] = ESPY_REG_ARGS;
	const uint64_t size = espy_var_type__size(type);
	const struct words w = words_of(type);
	unsigned integers = 0, floats = 0, taken = c->integers;

	*way = (struct espy_var_way){ .base = ESPY_VAR_REG, .second = ESPY_VAR_NO_REG };
	*is_floating = false;
	for (unsigned i = 0; i < HALVES; i++) {
		integers += w.v[i] == INTEGER;
		floats += w.v[i] == FLOATING;
	}
	if (w.v[0] == IN_MEMORY || c->integers + integers > sizeof(regs) || c->floats + floats > FLOAT_REGS) {
		way->reg = ESPY_REG_SP;
		way->is_memory = true;
		way->off[0] = (int64_t)(c->stack + 8);
		c->stack += (size + 7) & ~(uint64_t)7;
		return;
	}
	c->integers += integers;
	c->floats += floats;
	*is_floating = w.v[0] == FLOATING && !integers;
	way->is_in_halves = espy_var_type__is_record(dwarf_tag(type));
	way->reg = w.v[0] == INTEGER ? regs[taken++] : ESPY_VAR_NO_REG;
	if (w.v[1] == INTEGER)
		way->second = regs[taken];
}

int espy_var_call__param(Dwarf_Die *function, Dwarf_Die *param, struct espy_var_way *way, char why[ESPY_VAR_WHY])
{
	const Dwarf_Off wanted = dwarf_dieoffset(param);
	unsigned left = ESPY_VAR_MEMBERS;
	struct call c = { 0 };
	Dwarf_Die child, type;
	bool is_floating;

	if (espy_var_type__of(function, &type)) {
		/* The first register says where to put a result that finds no room in registers. */
		c.integers = words_of(&type).v[0] == IN_MEMORY && espy_var_type__is_record(dwarf_tag(&type));
	}
	if (dwarf_child(function, &child))
		return -EINVAL;
	do {
		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		if (!espy_var_type__of(&child, &type))
			break;
		take(&c, &type, way, &is_floating);
		if (dwarf_dieoffset(&child) != wanted)
			continue;
		if (!is_floating)
			return 0;
		snprintf(why, ESPY_VAR_WHY,
			 "is in a vector register where the function begins, which no probe reads: name a line of the "
			 "function");
		return -EINVAL;
	} while (--left && !dwarf_siblingof(&child, &child));
	snprintf(why, ESPY_VAR_WHY, "has no known place where the function begins: name a line of the function");
	return -EINVAL;
}

int espy_var_call__result(Dwarf_Die *type, struct espy_var_way *way, char why[ESPY_VAR_WHY])
{
	const struct words w = words_of(type);

	*way = (struct espy_var_way){ .base = ESPY_VAR_RESULT, .reg = ESPY_REG_RESULT, .second = ESPY_VAR_NO_REG };
	if (w.v[0] == IN_MEMORY) {
		way->is_memory = true;
		return 0;
	}
	way->is_in_halves = espy_var_type__is_record(dwarf_tag(type));
	if (w.v[0] == INTEGER)
		return 0;
	if (way->is_in_halves)
		way->reg = ESPY_VAR_NO_REG;
	else
		snprintf(why, ESPY_VAR_WHY, "is in a vector register, which no probe reads");
	return way->is_in_halves ? 0 : -EINVAL;
}

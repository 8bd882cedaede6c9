/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From the location of a variable, a program for a stack machine, to the way that a probe goes to it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arch/machine_regs.h"
#include "symbols/variables_impl.h"

#define STACK 8u
#define OPS_MAX 64u /* of one location */
#define LISTED 3u   /* places where a value lives that a message names */

struct machine {
	struct espy_dwarf_variables *v;
	Dwarf_Attribute *location;
	struct espy_var_way stack[STACK];
	unsigned cnt;
	bool in_register, is_value; /* what the expression ends with */
	uint64_t mask;		    /* of the value; 0: none */
	unsigned depth;		    /* of expressions in each other */
	char *why;
};

static int __attribute__((format(printf, 2, 3))) refuse(struct machine *m, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m->why, ESPY_VAR_WHY, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int run(struct machine *m, const Dwarf_Op *ops, size_t cnt);

static int push(struct machine *m, struct espy_var_way way)
{
	if (m->cnt == STACK)
		return refuse(m, "is computed in too many steps");
	way.second = ESPY_VAR_NO_REG;
	m->stack[m->cnt++] = way;
	return 0;
}

static int push_number(struct machine *m, uint64_t number)
{
	return push(m, (struct espy_var_way){ .base = ESPY_VAR_NUMBER, .number = number });
}

static int push_register(struct machine *m, uint64_t nr, int64_t off)
{
	const int reg = nr < 64 ? espy_arch__dwarf_register((unsigned)nr) : -1;

	if (reg < 0)
		return refuse(m, "is in a register that no probe reads (a vector register?)");
	return push(m, (struct espy_var_way){ .base = ESPY_VAR_REG, .reg = (uint8_t)reg, .off = { off } });
}

/* Adds to the number on top. */
static int add(struct machine *m, uint64_t number)
{
	struct espy_var_way *top = m->cnt ? &m->stack[m->cnt - 1] : NULL;

	if (!top)
		return refuse(m, "has a damaged location");
	espy_var_way__add(top, number);
	return 0;
}

static int load(struct machine *m)
{
	struct espy_var_way *top = m->cnt ? &m->stack[m->cnt - 1] : NULL;

	if (!top || top->loads == ESPY_VAR_LOADS)
		return refuse(m, "is behind too many pointers");
	top->loads++;
	top->off[top->loads] = 0;
	return 0;
}

static uint64_t known(const struct espy_var_way *number)
{
	return number->number + (uint64_t)number->off[0];
}

/* Adds or subtracts the two numbers on top, one of which must be known. */
static int combine(struct machine *m, bool minus)
{
	struct espy_var_way a, b;

	if (m->cnt < 2)
		return refuse(m, "has a damaged location");
	b = m->stack[--m->cnt];
	a = m->stack[m->cnt - 1];
	if (b.base == ESPY_VAR_NUMBER && !b.loads)
		return add(m, minus ? 0 - known(&b) : known(&b));
	if (minus || a.base != ESPY_VAR_NUMBER || a.loads)
		return refuse(m, "is computed at this place: a probe does no arithmetic");
	m->stack[m->cnt - 1] = b;
	return add(m, known(&a));
}

static void keep_bits(struct machine *m, uint64_t mask)
{
	if (!m->mask || mask < m->mask)
		m->mask = mask;
}

/* Takes the lowest bytes of the number on top. It does not matter whether it is done: the type has no more of them. */
static int cut(struct machine *m)
{
	const struct espy_var_way *top = m->cnt > 1 ? &m->stack[m->cnt - 1] : NULL;

	if (!top || top->base != ESPY_VAR_NUMBER || top->loads || (top->number & (top->number + 1)))
		return refuse(m, "is computed at this place: a probe does no arithmetic");
	keep_bits(m, top->number);
	m->cnt--;
	return 0;
}

/* Takes the number on top as one of another type. */
static int convert(struct machine *m, const Dwarf_Op *op)
{
	uint64_t size, encoding;
	Dwarf_Die type;

	if (!op->number)
		return 0; /* the type that all numbers have at first */
	if (dwarf_getlocation_die(m->location, op, &type) || !espy_dwarf__number(&type, DW_AT_byte_size, &size) ||
	    !espy_dwarf__number(&type, DW_AT_encoding, &encoding) || encoding == DW_ATE_float || !size || size > 8)
		return refuse(m, "is computed at this place: a probe does no arithmetic");
	keep_bits(m, UINT64_MAX >> (64 - 8 * size));
	return 0;
}

/* Pushes what the stack pointer was at the call, by the table for unwinding. */
static int push_frame(struct machine *m)
{
	Dwarf_Addr bias, cfi_bias = 0;
	Dwfl_Module *module = espy_lines_of__module(m->v->lines, &bias);
	const Dwarf_Addr addr = m->v->addr + bias;
	Dwarf_CFI *cfi = dwfl_module_eh_cfi(module, &cfi_bias);
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t cnt;
	int err;

	if (!cfi || dwarf_cfi_addrframe(cfi, addr - cfi_bias, &frame)) {
		cfi = dwfl_module_dwarf_cfi(module, &cfi_bias);
		if (!cfi || dwarf_cfi_addrframe(cfi, addr - cfi_bias, &frame))
			return refuse(m, "is in a frame of which the file says nothing (.eh_frame)");
	}
	err = dwarf_frame_cfa(frame, &ops, &cnt) || !cnt
		      ? refuse(m, "is in a frame of which the file says nothing (.eh_frame)")
		      : run(m, ops, cnt);
	free(frame);
	return err;
}

/* Pushes the base of the frame of the function, from which offsets count. */
static int push_base(struct machine *m)
{
	struct espy_dwarf_variables *v = m->v;
	Dwarf_Attribute attr, *outer = m->location;
	Dwarf_Op *ops;
	size_t cnt;
	int err;

	if (!v->function || !dwarf_attr_integrate(&v->scopes.v[v->function], DW_AT_frame_base, &attr) ||
	    dwarf_getlocation_addr(&attr, v->scopes.pc, &ops, &cnt, 1) != 1 || !cnt)
		return refuse(m, "is in a frame of which the debug information says nothing");
	if (cnt == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return push_register(m, ops[0].atom - DW_OP_reg0, 0);
	m->location = &attr;
	err = run(m, ops, cnt);
	m->location = outer;
	return err;
}

/* Pushes what a register was at the call, if it is there yet. */
static int push_entry(struct machine *m, const Dwarf_Op *op)
{
	Dwarf_Attribute inner;
	Dwarf_Op *ops;
	size_t cnt;

	if (!m->v->at_entry)
		return refuse(m, "is optimised away here: only its value at the entry of the function is known");
	if (dwarf_getlocation_attr(m->location, op, &inner) || dwarf_getlocation(&inner, &ops, &cnt) || cnt != 1 ||
	    ops[0].atom < DW_OP_reg0 || ops[0].atom > DW_OP_reg31)
		return refuse(m, "is computed at this place");
	return push_register(m, ops[0].atom - DW_OP_reg0, 0);
}

static int push_indexed(struct machine *m, const Dwarf_Op *op)
{
	Dwarf_Attribute inner;
	Dwarf_Addr addr;

	if (dwarf_getlocation_attr(m->location, op, &inner) || dwarf_formaddr(&inner, &addr))
		return refuse(m, "has a damaged location");
	return push(m, (struct espy_var_way){ .base = ESPY_VAR_ADDRESS, .number = addr });
}

static int step_other(struct machine *m, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_piece:
	case DW_OP_bit_piece:
		return refuse(m, "lies in several pieces here, of which a probe can put none together");
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
		return refuse(m, "is optimised away here: it points to a value that has no address");
	case DW_OP_form_tls_address:
	case DW_OP_GNU_push_tls_address:
		return refuse(m, "is a variable of each thread, which a probe cannot find");
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return push_entry(m, op);
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		return push_indexed(m, op);
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		return refuse(m, "is a variable of each thread, which a probe cannot find");
	default:
		return refuse(m,
			      "is computed at this place (operation %#x of its location): a probe does no arithmetic",
			      op->atom);
	}
}

static int step(struct machine *m, const Dwarf_Op *op)
{
	const uint8_t atom = op->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		return push_number(m, atom - DW_OP_lit0);
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return push_register(m, atom - DW_OP_breg0, (int64_t)op->number);
	if ((atom >= DW_OP_reg0 && atom <= DW_OP_reg31) || atom == DW_OP_regx) {
		m->in_register = true;
		return push_register(m, atom == DW_OP_regx ? op->number : (Dwarf_Word)atom - DW_OP_reg0, 0);
	}
	switch (atom) {
	case DW_OP_addr:
		return push(m, (struct espy_var_way){ .base = ESPY_VAR_ADDRESS, .number = op->number });
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push_number(m, op->number);
	case DW_OP_bregx:
		return push_register(m, op->number, (int64_t)op->number2);
	case DW_OP_fbreg: {
		const int err = push_base(m);

		return err ? err : add(m, op->number);
	}
	case DW_OP_call_frame_cfa:
		return push_frame(m);
	case DW_OP_plus_uconst:
		return add(m, op->number);
	case DW_OP_plus:
		return combine(m, false);
	case DW_OP_minus:
		return combine(m, true);
	case DW_OP_deref:
		return load(m);
	case DW_OP_and:
		return cut(m);
	case DW_OP_convert:
	case DW_OP_GNU_convert:
		return convert(m, op);
	case DW_OP_stack_value:
		m->is_value = true;
		return 0;
	case DW_OP_nop:
		return 0;
	default:
		return step_other(m, op);
	}
}

static int run(struct machine *m, const Dwarf_Op *ops, size_t cnt)
{
	int err = 0;

	if (cnt > OPS_MAX || m->depth == 4)
		return refuse(m, "has a location of too many operations");
	m->depth++;
	for (size_t i = 0; i < cnt && !err; i++)
		err = step(m, &ops[i]);
	m->depth--;
	return err;
}

/* Says where the value lives, if it does somewhere else in the function. */
static int refuse_absent(struct machine *m, Dwarf_Attribute *attr)
{
	struct espy_dwarf_variables *v = m->v;
	Dwarf_Addr base, begin, end, low = 0;
	ptrdiff_t next = 0;
	unsigned listed = 0;
	const char *function = v->function ? dwarf_diename(&v->scopes.v[v->function]) : NULL;
	Dwarf_Op *ops;
	size_t cnt, len;

	refuse(m, "is optimised away at this place");
	if (v->function && dwarf_lowpc(&v->scopes.v[v->function], &low))
		return -EINVAL;
	for (unsigned i = 0; i < ESPY_VAR_MEMBERS && listed < LISTED; i++) {
		next = dwarf_getlocations(attr, next, &base, &begin, &end, &ops, &cnt);
		if (next <= 0)
			break;
		if (!cnt || begin >= end || begin < low)
			continue;
		len = strlen(m->why);
		snprintf(m->why + len, ESPY_VAR_WHY - len, "%s%s+%#llx to +%#llx",
			 listed ? ", " : "; it has a value at ", !listed && function ? function : "",
			 (unsigned long long)(begin - low), (unsigned long long)(end - 1 - low));
		listed++;
	}
	return -EINVAL;
}

/* Tells whether the attribute has one location for all of the function, and not a list of them. */
static bool is_one_location(Dwarf_Attribute *attr)
{
	switch (dwarf_whatform(attr)) {
	case DW_FORM_exprloc:
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
		return true;
	default:
		return false;
	}
}

static int constant_of(struct machine *m, Dwarf_Die *die, struct espy_var_way *way)
{
	Dwarf_Attribute attr;
	Dwarf_Sword number;

	if (!dwarf_attr_integrate(die, DW_AT_const_value, &attr))
		return refuse(m, "is optimised away");
	if (dwarf_formsdata(&attr, &number))
		return refuse(m, "is a constant of many bytes");
	*way = (struct espy_var_way){ .base = ESPY_VAR_NUMBER, .number = (uint64_t)number, .second = ESPY_VAR_NO_REG };
	return 0;
}

/* Of a variable in memory that the function has not filled yet, because it has just been called. */
static int before_it_is_filled(struct machine *m, Dwarf_Die *die, struct espy_var_way *way)
{
	struct espy_dwarf_variables *v = m->v;

	if (dwarf_tag(die) != DW_TAG_formal_parameter)
		return refuse(m, "has no value yet where the function begins: name a line of it (FILE:SOURCE:LINE)");
	return espy_var_call__param(&v->scopes.v[v->function], die, way, m->why);
}

/* Tells whether the place is in the code that makes the frame. *body: how far behind the begin that code ends. */
static bool is_in_prologue(struct espy_dwarf_variables *v, uint64_t *body)
{
	Dwarf_Addr low, *ends = NULL;
	Dwarf_Die *function = &v->scopes.v[v->function];
	const bool known =
		v->function && !dwarf_entrypc(function, &low) && dwarf_entry_breakpoints(function, &ends) > 0;
	const bool inside = known && v->scopes.pc >= low && v->scopes.pc < ends[0];

	*body = inside ? ends[0] - low : 0;
	free(ends);
	return inside;
}

static bool is_in_frame(const Dwarf_Op *ops, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (ops[i].atom == DW_OP_fbreg || (ops[i].atom >= DW_OP_breg0 && ops[i].atom <= DW_OP_breg31))
			return true;
	return false;
}

/* Tells whether a mask of the lowest bits leaves so many bytes. */
static bool holds(uint64_t mask, uint64_t size)
{
	return size && size <= 8 && mask >= UINT64_MAX >> (64 - 8 * size);
}

/* Runs the location of a variable. Returns 0 if the way to the value is all that the machine has. */
static int run_all(struct machine *m, Dwarf_Die *die, const Dwarf_Op *ops, size_t cnt)
{
	const int err = run(m, ops, cnt);
	Dwarf_Die type;

	if (!err && m->cnt != 1)
		return refuse(m, "has a damaged location");
	if (!err && m->mask &&
	    !(m->is_value && espy_var_type__of(die, &type) && holds(m->mask, espy_var_type__size(&type))))
		return refuse(m, "is computed at this place: a probe does no arithmetic");
	return err;
}

/* Tells whether the place is the begin of a function whose callers know nothing but the calling convention. */
static bool is_called_from_outside(struct espy_dwarf_variables *v)
{
	Dwarf_Attribute attr;

	return v->at_entry && dwarf_attr_integrate(&v->scopes.v[v->function], DW_AT_external, &attr) &&
	       !dwarf_attr(&v->scopes.v[v->function], DW_AT_abstract_origin, &attr);
}

int espy_var_place__of(struct espy_dwarf_variables *v, Dwarf_Die *die, struct espy_var_way *way, char why[ESPY_VAR_WHY])
{
	struct machine m = { .v = v, .why = why };
	Dwarf_Attribute attr;
	char spare[ESPY_VAR_WHY];
	uint64_t body;
	Dwarf_Op *ops;
	size_t cnt;
	int err;

	if (!dwarf_attr_integrate(die, DW_AT_location, &attr))
		return constant_of(&m, die, way);
	m.location = &attr;
	err = dwarf_getlocation_addr(&attr, v->scopes.pc, &ops, &cnt, 1);
	if (err < 0)
		return refuse(&m, "has a damaged location");
	if (!err || !cnt)
		return refuse_absent(&m, &attr);
	if (is_one_location(&attr) && is_in_frame(ops, cnt)) {
		if (v->at_entry)
			return before_it_is_filled(&m, die, way);
		if (is_in_prologue(v, &body))
			return refuse(&m, "is not in its place before %#llx bytes of the function have run",
				      (unsigned long long)body);
	}
	if (cnt == 1 && ops[0].atom == DW_OP_implicit_value)
		return refuse(&m, "is a constant of many bytes");
	err = run_all(&m, die, ops, cnt);
	if (err && is_called_from_outside(v) && dwarf_tag(die) == DW_TAG_formal_parameter &&
	    !espy_var_call__param(&v->scopes.v[v->function], die, way, spare))
		return 0; /* in several pieces to the compiler */
	if (err)
		return err;
	*way = m.stack[0];
	way->is_memory = !m.in_register && !m.is_value;
	if (way->base == ESPY_VAR_ADDRESS)
		way->number -= v->scopes.pc - v->addr;
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is seen at an address, inside. Private to this folder. */
#ifndef ESPY_SYMBOLS_VARIABLES_IMPL_H
#define ESPY_SYMBOLS_VARIABLES_IMPL_H

#include "symbols/dwarf_impl.h"
#include "symbols/variables.h"

#define ESPY_VAR_TYPES 1024u	/* types that are remembered */
#define ESPY_VAR_TYPE_DEPTH 32u /* names, qualifiers and members in each other */
#define ESPY_VAR_MEMBERS 4096u	/* of a struct, constants of an enumeration, parameters of a function */

/* What is seen at an address of a file with DWARF. */
struct espy_dwarf_variables {
	struct espy_variables base;
	struct espy_lines_of *lines;
	uint64_t addr; /* as the file has it */
	struct espy_scopes scopes;
	size_t function; /* the concrete function, in scopes; 0: none */
	bool at_entry;	 /* the address is the first one of the function */
	bool returns;
	Dwarf_Die types[ESPY_VAR_TYPES];
	unsigned type_cnt;
};

/* ---- variable_types.c */
/* Takes names and qualifiers off a type. Returns false: nothing is left (void), or there are too many. */
bool espy_var_type__peel(Dwarf_Die *type);
/* Gets the type of an entry, peeled. */
bool espy_var_type__of(Dwarf_Die *die, Dwarf_Die *type);
/* Returns the bytes of a peeled type; 0: not known. */
uint64_t espy_var_type__size(Dwarf_Die *type);
/* Finds the elements of an array, and how many there are. 0: not known. */
bool espy_var_type__elements(Dwarf_Die *array, Dwarf_Die *element, uint64_t *cnt);
/* Fills in kind, size and sign of a value of this peeled type. Returns false: too many types. */
bool espy_var_type__describe(struct espy_dwarf_variables *v, Dwarf_Die *type, struct espy_variable *x);
/* Finds how far behind the beginning of its struct a member lies. Returns false if it is not told by a constant. */
bool espy_var_type__place(Dwarf_Die *member, uint64_t *off);
/* Gets how far, in bits, a bit field lies behind the beginning of its struct. bits 0: the member is none. */
void espy_var_type__bits(Dwarf_Die *member, uint64_t off, uint64_t *first, uint64_t *bits);
/* Writes the type of an entry as the programmer would: "struct request *". */
void espy_var_type__name(Dwarf_Die *die, char *text, size_t size);
bool espy_var_type__is_record(int tag);
/* As espy_variables__constants(). */
int espy_var_type__constants(struct espy_dwarf_variables *v, const struct espy_variable *of,
			     int (*fn)(void *ctx, const char *name, int64_t value), void *ctx);
/* Gets a number that an attribute gives as a constant. */
bool espy_dwarf__number(Dwarf_Die *die, unsigned attr, uint64_t *number);

/* ---- variable_places.c */
/*
 * Finds how the value of a parameter or variable is reached. Returns 0, or -EINVAL with a message that goes on behind
 * its name: "is optimised away here".
 */
int espy_var_place__of(struct espy_dwarf_variables *v, Dwarf_Die *die, struct espy_var_way *way,
		       char why[ESPY_VAR_WHY]);

/* ---- variable_calls.c */
/* Finds where a parameter lies when the function has just been called, by the calling convention. As above. */
int espy_var_call__param(Dwarf_Die *function, Dwarf_Die *param, struct espy_var_way *way, char why[ESPY_VAR_WHY]);
/* Finds where a result of this peeled type lies. */
int espy_var_call__result(Dwarf_Die *type, struct espy_var_way *way, char why[ESPY_VAR_WHY]);

#endif

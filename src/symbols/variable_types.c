/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The types of variables. Each chain of references has a limit: a damaged file may close one to a ring. */
#include <stdio.h>
#include <string.h>
#include "symbols/variables_impl.h"

bool espy_dwarf__number(Dwarf_Die *die, unsigned attr, uint64_t *number)
{
	Dwarf_Attribute a;
	Dwarf_Word word;

	if (!dwarf_attr_integrate(die, attr, &a) || dwarf_formudata(&a, &word))
		return false;
	*number = word;
	return true;
}

static bool is_name(int tag)
{
	return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type;
}

static bool next_type(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute a;

	return dwarf_attr_integrate(die, DW_AT_type, &a) && dwarf_formref_die(&a, type);
}

bool espy_var_type__peel(Dwarf_Die *type)
{
	for (unsigned i = 0; i < ESPY_VAR_TYPE_DEPTH; i++) {
		if (!is_name(dwarf_tag(type)))
			return true;
		if (!next_type(type, type))
			return false;
	}
	return false;
}

bool espy_var_type__of(Dwarf_Die *die, Dwarf_Die *type)
{
	return next_type(die, type) && espy_var_type__peel(type);
}

bool espy_var_type__is_record(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

bool espy_var_type__elements(Dwarf_Die *array, Dwarf_Die *element, uint64_t *cnt)
{
	unsigned dimensions = 0;
	Dwarf_Die child;
	uint64_t bound;

	*cnt = 0;
	if (!espy_var_type__of(array, element) || dwarf_child(array, &child))
		return false;
	do {
		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		if (dimensions++)
			return false; /* an array of arrays in one type */
		if (espy_dwarf__number(&child, DW_AT_count, &bound))
			*cnt = bound;
		else if (espy_dwarf__number(&child, DW_AT_upper_bound, &bound))
			*cnt = bound + 1;
	} while (!dwarf_siblingof(&child, &child) && dimensions < ESPY_VAR_TYPE_DEPTH);
	return dimensions;
}

static uint64_t size_of(Dwarf_Die *type, unsigned depth)
{
	Dwarf_Die element;
	uint64_t size = 0, cnt;

	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return 8;
	case DW_TAG_array_type:
		if (depth == ESPY_VAR_TYPE_DEPTH || !espy_var_type__elements(type, &element, &cnt))
			return 0;
		size = size_of(&element, depth + 1);
		return size && cnt <= UINT32_MAX / size ? cnt * size : 0;
	default:
		return espy_dwarf__number(type, DW_AT_byte_size, &size) ? size : 0;
	}
}

uint64_t espy_var_type__size(Dwarf_Die *type)
{
	return size_of(type, 0);
}

static void describe_base(Dwarf_Die *type, struct espy_variable *x)
{
	const char *name = dwarf_diename(type);
	uint64_t encoding = 0;

	espy_dwarf__number(type, DW_AT_encoding, &encoding);
	if (x->size != 1 && x->size != 2 && x->size != 4 && x->size != 8)
		return;
	switch (encoding) {
	case DW_ATE_boolean:
		x->kind = ESPY_VAR_BOOL;
		break;
	case DW_ATE_float:
		x->kind = x->size >= 4 ? ESPY_VAR_FLOAT : ESPY_VAR_OTHER;
		break;
	case DW_ATE_signed_char:
	case DW_ATE_unsigned_char:
		x->is_signed = encoding == DW_ATE_signed_char;
		x->kind = x->size == 1 && name && !strcmp(name, "char") ? ESPY_VAR_CHAR : ESPY_VAR_INT;
		break;
	case DW_ATE_UTF:
		x->kind = x->size == 1 ? ESPY_VAR_CHAR : ESPY_VAR_INT;
		break;
	case DW_ATE_signed:
		x->is_signed = true;
		x->kind = ESPY_VAR_INT;
		break;
	case DW_ATE_unsigned:
		x->kind = ESPY_VAR_INT;
		break;
	}
}

struct sign {
	bool negative;
};

static int look_at_constant(void *ctx, const char *name, int64_t value)
{
	struct sign *s = ctx;

	(void)name;
	s->negative |= value < 0;
	return 0;
}

static void describe_enum(struct espy_dwarf_variables *v, Dwarf_Die *type, struct espy_variable *x)
{
	struct sign s = { false };

	if (x->size != 1 && x->size != 2 && x->size != 4 && x->size != 8)
		return;
	(void)type;
	x->kind = ESPY_VAR_ENUM;
	espy_var_type__constants(v, x, look_at_constant, &s);
	x->is_signed = s.negative;
}

static uint8_t kind_of(Dwarf_Die *type)
{
	struct espy_variable x = { .size = 1 };
	uint64_t size = 0;

	if (dwarf_tag(type) != DW_TAG_base_type || !espy_dwarf__number(type, DW_AT_byte_size, &size) || size != 1)
		return ESPY_VAR_OTHER;
	describe_base(type, &x);
	return x.kind;
}

bool espy_var_type__describe(struct espy_dwarf_variables *v, Dwarf_Die *type, struct espy_variable *x)
{
	const int tag = dwarf_tag(type);
	const uint64_t size = espy_var_type__size(type);
	Dwarf_Die target;
	uint64_t cnt;

	if (v->type_cnt == ESPY_VAR_TYPES)
		return false;
	x->type = v->type_cnt++;
	v->types[x->type] = *type;
	x->kind = ESPY_VAR_OTHER;
	x->is_signed = false;
	x->low = x->bits = 0;
	x->size = size <= UINT32_MAX ? (uint32_t)size : 0;
	if (tag == DW_TAG_base_type) {
		describe_base(type, x);
	} else if (tag == DW_TAG_enumeration_type) {
		describe_enum(v, type, x);
	} else if (tag == DW_TAG_pointer_type) {
		x->kind = espy_var_type__of(type, &target) && kind_of(&target) == ESPY_VAR_CHAR ? ESPY_VAR_STRING
												: ESPY_VAR_POINTER;
	} else if (tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type) {
		x->kind = ESPY_VAR_POINTER;
	} else if (tag == DW_TAG_array_type) {
		const uint8_t kind = espy_var_type__elements(type, &target, &cnt) ? kind_of(&target) : ESPY_VAR_OTHER;

		x->kind = kind == ESPY_VAR_CHAR && x->size  ? ESPY_VAR_TEXT
			  : kind == ESPY_VAR_INT && x->size ? ESPY_VAR_BYTES
							    : ESPY_VAR_ARRAY;
	} else if (espy_var_type__is_record(tag)) {
		x->kind = ESPY_VAR_STRUCT;
	}
	return true;
}

int espy_var_type__constants(struct espy_dwarf_variables *v, const struct espy_variable *of,
			     int (*fn)(void *ctx, const char *name, int64_t value), void *ctx)
{
	unsigned left = ESPY_VAR_MEMBERS;
	Dwarf_Die child;
	int ret = 0;

	if (of->kind != ESPY_VAR_ENUM || dwarf_child(&v->types[of->type], &child))
		return 0;
	do {
		const char *name = dwarf_diename(&child);
		Dwarf_Attribute a;
		Dwarf_Sword value;

		if (dwarf_tag(&child) == DW_TAG_enumerator && name && dwarf_attr(&child, DW_AT_const_value, &a) &&
		    !dwarf_formsdata(&a, &value)) {
			/* A constant of one byte or more may be written without its sign. */
			if (dwarf_whatform(&a) == DW_FORM_data1)
				value = (uint8_t)value;
			else if (dwarf_whatform(&a) == DW_FORM_data2)
				value = (uint16_t)value;
			else if (dwarf_whatform(&a) == DW_FORM_data4)
				value = (uint32_t)value;
			ret = fn(ctx, name, value);
		}
	} while (!ret && --left && !dwarf_siblingof(&child, &child));
	return ret;
}

bool espy_var_type__place(Dwarf_Die *member, uint64_t *off)
{
	Dwarf_Attribute a;

	*off = 0;
	/* Members of a union and bit fields have none. */
	return !dwarf_attr(member, DW_AT_data_member_location, &a) ||
	       (espy_dwarf__number(member, DW_AT_data_member_location, off) && *off <= INT32_MAX);
}

void espy_var_type__bits(Dwarf_Die *member, uint64_t off, uint64_t *first, uint64_t *bits)
{
	uint64_t skipped, size = 0;
	Dwarf_Die type;

	if (!espy_dwarf__number(member, DW_AT_bit_size, bits) || !*bits || *bits > 64) {
		*bits = 0;
		return;
	}
	if (espy_dwarf__number(member, DW_AT_data_bit_offset, first))
		return;
	*first = off * 8;
	/* Of older compilers: the bits are counted from the highest one of the unit that they lie in. */
	if (!espy_dwarf__number(member, DW_AT_byte_size, &size) && espy_var_type__of(member, &type))
		size = espy_var_type__size(&type);
	if (espy_dwarf__number(member, DW_AT_bit_offset, &skipped) && size <= 8 && skipped + *bits <= size * 8)
		*first += size * 8 - skipped - *bits;
}

/* ---- names */

static const char *word_of(int tag)
{
	return tag == DW_TAG_structure_type	? "struct "
	       : tag == DW_TAG_class_type	? "class "
	       : tag == DW_TAG_union_type	? "union "
	       : tag == DW_TAG_enumeration_type ? "enum "
						: "";
}

void espy_var_type__name(Dwarf_Die *die, char *text, size_t size)
{
	char behind[64] = "";
	size_t stars = 0;
	Dwarf_Die type = *die;
	const char *name;
	bool is_const = false;
	uint64_t cnt;
	Dwarf_Die element;
	int tag = 0;

	snprintf(text, size, "void");
	for (unsigned i = 0; i < ESPY_VAR_TYPE_DEPTH && next_type(&type, &type); i++) {
		const size_t len = strlen(behind);

		tag = dwarf_tag(&type);
		name = dwarf_diename(&type);
		if (tag == DW_TAG_const_type) {
			is_const = true;
		} else if (tag == DW_TAG_array_type) {
			if (espy_var_type__elements(&type, &element, &cnt) && cnt)
				snprintf(behind + len, sizeof(behind) - len, "[%llu]", (unsigned long long)cnt);
			else
				snprintf(behind + len, sizeof(behind) - len, "[]");
		} else if (tag == DW_TAG_pointer_type && stars < 8) {
			is_const = false;
			stars++;
		} else if (tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type) {
			snprintf(behind + len, sizeof(behind) - len, "&");
		} else if (tag == DW_TAG_subroutine_type) {
			snprintf(text, size, "function");
			break;
		} else if (name || word_of(tag)[0]) {
			snprintf(text, size, "%s%s%s", is_const ? "const " : "", word_of(tag), name ? name : "{...}");
			break;
		}
	}
	const size_t len = strlen(text);

	snprintf(text + len, size - len, "%s%.*s%s", stars ? " " : "", (int)stars, "********", behind);
}

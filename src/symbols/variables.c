/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds what a name means at an address, by DWARF. */
#include "symbols/variables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arch/machine_regs.h"
#include "symbols/variables_impl.h"

static struct espy_dwarf_variables *dwarf(struct espy_variables *v)
{
	return (struct espy_dwarf_variables *)v;
}

static int refuse(char why[ESPY_VAR_WHY], const char *name, const char *text)
{
	snprintf(why, ESPY_VAR_WHY, "'%.120s' %.380s", name, text);
	return -EINVAL;
}

/* ---- from one value to another */

static int describe(struct espy_dwarf_variables *v, Dwarf_Die *type, struct espy_variable *x, char why[ESPY_VAR_WHY])
{
	if (espy_var_type__describe(v, type, x))
		return 0;
	snprintf(why, ESPY_VAR_WHY, "too many types are named");
	return -EINVAL;
}

/* Makes the value that the pointer or array leads to. */
static int to_target(struct espy_variables *base, struct espy_variable *x, char why[ESPY_VAR_WHY])
{
	struct espy_dwarf_variables *v = dwarf(base);
	Dwarf_Die target;

	if (x->kind == ESPY_VAR_ARRAY || x->kind == ESPY_VAR_TEXT || x->kind == ESPY_VAR_BYTES) {
		uint64_t cnt;

		return espy_var_type__elements(&v->types[x->type], &target, &cnt)
			       ? describe(v, &target, x, why)
			       : refuse(why, "*", "has no elements here");
	}
	if (x->kind != ESPY_VAR_POINTER && x->kind != ESPY_VAR_STRING) {
		snprintf(why, ESPY_VAR_WHY, "it is no pointer");
		return -EINVAL;
	}
	if (!espy_var_type__of(&v->types[x->type], &target)) {
		snprintf(why, ESPY_VAR_WHY, "the type behind the pointer is not known");
		return -EINVAL;
	}
	if (!espy_var_way__follow(&x->way)) {
		snprintf(why, ESPY_VAR_WHY, "the pointer cannot be followed from there");
		return -EINVAL;
	}
	return describe(v, &target, x, why);
}

/* Makes a member of a struct. Returns 0, or -EINVAL: no probe reaches it. */
static int to_member(struct espy_dwarf_variables *v, const struct espy_variable *of, Dwarf_Die *member,
		     struct espy_variable *out, char why[ESPY_VAR_WHY])
{
	uint64_t off, first = 0, bits;
	Dwarf_Die type;
	int err;

	*out = *of;
	if (!espy_var_type__place(member, &off) || !espy_var_type__of(member, &type)) {
		snprintf(why, ESPY_VAR_WHY, "its place in the struct is computed");
		return -EINVAL;
	}
	err = describe(v, &type, out, why);
	if (err)
		return err;
	espy_var_type__bits(member, off, &first, &bits);
	if (bits)
		off = first / 8;
	if (out->way.is_memory) {
		espy_var_way__add(&out->way, off);
	} else {
		if (out->way.bit + off * 8 + first % 8 > 127)
			return refuse(why, "it", "lies outside of its registers");
		out->way.is_in_halves = true;
		out->way.bit = (uint8_t)(out->way.bit + off * 8);
	}
	if (!bits)
		return 0;
	out->low = (uint8_t)(first % 8);
	out->bits = (uint8_t)bits;
	out->size = 1;
	while (out->size < 8 && out->size * 8 < out->low + bits)
		out->size *= 2;
	return out->low + bits <= 64 ? 0 : refuse(why, "it", "is divided");
}

struct members {
	struct espy_dwarf_variables *v;
	int (*fn)(void *ctx, const char *name, const struct espy_variable *member);
	void *ctx;
	unsigned left;
};

/* Calls fn for the members, and for those of members without a name and of bases. */
static int each_member(struct members *m, const struct espy_variable *of, unsigned depth)
{
	char why[ESPY_VAR_WHY];
	struct espy_variable x;
	Dwarf_Die child;
	int ret = 0;

	if (of->kind != ESPY_VAR_STRUCT || depth == ESPY_VAR_TYPE_DEPTH || dwarf_child(&m->v->types[of->type], &child))
		return 0;
	do {
		const int tag = dwarf_tag(&child);
		const char *name = dwarf_diename(&child);
		Dwarf_Attribute attr;

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || dwarf_attr(&child, DW_AT_external, &attr))
			continue;
		if (!m->left)
			break;
		m->left--;
		if (to_member(m->v, of, &child, &x, why))
			x.kind = ESPY_VAR_OTHER;
		if (x.kind == ESPY_VAR_STRUCT && (!name || tag == DW_TAG_inheritance))
			ret = each_member(m, &x, depth + 1);
		else if (name)
			ret = m->fn(m->ctx, name, &x);
	} while (!ret && !dwarf_siblingof(&child, &child));
	return ret;
}

static int members(struct espy_variables *v, const struct espy_variable *of,
		   int (*fn)(void *ctx, const char *name, const struct espy_variable *member), void *ctx)
{
	struct members m = { .v = dwarf(v), .fn = fn, .ctx = ctx, .left = ESPY_VAR_MEMBERS };

	return each_member(&m, of, 0);
}

/* ---- names */

/* A walk over names, until fn returns true. */
struct walk {
	bool parameters, variables; /* which of them */
	bool (*fn)(void *ctx, Dwarf_Die *die);
	void *ctx;
	unsigned left; /* entries to look at */
};

/* Walks over the variables of a scope, and of namespaces in it. Returns what fn has returned. */
static bool walk_scope(struct walk *w, Dwarf_Die *scope, unsigned depth)
{
	Dwarf_Die child;

	if (depth == ESPY_DWARF_DEPTH || dwarf_child(scope, &child))
		return false;
	do {
		const int tag = dwarf_tag(&child);
		Dwarf_Attribute attr;

		if (!w->left)
			return false;
		w->left--;
		if (((w->parameters && tag == DW_TAG_formal_parameter) || (w->variables && tag == DW_TAG_variable)) &&
		    !dwarf_attr(&child, DW_AT_declaration, &attr) && dwarf_diename(&child) && w->fn(w->ctx, &child))
			return true;
		if (tag == DW_TAG_namespace && w->variables && walk_scope(w, &child, depth + 1))
			return true;
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

static bool each_of(Dwarf_Die *scope, bool parameters, bool variables, bool (*fn)(void *ctx, Dwarf_Die *die), void *ctx)
{
	struct walk w = { parameters, variables, fn, ctx, ESPY_DWARF_STEPS };

	return walk_scope(&w, scope, 0);
}

/* The same for all scopes around the address, also of functions that the innermost one was inlined into. */
static bool each_local(struct espy_dwarf_variables *v, bool (*fn)(void *ctx, Dwarf_Die *die), void *ctx)
{
	for (size_t i = v->scopes.cnt; v->function && i-- > v->function;)
		if (each_of(&v->scopes.v[i], true, !v->returns, fn, ctx))
			return true;
	return false;
}

struct search {
	const char *name;
	Dwarf_Die found;
	bool is_global, is_external; /* only such a variable is wanted */
	struct espy_var_offers offers;
};

static bool compare(void *ctx, Dwarf_Die *die)
{
	struct search *s = ctx;
	const char *name = dwarf_diename(die);
	Dwarf_Attribute attr;

	espy_var_offers__add(&s->offers, name, !s->is_global);
	if (strcmp(name, s->name) || (s->is_external && !dwarf_attr_integrate(die, DW_AT_external, &attr)))
		return false;
	s->found = *die;
	return true;
}

/* Looks for a global: in the source around the address, then one of all sources of the file. */
static bool find_global(struct espy_dwarf_variables *v, struct search *s)
{
	unsigned steps = ESPY_DWARF_STEPS;
	Dwarf_Addr bias, unit_bias;
	Dwfl_Module *module = espy_lines_of__module(v->lines, &bias);

	s->is_global = true;
	if (each_of(&v->scopes.v[0], false, true, compare, s))
		return true;
	for (Dwarf_Die *unit = NULL; steps-- && (unit = dwfl_module_nextcu(module, unit, &unit_bias));) {
		s->is_external = true;
		if (each_of(unit, false, true, compare, s))
			return true;
	}
	return false;
}

static int find_result(struct espy_dwarf_variables *v, struct espy_variable *x, char why[ESPY_VAR_WHY])
{
	char text[ESPY_VAR_WHY];
	Dwarf_Die type;
	int err;

	if (!v->returns || !v->function || !espy_var_type__of(&v->scopes.v[v->function], &type)) {
		snprintf(why, ESPY_VAR_WHY,
			 v->returns ? "the function has no result of a known type"
				    : "$retval is there only where a function returns");
		return -ENOENT;
	}
	err = describe(v, &type, x, why);
	err = err ? err : espy_var_call__result(&type, &x->way, text);
	if (err)
		refuse(why, "$retval", text);
	return err;
}

static int find_name(struct espy_variables *base, const char *name, struct espy_variable *x, char why[ESPY_VAR_WHY])
{
	struct espy_dwarf_variables *v = dwarf(base);
	struct search s = { .name = name };
	char text[ESPY_VAR_WHY];
	const char *function = v->function ? dwarf_diename(&v->scopes.v[v->function]) : NULL;
	Dwarf_Die type;
	int err;

	if (!strcmp(name, "$retval"))
		return find_result(v, x, why);
	espy_var_offers__begin(&s.offers, name);
	if (!each_local(v, compare, &s) && !find_global(v, &s)) {
		snprintf(why, ESPY_VAR_WHY, "there is no %s '%s' at this place of %s",
			 v->returns ? "parameter or global" : "variable", name, function ? function : "the file");
		espy_var_offers__put(&s.offers, why);
		return -ENOENT;
	}
	if (!espy_var_type__of(&s.found, &type))
		return refuse(why, name, "has no known type");
	err = describe(v, &type, x, why);
	if (err)
		return err;
	err = espy_var_place__of(v, &s.found, &x->way, text);
	return err ? refuse(why, name, text) : 0;
}

struct each {
	struct espy_dwarf_variables *v;
	void (*fn)(void *ctx, const char *name, const char *type, const char *why);
	void *ctx;
};

static bool give(void *ctx, Dwarf_Die *die)
{
	const struct each *e = ctx;
	char type[256], why[ESPY_VAR_WHY] = "";
	struct espy_var_way way;
	const int err = espy_var_place__of(e->v, die, &way, why);

	espy_var_type__name(die, type, sizeof(type));
	e->fn(e->ctx, dwarf_diename(die), type, err ? why : NULL);
	return false;
}

static void each_variable(struct espy_variables *base,
			  void (*fn)(void *ctx, const char *name, const char *type, const char *why), void *ctx)
{
	struct espy_dwarf_variables *v = dwarf(base);
	struct each e = { v, fn, ctx };
	Dwarf_Die *function = &v->scopes.v[v->function], type;
	char text[256];

	if (v->function && espy_var_type__of(function, &type)) {
		espy_var_type__name(function, text, sizeof(text));
		fn(ctx, "$retval", text, NULL);
	}

	each_local(v, give, &e);
}

static uint64_t length(struct espy_variables *v, const struct espy_variable *x)
{
	uint64_t cnt = 0;
	Dwarf_Die element;

	if (x->kind == ESPY_VAR_ARRAY || x->kind == ESPY_VAR_TEXT || x->kind == ESPY_VAR_BYTES)
		espy_var_type__elements(&dwarf(v)->types[x->type], &element, &cnt);
	return cnt;
}

static bool is_reference(struct espy_variables *v, const struct espy_variable *x)
{
	const int tag = dwarf_tag(&dwarf(v)->types[x->type]);

	return tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

static int constants(struct espy_variables *v, const struct espy_variable *of,
		     int (*fn)(void *ctx, const char *name, int64_t value), void *ctx)
{
	return espy_var_type__constants(dwarf(v), of, fn, ctx);
}

static const struct espy_var_ops ops = {
	.name = find_name,
	.target = to_target,
	.length = length,
	.is_reference = is_reference,
	.members = members,
	.constants = constants,
	.each = each_variable,
};

int espy_variables__open(struct espy_variables **out, struct espy_lines_of *l, uint64_t addr, unsigned how)
{
	struct espy_dwarf_variables *v = l ? calloc(1, sizeof(*v)) : NULL;
	Dwarf_Addr pc, low;
	Dwarf_Die unit;

	*out = NULL;
	if (l && !v)
		return -ENOMEM;
	if (!v || !espy_unit__find(&unit, l, addr, &pc)) {
		free(v);
		return -ENODATA;
	}
	v->base.ops = &ops;
	v->lines = l;
	v->addr = addr;
	v->returns = how & ESPY_VAR_RETURNS;
	espy_scopes__of_unit(&v->scopes, &unit, pc);
	for (size_t i = 1; i < v->scopes.cnt && !v->function; i++)
		if (dwarf_tag(&v->scopes.v[i]) == DW_TAG_subprogram)
			v->function = i;
	v->at_entry = v->function && !dwarf_entrypc(&v->scopes.v[v->function], &low) && low == pc;
	/* The code of an inlined function may begin there, too. */
	if (v->at_entry && !(how & ESPY_VAR_INLINED))
		v->scopes.cnt = v->function + 1;
	*out = &v->base;
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds what an expression of names means at an address. */
#include "symbols/variables.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arch/machine_regs.h"
#include "base/edits.h"
#include "symbols/variables_impl.h"

#define INDEX_MAX (1u << 24)
#define STARS_MAX 8u
#define OFFERED 8u /* names in a message */

int espy_variables__open(struct espy_variables **out, struct espy_lines_of *l, uint64_t addr, unsigned how)
{
	struct espy_variables *v = l ? calloc(1, sizeof(*v)) : NULL;
	Dwarf_Addr pc, low;
	Dwarf_Die unit;

	*out = NULL;
	if (l && !v)
		return -ENOMEM;
	if (!v || !espy_unit__find(&unit, l, addr, &pc)) {
		free(v);
		return -ENODATA;
	}
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
	*out = v;
	return 0;
}

void espy_variables__close(struct espy_variables *v)
{
	free(v);
}

static int refuse(char why[ESPY_VAR_WHY], const char *name, const char *text)
{
	snprintf(why, ESPY_VAR_WHY, "'%.120s' %.380s", name, text);
	return -EINVAL;
}

/* ---- from one value to another */

static int describe(struct espy_variables *v, Dwarf_Die *type, struct espy_variable *x, char why[ESPY_VAR_WHY])
{
	if (espy_var_type__describe(v, type, x))
		return 0;
	snprintf(why, ESPY_VAR_WHY, "too many types are named");
	return -EINVAL;
}

static bool is_reference(struct espy_variables *v, const struct espy_variable *x)
{
	const int tag = dwarf_tag(&v->types[x->type]);

	return tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

/* Makes the value that the pointer or array leads to. */
static int to_target(struct espy_variables *v, struct espy_variable *x, char why[ESPY_VAR_WHY])
{
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

static int to_index(struct espy_variables *v, struct espy_variable *x, uint64_t index, char why[ESPY_VAR_WHY])
{
	uint64_t cnt = 0;
	Dwarf_Die element;
	int err;

	if (x->kind == ESPY_VAR_ARRAY || x->kind == ESPY_VAR_TEXT || x->kind == ESPY_VAR_BYTES)
		espy_var_type__elements(&v->types[x->type], &element, &cnt);
	if (cnt && index >= cnt) {
		snprintf(why, ESPY_VAR_WHY, "the array has %llu elements, from 0 on", (unsigned long long)cnt);
		return -EINVAL;
	}
	err = to_target(v, x, why);
	if (err)
		return err;
	if (!x->size || !x->way.is_memory) {
		snprintf(why, ESPY_VAR_WHY, "how large its elements are is not known");
		return -EINVAL;
	}
	espy_var_way__add(&x->way, index * x->size);
	return 0;
}

/* Makes a member of a struct. Returns 0, or -EINVAL: no probe reaches it. */
static int to_member(struct espy_variables *v, const struct espy_variable *of, Dwarf_Die *member,
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
	struct espy_variables *v;
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

int espy_variables__members(struct espy_variables *v, const struct espy_variable *of,
			    int (*fn)(void *ctx, const char *name, const struct espy_variable *member), void *ctx)
{
	struct members m = { .v = v, .fn = fn, .ctx = ctx, .left = ESPY_VAR_MEMBERS };

	return each_member(&m, of, 0);
}

/* The names that there are, for a message about one that is missing. */
struct names {
	char text[200];
	unsigned cnt;
};

static void offer(struct names *n, const char *name)
{
	const size_t len = strlen(n->text);

	if (n->cnt++ < OFFERED && len + strlen(name) + 8 < sizeof(n->text))
		snprintf(n->text + len, sizeof(n->text) - len, "%s%s", len ? ", " : "", name);
}

/* Puts the nearest name behind the message, or those that there are. */
static void put_names(char why[ESPY_VAR_WHY], const struct espy_nearest *near, const struct names *n)
{
	const size_t len = strlen(why);
	char hint[ESPY_HINT_MAX];

	if (near->word)
		snprintf(why + len, ESPY_VAR_WHY - len, "%s", espy_nearest__hint(near, hint));
	else if (n->cnt)
		snprintf(why + len, ESPY_VAR_WHY - len, "; there %s %s%s", n->cnt > 1 ? "are" : "is", n->text,
			 n->cnt > OFFERED ? ", ..." : "");
}

struct wanted {
	const char *name;
	struct espy_variable found;
	struct espy_nearest near;
	struct names names;
};

static int is_wanted(void *ctx, const char *name, const struct espy_variable *member)
{
	struct wanted *w = ctx;

	if (!strcmp(name, w->name)) {
		w->found = *member;
		return 1;
	}
	espy_nearest__offer(&w->near, name);
	offer(&w->names, name);
	return 0;
}

static int to_named(struct espy_variables *v, struct espy_variable *x, const char *name, char why[ESPY_VAR_WHY])
{
	struct wanted w = { .name = name };
	int err = 0;

	if (x->kind == ESPY_VAR_POINTER || x->kind == ESPY_VAR_STRING)
		err = to_target(v, x, why);
	if (err)
		return err;
	if (x->kind != ESPY_VAR_STRUCT) {
		snprintf(why, ESPY_VAR_WHY, "what stands before '%s' is no struct", name);
		return -EINVAL;
	}
	espy_nearest__begin(&w.near, name, strlen(name));
	if (!espy_variables__members(v, x, is_wanted, &w)) {
		snprintf(why, ESPY_VAR_WHY, "there is no member '%s'", name);
		put_names(why, &w.near, &w.names);
		return -ENOENT;
	}
	*x = w.found;
	return 0;
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
static bool each_local(struct espy_variables *v, bool (*fn)(void *ctx, Dwarf_Die *die), void *ctx)
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
	struct espy_nearest near;
	struct names names;
};

static bool compare(void *ctx, Dwarf_Die *die)
{
	struct search *s = ctx;
	const char *name = dwarf_diename(die);
	Dwarf_Attribute attr;

	espy_nearest__offer(&s->near, name);
	if (!s->is_global)
		offer(&s->names, name);
	if (strcmp(name, s->name) || (s->is_external && !dwarf_attr_integrate(die, DW_AT_external, &attr)))
		return false;
	s->found = *die;
	return true;
}

/* Looks for a global: in the source around the address, then one of all sources of the file. */
static bool find_global(struct espy_variables *v, struct search *s)
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

static int find_result(struct espy_variables *v, struct espy_variable *x, char why[ESPY_VAR_WHY])
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

static int find_name(struct espy_variables *v, const char *name, struct espy_variable *x, char why[ESPY_VAR_WHY])
{
	struct search s = { .name = name };
	char text[ESPY_VAR_WHY];
	const char *function = v->function ? dwarf_diename(&v->scopes.v[v->function]) : NULL;
	Dwarf_Die type;
	int err;

	if (!strcmp(name, "$retval"))
		return find_result(v, x, why);
	espy_nearest__begin(&s.near, name, strlen(name));
	if (!each_local(v, compare, &s) && !find_global(v, &s)) {
		snprintf(why, ESPY_VAR_WHY, "there is no %s '%s' at this place of %s",
			 v->returns ? "parameter or global" : "variable", name, function ? function : "the file");
		put_names(why, &s.near, &s.names);
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

/* ---- expressions */

static size_t word_len(const char *at)
{
	size_t n = *at == '$';

	while (isalnum((unsigned char)at[n]) || at[n] == '_')
		n++;
	return n;
}

/* Follows references, which are no pointers to the programmer. */
static int settle(struct espy_variables *v, struct espy_variable *x, char why[ESPY_VAR_WHY])
{
	int err = 0;

	for (unsigned i = 0; !err && i < STARS_MAX && is_reference(v, x); i++)
		err = to_target(v, x, why);
	return err;
}

/* Takes one `.name`, `->name` or `[N]`. */
static int take_part(struct espy_variables *v, const char **at, struct espy_variable *x, char why[ESPY_VAR_WHY])
{
	char name[128];
	char *end;

	if (**at == '[') {
		const unsigned long index = strtoul(*at + 1, &end, 10);

		if (!isdigit((unsigned char)(*at)[1]) || *end != ']' || index > INDEX_MAX) {
			snprintf(why, ESPY_VAR_WHY, "[NUMBER] is expected: the element of an array");
			return -EINVAL;
		}
		*at = end + 1;
		return to_index(v, x, index, why);
	}
	*at += **at == '.' ? 1 : 2;
	const size_t len = word_len(*at);

	/* A dot and a number are an element, as arguments are named. */
	if (len && strspn(*at, "0123456789") == len && len < 9) {
		const unsigned long index = strtoul(*at, NULL, 10);

		*at += len;
		return index <= INDEX_MAX ? to_index(v, x, index, why) : -EINVAL;
	}
	if (!len || len >= sizeof(name)) {
		snprintf(why, ESPY_VAR_WHY, "the name of a member is expected behind '.' and '->'");
		return -EINVAL;
	}
	memcpy(name, *at, len);
	name[len] = 0;
	*at += len;
	return to_named(v, x, name, why);
}

int espy_variables__find(struct espy_variables *v, const char *expr, struct espy_variable *out, char why[ESPY_VAR_WHY])
{
	const size_t stars = strspn(expr, "*");
	const char *at = expr + stars;
	const size_t len = word_len(at);
	char name[128];
	int err;

	*out = (struct espy_variable){ 0 };
	why[0] = 0;
	if (!len || len >= sizeof(name) || stars > STARS_MAX) {
		snprintf(why, ESPY_VAR_WHY, "the name of a variable is expected");
		return -EINVAL;
	}
	memcpy(name, at, len);
	name[len] = 0;
	at += len;
	err = find_name(v, name, out, why);
	err = err ? err : settle(v, out, why);
	while (!err && (*at == '.' || *at == '[' || !strncmp(at, "->", 2))) {
		err = take_part(v, &at, out, why);
		err = err ? err : settle(v, out, why);
	}
	if (!err && *at) {
		snprintf(why, ESPY_VAR_WHY, "'->', '.', '[' or the end is expected before '%s'", at);
		err = -EINVAL;
	}
	for (size_t i = 0; i < stars && !err; i++) {
		err = to_target(v, out, why);
		err = err ? err : settle(v, out, why);
	}
	return err;
}

struct each {
	struct espy_variables *v;
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

void espy_variables__each(struct espy_variables *v,
			  void (*fn)(void *ctx, const char *name, const char *type, const char *why), void *ctx)
{
	struct each e = { v, fn, ctx };
	Dwarf_Die *function = &v->scopes.v[v->function], type;
	char text[256];

	if (v->function && espy_var_type__of(function, &type)) {
		espy_var_type__name(function, text, sizeof(text));
		fn(ctx, "$retval", text, NULL);
	}

	each_local(v, give, &e);
}

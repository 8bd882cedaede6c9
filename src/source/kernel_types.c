/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a probe can name at a function of the kernel: its parameters, where the calling convention has put them, and the
 * members of structs behind them. A text is shown where one is asked for: `char *` may point to any bytes here, also of
 * a program.
 */
#include "source/kernel_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arch/machine_regs.h"
#include "base/array.h"
#include "record/probe_plan.h"
#include "source/quiet_libbpf.h"

#define DEPTH_MAX 32u /* qualifiers and members in each other */
#define WORD 8u
#define IN_REGS_MAX 16u /* bytes of a struct that is passed in registers */

struct function {
	const char *name;
	uint32_t id;
};

/* The types of the kernel, or those that a module adds. */
struct types_of {
	char module[64];	    /* "": of the kernel */
	struct btf *btf;	    /* NULL: there are none */
	struct function *functions; /* by name */
	size_t cnt, cap;
};

struct espy_kernel_types {
	struct types_of *v;
	size_t cnt, cap;
};

struct kernel_variables {
	struct espy_variables base;
	const struct btf *btf;
	const struct btf_type *proto;
	const char *function;
	bool returns;
};

static struct kernel_variables *kernel(struct espy_variables *v)
{
	return (struct kernel_variables *)v;
}

/* ---- types */

/* Takes names and qualifiers off a type. Returns 0: nothing is left (void), or there are too many. */
static uint32_t peel(const struct btf *btf, uint32_t id)
{
	const int left = btf__resolve_type(btf, id);

	return left > 0 ? (uint32_t)left : 0;
}

static void describe_int(const struct btf *btf, const struct btf_type *t, struct espy_variable *x)
{
	const char *name = btf__name_by_offset(btf, t->name_off);
	const int encoding = btf_int_encoding(t);

	if (x->size != 1 && x->size != 2 && x->size != 4 && x->size != 8)
		return;
	x->is_signed = encoding & BTF_INT_SIGNED;
	x->kind = encoding & BTF_INT_BOOL			  ? ESPY_VAR_BOOL
		  : x->size == 1 && name && !strcmp(name, "char") ? ESPY_VAR_CHAR
								  : ESPY_VAR_INT;
}

static void describe_enum(const struct btf_type *t, struct espy_variable *x)
{
	if (x->size != 1 && x->size != 2 && x->size != 4 && x->size != 8)
		return;
	x->kind = ESPY_VAR_ENUM;
	x->is_signed = btf_kflag(t);
	for (unsigned i = 0; btf_kind(t) == BTF_KIND_ENUM && i < btf_vlen(t); i++)
		x->is_signed |= btf_enum(t)[i].val < 0; /* older types do not tell the sign */
}

static void describe(const struct btf *btf, uint32_t id, struct espy_variable *x)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	const int64_t size = id ? btf__resolve_size(btf, id) : 0;
	struct espy_variable element = { 0 };

	x->type = id;
	x->kind = ESPY_VAR_OTHER;
	x->is_signed = false;
	x->low = x->bits = 0;
	x->size = size > 0 && size <= UINT32_MAX ? (uint32_t)size : 0;
	if (!id || !t)
		return;
	switch (btf_kind(t)) {
	case BTF_KIND_INT:
		describe_int(btf, t, x);
		break;
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		describe_enum(t, x);
		break;
	case BTF_KIND_FLOAT:
		x->kind = x->size == 4 || x->size == 8 ? ESPY_VAR_FLOAT : ESPY_VAR_OTHER;
		break;
	case BTF_KIND_PTR:
		x->size = WORD;
		x->kind = ESPY_VAR_POINTER;
		break;
	case BTF_KIND_ARRAY:
		if (btf_is_int(btf__type_by_id(btf, peel(btf, btf_array(t)->type))))
			describe(btf, peel(btf, btf_array(t)->type), &element);
		x->kind = x->size && element.kind == ESPY_VAR_CHAR			 ? ESPY_VAR_TEXT
			  : x->size && element.kind == ESPY_VAR_INT && element.size == 1 ? ESPY_VAR_BYTES
											 : ESPY_VAR_ARRAY;
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		x->kind = ESPY_VAR_STRUCT;
		break;
	}
}

static uint64_t length(struct espy_variables *v, const struct espy_variable *x)
{
	const struct btf_type *t = btf__type_by_id(kernel(v)->btf, x->type);

	return t && btf_kind(t) == BTF_KIND_ARRAY ? btf_array(t)->nelems : 0;
}

static int to_target(struct espy_variables *v, struct espy_variable *x, char why[ESPY_VAR_WHY])
{
	const struct btf *btf = kernel(v)->btf;
	const struct btf_type *t = btf__type_by_id(btf, x->type);
	uint32_t target;

	if (t && btf_kind(t) == BTF_KIND_ARRAY) {
		describe(btf, peel(btf, btf_array(t)->type), x);
		return 0;
	}
	target = t && btf_kind(t) == BTF_KIND_PTR ? peel(btf, t->type) : 0;
	if (!target)
		snprintf(why, ESPY_VAR_WHY,
			 x->kind == ESPY_VAR_POINTER ? "the type behind the pointer is not known" : "it is no pointer");
	else if (!espy_var_way__follow(&x->way))
		snprintf(why, ESPY_VAR_WHY, "the pointer cannot be followed from there");
	else {
		describe(btf, target, x);
		return 0;
	}
	return -EINVAL;
}

/* Makes a member of a struct. Returns false if no probe reaches it. */
static bool to_member(const struct btf *btf, const struct espy_variable *of, const struct btf_type *t, unsigned i,
		      struct espy_variable *out)
{
	const uint32_t first = btf_member_bit_offset(t, i), bits = btf_member_bitfield_size(t, i);

	*out = *of;
	describe(btf, peel(btf, btf_members(t)[i].type), out);
	if (out->way.is_memory) {
		espy_var_way__add(&out->way, first / 8);
	} else {
		if (out->way.bit + first > 127)
			return false;
		out->way.is_in_halves = true;
		out->way.bit = (uint8_t)(out->way.bit + first / 8 * 8);
	}
	if (!bits)
		return true;
	out->low = (uint8_t)(first % 8);
	out->bits = (uint8_t)bits;
	out->size = 1;
	while (out->size < WORD && out->size * 8 < out->low + bits)
		out->size *= 2;
	return out->low + bits <= 64;
}

struct members {
	const struct btf *btf;
	int (*fn)(void *ctx, const char *name, const struct espy_variable *member);
	void *ctx;
};

static int each_member(const struct members *m, const struct espy_variable *of, unsigned depth)
{
	const struct btf_type *t = btf__type_by_id(m->btf, of->type);
	int ret = 0;

	if (of->kind != ESPY_VAR_STRUCT || depth == DEPTH_MAX || !t)
		return 0;
	for (unsigned i = 0; i < btf_vlen(t) && !ret; i++) {
		const char *name = btf__name_by_offset(m->btf, btf_members(t)[i].name_off);
		struct espy_variable x;

		if (!to_member(m->btf, of, t, i, &x))
			x.kind = ESPY_VAR_OTHER;
		if (name && *name)
			ret = m->fn(m->ctx, name, &x);
		else
			ret = each_member(m, &x, depth + 1);
	}
	return ret;
}

static int members(struct espy_variables *v, const struct espy_variable *of,
		   int (*fn)(void *ctx, const char *name, const struct espy_variable *member), void *ctx)
{
	const struct members m = { kernel(v)->btf, fn, ctx };

	return each_member(&m, of, 0);
}

static int constants(struct espy_variables *v, const struct espy_variable *of,
		     int (*fn)(void *ctx, const char *name, int64_t value), void *ctx)
{
	const struct btf *btf = kernel(v)->btf;
	const struct btf_type *t = btf__type_by_id(btf, of->type);
	int ret = 0;

	for (unsigned i = 0; t && of->kind == ESPY_VAR_ENUM && i < btf_vlen(t) && !ret; i++) {
		const uint32_t *wide = (const uint32_t *)(t + 1) + 3 * i; /* name, low half, high half */

		if (btf_is_enum64(t))
			ret = fn(ctx, btf__name_by_offset(btf, wide[0]), (int64_t)((uint64_t)wide[2] << 32 | wide[1]));
		else
			ret = fn(ctx, btf__name_by_offset(btf, btf_enum(t)[i].name_off),
				 of->is_signed ? btf_enum(t)[i].val : (int64_t)(uint32_t)btf_enum(t)[i].val);
	}
	return ret;
}

/* ---- parameters and results */

/* Finds where the value number `wanted` of the parameters lies when the function has just been called. */
static struct espy_var_way way_of_param(const struct kernel_variables *v, unsigned wanted)
{
	static const uint8_t args[ESPY_PROBE_SAVED] = ESPY_REG_ARGS;
	struct espy_var_way way = { .base = ESPY_VAR_REG };
	unsigned regs = 0, words = 1; /* of the stack: the return address lies first */

	for (unsigned i = 0; i <= wanted; i++) {
		struct espy_variable x;

		describe(v->btf, peel(v->btf, btf_params(v->proto)[i].type), &x);
		const unsigned cnt = x.size ? (x.size + WORD - 1) / WORD : 1;
		const bool in_regs = cnt * WORD <= IN_REGS_MAX && regs + cnt <= ESPY_PROBE_SAVED;

		if (i == wanted && in_regs) {
			way.reg = args[regs];
			way.is_in_halves = x.kind == ESPY_VAR_STRUCT;
			way.second = cnt > 1 ? args[regs + 1] : ESPY_VAR_NO_REG;
		} else if (i == wanted) {
			way.reg = ESPY_REG_SP;
			way.is_memory = true;
			way.off[0] = WORD * words;
		}
		regs += in_regs ? cnt : 0;
		words += in_regs ? 0 : cnt;
	}
	return way;
}

static const char *param_name(const struct kernel_variables *v, unsigned i)
{
	const char *name = btf__name_by_offset(v->btf, btf_params(v->proto)[i].name_off);

	return name ? name : "";
}

static int find_result(const struct kernel_variables *v, struct espy_variable *x, char why[ESPY_VAR_WHY])
{
	const uint32_t type = peel(v->btf, v->proto->type);

	if (!v->returns)
		snprintf(why, ESPY_VAR_WHY, "$retval is there only where a function returns");
	else if (!type)
		snprintf(why, ESPY_VAR_WHY, "%s() has no result", v->function);
	if (!v->returns || !type)
		return -ENOENT;
	describe(v->btf, type, x);
	if (x->size > WORD) {
		snprintf(why, ESPY_VAR_WHY, "'$retval' is a struct of several words");
		return -EINVAL;
	}
	x->way = (struct espy_var_way){ .base = ESPY_VAR_RESULT,
					.reg = ESPY_REG_RESULT,
					.second = ESPY_VAR_NO_REG,
					.is_in_halves = x->kind == ESPY_VAR_STRUCT };
	return 0;
}

static int find_name(struct espy_variables *base, const char *name, struct espy_variable *x, char why[ESPY_VAR_WHY])
{
	const struct kernel_variables *v = kernel(base);
	struct espy_var_offers offers;

	if (!strcmp(name, "$retval"))
		return find_result(v, x, why);
	espy_var_offers__begin(&offers, name);
	for (unsigned i = 0; i < btf_vlen(v->proto); i++) {
		if (!strcmp(param_name(v, i), name)) {
			describe(v->btf, peel(v->btf, btf_params(v->proto)[i].type), x);
			x->way = way_of_param(v, i);
			return 0;
		}
		if (*param_name(v, i))
			espy_var_offers__add(&offers, param_name(v, i), true);
	}
	if (btf_vlen(v->proto))
		snprintf(why, ESPY_VAR_WHY, "there is no parameter '%s' of %s()", name, v->function);
	else
		snprintf(why, ESPY_VAR_WHY, "there is no parameter '%s': %s() has none", name, v->function);
	espy_var_offers__put(&offers, why);
	return -ENOENT;
}

/* Writes a type as the programmer would: "struct file *". */
static void name_type(const struct btf *btf, uint32_t id, char *text, size_t size)
{
	static const char *const words[] = { [BTF_KIND_STRUCT] = "struct ",
					     [BTF_KIND_UNION] = "union ",
					     [BTF_KIND_ENUM] = "enum ",
					     [BTF_KIND_FWD] = "struct ",
					     [BTF_KIND_ENUM64] = "enum " };
	char behind[32] = "";
	unsigned stars = 0;
	bool is_const = false;

	snprintf(text, size, "void");
	for (unsigned i = 0; i < DEPTH_MAX && id; i++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		const unsigned kind = t ? btf_kind(t) : 0;
		const char *name = t ? btf__name_by_offset(btf, t->name_off) : NULL;
		const char *word = kind < sizeof(words) / sizeof(*words) && words[kind] ? words[kind] : "";

		if (kind == BTF_KIND_PTR) {
			is_const = false;
			stars += stars < 8;
		} else if (kind == BTF_KIND_CONST) {
			is_const = true;
		} else if (kind == BTF_KIND_ARRAY) {
			snprintf(behind, sizeof(behind), "[%u]", btf_array(t)->nelems);
			id = btf_array(t)->type;
			continue;
		} else if (kind == BTF_KIND_FUNC_PROTO) {
			snprintf(text, size, "function");
			break;
		} else if (!t || !btf_is_mod(t)) {
			snprintf(text, size, "%s%s%s", is_const ? "const " : "", word, name && *name ? name : "{...}");
			break;
		}
		id = t->type;
		if (!id && is_const)
			snprintf(text, size, "const void");
	}
	const size_t len = strlen(text);

	snprintf(text + len, size - len, "%s%.*s%s", stars ? " " : "", (int)stars, "********", behind);
}

static void each_variable(struct espy_variables *base,
			  void (*fn)(void *ctx, const char *name, const char *type, const char *why), void *ctx)
{
	const struct kernel_variables *v = kernel(base);
	char type[256];

	if (peel(v->btf, v->proto->type)) {
		name_type(v->btf, v->proto->type, type, sizeof(type));
		fn(ctx, "$retval", type, NULL);
	}
	for (unsigned i = 0; i < btf_vlen(v->proto); i++)
		if (*param_name(v, i)) {
			name_type(v->btf, btf_params(v->proto)[i].type, type, sizeof(type));
			fn(ctx, param_name(v, i), type, NULL);
		}
}

static const struct espy_var_ops ops = {
	.name = find_name,
	.target = to_target,
	.length = length,
	.members = members,
	.constants = constants,
	.each = each_variable,
};

/* ---- functions */

static int by_name(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Notes the functions from type `first` on. */
static int index_functions(struct types_of *t, uint32_t first)
{
	for (uint32_t id = first; id < btf__type_cnt(t->btf); id++) {
		const struct btf_type *type = btf__type_by_id(t->btf, id);

		if (!btf_is_func(type))
			continue;
		if (!espy_array__grow(t->functions, t->cnt, t->cap))
			return -ENOMEM;
		t->functions[t->cnt++] = (struct function){ btf__name_by_offset(t->btf, type->name_off), id };
	}
	if (t->cnt)
		qsort(t->functions, t->cnt, sizeof(*t->functions), by_name);
	return 0;
}

/* Loads the types of the kernel (module ""), or those that a module adds. Without types of a module its functions have
 * none. */
static int add_types(struct espy_kernel_types *k, const char *module)
{
	struct btf *kernel_btf = k->cnt ? k->v[0].btf : NULL;
	struct types_of *t;

	if (!espy_array__grow(k->v, k->cnt, k->cap))
		return -ENOMEM;
	t = &k->v[k->cnt];
	*t = (struct types_of){ .cnt = 0 };
	snprintf(t->module, sizeof(t->module), "%s", module);
	espy_quiet_libbpf__begin();
	errno = 0;
	t->btf = kernel_btf ? btf__load_module_btf(module, kernel_btf) : btf__load_vmlinux_btf();
	espy_quiet_libbpf__end();
	if (!t->btf && !kernel_btf)
		return errno ? -errno : -ENOENT;
	k->cnt++;
	return t->btf ? index_functions(t, kernel_btf ? btf__type_cnt(kernel_btf) : 1) : 0;
}

int espy_kernel_types__open(struct espy_kernel_types **out)
{
	struct espy_kernel_types *k = calloc(1, sizeof(*k));
	const int err = k ? add_types(k, "") : -ENOMEM;

	*out = NULL;
	if (err)
		espy_kernel_types__close(k);
	else
		*out = k;
	return err;
}

void espy_kernel_types__close(struct espy_kernel_types *k)
{
	if (!k)
		return;
	while (k->cnt--) { /* a module's first: they lean on the kernel's */
		btf__free(k->v[k->cnt].btf);
		free(k->v[k->cnt].functions);
	}
	free(k->v);
	free(k);
}

static const struct types_of *types_of(const struct espy_kernel_types *k, const char *module)
{
	for (size_t i = 0; i < k->cnt; i++)
		if (!strcmp(k->v[i].module, module))
			return &k->v[i];
	return NULL;
}

static const struct function *find_function(const struct types_of *t, const char *name)
{
	const struct function wanted = { .name = name };

	return t && t->cnt ? bsearch(&wanted, t->functions, t->cnt, sizeof(wanted), by_name) : NULL;
}

uint32_t espy_kernel_types__id(struct espy_kernel_types *k, const char *name)
{
	const struct function *f = find_function(types_of(k, ""), name);

	return f ? f->id : 0;
}

int espy_kernel_types__function(struct espy_kernel_types *k, const char *name, const char *module, bool returns,
				struct espy_variables **out)
{
	const struct types_of *t = types_of(k, module);
	const struct function *f;
	struct kernel_variables *v;

	*out = NULL;
	if (!t && add_types(k, module))
		return -ENOMEM;
	t = t ? t : types_of(k, module);
	f = find_function(t, name);
	if (!f)
		return -ENODATA;
	const struct btf_type *proto = btf__type_by_id(t->btf, btf__type_by_id(t->btf, f->id)->type);

	if (!proto || !btf_is_func_proto(proto))
		return -ENODATA;
	v = malloc(sizeof(*v));
	if (!v)
		return -ENOMEM;
	*v = (struct kernel_variables){
		.base.ops = &ops, .btf = t->btf, .proto = proto, .function = f->name, .returns = returns
	};
	*out = &v->base;
	return 0;
}

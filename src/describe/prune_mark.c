/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Marks all that some calls reach in an image. Every index refers to a lower one or to another array, so one pass from
 * the highest index down finds everything.
 */
#include "describe/prune_impl.h"

#include <string.h>
#include "describe/hooks.h"

/*
 * WHOLE, of types and tables: with all that they refer to. Without it only members of a table that the trace has seen
 * are wanted, and of struct siginfo and its unions only the cases of such signals.
 */
enum { USED = 1, WHOLE = 2 };

/* Tables that hooks find by their names. */
static const struct {
	uint16_t hook;
	bool if_unknown; /* only for values that the table of the type lacks */
	const char *table;
} BY_NAME[] = {
	{ ESPY_HOOK_CLONE_FLAGS, false, "clone_flags" },   { ESPY_HOOK_IOPRIO, false, "ioprio_classes" },
	{ ESPY_HOOK_KB_VALUE, false, "kb_value_types" },   { ESPY_HOOK_QCMD, false, "quota_ops" },
	{ ESPY_HOOK_QCMD, false, "quotatypes" },	   { ESPY_HOOK_IOCTL_CMD, true, "evdev_ev" },
	{ ESPY_HOOK_IOCTL_CMD, true, "evdev_abs" },	   { ESPY_HOOK_CAP_DATA, false, "capabilities" },
	{ ESPY_HOOK_KVM_EXIT, false, "kvm_exit_reasons" },
};
/* Structs that a hook finds by a number. */
#define NETLINK_PREFIX "nlmsg_"

static void mark(struct espy_pruning *p, enum espy_section which, uint32_t i, uint8_t how)
{
	if (i < p->parts[which].cnt)
		p->parts[which].used[i] |= how;
}

static void mark_range(struct espy_pruning *p, enum espy_section which, uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		mark(p, which, first + i, USED);
}

static bool is_large(const struct espy_image *img, const struct espy_type *t)
{
	return t->kind == ESPY_T_INT && t->table < img->table_cnt && img->tables[t->table].kind == ESPY_TABLE_ENUM &&
	       img->tables[t->table].count >= ESPY_PRUNE_LARGE_TABLE;
}

bool espy_prune_value_of(const struct espy_image *img, const struct espy_field *param, const uint64_t args[6],
			 struct espy_prune_value *v)
{
	const struct espy_type *t = &img->types[param->type];

	if (!is_large(img, t) || param->off >= 6)
		return false;
	*v = (struct espy_prune_value){ .value = args[param->off], .of = t->table };
	return true;
}

/* Tells whether the value means the member. Its parameter decides which bits count; here the bits of any do. */
static bool same_member(const struct espy_entry *e, const struct espy_prune_value *v)
{
	return (uint32_t)e->value == (uint32_t)v->value;
}

/* Returns the bytes of the first field if it alone chooses the case of each union in the struct; else 0. */
static uint32_t key_size(const struct espy_image *img, const struct espy_type *s)
{
	if (s->kind != ESPY_T_STRUCT || !s->count)
		return 0;
	const struct espy_field *f = &img->fields[s->first];
	const struct espy_type *key = &img->types[f->type];

	if (f->off || key->kind != ESPY_T_INT || key->size > 4 || key->flags & ESPY_TF_BE)
		return 0;
	uint32_t unions = 0;

	for (uint32_t k = 1; k < s->count; k++) {
		const struct espy_type *u = &img->types[f[k].type];

		if (u->kind != ESPY_T_UNION)
			continue;
		if (u->len_b != ESPY_NONE || img->exprs[u->len_a].op != ESPY_X_FIELD || img->exprs[u->len_a].a)
			return 0;
		unions++;
	}
	return unions ? key->size : 0;
}

bool espy_prune_struct_of(const struct espy_image *img, const struct espy_field *param, uint32_t *of, uint32_t *key_sz)
{
	const struct espy_type *t = &img->types[param->type];

	if (t->kind != ESPY_T_PTR || param->off >= 6)
		return false;
	*of = t->elem | ESPY_PRUNE_STRUCT;
	*key_sz = key_size(img, &img->types[t->elem]);
	return *key_sz;
}

/* Returns the mark for the type of a parameter or an operation: of some structs only seen cases are wanted. */
static uint8_t how_much(const struct espy_image *img, uint32_t type)
{
	const struct espy_type *t = &img->types[type];

	if (t->kind == ESPY_T_PTR)
		t = &img->types[t->elem];
	return is_large(img, t) || key_size(img, t) ? USED : USED | WHOLE;
}

static void mark_plan(struct espy_pruning *p, uint32_t i)
{
	if (i >= p->img->plan_cnt)
		return;
	const struct espy_plan *plan = &p->img->plans[i];

	mark(p, ESPY_SEC_PLANS, i, USED);
	mark_range(p, ESPY_SEC_OPS, plan->first_op, plan->op_cnt);
	for (unsigned k = 0; k < plan->op_cnt; k++) {
		const uint32_t type = p->img->ops[plan->first_op + k].type;

		mark(p, ESPY_SEC_TYPES, type, how_much(p->img, type));
	}
}

/* Tells whether a seen value of the table has no name in it. */
static bool has_unknown(const struct espy_pruning *p, uint32_t table)
{
	const struct espy_table *t = &p->img->tables[table];
	bool unknown = p->want->all_values;

	for (uint32_t v = 0; v < p->want->value_cnt && !unknown; v++) {
		if (p->want->values[v].of != table)
			continue;
		unknown = true;
		for (uint32_t k = 0; k < t->count && unknown; k++)
			unknown = !same_member(&p->img->entries[t->first + k], &p->want->values[v]);
	}
	return unknown;
}

/* Marks the tables that a hook finds by name. table: of the type that has the hook. */
static void mark_tables_of(struct espy_pruning *p, unsigned hook, uint32_t table)
{
	for (size_t i = 0; hook && i < sizeof(BY_NAME) / sizeof(BY_NAME[0]); i++)
		if (BY_NAME[i].hook == hook &&
		    (!BY_NAME[i].if_unknown || table >= p->img->table_cnt || has_unknown(p, table)))
			mark(p, ESPY_SEC_TABLES, espy_image__find_table(p->img, BY_NAME[i].table), USED | WHOLE);
}

static void mark_call(struct espy_pruning *p, uint32_t i)
{
	if (i >= p->img->call_cnt)
		return;
	const struct espy_call *c = &p->img->calls[i];

	mark(p, ESPY_SEC_CALLS, i, USED);
	mark_plan(p, c->plan);
	mark(p, ESPY_SEC_TYPES, c->ret.type, USED | WHOLE);
	mark(p, ESPY_SEC_TYPES, c->ret.note_type, USED | WHOLE);
	if ((c->ret.note & 0xffff) == ESPY_NOTE_RET_HOOK)
		mark_tables_of(p, c->ret.note >> 16, ESPY_NONE);
	mark_range(p, ESPY_SEC_FIELDS, c->first_param, c->nparam);
	for (uint32_t k = 0; k < c->nparam; k++) {
		const struct espy_field *f = &p->img->fields[c->first_param + k];

		mark(p, ESPY_SEC_TYPES, f->type, how_much(p->img, f->type));
		mark(p, ESPY_SEC_EXPRS, f->when, USED);
	}
}

static void mark_numbers(struct espy_pruning *p)
{
	const struct espy_image *img = p->img;

	for (uint32_t nr = 0; nr < p->want->number_cnt; nr++) {
		if (!espy_prune_bit(p->want->numbers, nr))
			continue;
		p->number_cnt = nr + 1;
		if (nr >= img->syscall_cnt)
			continue;
		const struct espy_call_plan *cp = &img->call_plans[nr];

		mark_call(p, img->syscalls[nr].call);
		mark_plan(p, cp->plan);
		for (uint32_t k = cp->first_variant; k < (uint32_t)cp->first_variant + cp->variant_cnt; k++)
			if (espy_prune_bit(p->want->calls, img->variants[k].call)) {
				mark(p, ESPY_SEC_VARIANTS, k, USED);
				mark_plan(p, img->variants[k].plan);
				mark_call(p, img->variants[k].call);
			}
	}
}

/* Marks the types whose names begin so: a number that no type knows leads to them. */
static void mark_named(struct espy_pruning *p, const char *prefix)
{
	const struct espy_image *img = p->img;
	const size_t n = strlen(prefix);

	for (uint32_t i = img->type_cnt; i--;) {
		const struct espy_type *t = &img->types[i];
		const struct espy_type *named = t->kind == ESPY_T_TLV ? &img->types[t->elem] : t;

		if (named->kind == ESPY_T_STRUCT && !strncmp(espy_image__str(img, named->name), prefix, n))
			mark(p, ESPY_SEC_TYPES, i, USED | WHOLE);
	}
}

/*
 * Returns whether the case of a union in this struct is wanted. In struct siginfo the signal chooses; 0: a process sent
 * it.
 */
static bool wants_case(const struct espy_pruning *p, const struct espy_type *s, const struct espy_case *c)
{
	const uint32_t sz = key_size(p->img, s), of = (uint32_t)(s - p->img->types) | ESPY_PRUNE_STRUCT;
	const uint64_t mask = (1ull << 8 * sz) - 1;

	if (c->is_else)
		return true;
	if (!sz)
		return !c->key || (c->key <= 64 && p->want->signals >> (c->key - 1) & 1);
	for (uint32_t v = 0; v < p->want->value_cnt; v++)
		if (p->want->values[v].of == of && (p->want->values[v].value & mask) == (c->key & mask))
			return true;
	return p->want->all_values;
}

static void mark_cases(struct espy_pruning *p, const struct espy_type *u, const struct espy_type *s)
{
	for (uint32_t k = u->first; k < u->first + u->count; k++)
		if (!s || wants_case(p, s, &p->img->cases[k])) {
			mark(p, ESPY_SEC_CASES, k, USED);
			mark(p, ESPY_SEC_TYPES, p->img->cases[k].type, USED | WHOLE);
		}
}

static void mark_struct(struct espy_pruning *p, const struct espy_type *t, uint8_t how)
{
	mark_range(p, ESPY_SEC_FIELDS, t->first, t->count);
	mark_range(p, ESPY_SEC_INDICES, t->show, t->show_cnt);
	mark_range(p, ESPY_SEC_INDICES, t->brief, t->brief_cnt);
	for (uint32_t k = 0; k < t->count; k++) {
		const struct espy_field *f = &p->img->fields[t->first + k];

		if (p->img->types[f->type].kind == ESPY_T_UNION && !(how & WHOLE)) {
			mark(p, ESPY_SEC_TYPES, f->type, USED);
			mark_cases(p, &p->img->types[f->type], t);
		} else {
			mark(p, ESPY_SEC_TYPES, f->type, USED | WHOLE);
		}
		mark(p, ESPY_SEC_EXPRS, f->when, USED);
	}
}

static void mark_types(struct espy_pruning *p)
{
	const struct espy_image *img = p->img;

	for (uint32_t i = img->type_cnt; i--;) {
		const struct espy_type *t = &img->types[i];
		const uint8_t how = p->parts[ESPY_SEC_TYPES].used[i];

		if (!how)
			continue;
		mark_tables_of(p, t->hook, t->table);
		mark(p, ESPY_SEC_TABLES, t->table, how);
		mark(p, ESPY_SEC_EXPRS, t->len_a, USED);
		mark(p, ESPY_SEC_EXPRS, t->len_b, USED);
		p->all_names |= t->fmt == ESPY_FMT_SYSCALL;
		switch (t->kind) {
		case ESPY_T_ARRAY:
			if (t->flags & ESPY_TF_SPREAD)
				mark(p, ESPY_SEC_EXPRS, t->aux, USED);
			mark(p, ESPY_SEC_TYPES, t->elem, USED | WHOLE);
			break;
		case ESPY_T_PLACED:
			mark(p, ESPY_SEC_EXPRS, t->show, USED);
			/* fall through */
		case ESPY_T_PTR:
		case ESPY_T_TLV:
			mark(p, ESPY_SEC_TYPES, t->elem, t->kind == ESPY_T_PTR ? how : USED | WHOLE);
			break;
		case ESPY_T_STRUCT:
			mark_struct(p, t, how);
			break;
		case ESPY_T_UNION:
			if (how & WHOLE)
				mark_cases(p, t, NULL); /* else the struct around has done it */
			break;
		}
	}
}

static void mark_exprs(struct espy_pruning *p)
{
	for (uint32_t i = p->img->expr_cnt; i--;) {
		const struct espy_expr *x = &p->img->exprs[i];

		if (!p->parts[ESPY_SEC_EXPRS].used[i] || x->op < ESPY_X_OR || x->op > ESPY_X_ROUND_BITS)
			continue;
		mark(p, ESPY_SEC_EXPRS, x->a, USED);
		if (x->op != ESPY_X_NOT && x->op != ESPY_X_INV && x->op != ESPY_X_ROUND_BITS)
			mark(p, ESPY_SEC_EXPRS, x->b, USED);
	}
}

/* Marks the single members of a table that are wanted. */
static void mark_values(struct espy_pruning *p, uint32_t i)
{
	const struct espy_table *t = &p->img->tables[i];

	for (uint32_t v = 0; v < p->want->value_cnt; v++)
		for (uint32_t k = 0; p->want->values[v].of == i && k < t->count; k++)
			if (same_member(&p->img->entries[t->first + k], &p->want->values[v]))
				mark(p, ESPY_SEC_ENTRIES, t->first + k, USED);
}

static void mark_tables(struct espy_pruning *p)
{
	const struct espy_image *img = p->img;
	uint8_t *used = p->parts[ESPY_SEC_TABLES].used;

	/* A group may refer to a table behind its own, so this repeats until nothing is new. */
	for (bool more = true; more;) {
		more = false;
		for (uint32_t i = img->table_cnt; i--;) {
			if (!used[i])
				continue;
			for (uint32_t k = 0; k < img->tables[i].count; k++) {
				const uint32_t to = img->entries[img->tables[i].first + k].table;

				if (to >= img->table_cnt || used[to] & WHOLE)
					continue;
				used[to] |= USED | WHOLE;
				more = true;
			}
		}
	}
	for (uint32_t i = 0; i < img->table_cnt; i++) {
		if (used[i] & WHOLE || (used[i] && p->want->all_values))
			mark_range(p, ESPY_SEC_ENTRIES, img->tables[i].first, img->tables[i].count);
		else if (used[i])
			mark_values(p, i);
	}
}

void espy_prune_mark(struct espy_pruning *p)
{
	mark_numbers(p);
	if (p->want->signals)
		mark(p, ESPY_SEC_TYPES, espy_image__find_type(p->img, "siginfo"), USED);
	if (p->want->netlink)
		mark_named(p, NETLINK_PREFIX);
	mark_types(p);
	mark_exprs(p);
	mark_tables(p);
}

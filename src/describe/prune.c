/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An image of some calls. First all is marked that they reach: every index refers to a lower one or to another array,
 * so one pass from the highest index down finds everything. Then each array is written without what was not marked; an
 * element's new index is the number of marked ones before it, so that ranges stay ranges and the order, which readers
 * rely on, stays as it is.
 */
#include "describe/prune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "describe/format.h"
#include "describe/hooks.h"

/*
 * WHOLE, of types and tables: with all that they refer to. Without it of a table only members that were seen are
 * wanted, and of struct siginfo and its unions the cases of signals that were seen.
 */
enum { USED = 1, WHOLE = 2 };

struct part {
	uint8_t *used; /* cnt + 1: the last is never used */
	uint32_t *rank;
	uint32_t cnt;
};

struct prune {
	const struct espy_image *img;
	const struct espy_prune *want;
	struct part parts[ESPY_SECTION_CNT];
	uint32_t *strings; /* new offsets, 0: not yet */
	uint32_t strings_sz, number_cnt;
	bool all_names; /* a number of a call is shown by name */
	void *block;	/* of all marks */
	char *out;
	size_t out_sz;
	int error;
};

/* Tables that hooks find by their names. */
static const struct {
	uint16_t hook;
	bool if_unknown; /* for values only that the table of the type does not have */
	const char *table;
} BY_NAME[] = {
	{ ESPY_HOOK_CLONE_FLAGS, false, "clone_flags" }, { ESPY_HOOK_XFEATURES, false, "xfeature_masks" },
	{ ESPY_HOOK_QCMD, false, "quota_ops" },		 { ESPY_HOOK_QCMD, false, "quotatypes" },
	{ ESPY_HOOK_IOCTL_CMD, true, "evdev_ev" },	 { ESPY_HOOK_IOCTL_CMD, true, "evdev_abs" },
};
/* Structs that a hook finds by a number. */
#define NETLINK_PREFIX "nlmsg_"

static bool bit(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

static void mark(struct prune *p, enum espy_section which, uint32_t i, uint8_t how)
{
	if (i < p->parts[which].cnt)
		p->parts[which].used[i] |= how;
}

static void mark_range(struct prune *p, enum espy_section which, uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		mark(p, which, first + i, USED);
}

/* ---- marking ---- */

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

/* Which bits of the register count depends on the parameter: those that count in any. */
static bool same_member(const struct espy_entry *e, const struct espy_prune_value *v)
{
	return (uint32_t)e->value == (uint32_t)v->value;
}

/* Bytes of the first field, if it alone chooses the case of each union in the struct; else 0. */
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

/* What a parameter refers to, or an operation copies: of some structs only cases that were seen are wanted. */
static uint8_t how_much(const struct espy_image *img, uint32_t type)
{
	const struct espy_type *t = &img->types[type];

	if (t->kind == ESPY_T_PTR)
		t = &img->types[t->elem];
	return is_large(img, t) || key_size(img, t) ? USED : USED | WHOLE;
}

static void mark_plan(struct prune *p, uint32_t i)
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

static void mark_call(struct prune *p, uint32_t i)
{
	if (i >= p->img->call_cnt)
		return;
	const struct espy_call *c = &p->img->calls[i];

	mark(p, ESPY_SEC_CALLS, i, USED);
	mark_plan(p, c->plan);
	mark(p, ESPY_SEC_TYPES, c->ret.type, USED | WHOLE);
	mark(p, ESPY_SEC_TYPES, c->ret.note_type, USED | WHOLE);
	mark_range(p, ESPY_SEC_FIELDS, c->first_param, c->nparam);
	for (uint32_t k = 0; k < c->nparam; k++) {
		const struct espy_field *f = &p->img->fields[c->first_param + k];

		mark(p, ESPY_SEC_TYPES, f->type, how_much(p->img, f->type));
		mark(p, ESPY_SEC_EXPRS, f->when, USED);
	}
}

static void mark_numbers(struct prune *p)
{
	const struct espy_image *img = p->img;

	for (uint32_t nr = 0; nr < p->want->number_cnt; nr++) {
		if (!bit(p->want->numbers, nr))
			continue;
		p->number_cnt = nr + 1;
		if (nr >= img->syscall_cnt)
			continue;
		const struct espy_call_plan *cp = &img->call_plans[nr];

		mark_call(p, img->syscalls[nr].call);
		mark_plan(p, cp->plan);
		for (uint32_t k = cp->first_variant; k < (uint32_t)cp->first_variant + cp->variant_cnt; k++)
			if (bit(p->want->calls, img->variants[k].call)) {
				mark(p, ESPY_SEC_VARIANTS, k, USED);
				mark_plan(p, img->variants[k].plan);
				mark_call(p, img->variants[k].call);
			}
	}
}

/* Names begin so: they are found by a number that no type knows. */
static void mark_named(struct prune *p, const char *prefix)
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

/* Does anything that was seen of the table have no name in it? */
static bool has_unknown(const struct prune *p, uint32_t table)
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

static void mark_hook(struct prune *p, const struct espy_type *t)
{
	for (size_t i = 0; t->hook && i < sizeof(BY_NAME) / sizeof(BY_NAME[0]); i++)
		if (BY_NAME[i].hook == t->hook &&
		    (!BY_NAME[i].if_unknown || t->table >= p->img->table_cnt || has_unknown(p, t->table)))
			mark(p, ESPY_SEC_TABLES, espy_image__find_table(p->img, BY_NAME[i].table), USED | WHOLE);
}

/* Is the case of a union in this struct wanted? In struct siginfo the signal chooses; 0 is one that somebody sent. */
static bool wants_case(const struct prune *p, const struct espy_type *s, const struct espy_case *c)
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

static void mark_cases(struct prune *p, const struct espy_type *u, const struct espy_type *s)
{
	for (uint32_t k = u->first; k < u->first + u->count; k++)
		if (!s || wants_case(p, s, &p->img->cases[k])) {
			mark(p, ESPY_SEC_CASES, k, USED);
			mark(p, ESPY_SEC_TYPES, p->img->cases[k].type, USED | WHOLE);
		}
}

static void mark_struct(struct prune *p, const struct espy_type *t, uint8_t how)
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

static void mark_types(struct prune *p)
{
	const struct espy_image *img = p->img;

	for (uint32_t i = img->type_cnt; i--;) {
		const struct espy_type *t = &img->types[i];
		const uint8_t how = p->parts[ESPY_SEC_TYPES].used[i];

		if (!how)
			continue;
		mark_hook(p, t);
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

static void mark_exprs(struct prune *p)
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

/* Of a table of which single members are wanted. */
static void mark_values(struct prune *p, uint32_t i)
{
	const struct espy_table *t = &p->img->tables[i];

	for (uint32_t v = 0; v < p->want->value_cnt; v++)
		for (uint32_t k = 0; p->want->values[v].of == i && k < t->count; k++)
			if (same_member(&p->img->entries[t->first + k], &p->want->values[v]))
				mark(p, ESPY_SEC_ENTRIES, t->first + k, USED);
}

static void mark_tables(struct prune *p)
{
	const struct espy_image *img = p->img;
	uint8_t *used = p->parts[ESPY_SEC_TABLES].used;

	/* A group may refer to a table behind its own: again until nothing is new. */
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

/* ---- writing ---- */

/* Where an element of an array is now. Not one of it: ESPY_NONE. */
static uint32_t moved(const struct prune *p, enum espy_section which, uint32_t i)
{
	const struct part *part = &p->parts[which];

	return i < part->cnt && part->used[i] ? part->rank[i] : ESPY_NONE;
}

/* Where a range begins now, of which all elements are marked, or none is left. */
static uint32_t range_moved(const struct prune *p, enum espy_section which, uint32_t first)
{
	return first <= p->parts[which].cnt ? p->parts[which].rank[first] : 0;
}

static uint32_t string(struct prune *p, char *pool, uint32_t off)
{
	const char *s = espy_image__str(p->img, off);

	if (!*s)
		return 0;
	if (!p->strings[off]) {
		const size_t n = strlen(s) + 1;

		/* each is in the pool once, so there is room; else it is no pool of ours */
		if (n > p->img->strings_sz - p->strings_sz) {
			p->error = -EINVAL;
			return 0;
		}
		p->strings[off] = p->strings_sz;
		memcpy(pool + p->strings_sz, s, n);
		p->strings_sz += (uint32_t)n;
	}
	return p->strings[off];
}

static void write_numbers(struct prune *p, struct espy_syscall *syscalls, struct espy_call_plan *plans, char *pool)
{
	for (uint32_t nr = 0; nr < p->number_cnt; nr++) {
		const bool wanted = nr < p->want->number_cnt && bit(p->want->numbers, nr);

		syscalls[nr] = (struct espy_syscall){ .call = ESPY_NONE };
		if (wanted)
			syscalls[nr].flags = ESPY_SYSCALL_PART;
		if (nr >= p->img->syscall_cnt || (!wanted && !p->all_names))
			continue;
		syscalls[nr].name = string(p, pool, p->img->syscalls[nr].name);
		if (!wanted)
			continue;
		syscalls[nr].call = moved(p, ESPY_SEC_CALLS, p->img->syscalls[nr].call);
		syscalls[nr].classes = p->img->syscalls[nr].classes;
		syscalls[nr].nargs = p->img->syscalls[nr].nargs;
		const struct espy_call_plan *from = &p->img->call_plans[nr];

		plans[nr] = *from;
		plans[nr].plan = (uint16_t)moved(p, ESPY_SEC_PLANS, from->plan);
		plans[nr].first_variant = (uint16_t)range_moved(p, ESPY_SEC_VARIANTS, from->first_variant);
		plans[nr].variant_cnt = (uint16_t)(range_moved(p, ESPY_SEC_VARIANTS,
							       (uint32_t)from->first_variant + from->variant_cnt) -
						   plans[nr].first_variant);
		if (!plans[nr].variant_cnt)
			plans[nr] = (struct espy_call_plan){ .plan = plans[nr].plan };
	}
}

static void write_calls(struct prune *p, struct espy_call *to, char *pool)
{
	for (uint32_t i = 0; i < p->img->call_cnt; i++) {
		const struct espy_call *from = &p->img->calls[i];

		if (!p->parts[ESPY_SEC_CALLS].used[i])
			continue;
		*to = *from;
		to->name = string(p, pool, from->name);
		to->first_param = range_moved(p, ESPY_SEC_FIELDS, from->first_param);
		to->ret.type = moved(p, ESPY_SEC_TYPES, from->ret.type);
		to->ret.note_text = string(p, pool, from->ret.note_text);
		to->ret.note_type = moved(p, ESPY_SEC_TYPES, from->ret.note_type);
		to->plan = moved(p, ESPY_SEC_PLANS, from->plan);
		to++;
	}
}

static void write_fields(struct prune *p, struct espy_field *to, char *pool)
{
	for (uint32_t i = 0; i < p->img->field_cnt; i++) {
		if (!p->parts[ESPY_SEC_FIELDS].used[i])
			continue;
		*to = p->img->fields[i];
		to->name = string(p, pool, to->name);
		to->type = moved(p, ESPY_SEC_TYPES, to->type);
		to->when = moved(p, ESPY_SEC_EXPRS, to->when);
		to++;
	}
}

static void write_types(struct prune *p, struct espy_type *to, char *pool)
{
	for (uint32_t i = 0; i < p->img->type_cnt; i++) {
		const struct espy_type *from = &p->img->types[i];

		if (!p->parts[ESPY_SEC_TYPES].used[i])
			continue;
		*to = *from;
		to->name = string(p, pool, from->name);
		to->table = moved(p, ESPY_SEC_TABLES, from->table);
		to->len_a = moved(p, ESPY_SEC_EXPRS, from->len_a);
		to->len_b = moved(p, ESPY_SEC_EXPRS, from->len_b);
		to->elem = ESPY_NONE;
		if (from->kind == ESPY_T_PTR || from->kind == ESPY_T_ARRAY || from->kind == ESPY_T_TLV)
			to->elem = moved(p, ESPY_SEC_TYPES, from->elem);
		if (from->kind == ESPY_T_ARRAY && from->flags & ESPY_TF_SPREAD)
			to->aux = moved(p, ESPY_SEC_EXPRS, from->aux);
		if (from->kind == ESPY_T_STRUCT) {
			to->first = range_moved(p, ESPY_SEC_FIELDS, from->first);
			to->show = range_moved(p, ESPY_SEC_INDICES, from->show);
			to->brief = range_moved(p, ESPY_SEC_INDICES, from->brief);
		} else if (from->kind == ESPY_T_UNION) {
			to->first = range_moved(p, ESPY_SEC_CASES, from->first);
			to->count = range_moved(p, ESPY_SEC_CASES, from->first + from->count) - to->first;
		}
		to++;
	}
}

static void write_tables(struct prune *p, struct espy_table *to, char *pool)
{
	for (uint32_t i = 0; i < p->img->table_cnt; i++) {
		const struct espy_table *from = &p->img->tables[i];

		if (!p->parts[ESPY_SEC_TABLES].used[i])
			continue;
		*to = *from;
		to->name = string(p, pool, from->name);
		to->unknown = string(p, pool, from->unknown);
		to->first = range_moved(p, ESPY_SEC_ENTRIES, from->first);
		to->count = range_moved(p, ESPY_SEC_ENTRIES, from->first + from->count) - to->first;
		to++;
	}
}

static void write_entries(struct prune *p, struct espy_entry *entries, char *pool)
{
	const struct espy_image *img = p->img;

	for (uint32_t i = 0; i < img->table_cnt; i++) {
		const struct espy_table *t = &img->tables[i];

		for (uint32_t k = t->first; p->parts[ESPY_SEC_TABLES].used[i] && k < t->first + t->count; k++) {
			struct espy_entry *e = &entries[p->parts[ESPY_SEC_ENTRIES].rank[k]];

			if (!p->parts[ESPY_SEC_ENTRIES].used[k])
				continue;
			*e = img->entries[k];
			e->name = string(p, pool, img->entries[k].name);
			e->table = moved(p, ESPY_SEC_TABLES, img->entries[k].table);
			if (t->kind == ESPY_TABLE_PACK)
				e->reserved = string(p, pool, img->entries[k].reserved);
		}
	}
}

/* What refers to little. */
static void write_rest(struct prune *p, void *const to[])
{
	const struct espy_image *img = p->img;
	struct espy_variant *variants = to[ESPY_SEC_VARIANTS];
	struct espy_case *cases = to[ESPY_SEC_CASES];
	struct espy_expr *exprs = to[ESPY_SEC_EXPRS];
	uint32_t *indices = to[ESPY_SEC_INDICES];
	struct espy_plan *plans = to[ESPY_SEC_PLANS];
	struct espy_op *ops = to[ESPY_SEC_OPS];

	for (uint32_t i = 0; i < img->variant_cnt; i++) {
		if (!p->parts[ESPY_SEC_VARIANTS].used[i])
			continue;
		*variants = img->variants[i];
		variants->plan = (uint16_t)moved(p, ESPY_SEC_PLANS, variants->plan);
		variants->call = moved(p, ESPY_SEC_CALLS, variants->call);
		variants++;
	}
	for (uint32_t i = 0; i < img->case_cnt; i++)
		if (p->parts[ESPY_SEC_CASES].used[i]) {
			*cases = img->cases[i];
			cases->type = moved(p, ESPY_SEC_TYPES, cases->type);
			cases++;
		}
	for (uint32_t i = 0; i < img->expr_cnt; i++) {
		if (!p->parts[ESPY_SEC_EXPRS].used[i])
			continue;
		*exprs = img->exprs[i];
		if (exprs->op >= ESPY_X_OR && exprs->op <= ESPY_X_ROUND_BITS) {
			exprs->a = moved(p, ESPY_SEC_EXPRS, exprs->a);
			exprs->b = moved(p, ESPY_SEC_EXPRS, exprs->b);
		}
		exprs++;
	}
	for (uint32_t i = 0; i < img->index_cnt; i++)
		if (p->parts[ESPY_SEC_INDICES].used[i])
			*indices++ = img->index_list[i];
	for (uint32_t i = 0; i < img->plan_cnt; i++)
		if (p->parts[ESPY_SEC_PLANS].used[i]) {
			*plans = img->plans[i];
			plans->first_op = (uint16_t)range_moved(p, ESPY_SEC_OPS, plans->first_op);
			plans++;
		}
	for (uint32_t i = 0; i < img->op_cnt; i++)
		if (p->parts[ESPY_SEC_OPS].used[i]) {
			*ops = img->ops[i];
			ops->type = moved(p, ESPY_SEC_TYPES, ops->type);
			ops++;
		}
}

static int open_parts(struct prune *p)
{
	const struct espy_image *img = p->img;
	const uint32_t cnt[ESPY_SECTION_CNT] = {
		[ESPY_SEC_VARIANTS] = img->variant_cnt, [ESPY_SEC_CALLS] = img->call_cnt,
		[ESPY_SEC_FIELDS] = img->field_cnt,	[ESPY_SEC_TYPES] = img->type_cnt,
		[ESPY_SEC_CASES] = img->case_cnt,	[ESPY_SEC_EXPRS] = img->expr_cnt,
		[ESPY_SEC_TABLES] = img->table_cnt,	[ESPY_SEC_ENTRIES] = img->entry_cnt,
		[ESPY_SEC_INDICES] = img->index_cnt,	[ESPY_SEC_PLANS] = img->plan_cnt,
		[ESPY_SEC_OPS] = img->op_cnt,
	};
	size_t whole = img->strings_sz;

	for (unsigned i = 0; i < ESPY_SECTION_CNT; i++)
		whole += cnt[i] + 1u;
	/* one word and one mark for each element */
	uint32_t *words = calloc(whole, sizeof(*words) + 1);

	if (!words)
		return -ENOMEM;
	uint8_t *marks = (uint8_t *)(words + whole);

	p->block = p->strings = words;
	words += img->strings_sz;
	for (unsigned i = 0; i < ESPY_SECTION_CNT; i++) {
		p->parts[i] = (struct part){ .used = marks, .rank = words, .cnt = cnt[i] };
		marks += cnt[i] + 1;
		words += cnt[i] + 1;
	}
	return 0;
}

/* New indices, and how many are left. */
static uint32_t count_part(struct part *part)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i <= part->cnt; i++) {
		part->rank[i] = n;
		n += i < part->cnt && part->used[i];
	}
	return n;
}

static int write_image(struct prune *p)
{
	struct espy_image_header h = { .magic = ESPY_IMAGE_MAGIC, .version = ESPY_IMAGE_VERSION, .abi = p->img->abi };
	void *to[ESPY_SECTION_CNT];
	uint32_t n[ESPY_SECTION_CNT];
	uint64_t off = sizeof(h);

	for (unsigned i = 0; i < ESPY_SECTION_CNT; i++)
		n[i] = count_part(&p->parts[i]);
	n[ESPY_SEC_SYSCALLS] = n[ESPY_SEC_CALL_PLANS] = p->number_cnt;
	/* numbers that are not described have one nevertheless: nothing to copy */
	if (p->number_cnt && !n[ESPY_SEC_PLANS])
		n[ESPY_SEC_PLANS] = 1;
	/* The strings come last: how many there are is known when all else is written. */
	for (unsigned i = ESPY_SEC_STRINGS + 1; i < ESPY_SECTION_CNT; i++) {
		h.sections[i] = (struct espy_image_section){ off, n[i], espy_image_elem_sz[i] };
		off += ((uint64_t)n[i] * espy_image_elem_sz[i] + 7) & ~7ull;
	}
	char *out = calloc(1, off + p->img->strings_sz + 8);

	if (!out)
		return -ENOMEM;
	char *pool = out + off;

	for (unsigned i = 0; i < ESPY_SECTION_CNT; i++)
		to[i] = out + h.sections[i].off;
	p->strings_sz = 1;
	write_numbers(p, to[ESPY_SEC_SYSCALLS], to[ESPY_SEC_CALL_PLANS], pool);
	write_calls(p, to[ESPY_SEC_CALLS], pool);
	write_fields(p, to[ESPY_SEC_FIELDS], pool);
	write_types(p, to[ESPY_SEC_TYPES], pool);
	write_tables(p, to[ESPY_SEC_TABLES], pool);
	write_entries(p, to[ESPY_SEC_ENTRIES], pool);
	write_rest(p, to);
	h.sections[ESPY_SEC_STRINGS] = (struct espy_image_section){ off, p->strings_sz, 1 };
	h.size = off + ((p->strings_sz + 7u) & ~7u);
	memcpy(out, &h, sizeof(h));
	p->out = out;
	p->out_sz = h.size;
	return 0;
}

int espy_image__prune(const struct espy_image *img, const struct espy_prune *want, void **bytes, size_t *size)
{
	struct prune p = { .img = img, .want = want };
	int err = open_parts(&p);

	if (err)
		return err;
	mark_numbers(&p);
	if (want->signals)
		mark(&p, ESPY_SEC_TYPES, espy_image__find_type(img, "siginfo"), USED);
	if (want->netlink)
		mark_named(&p, NETLINK_PREFIX);
	mark_types(&p);
	mark_exprs(&p);
	mark_tables(&p);
	if (p.all_names && p.number_cnt < img->syscall_cnt)
		p.number_cnt = img->syscall_cnt;
	err = write_image(&p);
	free(p.block);
	if (!err)
		err = p.error;
	if (err) {
		free(p.out);
		return err;
	}
	*bytes = p.out;
	*size = p.out_sz;
	return 0;
}

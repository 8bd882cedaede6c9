/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opens an image. Its bytes may come from a foreign trace file, so this file checks each index, count and offset once.
 * Later readers need not. No reader can run in circles: types refer to types of a lower index only (structs and unions
 * through their fields and cases as well), expressions to lower expressions, operations to earlier operations. The
 * depth of types and expressions is bounded too, and with it the recursion of readers.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include "describe/image_format.h"
#include "describe/hooks.h"
#include "describe/image.h"

#define MAX_TYPE_DEPTH 32u
#define MAX_EXPR_DEPTH 64u
#define MAX_EXPR_NODES 512u
#define MAX_STEPS (1u << 23)
#define MAX_ITEM (1u << 20) /* bytes that one type or operation may claim */

#define SIZE(section, list, cnt, type) [ESPY_SEC_##section] = sizeof(type),
const uint32_t espy_image_elem_sz[ESPY_SECTION_CNT] = {
	[ESPY_SEC_STRINGS] = 1,
	[ESPY_SEC_SYSCALLS] = sizeof(struct espy_syscall),
	[ESPY_SEC_CALL_PLANS] = sizeof(struct espy_call_plan),
	ESPY_IMAGE_LISTS(SIZE)
};

struct checker {
	struct espy_image *img;
	const char *base;
	const void *bad; /* first fault */
	uint8_t *depth;	 /* of types, then of expressions */
	uint16_t *nodes; /* of expressions; a shared one counts each time */
	uint32_t budget; /* steps that checking scopes may take: a hostile image shares parts exponentially */
};

static bool fault(struct checker *c, const void *at)
{
	if (!c->bad)
		c->bad = at;
	return false;
}

static bool in_range(uint64_t first, uint64_t n, uint64_t cnt)
{
	return first <= cnt && n <= cnt - first;
}

static bool optional(uint32_t i, uint32_t cnt)
{
	return i == ESPY_NONE || i < cnt;
}

static bool string_ok(const struct checker *c, uint32_t off)
{
	return off < c->img->strings_sz; /* the pool ends in NUL */
}

static bool check_expr(struct checker *c, uint32_t i)
{
	const struct espy_expr *x = &c->img->exprs[i];
	uint8_t *depth = c->depth + c->img->type_cnt;
	unsigned d = 0;

	if (x->op >= ESPY_X_OR && x->op <= ESPY_X_ROUND_BITS) {
		bool unary = x->op == ESPY_X_NOT || x->op == ESPY_X_INV || x->op == ESPY_X_ROUND_BITS;

		if (x->a >= i || (!unary && x->b >= i))
			return fault(c, x);
		d = depth[x->a];
		if (!unary && depth[x->b] > d)
			d = depth[x->b];
		unsigned nodes = 1u + c->nodes[x->a] + (unary ? 0u : c->nodes[x->b]);

		if (++d > MAX_EXPR_DEPTH || nodes > MAX_EXPR_NODES)
			return fault(c, x);
		c->nodes[i] = (uint16_t)nodes;
	} else if (x->op < ESPY_X_CONST || x->op > ESPY_X_FILE) {
		return fault(c, x);
	} else {
		c->nodes[i] = 1;
	}
	depth[i] = (uint8_t)d;
	return true;
}

/*
 * FIELD and ARG count from the place of the expression, which has several, so each place is checked. OUTER counts from
 * the surroundings of that place. Only a reader knows them, and checks that one itself.
 */
struct scope {
	uint32_t nfields; /* of the struct, or parameters of the call */
	bool call;
};

static bool expr_fits(struct checker *c, uint32_t i, const struct scope *s)
{
	if (i == ESPY_NONE)
		return true;
	if (i >= c->img->expr_cnt)
		return false;
	const struct espy_expr *x = &c->img->exprs[i];

	if (!c->budget || !--c->budget)
		return false;
	switch (x->op) {
	case ESPY_X_CONST:
	case ESPY_X_RET:
	case ESPY_X_SIZE:
	case ESPY_X_FIRST:
	case ESPY_X_KIND:
	case ESPY_X_VERBOSE:
	case ESPY_X_INDEX:
		return true;
	case ESPY_X_ARG:
	case ESPY_X_DEREF:
		return s->call && x->a < s->nfields;
	case ESPY_X_FIELD:
	case ESPY_X_FILE:
		return !s->call && x->a < s->nfields;
	case ESPY_X_OUTER:
		return x->a < 4096;
	case ESPY_X_NOT:
	case ESPY_X_INV:
	case ESPY_X_ROUND_BITS:
		return expr_fits(c, x->a, s);
	default:
		return expr_fits(c, x->a, s) && expr_fits(c, x->b, s);
	}
}

/* Checks the expressions of a type in the scope: its own, and those of types in the same scope. */
static bool type_fits(struct checker *c, uint32_t i, const struct scope *s)
{
	const struct espy_type *t = &c->img->types[i];

	if (!c->budget || !--c->budget)
		return false;
	if (!expr_fits(c, t->len_a, s) || !expr_fits(c, t->len_b, s))
		return false;
	if (t->kind == ESPY_T_ARRAY && (t->flags & ESPY_TF_SPREAD) && !expr_fits(c, t->aux, s))
		return false;
	if (t->kind == ESPY_T_PLACED && !expr_fits(c, t->show, s))
		return false;
	if (t->kind == ESPY_T_PTR || t->kind == ESPY_T_ARRAY || t->kind == ESPY_T_TLV || t->kind == ESPY_T_PLACED)
		return type_fits(c, t->elem, s);
	if (t->kind == ESPY_T_UNION)
		for (uint32_t k = 0; k < t->count; k++)
			if (!type_fits(c, c->img->cases[t->first + k].type, s))
				return false;
	return true;
}

static bool check_fields(struct checker *c, const struct espy_type *t, uint32_t i, unsigned *depth)
{
	const struct espy_image *img = c->img;

	if (!in_range(t->first, t->count, img->field_cnt) || t->count > 4096 ||
	    !in_range(t->show, t->show_cnt, img->index_cnt) || !in_range(t->brief, t->brief_cnt, img->index_cnt))
		return fault(c, t);
	for (uint32_t k = 0; k < t->show_cnt; k++)
		if (img->index_list[t->show + k] >= t->count)
			return fault(c, t);
	for (uint32_t k = 0; k < t->brief_cnt; k++)
		if (img->index_list[t->brief + k] >= t->count)
			return fault(c, t);
	for (uint32_t k = 0; k < t->count; k++) {
		const struct espy_field *f = &img->fields[t->first + k];

		if (f->type >= i || f->off > MAX_ITEM ||
		    (t->size && (uint64_t)f->off + img->types[f->type].size > t->size))
			return fault(c, f);
		if (c->depth[f->type] > *depth)
			*depth = c->depth[f->type];
	}
	if ((t->aux & 0xff) > t->count || (t->aux >> 24 > t->count && t->aux >> 24 != ESPY_NO_HEADS))
		return fault(c, t);
	return true;
}

static bool check_cases(struct checker *c, const struct espy_type *t, uint32_t i, unsigned *depth)
{
	const struct espy_image *img = c->img;

	if (!in_range(t->first, t->count, img->case_cnt) || t->len_a >= img->expr_cnt)
		return fault(c, t);
	for (uint32_t k = 0; k < t->count; k++) {
		const struct espy_case *a = &img->cases[t->first + k];

		if (a->type >= i || a->is_else > 1 || (a->is_else && k + 1 != t->count) ||
		    (t->size && img->types[a->type].size > t->size))
			return fault(c, a);
		/* Readers search by halves, so the keys are sorted. */
		if (k && !a->is_else && (a[-1].key > a->key || (a[-1].key == a->key && a[-1].key2 >= a->key2)))
			return fault(c, a);
		if (c->depth[a->type] > *depth)
			*depth = c->depth[a->type];
	}
	return true;
}

static bool check_placed(struct checker *c, const struct espy_type *t, uint32_t i)
{
	const uint32_t len = t->aux & 0xff;

	if (t->elem >= i || c->img->types[t->elem].kind != ESPY_T_STRUCT || t->len_a == ESPY_NONE ||
	    t->len_b == ESPY_NONE || !optional(t->show, c->img->expr_cnt) ||
	    (len && len != 1 && len != 2 && len != 4 && len != 8))
		return fault(c, t);
	return true;
}

static bool check_type(struct checker *c, uint32_t i)
{
	const struct espy_image *img = c->img;
	const struct espy_type *t = &img->types[i];
	unsigned depth = 0;

	if (t->kind < ESPY_T_INT || t->kind > ESPY_T_PLACED || t->fmt >= ESPY_FMT_CNT || t->hook >= ESPY_HOOK_CNT ||
	    !string_ok(c, t->name) || !optional(t->table, img->table_cnt) || !optional(t->len_a, img->expr_cnt) ||
	    !optional(t->len_b, img->expr_cnt) || t->size > MAX_ITEM || t->max > MAX_ITEM ||
	    t->note > ESPY_NOTE_WALLTIME_STYLED)
		return fault(c, t);
	if ((t->fmt == ESPY_FMT_FLAGS || t->fmt == ESPY_FMT_ENUM || t->fmt == ESPY_FMT_PACK) && t->table == ESPY_NONE)
		return fault(c, t);
	switch (t->kind) {
	case ESPY_T_INT:
		if (t->size != 1 && t->size != 2 && t->size != 4 && t->size != 8)
			return fault(c, t);
		break;
	case ESPY_T_PTR:
	case ESPY_T_ARRAY:
	case ESPY_T_TLV:
		if (t->elem >= i)
			return fault(c, t);
		depth = c->depth[t->elem];
		if (t->kind == ESPY_T_PTR ? t->size != 4 && t->size != 8 : t->count > MAX_ITEM)
			return fault(c, t);
		if (t->kind == ESPY_T_ARRAY && (!img->types[t->elem].size ||
						(t->size && (uint64_t)t->count * img->types[t->elem].size != t->size) ||
						((t->flags & ESPY_TF_SPREAD) && t->aux >= img->expr_cnt)))
			return fault(c, t);
		if (t->kind == ESPY_T_TLV) {
			uint32_t len = t->aux & 0xff, align = t->aux >> 8 & 0xff, off = t->aux >> 24;

			if ((len != 1 && len != 2 && len != 4 && len != 8) || !align || (align & (align - 1)) ||
			    off > 248 || img->types[t->elem].kind != ESPY_T_STRUCT)
				return fault(c, t);
		}
		break;
	case ESPY_T_PLACED:
		if (!check_placed(c, t, i))
			return false;
		depth = c->depth[t->elem];
		break;
	case ESPY_T_STRUCT:
		if (!check_fields(c, t, i, &depth))
			return false;
		break;
	case ESPY_T_UNION:
		if (!check_cases(c, t, i, &depth))
			return false;
		break;
	default:
		if (t->count > MAX_ITEM)
			return fault(c, t);
		break;
	}
	if (++depth > MAX_TYPE_DEPTH)
		return fault(c, t);
	c->depth[i] = (uint8_t)depth;
	return true;
}

/* Checks the expressions of fields, in the scope of their struct. All types are known to be sound by then. */
static bool check_struct_scope(struct checker *c, const struct espy_type *t)
{
	const struct scope s = { t->count, false };

	for (uint32_t k = 0; k < t->count; k++) {
		const struct espy_field *f = &c->img->fields[t->first + k];

		if (!string_ok(c, f->name) || !expr_fits(c, f->when, &s) || !type_fits(c, f->type, &s))
			return fault(c, f);
	}
	return true;
}

static bool check_table(struct checker *c, const struct espy_table *t)
{
	const struct espy_image *img = c->img;

	if (t->kind < ESPY_TABLE_ENUM || t->kind > ESPY_TABLE_PACK || !string_ok(c, t->name) ||
	    !string_ok(c, t->unknown) || !in_range(t->first, t->count, img->entry_cnt))
		return fault(c, t);
	for (uint32_t k = 0; k < t->count; k++) {
		const struct espy_entry *e = &img->entries[t->first + k];

		/* A pack's field may refer to an earlier table only: no circles. */
		if (!string_ok(c, e->name) || e->shift > 63 || (uint64_t)k + e->group_cnt >= t->count ||
		    (e->table != ESPY_NONE && e->table >= (uint32_t)(t - img->tables) && t->kind == ESPY_TABLE_PACK) ||
		    !optional(e->table, img->table_cnt) || (t->kind == ESPY_TABLE_PACK && !string_ok(c, e->reserved)))
			return fault(c, e);
		if (t->kind == ESPY_TABLE_ENUM && !(t->flags & 1) && k && e[-1].value >= e->value)
			return fault(c, e);
	}
	return true;
}

static bool len_ok(unsigned k, uint8_t kind, uint16_t ref)
{
	switch (kind) {
	case ESPY_LEN_ARG:
		return ESPY_REF_VAL(ref) < 6;
	case ESPY_LEN_OPVAL:
		return ESPY_REF_VAL(ref) < k;
	case ESPY_LEN_FIELD:
	case ESPY_LEN_NONE:
	case ESPY_LEN_RET:
	case ESPY_LEN_SPREAD:
	case ESPY_LEN_CONST:
		return true;
	default:
		return false;
	}
}

static bool arg_ok(unsigned arg)
{
	return arg < 6 || arg == ESPY_NO_ARG;
}

static bool check_plan(struct checker *c, const struct espy_plan *p)
{
	const struct espy_image *img = c->img;

	if (p->op_cnt > ESPY_PLAN_MAX_OPS || p->nargs > 6 || !in_range(p->first_op, p->op_cnt, img->op_cnt) ||
	    !arg_ok(ESPY_EFFECT_A(p->effect_args)) || !arg_ok(ESPY_EFFECT_B(p->effect_args)))
		return fault(c, p);
	for (unsigned k = 0; k < p->op_cnt; k++) {
		const struct espy_op *op = &img->ops[p->first_op + k];
		unsigned src = op->src & (ESPY_OP_SRC_OP - 1);

		if (op->kind < ESPY_OP_BYTES || op->kind > ESPY_OP_PTRVEC || (op->src & ~(ESPY_OP_SRC_OP | 0x3fu)) ||
		    (op->src & ESPY_OP_SRC_OP ? src >= k : src >= 6 && op->src != ESPY_OP_SRC_SP) || !op->elem ||
		    op->elem > MAX_ITEM || op->cap > MAX_ITEM || op->limit > ESPY_LIMIT_VERBOSE ||
		    op->type >= img->type_cnt || !len_ok(k, op->a_kind, op->a_ref) || !len_ok(k, op->b_kind, op->b_ref))
			return fault(c, op);
		/* The pointer lies inside an element of its source. */
		if ((op->src & ESPY_OP_SRC_OP) && op->src_off > img->ops[p->first_op + src].cap)
			return fault(c, op);
	}
	return true;
}

static bool scalar_or_none(const struct espy_image *img, uint32_t type)
{
	return type == ESPY_NONE || img->types[type].kind == ESPY_T_INT || img->types[type].kind == ESPY_T_VOID;
}

static bool check_call(struct checker *c, const struct espy_call *call)
{
	const struct espy_image *img = c->img;
	const struct scope s = { call->nparam, true };
	uint32_t note = call->ret.note & 0xffff;

	if (!string_ok(c, call->name) || !string_ok(c, call->event) || call->nparam > 6 ||
	    !in_range(call->first_param, call->nparam, img->field_cnt) || call->plan >= img->plan_cnt ||
	    !optional(call->ret.type, img->type_cnt) || !optional(call->ret.note_type, img->type_cnt) ||
	    !string_ok(c, call->ret.note_text) || note > ESPY_NOTE_RET_NAMES || call->ret.note >> 16 >= ESPY_HOOK_CNT ||
	    ((note == ESPY_NOTE_RET_TYPE || note == ESPY_NOTE_RET_NAMES) && call->ret.note_type == ESPY_NONE) ||
	    !scalar_or_none(img, call->ret.type) ||
	    (!scalar_or_none(img, call->ret.note_type) &&
	     !(call->ret.note >> 16 && img->types[call->ret.note_type].kind == ESPY_T_STRUCT)))
		return fault(c, call);
	for (uint32_t k = 0; k < call->nparam; k++) {
		const struct espy_field *f = &img->fields[call->first_param + k];

		if (!string_ok(c, f->name) || f->type >= img->type_cnt || (f->off >= 6 && f->off != ESPY_PARAM_SP) ||
		    !expr_fits(c, f->when, &s) || !type_fits(c, f->type, &s))
			return fault(c, f);
		if (f->flags == ESPY_FF_NUMBER && (img->types[f->type].kind != ESPY_T_INT || f->off >= 6))
			return fault(c, f);
	}
	return true;
}

static bool check_numbers(struct checker *c)
{
	const struct espy_image *img = c->img;

	for (uint32_t i = 0; i < img->syscall_cnt; i++) {
		const struct espy_syscall *s = &img->syscalls[i];
		const struct espy_call_plan *p = &img->call_plans[i];

		if (!string_ok(c, s->name) || !optional(s->call, img->call_cnt) || s->nargs > 6)
			return fault(c, s);
		if (p->plan >= img->plan_cnt || !in_range(p->first_variant, p->variant_cnt, img->variant_cnt) ||
		    (p->variant_cnt && (p->key_arg0 >= 6 || (p->key_arg1 >= 6 && p->key_arg1 != 0xff))))
			return fault(c, p);
		if (ESPY_LEADS_ON(p) && (p->key_arg0 >= 6 || ESPY_INNER_ARGS(p->inner) > 6))
			return fault(c, p);
		for (uint32_t k = 1; k < p->variant_cnt; k++)
			if (img->variants[p->first_variant + k - 1].key >= img->variants[p->first_variant + k].key)
				return fault(c, &img->variants[p->first_variant + k]);
	}
	for (uint32_t i = 0; i < img->variant_cnt; i++)
		if (img->variants[i].plan >= img->plan_cnt || img->variants[i].call >= img->call_cnt)
			return fault(c, &img->variants[i]);
	return true;
}

/* Checks that names are printable ASCII: they reach terminals as they are, and an image may come with a trace. */
static bool check_strings(struct checker *c)
{
	const struct espy_image *img = c->img;
	const unsigned char *s = (const unsigned char *)img->strings;

	if (!img->strings_sz || s[0] || s[img->strings_sz - 1])
		return fault(c, s);
	for (uint32_t i = 0; i < img->strings_sz; i++)
		if (s[i] && (s[i] < 0x20 || s[i] > 0x7e))
			return fault(c, &s[i]);
	return true;
}

static bool check_all(struct checker *c)
{
	const struct espy_image *img = c->img;

	if (!check_strings(c))
		return false;
	for (uint32_t i = 0; i < img->expr_cnt; i++)
		if (!check_expr(c, i))
			return false;
	for (uint32_t i = 0; i < img->type_cnt; i++)
		if (!check_type(c, i))
			return false;
	for (uint32_t i = 0; i < img->type_cnt; i++)
		if (img->types[i].kind == ESPY_T_STRUCT && !check_struct_scope(c, &img->types[i]))
			return false;
	for (uint32_t i = 0; i < img->table_cnt; i++)
		if (!check_table(c, &img->tables[i]))
			return false;
	for (uint32_t i = 0; i < img->plan_cnt; i++)
		if (!check_plan(c, &img->plans[i]))
			return false;
	for (uint32_t i = 0; i < img->call_cnt; i++)
		if (!check_call(c, &img->calls[i]))
			return false;
	return check_numbers(c);
}

/* Finds the sections within the image. Their contents are not checked here. */
static int find_sections(struct espy_image *img, const void *data, size_t size, size_t *bad_off)
{
	const struct espy_image_header *h = data;
	const char *sec[ESPY_SECTION_CNT];
	uint32_t n[ESPY_SECTION_CNT];

	if (((uintptr_t)data & 7) || size < sizeof(*h) || h->magic != ESPY_IMAGE_MAGIC ||
	    h->version != ESPY_IMAGE_VERSION || h->size != size || h->abi >= ESPY_ABI_CNT)
		return -EBADMSG;
	for (unsigned i = 0; i < ESPY_SECTION_CNT; i++) {
		const struct espy_image_section *s = &h->sections[i];

		if ((s->off & 7) || s->elem_sz != espy_image_elem_sz[i] || s->n > 1u << 24 || s->off > size ||
		    (uint64_t)s->n * s->elem_sz > size - s->off) {
			if (bad_off)
				*bad_off = (size_t)((const char *)s - (const char *)data);
			return -EBADMSG;
		}
		sec[i] = (const char *)data + s->off;
		n[i] = s->n;
	}
	if (n[ESPY_SEC_SYSCALLS] != n[ESPY_SEC_CALL_PLANS])
		return -EBADMSG;
#define TAKE(section, list, cnt, type) .list = (const void *)sec[ESPY_SEC_##section], .cnt = n[ESPY_SEC_##section],
	*img = (struct espy_image){
		.abi = h->abi,
		.strings = sec[ESPY_SEC_STRINGS],
		.strings_sz = n[ESPY_SEC_STRINGS],
		.syscalls = (const void *)sec[ESPY_SEC_SYSCALLS],
		.syscall_cnt = n[ESPY_SEC_SYSCALLS],
		.call_plans = (const void *)sec[ESPY_SEC_CALL_PLANS],
		ESPY_IMAGE_LISTS(TAKE)
	};
	return 0;
}

int espy_image__open_checked(struct espy_image *img, const void *data, size_t size)
{
	return find_sections(img, data, size, NULL);
}

int espy_image__open(struct espy_image *img, const void *data, size_t size, size_t *bad_off)
{
	struct checker c = { .img = img, .base = data, .budget = MAX_STEPS };
	int err;

	if (bad_off)
		*bad_off = 0;
	err = find_sections(img, data, size, bad_off);
	if (err)
		return err;
	c.depth = calloc(1, (size_t)img->type_cnt + img->expr_cnt + 1);
	c.nodes = calloc((size_t)img->expr_cnt + 1, sizeof(*c.nodes));
	if (!c.depth || !c.nodes) {
		free(c.depth);
		free(c.nodes);
		return -ENOMEM;
	}
	bool ok = check_all(&c);

	free(c.depth);
	free(c.nodes);
	if (ok)
		return 0;
	if (bad_off)
		*bad_off = (size_t)((const char *)c.bad - c.base);
	*img = (struct espy_image){ 0 };
	return -EBADMSG;
}

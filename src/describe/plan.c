/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes plans: the pointers of a call, depth-first in register order, become operations. It works on the records of
 * the earlier stages, so it sees offsets and sizes of the ABI and nothing of the text.
 */
#include "describe/compiler.h"

#define MAX_NESTING 4u
#define CAP_PATH 4096u
#define CAP_BYTES ESPY_PLAN_CAP /* of strings, bytes and arrays; the session's limits are far lower */
#define CAP_VARYING 4096u /* structs of a size that only the caller knows; the kernel takes at most a page */
#define CAP_BITS 8192u
#define CAP_FDS ESPY_FD_SET_SIZE
#define CAP_POINTERS 1024u     /* of a vector up to NULL */
#define MAX_INLINE_POINTERS 4u /* in an array inside a struct: one operation each */

/* The place of an expression, to which its names refer: a struct or a call. */
struct where {
	const struct where *outer;
	const struct espy_call *call; /* NULL: a struct */
	uint32_t type;		      /* struct */
	uint32_t op;		      /* operation whose element holds it */
	uint32_t base;		      /* its offset in that element */
};

struct planner {
	struct dc *dc;
	struct ast_call *ast;
	const struct espy_call *call;
	struct espy_op ops[ESPY_PLAN_MAX_OPS];
	uint32_t n;
	int arg_op[ESPY_MAX_PARAMS]; /* operation of a parameter, -1: none yet */
	struct dc_pos pos;	     /* parameter at hand, for messages */
	bool failed;
};

static void fail(struct planner *p, const char *what)
{
	if (!p->failed)
		dc_error(p->dc, p->pos, "%s", what);
	p->failed = true;
}

static const struct espy_field *param(struct planner *p, uint32_t i)
{
	return dc_vec_at(&p->dc->fields, p->call->first_param + i);
}

static unsigned log2_of(uint32_t size)
{
	return size == 8 ? 3 : size == 4 ? 2 : size == 2 ? 1 : 0;
}

/* A length expression as a reference. *mul: its factor. */
struct ref {
	uint8_t kind;
	uint16_t ref;
	uint64_t mul;
	bool bits;
};

static int op_of_param(struct planner *p, uint32_t i);

static uint16_t scalar_ref(struct planner *p, uint32_t val, uint32_t type)
{
	const struct espy_type *t = dc_type(p->dc, type);

	/* All cases of a union of integers have one width. */
	if (t->kind == ESPY_T_UNION && t->count)
		t = dc_type(p->dc, ((const struct espy_case *)dc_vec_at(&p->dc->cases, t->first))->type);
	if (val > 0xfff)
		fail(p, "a length lies more than 4095 bytes into its struct; a source cannot reach it");
	if (t->flags & ESPY_TF_BE)
		fail(p, "a length in network byte order; a source cannot read it");
	return ESPY_REF(val & 0xfff, log2_of(t->size), (t->flags & ESPY_TF_SIGNED) != 0);
}

static struct ref field_ref(struct planner *p, const struct where *w, uint32_t i, int src_op)
{
	const struct espy_type *s;
	const struct espy_field *f;

	if (w->call) {
		f = param(p, i);
		if (f->off >= ESPY_MAX_PARAMS)
			fail(p, "a length that is no argument");
		return (struct ref){ ESPY_LEN_ARG, scalar_ref(p, f->off, f->type), 1, false };
	}
	s = dc_type(p->dc, w->type);
	f = dc_vec_at(&p->dc->fields, s->first + i);
	if ((int)w->op == src_op)
		return (struct ref){ ESPY_LEN_FIELD, scalar_ref(p, w->base + f->off, f->type), 1, false };
	/* In a block around the source: its first bytes are within reach. */
	if (!w->base && !f->off && !(p->ops[w->op].flags & ESPY_OPF_EACH))
		return (struct ref){ ESPY_LEN_OPVAL, scalar_ref(p, w->op, f->type), 1, false };
	fail(p, "a length that lies in another block of memory; a source cannot reach it");
	return (struct ref){ 0 };
}

static struct ref length_ref(struct planner *p, uint32_t x, const struct where *w, int src_op)
{
	const struct espy_expr *e;
	struct ref r = { .mul = 1 };

	if (x == ESPY_NONE)
		return r;
	e = dc_vec_at(&p->dc->exprs, x);
	switch (e->op) {
	case ESPY_X_RET:
		r.kind = ESPY_LEN_RET;
		return r;
	case ESPY_X_CONST:
		r.kind = ESPY_LEN_CONST;
		r.ref = e->value > 0xffff ? 0xffff : (uint16_t)e->value;
		return r;
	case ESPY_X_ARG:
	case ESPY_X_FIELD:
		return field_ref(p, w, e->a, src_op);
	case ESPY_X_OUTER:
		if (w->outer)
			return field_ref(p, w->outer, e->a, src_op);
		break;
	case ESPY_X_DEREF: {
		int op = op_of_param(p, e->a);

		if (op < 0)
			break;
		r.kind = ESPY_LEN_OPVAL;
		r.ref = scalar_ref(p, (uint32_t)op, dc_type(p->dc, param(p, e->a)->type)->elem);
		return r;
	}
	case ESPY_X_MUL:
		r = length_ref(p, e->a, w, src_op);
		r.mul *= ((const struct espy_expr *)dc_vec_at(&p->dc->exprs, e->b))->value;
		return r;
	case ESPY_X_ROUND_BITS:
		r = length_ref(p, e->a, w, src_op);
		r.bits = true;
		return r;
	default:
		break;
	}
	fail(p, "a length that a source cannot evaluate");
	return r;
}

/* Tells whether the type holds pointers by value. */
static bool holds_pointers(struct dc *dc, uint32_t type)
{
	const struct espy_type *t = dc_type(dc, type);

	switch (t->kind) {
	case ESPY_T_PTR:
		return true;
	case ESPY_T_ARRAY:
	case ESPY_T_TLV:
	case ESPY_T_PLACED:
		return holds_pointers(dc, t->elem);
	case ESPY_T_STRUCT:
		for (uint32_t i = 0; i < t->count; i++)
			if (holds_pointers(dc, ((const struct espy_field *)dc_vec_at(&dc->fields, t->first + i))->type))
				return true;
		return false;
	case ESPY_T_UNION:
		for (uint32_t i = 0; i < t->count; i++)
			if (holds_pointers(dc, ((const struct espy_case *)dc_vec_at(&dc->cases, t->first + i))->type))
				return true;
		return false;
	default:
		return false;
	}
}

/* Sets kind, element, cap and limit of the memory behind a pointer. */
static void describe_pointee(struct planner *p, const struct espy_type *t, struct espy_op *op)
{
	uint64_t cap = CAP_BYTES;
	bool hooked = t->hook != 0;

	op->kind = ESPY_OP_BYTES;
	op->elem = 1;
	op->limit = ESPY_LIMIT_FIXED;
	switch (t->kind) {
	case ESPY_T_STR:
		op->kind = ESPY_OP_CSTR;
		op->limit = t->flags & ESPY_TF_PATH ? ESPY_LIMIT_PATH : ESPY_LIMIT_STRING;
		cap = t->max ? t->max : t->flags & ESPY_TF_PATH ? CAP_PATH : CAP_BYTES;
		break;
	case ESPY_T_BYTES:
	case ESPY_T_CHARS:
		op->limit = t->size ? ESPY_LIMIT_FIXED : ESPY_LIMIT_DATA;
		if (t->kind == ESPY_T_BYTES && t->size > 64)
			op->limit = ESPY_LIMIT_DATA;
		if (hooked && t->max)
			op->limit = ESPY_LIMIT_FIXED;
		cap = t->max ? t->max : t->size ? t->size : CAP_BYTES;
		if (t->size)
			op->elem = t->size;
		break;
	case ESPY_T_ARRAY:
		op->elem = dc_type(p->dc, t->elem)->size;
		if (t->flags & ESPY_TF_NULLTERM) {
			op->kind = ESPY_OP_PTRVEC;
			/* Without -v the strings of the environment are counted, so all its pointers are wanted. */
			op->limit = t->flags & ESPY_TF_ENV ? ESPY_LIMIT_FIXED : ESPY_LIMIT_ELEMS;
			cap = (t->max ? t->max : CAP_POINTERS) * (uint64_t)op->elem;
			break;
		}
		op->limit = t->size || hooked ? ESPY_LIMIT_FIXED : ESPY_LIMIT_ELEMS;
		cap = t->max ? (uint64_t)t->max * op->elem : t->size ? t->size : CAP_BYTES / op->elem * op->elem;
		break;
	case ESPY_T_TLV:
		cap = t->max ? t->max : CAP_BYTES;
		break;
	case ESPY_T_BITS:
		cap = t->max ? t->max : t->size ? t->size : t->fmt == ESPY_FMT_FD ? CAP_FDS : CAP_BITS;
		if (t->size)
			op->elem = t->size;
		break;
	case ESPY_T_STRUCT:
	case ESPY_T_UNION:
		if (t->flags & ESPY_TF_SIZED) {
			/* The bytes behind the known fields are wanted only where they are shown. */
			cap = t->max ? t->max : t->size && !(t->flags & ESPY_TF_TAIL) ? t->size : CAP_VARYING;
			op->flags |= ESPY_OPF_LEAST;
		} else {
			/* So are the bytes that the struct declares behind its known fields. */
			bool behind = t->kind == ESPY_T_STRUCT && (t->aux & 0xff) && (t->flags & ESPY_TF_TAIL);

			op->elem = behind ? CAP_VARYING : t->size ? t->size : t->max;
			cap = op->elem;
		}
		break;
	default: /* integers, pointers */
		op->elem = t->size;
		cap = t->size;
		break;
	}
	if (!cap)
		cap = 1;
	op->cap = cap > 1u << 20 ? 1u << 20 : (uint32_t)cap;
	if (t->flags & ESPY_TF_SECRET)
		op->limit = ESPY_LIMIT_SECRET;
	else if ((t->flags & ESPY_TF_ENV) && op->kind != ESPY_OP_PTRVEC)
		op->limit = ESPY_LIMIT_ENV;
}

static void set_length(struct planner *p, const struct espy_type *t, const struct where *w, int src_op,
		       struct espy_op *op, bool children)
{
	struct ref a = { .mul = 1 }, b = { .mul = 1 };

	if ((t->flags & ESPY_TF_SPREAD) && t->kind != ESPY_T_ARRAY) {
		const struct espy_type *v = src_op >= 0 ? dc_type(p->dc, p->ops[src_op].type) : NULL;

		/* The vector names the shared number. A source shares out the result only: else it reads all. */
		if (!v || v->kind != ESPY_T_ARRAY || !(v->flags & ESPY_TF_SPREAD))
			fail(p, "`[spread of n]` outside a vector that has `spread`");
		else if (((const struct espy_expr *)dc_vec_at(&p->dc->exprs, v->aux))->op == ESPY_X_RET)
			a.kind = ESPY_LEN_SPREAD;
		b = length_ref(p, t->len_b, w, src_op);
	} else if (t->max && (!dc_is_plain(p->dc, t->len_a) || !dc_is_plain(p->dc, t->len_b))) {
		/* No source can do it: it reads the most, and the decoder counts. */
		b.kind = ESPY_LEN_CONST;
		b.ref = t->max > 0xffff ? 0xffff : (uint16_t)t->max;
	} else {
		a = length_ref(p, t->len_a, w, src_op);
		b = length_ref(p, t->len_b, w, src_op);
	}
	if (t->kind == ESPY_T_ARRAY && !a.kind && !b.kind && t->count) {
		/* A fixed array: elem stays the stride, so the count is a length. */
		b.kind = ESPY_LEN_CONST;
		b.ref = t->count > 0xffff ? 0xffff : (uint16_t)t->count;
	}
	uint64_t mul = a.kind && a.kind != ESPY_LEN_SPREAD ? a.mul : b.mul;

	if (a.kind && b.kind && a.kind != ESPY_LEN_SPREAD && a.mul != b.mul)
		fail(p, "both parts of `A of B` must be multiplied with the same constant");
	if (t->flags & ESPY_TF_LEN_BYTES && t->kind == ESPY_T_ARRAY && (a.kind || b.kind) && b.kind != ESPY_LEN_CONST) {
		if (children)
			fail(p, "elements that hold pointers must be counted in elements, not in bytes");
		op->elem = 1;
	}
	if (a.bits || b.bits) {
		op->elem = 1;
		a.ref |= a.bits ? ESPY_REF_BITS : 0;
		b.ref |= b.bits ? ESPY_REF_BITS : 0;
	} else if (mul != 1) {
		if (children)
			fail(p, "elements that hold pointers must be counted without a factor");
		if (mul * op->elem > 1u << 20)
			fail(p, "the factor of a length is out of range");
		op->elem = (uint32_t)(mul * op->elem);
	}
	op->a_kind = a.kind;
	op->a_ref = a.ref;
	op->b_kind = b.kind;
	op->b_ref = b.ref;
}

static uint8_t when_of(const struct espy_type *ptr, const struct espy_op *src)
{
	uint8_t when = 0;

	if (ptr->flags & ESPY_TF_IN)
		when |= ESPY_OP_ENTER;
	if (ptr->flags & ESPY_TF_OUT) {
		when |= ESPY_OP_EXIT;
		if (!(ptr->flags & ESPY_TF_ERR_ONLY))
			when |= ESPY_OP_ON_OK;
		if (ptr->flags & ESPY_TF_ON_ERR)
			when |= ESPY_OP_ON_ERR;
	}
	/* Nothing can follow memory of the call before the call has written it. */
	if (src && !(src->when & ESPY_OP_ENTER)) {
		if (!(when & ESPY_OP_EXIT))
			when |= src->when & (ESPY_OP_ON_OK | ESPY_OP_ON_ERR);
		when = (when & ~ESPY_OP_ENTER) | ESPY_OP_EXIT;
	}
	return when;
}

static void walk(struct planner *p, uint32_t type, const struct where *w, uint32_t op, uint32_t off, unsigned depth);

/* Adds the operation for a pointer, and the operations for the memory behind it. */
static int add_op(struct planner *p, uint32_t ptr_type, uint8_t src, uint32_t src_off, const struct where *w,
		  unsigned depth)
{
	const struct espy_type *ptr = dc_type(p->dc, ptr_type), *t = dc_type(p->dc, ptr->elem);
	int src_op = src & ESPY_OP_SRC_OP ? (int)(src & ~ESPY_OP_SRC_OP) : -1;
	const struct espy_op *parent = src_op >= 0 ? &p->ops[src_op] : NULL;
	struct espy_op op = { .src = src, .src_off = (uint16_t)src_off, .type = ptr->elem };
	bool children = holds_pointers(p->dc, ptr->elem);

	if (depth > MAX_NESTING) {
		fail(p, "pointers nest too deep, at most 4 may stand behind each other");
		return -1;
	}
	if (src_off > 0xffff) {
		fail(p, "a pointer lies more than 64 KiB into its struct");
		return -1;
	}
	describe_pointee(p, t, &op);
	if (ptr->flags & ESPY_TF_VERBOSE)
		op.limit = ESPY_LIMIT_VERBOSE;
	set_length(p, t, w, src_op, &op, children && t->kind == ESPY_T_ARRAY);
	op.when = when_of(ptr, parent);
	if (parent) {
		const struct espy_type *pt = dc_type(p->dc, parent->type);

		if (pt->kind == ESPY_T_ARRAY || (parent->flags & ESPY_OPF_EACH))
			op.flags |= ESPY_OPF_EACH;
		if (parent->flags & ESPY_OPF_EACH)
			op.flags |= ESPY_OPF_MSG_EACH;
		if (ptr->size == 4)
			op.flags |= ESPY_OPF_PTR32;
	}
	/* Alternatives of a union that read the same bytes in the same way share an operation. */
	for (uint32_t i = 0; i < p->n; i++)
		if (!memcmp(&p->ops[i], &op, sizeof(op)))
			return (int)i;
	if (p->n == ESPY_PLAN_MAX_OPS) {
		fail(p, "the plan needs more than 16 operations, expected fewer pointers");
		return -1;
	}
	uint32_t i = p->n++;

	p->ops[i] = op;
	if (children) {
		uint32_t elem = t->kind == ESPY_T_ARRAY ? t->elem : ptr->elem;

		walk(p, elem, w, i, 0, depth);
	}
	return (int)i;
}

static void walk(struct planner *p, uint32_t type, const struct where *w, uint32_t op, uint32_t off, unsigned depth)
{
	const struct espy_type *t = dc_type(p->dc, type);

	if (p->failed || !holds_pointers(p->dc, type))
		return;
	switch (t->kind) {
	case ESPY_T_PTR:
		add_op(p, type, (uint8_t)(ESPY_OP_SRC_OP | op), off, w, depth + 1);
		break;
	case ESPY_T_STRUCT: {
		struct where in = { .outer = w, .type = type, .op = op, .base = off };

		for (uint32_t i = 0; i < t->count; i++) {
			const struct espy_field *f = dc_vec_at(&p->dc->fields, t->first + i);

			walk(p, f->type, &in, op, off + f->off, depth);
		}
		break;
	}
	case ESPY_T_UNION:
		for (uint32_t i = 0; i < t->count; i++)
			walk(p, ((const struct espy_case *)dc_vec_at(&p->dc->cases, t->first + i))->type, w, op, off,
			     depth);
		break;
	case ESPY_T_ARRAY:
		if (!t->size || t->count > MAX_INLINE_POINTERS) {
			fail(p, "an array of pointers inside a struct, expected one of at most 4 elements");
			break;
		}
		for (uint32_t i = 0; i < t->count; i++)
			walk(p, t->elem, w, op, off + i * dc_type(p->dc, t->elem)->size, depth);
		break;
	default:
		fail(p, "pointers in records that carry their own length; a source cannot follow them");
		break;
	}
}

/* Returns N of `from sp + N`: only the operation has a place for it. */
static uint32_t sp_offset(struct planner *p, uint32_t name)
{
	for (uint32_t i = 0; i < p->ast->nparams; i++)
		if (p->ast->params[i].name->str == name && dc_param_type(p->ast, i))
			return dc_resolve_alias(p->dc, dc_param_type(p->ast, i))->sp_off;
	return 0;
}

/* If a key chooses the register's meaning, each alternative that is a pointer has an operation. */
static void ops_of_union(struct planner *p, const struct espy_type *t, uint32_t i, const struct where *w)
{
	for (uint32_t k = 0; k < t->count; k++) {
		const uint32_t type = ((const struct espy_case *)dc_vec_at(&p->dc->cases, t->first + k))->type;
		const struct espy_type *c = dc_type(p->dc, type);

		if (c->kind == ESPY_T_PTR)
			p->arg_op[i] = add_op(p, type, (uint8_t)param(p, i)->off, 0, w, 1);
		else if (c->kind == ESPY_T_UNION)
			ops_of_union(p, c, i, w);
	}
}

/* Returns the first operation of parameter i, and makes it if there is none. */
static int op_of_param(struct planner *p, uint32_t i)
{
	const struct espy_field *f = param(p, i);
	const struct espy_type *t = dc_type(p->dc, f->type);
	struct where w = { .call = p->call };

	if (p->arg_op[i] != -1)
		return p->arg_op[i];
	if (t->kind == ESPY_T_UNION) {
		ops_of_union(p, t, i, &w);
	} else if (t->kind == ESPY_T_PTR) {
		p->arg_op[i] = -2; /* meeting it again now is a circle of lengths */
		p->arg_op[i] =
			add_op(p, f->type, (uint8_t)f->off, f->off == ESPY_PARAM_SP ? sp_offset(p, f->name) : 0, &w, 1);
		/* of what is shown from before the call only, the result's note may speak of each element */
		if (f->flags & ESPY_FF_ENTER && p->arg_op[i] >= 0 && p->ops[p->arg_op[i]].limit == ESPY_LIMIT_ELEMS)
			p->ops[p->arg_op[i]].limit = ESPY_LIMIT_FIXED;
	}
	return p->arg_op[i];
}

static bool needs_enter(const struct planner *p, uint8_t flags)
{
	if (flags & (ESPY_PLAN_NEW_IMAGE | ESPY_PLAN_NO_RETURN))
		return true;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct espy_op *a = &p->ops[i];

		if ((a->when & ESPY_OP_ENTER) && (a->when & ESPY_OP_EXIT))
			return true;
		for (uint32_t k = 0; k < p->n; k++)
			if ((a->when & ESPY_OP_ENTER) && (p->ops[k].when & ESPY_OP_EXIT) && a->src == p->ops[k].src &&
			    a->src_off == p->ops[k].src_off)
				return true;
	}
	return false;
}

uint32_t dc_make_plan(struct dc *dc, struct ast_call *c, const struct espy_call *ic, const struct dc_pos *param_pos,
		      struct espy_plan *plan)
{
	struct planner p = { .dc = dc, .ast = c, .call = ic };
	uint32_t first = dc->ops.n;

	for (uint32_t i = 0; i < ESPY_MAX_PARAMS; i++)
		p.arg_op[i] = -1;
	/* In the order of registers, which may differ from the order in the text. */
	for (uint32_t reg = 0; reg <= ESPY_PARAM_SP; reg++) {
		for (uint32_t i = 0; i < ic->nparam; i++) {
			p.pos = param_pos[i];
			if (param(&p, i)->off == reg)
				op_of_param(&p, i);
		}
	}
	dc_find_fds(dc, p.ops, p.n);
	/* Descriptions rarely differ in their plans: equal runs of operations are stored once. */
	if (p.n) {
		bool found = false;

		for (uint32_t at = 0; at + p.n <= dc->ops.n && !found && at < 4096; at++) {
			if (!memcmp(dc_vec_at(&dc->ops, at), p.ops, p.n * sizeof(p.ops[0]))) {
				first = at;
				found = true;
			}
		}
		if (!found)
			memcpy(dc_vec_add(dc, &dc->ops, p.n), p.ops, p.n * sizeof(p.ops[0]));
	} else {
		first = 0;
	}
	plan->first_op = (uint16_t)first;
	plan->op_cnt = (uint8_t)p.n;
	if (needs_enter(&p, plan->flags))
		plan->flags |= ESPY_PLAN_NEEDS_ENTER;
	if (dc->ops.n > 0xffff || dc->plans.n >= 0xffff)
		dc_error(dc, c->pos, "too many operations in all, at most 65535");
	for (uint32_t i = 0; i < dc->plans.n && i < 4096; i++)
		if (!memcmp(dc_vec_at(&dc->plans, i), plan, sizeof(*plan)))
			return i;
	memcpy(dc_vec_add(dc, &dc->plans, 1), plan, sizeof(*plan));
	return dc->plans.n - 1;
}

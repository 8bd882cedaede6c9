/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds for each x86-64 call the shape in which the hot path can copy it. A shape never changes the copied bytes, only
 * the speed.
 */
#include "source/bpf/bpf_source.h"

/* Finds the operations that would run: their cap is not 0. Returns their number, at most max + 1. */
static size_t live_ops(const struct espy_op *ops, size_t cnt, uint8_t *idx, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < cnt; i++) {
		if (!ops[i].cap)
			continue;
		if (ops[i].src & ESPY_OP_SRC_OP && !ops[ops[i].src & (ESPY_PLAN_MAX_OPS - 1)].cap)
			continue;
		if (n < max)
			idx[n] = (uint8_t)i;
		n++;
	}
	return n;
}

/* Tells whether the operation runs in one phase, and not after errors only: the hot path makes one item of it. */
static bool one_phase(const struct espy_op *op, uint8_t *status)
{
	bool enter = op->when & ESPY_OP_ENTER, at_exit = op->when & ESPY_OP_EXIT;

	if (enter == at_exit || (at_exit && op->when & ESPY_OP_ON_ERR))
		return false;
	*status = at_exit ? ESPY_ITEM_AT_EXIT : 0;
	return true;
}

static uint8_t outcome(const struct espy_op *op)
{
	if (!(op->when & ESPY_OP_EXIT))
		return 0;
	return op->when & ESPY_OP_ON_OK ? ESPY_FAST_ON_OK : 0;
}

/* Sets one side of a length. Returns false if the hot path has no form for it. */
static bool fast_length(struct espy_fast *f, uint8_t kind, uint16_t ref, bool at_exit)
{
	switch (kind) {
	case ESPY_LEN_NONE:
		return true;
	case ESPY_LEN_RET:
		if (at_exit)
			f->flags |= ESPY_FAST_LEN_RET;
		return true;
	case ESPY_LEN_CONST:
		if (ref < f->max_cnt)
			f->max_cnt = ref;
		return true;
	case ESPY_LEN_ARG:
		if (f->flags & ESPY_FAST_LEN_ARG || ref & ESPY_REF_BITS || ESPY_REF_SIGNED(ref) ||
		    ESPY_REF_WIDTH(ref) < 4)
			return false;
		f->flags |= ESPY_FAST_LEN_ARG;
		f->len_arg = ESPY_REF_VAL(ref) & 7;
		if (ESPY_REF_WIDTH(ref) == 4)
			f->flags |= ESPY_FAST_ARG32;
		return f->len_arg < ESPY_MAX_ARGS;
	default:
		return false;
	}
}

static bool shape_buf(struct espy_fast *f, const struct espy_op *op, uint8_t idx)
{
	bool sized = op->a_kind || op->b_kind;

	if (op->kind != ESPY_OP_BYTES || op->src >= ESPY_MAX_ARGS || op->elem > 0xffff || !one_phase(op, &f->status))
		return false;
	f->flags = outcome(op);
	f->max_cnt = sized ? ~0u : 1;
	if (!fast_length(f, op->a_kind, op->a_ref, op->when & ESPY_OP_EXIT) ||
	    !fast_length(f, op->b_kind, op->b_ref, op->when & ESPY_OP_EXIT))
		return false;
	f->shape = ESPY_SHAPE_BUF;
	f->arg = op->src;
	f->op = idx;
	f->elem = (uint16_t)op->elem;
	f->cap = op->cap;
	return true;
}

/* A buffer that is read before the call and after it, so short that the task's slot takes it as it is. */
static bool shape_both(struct espy_fast *f, const struct espy_op *op, uint8_t idx)
{
	const bool sized = op->a_kind || op->b_kind;

	if (op->kind != ESPY_OP_BYTES || op->src >= ESPY_MAX_ARGS || !op->elem || op->elem > ESPY_BPF_SHORT || op->elem > op->cap ||
	    !(op->when & ESPY_OP_ENTER) || !(op->when & ESPY_OP_EXIT) || op->when & ESPY_OP_ON_ERR)
		return false;
	f->flags = outcome(op);
	f->max_cnt = sized ? ~0u : 1;
	if (!fast_length(f, op->a_kind, op->a_ref, true) || !fast_length(f, op->b_kind, op->b_ref, true) ||
	    f->flags & ESPY_FAST_LEN_RET)
		return false;
	f->shape = ESPY_SHAPE_BOTH;
	f->arg = op->src;
	f->op = idx;
	f->elem = (uint16_t)op->elem;
	f->cap = op->cap;
	return true;
}

static bool shape_path(struct espy_fast *f, const struct espy_op *op, uint8_t idx)
{
	if (op->kind != ESPY_OP_CSTR || op->src >= ESPY_MAX_ARGS || !(op->when & ESPY_OP_ENTER) ||
	    !one_phase(op, &f->status))
		return false;
	f->shape = ESPY_SHAPE_PATH;
	f->arg = op->src;
	f->op = idx;
	f->cap = op->cap;
	return true;
}

static bool shape_path_buf(struct espy_fast *f, const struct espy_op *ops, const uint8_t *idx)
{
	const struct espy_op *buf = &ops[idx[1]];

	if (!shape_path(f, &ops[idx[0]], idx[0]) || buf->kind != ESPY_OP_BYTES || buf->src >= ESPY_MAX_ARGS ||
	    buf->a_kind || buf->b_kind || buf->elem > buf->cap || !buf->elem || !(buf->when & ESPY_OP_EXIT) ||
	    !one_phase(buf, &f->status2))
		return false;
	f->shape = ESPY_SHAPE_PATH_BUF;
	f->flags = outcome(buf);
	f->arg2 = buf->src;
	f->op2 = idx[1];
	f->cap2 = buf->elem;
	return true;
}

static bool shape_vec(struct espy_fast *f, const struct espy_op *ops, const uint8_t *idx)
{
	const struct espy_op *vec = &ops[idx[0]], *buf = &ops[idx[1]];
	bool spread = buf->a_kind == ESPY_LEN_SPREAD;

	if (vec->elem != 16 || !(vec->when & ESPY_OP_ENTER) || !shape_buf(f, vec, idx[0]) ||
	    !(f->flags & ESPY_FAST_LEN_ARG) || f->flags & ESPY_FAST_LEN_RET || f->max_cnt != ~0u)
		return false;
	if (buf->kind != ESPY_OP_BYTES || buf->elem != 1 || buf->src != (ESPY_OP_SRC_OP | idx[0]) ||
	    (buf->flags & ~ESPY_OPF_LEAST) != ESPY_OPF_EACH || buf->src_off || !one_phase(buf, &f->status2))
		return false;
	/* the length stands beside the pointer; the result may cut it */
	if (!(buf->b_kind == ESPY_LEN_FIELD && buf->b_ref == ESPY_REF(8, 3, 0)) &&
	    !(buf->a_kind == ESPY_LEN_FIELD && buf->a_ref == ESPY_REF(8, 3, 0)))
		return false;
	if (!spread && buf->a_kind != ESPY_LEN_NONE && buf->a_kind != ESPY_LEN_FIELD)
		return false;
	if (buf->b_kind != ESPY_LEN_NONE && buf->b_kind != ESPY_LEN_FIELD)
		return false;
	f->shape = ESPY_SHAPE_VEC;
	f->flags |= outcome(buf) | (spread && buf->when & ESPY_OP_EXIT ? ESPY_FAST_SPREAD : 0);
	f->op2 = idx[1];
	f->cap2 = buf->cap;
	return true;
}

/* Finds a shape for these operations and no other. Returns false if there is none. */
static bool shape_of(struct espy_fast *f, const struct espy_op *ops, const uint8_t *idx, size_t n)
{
	*f = (struct espy_fast){ 0 };
	if (n == 1)
		return ops[idx[0]].kind == ESPY_OP_CSTR ? shape_path(f, &ops[idx[0]], idx[0])
							: shape_buf(f, &ops[idx[0]], idx[0]) ||
								  shape_both(f, &ops[idx[0]], idx[0]);
	if (n == 2)
		return ops[idx[0]].kind == ESPY_OP_CSTR ? shape_path_buf(f, ops, idx) : shape_vec(f, ops, idx);
	return false;
}

/* Returns the argument from which an operation's pointer comes, over any others; ESPY_MAX_ARGS: from elsewhere. */
static uint32_t root_of(const struct espy_op *ops, uint32_t i)
{
	while (ops[i].src & ESPY_OP_SRC_OP && (ops[i].src & (ESPY_PLAN_MAX_OPS - 1)) < i)
		i = ops[i].src & (ESPY_PLAN_MAX_OPS - 1);
	return ops[i].src < ESPY_MAX_ARGS ? ops[i].src : ESPY_MAX_ARGS;
}

/*
 * Finds a shape for a call that points to more than a shape can copy, but often does not: send() is sendto() without
 * an address. Operations from one argument may have a shape, which holds while the arguments of all others are NULL.
 */
static bool shape_without(struct espy_fast *f, const struct espy_op *ops, const uint8_t *idx, size_t n)
{
	for (uint32_t arg = 0; arg < ESPY_MAX_ARGS; arg++) {
		uint8_t kept[2];
		uint8_t nulls = 0;
		size_t cnt = 0;

		for (size_t i = 0; i < n; i++) {
			const uint32_t root = root_of(ops, idx[i]);

			if (root == ESPY_MAX_ARGS)
				return false;
			if (root != arg)
				nulls |= (uint8_t)(1u << root);
			else if (cnt++ < 2)
				kept[cnt - 1] = idx[i];
		}
		if (cnt && cnt <= 2 && nulls && shape_of(f, ops, kept, cnt)) {
			f->nulls = nulls;
			return true;
		}
	}
	return false;
}

void bpf_tables__choose_shape(struct espy_fast *f, const struct espy_plan *plan, const struct espy_op *ops, bool raw)
{
	const bool last = plan->flags & (ESPY_PLAN_NEW_IMAGE | ESPY_PLAN_NO_RETURN);
	uint8_t idx[ESPY_PLAN_MAX_OPS] = { 0 };
	const size_t n = raw ? 0 : live_ops(ops, plan->op_cnt, idx, ESPY_PLAN_MAX_OPS);

	if (n == 0 && !last && (raw || !(plan->flags & ESPY_PLAN_NEEDS_ENTER))) {
		*f = (struct espy_fast){ .shape = ESPY_SHAPE_REGS };
		return;
	}
	if (!last && (!(plan->flags & ESPY_PLAN_NEEDS_ENTER) || n == 1) && shape_of(f, ops, idx, n) &&
	    (!(plan->flags & ESPY_PLAN_NEEDS_ENTER) || f->shape == ESPY_SHAPE_BOTH))
		return;
	if (!last && shape_without(f, ops, idx, n))
		return;
	*f = (struct espy_fast){ .shape = ESPY_SHAPE_GENERAL };
}

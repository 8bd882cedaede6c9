/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The general interpreter of plans: copies the items of a plan into the CPU's scratch record. One step makes at most
 * one item. All state between steps lies in the scratch, never in a register. So the verifier checks a step once (as
 * any global function), and the loop around it costs the verifier next to nothing.
 */
#ifndef ESPY_INTERP_BPF_H
#define ESPY_INTERP_BPF_H

#include "items.bpf.h"
#include "more.bpf.h"

/*
 * Loops are cut in two, an inner one in a function of its own: the verifier walks through every turn, so 32 + 64 turns
 * cost it far less than 2048 would.
 */
#define STEPS_INNER 64u
#define STEPS_OUTER 32u /* 2048 items and operations of one phase */

static __always_inline u64 cut(u64 v, u16 ref)
{
	u32 shift = 64 - 8 * ESPY_REF_WIDTH(ref);

	v <<= shift;
	if (!ESPY_REF_SIGNED(ref))
		return v >> shift;
	v = (u64)((s64)v >> shift);
	return (s64)v < 0 ? 0 : v;
}

/* Where the items of operation k are: of this phase, or of the entry. */
static __always_inline struct espy_bpf_span span_of(struct espy_bpf_scratch *s, u64 k, bool at_exit)
{
	struct espy_bpf_span none = { 0, 0 };

	BELOW(k, ESPY_PLAN_MAX_OPS);
	if (at_exit && s->cap.span[k + ESPY_PLAN_MAX_OPS].end > s->cap.span[k + ESPY_PLAN_MAX_OPS].off)
		return s->cap.span[k + ESPY_PLAN_MAX_OPS];
	if (s->cap.span[k].end > s->cap.span[k].off)
		return s->cap.span[k];
	return none;
}

/* One side of a length, in elements; all ones: no limit. `base` is the element that holds the pointer. */
__noinline u64 length(u32 cpu, u32 kind, u32 ref, u64 base, u32 at_exit)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct espy_bpf_span span;
	u64 v;

	if (!s)
		return 0;
	switch (kind) {
	case ESPY_LEN_ARG:
		v = cut(load_arg(s, ESPY_REF_VAL(ref)), ref);
		if (v == ~0ull) /* so much is a limit, too */
			v--;
		break;
	case ESPY_LEN_RET:
		if (!s->phase)
			return ~0ull;
		v = s->ret < 0 ? 0 : s->ret;
		break;
	case ESPY_LEN_FIELD:
		v = cut(load_u64(s, base + ESPY_REF_VAL(ref)), ref);
		break;
	case ESPY_LEN_OPVAL:
		span = span_of(s, ESPY_REF_VAL(ref), at_exit);
		v = span.end ? cut(load_u64(s, span.off + 8), ref) : 0;
		break;
	case ESPY_LEN_SPREAD:
		if (!s->phase)
			return ~0ull;
		v = s->spread;
		break;
	case ESPY_LEN_CONST:
		return ref;
	default:
		return ~0ull;
	}
	if (ref & ESPY_REF_BITS && kind != ESPY_LEN_CONST) {
		if (v > 1ull << 32)
			v = 1ull << 32;
		v = (v + 63) / 64 * 8;
	}
	return v;
}

/* Copies the entry items of operation k into the record as they are. They lie behind the items, see take_slot(). */
static __always_inline void keep_saved(struct espy_bpf_scratch *s, u64 k)
{
	u64 from, to = s->cap.used, n;

	BELOW(k, ESPY_PLAN_MAX_OPS);
	from = s->saved.span[k].off;
	n = s->saved.span[k].end;
	if (n <= from)
		return;
	n -= from;
	from += ESPY_BPF_ITEMS_MAX;
	CLAMP(from, 2 * ESPY_BPF_ITEMS_MAX - ESPY_BPF_SLOT_BIG);
	BELOW(to, ESPY_BPF_ITEMS_MAX);
	CLAMP(n, ESPY_BPF_SLOT_BIG);
	if (bpf_probe_read_kernel(ITEMS(s) + to, n, ITEMS(s) + from))
		return;
	s->cap.used = to + n;
	s->cap.span[k].end = s->cap.used;
}

/* Begins operation k. Returns 0 if it is not to be run here and now. */
__noinline int begin_op(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct espy_bpf_span span;
	struct espy_bpf_op *op;
	u64 slot;
	u32 id;
	u8 when;

	if (!s)
		return 0;
	slot = s->k;
	id = s->first_op + s->k;
	op = bpf_map_lookup_elem(&espy_ops, &id);
	if (!op)
		return 0;
	when = op->op.when;
	BELOW(slot, ESPY_PLAN_MAX_OPS);
	if (s->phase == 0) {
		s->cap.span[slot].off = s->cap.used;
		s->cap.span[slot].end = 0;
		if (!(when & ESPY_OP_ENTER))
			return 0;
		if (!(s->redo >> slot & 1)) {
			keep_saved(s, slot);
			return 0;
		}
		if (s->late && when & ESPY_OP_EXIT && !IS_ERR_RET(s->ret))
			return 0; /* overwritten by now: the exit part reads that memory. A call that failed has left it */
	} else {
		s->cap.span[slot + ESPY_PLAN_MAX_OPS].off = s->cap.used;
		s->cap.span[slot + ESPY_PLAN_MAX_OPS].end = 0;
		if (!(when & ESPY_OP_EXIT))
			return 0;
		if (when & (ESPY_OP_ON_OK | ESPY_OP_ON_ERR) &&
		    !(when & (IS_ERR_RET(s->ret) ? ESPY_OP_ON_ERR : ESPY_OP_ON_OK)))
			return 0;
	}
	if (!op->op.cap)
		return 0;
	s->elem = 0;
	s->index = 0;
	s->spread = s->phase && s->ret > 0 ? s->ret : 0;
	if (op->op.src & ESPY_OP_SRC_OP) {
		span = span_of(s, op->op.src & (ESPY_PLAN_MAX_OPS - 1), false);
		if (span.end <= span.off)
			span = span_of(s, op->op.src & (ESPY_PLAN_MAX_OPS - 1), s->phase);
		if (span.end <= span.off)
			return 0;
		s->pos = span.off;
		s->end = span.end;
	}
	return 1;
}

/*
 * The pointer in the element at work, to s->ptr, and that element's place to s->base. Returns 0 at the end of
 * an item.
 */
__noinline int next_pointer(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct espy_bpf_op *op, *src;
	u64 base, len;
	u32 id;
	bool each;

	if (!s)
		return 0;
	id = s->first_op + s->k;
	op = bpf_map_lookup_elem(&espy_ops, &id);
	if (!op)
		return 0;
	id = s->first_op + (op->op.src & (ESPY_PLAN_MAX_OPS - 1));
	src = bpf_map_lookup_elem(&espy_ops, &id);
	if (!src)
		return 0;
	each = op->op.flags & (ESPY_OPF_EACH | ESPY_OPF_MSG_EACH);
	len = load_u32(s, s->pos + 4);
	base = each ? (u64)s->elem * (src->op.elem ? src->op.elem : 8) : 0;
	if (base + op->op.src_off + (op->op.flags & ESPY_OPF_PTR32 ? 4 : 8) > len) {
		s->elem = 0;
		s->pos += 8 + ROUND8(len);
		if (!each || s->pos >= s->end) {
			s->running = 0;
			s->k++;
		}
		return 0;
	}
	s->base = base + s->pos + 8;
	s->ptr = op->op.flags & ESPY_OPF_PTR32 ? load_u32(s, s->base + op->op.src_off) :
						 load_u64(s, s->base + op->op.src_off);
	if (!each) {
		s->running = 0;
	}
	return 1;
}

/*
 * One step: begins an operation or makes its next item. Returns non-zero when the phase is done. If no program saw the
 * entry of a call, the exit program runs the entry part with phase 0: data that the call only reads is still there.
 */
__noinline int machine_step(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct espy_bpf_op *op;
	u64 slot, a, b;
	u32 id;

	if (!s || s->k >= s->op_cnt || s->k >= ESPY_PLAN_MAX_OPS)
		return 1;
	id = s->first_op + s->k;
	op = bpf_map_lookup_elem(&espy_ops, &id);
	if (!op)
		return 1;
	if (!s->running) {
		if (!begin_op(cpu)) {
			s->k++;
			return 0;
		}
		s->running = 1;
	}
	if (op->op.src & ESPY_OP_SRC_OP) {
		if (!next_pointer(cpu))
			return 0;
	} else {
		s->ptr = op->op.src == ESPY_OP_SRC_SP ? s->cap.sp + op->op.src_off : load_arg(s, op->op.src);
		s->base = 0;
		s->running = 0;
	}

	a = length(cpu, op->op.a_kind, op->op.a_ref, s->base, s->phase);
	b = length(cpu, op->op.b_kind, op->op.b_ref, s->base, 0);
	a = a < b ? a : b;
	if (a == ~0ull)
		a = op->op.kind == ESPY_OP_BYTES ? 1 : 0xffffffff;
	if (a > 0xffffffff)
		a = 0xffffffff;
	a *= op->op.elem;
	if (op->op.a_kind == ESPY_LEN_SPREAD)
		s->spread -= a < s->spread ? a : s->spread;

	if (s->ptr) {
		s->rest = ESPY_BPF_NO_REST;
		if (read_item(cpu, s->ptr, a)) {
			s->k = ESPY_PLAN_MAX_OPS; /* full: no further operation of this phase */
			return 1;
		}
		if (conf.most_data && s->rest != ESPY_BPF_NO_REST)
			send_rest(cpu, s->ptr, a);
		slot = s->k + (s->phase ? ESPY_PLAN_MAX_OPS : 0);
		BELOW(slot, 2 * ESPY_PLAN_MAX_OPS);
		s->cap.span[slot].end = s->cap.used;
	}
	s->index++;
	s->elem++;
	if (!s->running)
		s->k++;
	return 0;
}

__noinline int some_steps(u32 cpu)
{
	for (u32 i = 0; i < STEPS_INNER; i++)
		if (machine_step(cpu))
			return 1;
	return 0;
}

__noinline int run_phase(u32 cpu, u32 phase)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);

	if (!s)
		return 0;
	s->phase = phase;
	s->k = 0;
	s->running = 0;
	for (u32 i = 0; i < STEPS_OUTER; i++)
		if (some_steps(cpu))
			break;
	return 0;
}

/*
 * One step of the search for the variant of this key, between s->lo and s->hi; its plan goes to s->cap. Returns non-zero
 * when the search is over.
 */
__noinline int search_variant(u32 cpu, u64 key)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct espy_bpf_variant *var;
	u32 mid;

	if (!s || s->lo >= s->hi)
		return 1;
	mid = (s->lo + s->hi) / 2;
	var = bpf_map_lookup_elem(&espy_variants, &mid);
	if (!var)
		return 1;
	if (var->key < key) {
		s->lo = mid + 1;
	} else if (var->key > key) {
		s->hi = mid;
	} else {
		s->cap.plan = var->plan;
		s->cap.flags = (s->cap.flags & ~(ESPY_CALL_RET_FD | ESPY_CALL_ENTER)) | var->flags;
		return 1;
	}
	return 0;
}

/* Makes the call in the scratch the one that it leads to, if it leads to any and the arguments can be read. */
__noinline int enter_inner(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct espy_bpf_call *call, *inner;
	u32 words[ESPY_MAX_ARGS] = {}, id, key;
	u64 n;

	if (!s || s->cap.nr >= ESPY_BPF_NRS || s->cap.abi >= ESPY_BPF_ABIS)
		return 0;
	id = s->cap.abi * ESPY_BPF_NRS + s->cap.nr;
	call = bpf_map_lookup_elem(&espy_calls, &id);
	if (!call || !(call->flags & ESPY_CALL_OUTER))
		return 0;
	key = load_arg(s, call->key_arg0) & call->key_mask0;
	if (key >= ESPY_INNER_KEYS)
		return 0;
	key += call->first_variant;
	id = s->cap.abi * ESPY_BPF_NRS + key;
	inner = bpf_map_lookup_elem(&espy_calls, &id);
	if (!inner || !inner->words)
		return 0;
	if (call->key_arg1 == 0xff) {
		u64 first = s->cap.args[0];

		for (u32 i = 0; i + 1 < ESPY_MAX_ARGS; i++)
			s->cap.args[i] = s->cap.args[i + 1];
		s->cap.args[ESPY_MAX_ARGS - 1] = first;
	} else {
		n = inner->words * sizeof(u32);
		CLAMP(n, sizeof(words));
		if (bpf_probe_read_user(words, n, (void *)load_arg(s, call->key_arg1)))
			return 0;
		for (u32 i = 0; i < ESPY_MAX_ARGS; i++)
			s->cap.args[i] = words[i];
	}
	s->cap.nr = key;
	return 0;
}

/* Chooses the plan of the call in the scratch, by number and arguments. Returns 0 if it is not wanted. */
__noinline int select_plan(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct espy_bpf_call *call;
	struct espy_bpf_plan *plan;
	u32 id;

	if (!s)
		return 0;
	s->op_cnt = 0;
	s->first_op = 0;
	s->cap.used = 0;
	s->cap.faults = 0;
	s->redo = ~0u;
	s->triggers = 0;
	s->fd_args = s->path_args = s->closes = 0;
	s->early_gate = s->late_gate = 0;
	if (s->cap.nr >= ESPY_BPF_NRS || s->cap.abi >= ESPY_BPF_ABIS) {
		s->cap.flags = ESPY_CALL_WANTED | ESPY_CALL_RAW;
		s->cap.plan = 0;
		return ESPY_MAX_ARGS | 8;
	}
	if (s->cap.abi == ESPY_ABI_COMPAT)
		enter_inner(cpu);
	id = s->cap.abi * ESPY_BPF_NRS + s->cap.nr;
	call = bpf_map_lookup_elem(&espy_calls, &id);
	if (!call || !call->flags) {
		s->cap.flags = 0;
		return 0;
	}
	s->cap.flags = call->flags;
	s->path_arg = call->path_arg;
	s->fds = call->fds;
	s->fds_arg = call->fds_arg;
	s->fd_args = call->fd_args;
	s->path_args = call->path_args;
	s->closes = call->closes;
	s->triggers = call->triggers;
	s->early_gate = call->early;
	s->late_gate = call->late;
	s->cap.plan = call->plan;
	if (call->variant_cnt) {
		const bool family = call->flags & ESPY_CALL_FAMILY;
		u64 key = load_arg(s, call->key_arg0) & (family ? ~0u : call->key_mask0);

		s->lo = call->first_variant;
		s->hi = s->lo + call->variant_cnt;
		if (call->key_arg1 != 0xff)
			key = key << 32 | (u32)load_arg(s, call->key_arg1);
		for (u32 i = 0; i < 14; i++)
			if (search_variant(cpu, key))
				break;
		if (family && s->lo >= s->hi && ESPY_FAMILY_HAS(call->key_mask0, key)) {
			s->lo = call->first_variant;
			s->hi = s->lo + call->variant_cnt;
			for (u32 i = 0; i < 14; i++)
				if (search_variant(cpu, ESPY_FAMILY_KEY(key)))
					break;
		}
	}
	if (!(call->flags & ESPY_CALL_WANTED))
		return 0; /* it may make descriptors that are to be named */
	id = s->cap.plan;
	plan = bpf_map_lookup_elem(&espy_plans, &id);
	if (!plan)
		return ESPY_MAX_ARGS | 8;
	if (!(call->flags & ESPY_CALL_RAW)) {
		s->first_op = plan->first_op;
		s->op_cnt = plan->op_cnt;
	}
	return (plan->nargs & 7) | 8;
}

#endif

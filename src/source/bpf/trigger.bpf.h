/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Triggers: comparisons on a call that was just captured. The general path evaluates them; a call that has one never takes
 * the hot path. What they compare lies in the scratch: result, registers, and the items of the record.
 */
#ifndef ESPY_TRIGGER_BPF_H
#define ESPY_TRIGGER_BPF_H

#include "interp.bpf.h"
#include "out.bpf.h"

#define TEXT_WORDS (ESPY_TRIGGER_TEXT_MAX / 8)

ESPY_ARRAY(espy_triggers, struct espy_trigger, BPF_F_MMAPABLE);

static __always_inline const struct espy_condition *condition(u32 trigger, u64 i)
{
	struct espy_trigger *t = bpf_map_lookup_elem(&espy_triggers, &trigger);

	if (!t)
		return NULL;
	CLAMP(i, ESPY_TRIGGER_CONDS - 1);
	return &t->conds[i];
}

/* Do the bytes of an operation begin with the text? Whole words are compared; behind the bytes are zeros. */
__noinline int begins_with(u32 cpu, u32 trigger, u32 i)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	const struct espy_condition *c = condition(trigger, i);
	struct espy_bpf_span span;
	u64 off;
	u32 len;

	if (!s || !c)
		return 0;
	span = span_of(s, c->op, true);
	off = span.off;
	len = c->text_len;
	if (span.end <= span.off || load_u32(s, off + 4) < len)
		return 0;
	for (u32 w = 0; w < TEXT_WORDS; w++) {
		u64 mask = ~0ull, at = w;

		if (w * 8 >= len)
			break;
		if (len - w * 8 < 8)
			mask = (1ull << (len - w * 8) * 8) - 1;
		CLAMP(at, TEXT_WORDS - 1);
		if ((load_u64(s, off + 8 + w * 8) ^ ((const u64 *)c->text)[at]) & mask)
			return 0;
	}
	return 1;
}

/* The length of what begins_with() looks at. */
__noinline int length_is(u32 cpu, u32 trigger, u32 i)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	const struct espy_condition *c = condition(trigger, i);
	struct espy_bpf_span span;

	if (!s || !c)
		return 0;
	span = span_of(s, c->op, true);
	return span.end > span.off && load_u32(s, span.off + 4) == c->text_len;
}

static __always_inline bool compare(u8 how, u64 a, u64 b)
{
	switch (how) {
	case ESPY_COMPARE_EQ: return a == b;
	case ESPY_COMPARE_NE: return a != b;
	case ESPY_COMPARE_LT: return a < b;
	case ESPY_COMPARE_LE: return a <= b;
	case ESPY_COMPARE_GT: return a > b;
	case ESPY_COMPARE_GE: return a >= b;
	default: return false;
	}
}

__noinline int condition_holds(u32 cpu, u32 trigger, u32 i)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct task_struct *task = bpf_get_current_task_btf();
	const struct espy_condition *c = condition(trigger, i);
	const u64 sign = 1ull << 63;
	u32 shift;
	u64 v;

	if (!s || !c)
		return 0;
	switch (c->what) {
	case ESPY_TRIGGER_RET:
		v = s->ret;
		break;
	case ESPY_TRIGGER_ERRNO:
		v = IS_ERR_RET(s->ret) ? -s->ret : 0;
		break;
	case ESPY_TRIGGER_PID:
		v = task->tgid;
		break;
	case ESPY_TRIGGER_TID:
		v = task->pid;
		break;
	case ESPY_TRIGGER_ARG:
		shift = (64 - 8 * c->width) & 63;
		v = load_arg(s, c->arg) << shift;
		v = c->is_signed ? (u64)((s64)v >> shift) : v >> shift;
		break;
	case ESPY_TRIGGER_TEXT:
		switch (c->compare) {
		case ESPY_COMPARE_EQ:
			return begins_with(cpu, trigger, i) && length_is(cpu, trigger, i);
		case ESPY_COMPARE_NE:
			return !begins_with(cpu, trigger, i) || !length_is(cpu, trigger, i);
		case ESPY_COMPARE_PREFIX:
			return begins_with(cpu, trigger, i);
		default:
			return !begins_with(cpu, trigger, i);
		}
	default:
		return 0;
	}
	/* Signed numbers in the order of unsigned ones. */
	return c->is_signed ? compare(c->compare, v ^ sign, c->number ^ sign) : compare(c->compare, v, c->number);
}

/* What one trigger asks for now: 0 or enum espy_trigger_action. */
__noinline int trigger_met(u32 cpu, u32 trigger)
{
	struct espy_trigger *t = bpf_map_lookup_elem(&espy_triggers, &trigger);

	if (!t)
		return 0;
	for (u32 i = 0; i < ESPY_TRIGGER_CONDS; i++)
		if (i < t->cond_cnt && !condition_holds(cpu, trigger, i))
			return 0;
	return t->action;
}

/* After a call was captured. Returns non-zero if the task is to be held. */
static __always_inline int run_triggers(struct espy_bpf_scratch *s, u32 cpu)
{
	u32 which = s->triggers, asked = 0;

	for (u32 i = 0; i < ESPY_TRIGGER_MAX; i++)
		if (which >> i & 1)
			asked |= trigger_met(cpu, i);
	if (asked & ESPY_TRIGGER_SNAPSHOT) {
		shared.trigger_ns = bpf_ktime_get_ns();
		__sync_fetch_and_add(&shared.triggers, 1);
		wake_now();
	}
	if (!(asked & ESPY_TRIGGER_PAUSE))
		return 0;
	shared.pause_why[cpu & 1023] = ESPY_PAUSE_ASKED + 1;
	return 1;
}

#endif

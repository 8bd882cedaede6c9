/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Triggers: tests of a call after its capture. The general path runs them; a call that has one never takes the hot
 * path. They compare values in the scratch: result, registers, and the items of the record.
 *
 * Gates stand in the same map, behind the triggers. The program drops a call that fails a gate of its own. Early gates
 * compare nothing that must be copied first, so they run before the capture, on the hot path too.
 */
#ifndef ESPY_TRIGGER_BPF_H
#define ESPY_TRIGGER_BPF_H

#include "compare.bpf.h"
#include "interp.bpf.h"
#include "out.bpf.h"

#define TEXT_WORDS (ESPY_TRIGGER_TEXT_MAX / 8)

ESPY_ARRAY(espy_triggers, struct espy_trigger, BPF_F_MMAPABLE);

static __always_inline const struct espy_trigger_test *test_of(u32 trigger, u64 i)
{
	struct espy_trigger *t = bpf_map_lookup_elem(&espy_triggers, &trigger);

	if (!t)
		return NULL;
	CLAMP(i, ESPY_TRIGGER_TESTS - 1);
	return &t->tests[i];
}

/*
 * Tells whether word w of an operation's bytes, at `off`, equals that of the text, as far as the text goes. Zeros
 * follow the bytes. A function of its own: in a loop of the caller the verifier would look at each word again for each
 * length.
 */
__noinline int word_begins(u32 cpu, u32 trigger, u32 i, u32 off, u32 w)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	const struct espy_trigger_test *c = test_of(trigger, i);
	u64 mask = ~0ull, at = w, bytes;

	if (!s || !c)
		return 0;
	CLAMP(at, TEXT_WORDS - 1);
	bytes = c->text_len - at * 8;
	if (bytes < 8)
		mask = (1ull << bytes * 8) - 1;
	return !((load_u64(s, off + 8 + at * 8) ^ ((const u64 *)c->text)[at]) & mask);
}

/* Tells whether the bytes of an operation begin with the text. */
__noinline int begins_with(u32 cpu, u32 trigger, u32 i)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	const struct espy_trigger_test *c = test_of(trigger, i);
	struct espy_bpf_span span;
	u32 len, off;

	if (!s || !c)
		return 0;
	span = span_of(s, c->op, true);
	off = span.off;
	len = c->text_len;
	if (span.end <= span.off || load_u32(s, off + 4) < len)
		return 0;
	for (u32 w = 0; w < TEXT_WORDS; w++) {
		if (w * 8 >= len)
			break;
		if (!word_begins(cpu, trigger, i, off, w))
			return 0;
	}
	return 1;
}

/* Returns the status of the item at `off` (enum espy_item_status). */
static __always_inline u32 item_status(struct espy_bpf_scratch *s, u32 off)
{
	return ESPY_ITEM_STATUS(load_u32(s, off) >> 8);
}

/* Tells whether the item holds the whole data, and as many bytes as begins_with() looks at. */
__noinline int length_is(u32 cpu, u32 trigger, u32 i)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	const struct espy_trigger_test *c = test_of(trigger, i);
	struct espy_bpf_span span;

	if (!s || !c)
		return 0;
	span = span_of(s, c->op, true);
	return span.end > span.off && load_u32(s, span.off + 4) == c->text_len && !item_status(s, span.off);
}

/* Tells whether any byte was copied. */
__noinline int is_there(u32 cpu, u32 trigger, u32 i)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	const struct espy_trigger_test *c = test_of(trigger, i);
	struct espy_bpf_span span;
	u32 status;

	if (!s || !c)
		return 0;
	span = span_of(s, c->op, true);
	if (span.end <= span.off)
		return 0;
	status = item_status(s, span.off);
	return status != ESPY_ITEM_NOT_RUN && (status != ESPY_ITEM_FAULT || load_u32(s, span.off + 4));
}

/* Tells whether the task's name begins with the text. If the whole name is meant, the NUL is part of the text. */
__noinline int is_called(u32 trigger, u32 i)
{
	const struct espy_trigger_test *c = test_of(trigger, i);
	u64 comm[ESPY_TRIGGER_COMM_MAX / 8] = {};
	u32 len;

	if (!c)
		return 0;
	bpf_get_current_comm(comm, sizeof(comm));
	len = c->text_len;
	return same_bytes(comm, (const u64 *)c->text, len, ESPY_TRIGGER_COMM_MAX / 8) && len <= ESPY_TRIGGER_COMM_MAX;
}

/* Returns the next test behind a test. */
static __always_inline u32 next_of(const struct espy_trigger_test *c, bool holds)
{
	return holds != !!c->negated ? c->yes : c->no;
}

/* Finds the number that a test is about. arg: its argument, as in the register. Returns false if it is about none. */
static __always_inline bool number_of(const struct espy_trigger_test *c, s64 ret, u64 arg, u64 *number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const u32 shift = (64 - 8 * c->width) & 63;

	switch (c->what) {
	case ESPY_TRIGGER_RET:
		*number = ret;
		return true;
	case ESPY_TRIGGER_ERRNO:
		*number = IS_ERR_RET(ret) ? -ret : 0;
		return true;
	case ESPY_TRIGGER_PID:
		*number = task->tgid;
		return true;
	case ESPY_TRIGGER_TID:
		*number = task->pid;
		return true;
	case ESPY_TRIGGER_UID:
		*number = task->cred->euid.val;
		return true;
	case ESPY_TRIGGER_ARG:
		arg <<= shift;
		*number = c->is_signed ? (u64)((s64)arg >> shift) : arg >> shift;
		return true;
	default:
		return false;
	}
}

/* Tells whether the comparison of a test holds for this number. */
static __always_inline bool number_holds(const struct espy_trigger_test *c, u64 v)
{
	const u64 sign = 1ull << 63;

	if (c->compare == ESPY_COMPARE_ANY)
		return v & (u64)c->number;
	if (c->compare == ESPY_COMPARE_BITS)
		return (v & c->mask) == (u64)c->number;
	/* Orders signed numbers as unsigned ones. */
	return c->is_signed ? compare(c->compare, v ^ sign, (u64)c->number ^ sign) : compare(c->compare, v, c->number);
}

/* Runs a test. Returns the next test. */
__noinline int run_test(u32 cpu, u32 trigger, u32 i)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	const struct espy_trigger_test *c = test_of(trigger, i);
	u64 v;

	if (!s || !c)
		return ESPY_TRIGGER_FAILS;
	if (number_of(c, s->ret, c->what == ESPY_TRIGGER_ARG ? load_arg(s, c->arg) : 0, &v))
		return next_of(c, number_holds(c, v));
	if (c->what == ESPY_TRIGGER_COMM)
		return next_of(c, is_called(trigger, i));
	if (c->what != ESPY_TRIGGER_TEXT || !is_there(cpu, trigger, i))
		return c->no;
	return next_of(c, begins_with(cpu, trigger, i) &&
				  (c->compare == ESPY_COMPARE_PREFIX || length_is(cpu, trigger, i)));
}

/* As run_test(), for a test of an early gate, by the registers. */
static __always_inline u32 run_early_test(const struct espy_trigger_test *c, u32 gate, u32 i, const struct pt_regs *regs,
					  s64 ret)
{
	u64 v;

	if (number_of(c, ret, c->what == ESPY_TRIGGER_ARG ? reg_arg(regs, c->arg) : 0, &v))
		return next_of(c, number_holds(c, v));
	return c->what == ESPY_TRIGGER_COMM ? next_of(c, is_called(gate, i)) : c->no;
}

/* Tells whether a call passes its early gate, before its capture. Not inline: the hot path has no stack to spare. */
static __noinline __attribute__((unused)) int passes_early(u32 gate, const struct pt_regs *regs, s64 ret)
{
	u32 key = gate, at = 0;
	struct espy_trigger *t = bpf_map_lookup_elem(&espy_triggers, &key);

	if (!t)
		return 1;
	for (u32 i = 0; i < ESPY_TRIGGER_TESTS; i++) {
		u64 k = at;

		if (at >= ESPY_TRIGGER_TESTS)
			break;
		CLAMP(k, ESPY_TRIGGER_TESTS - 1);
		at = run_early_test(&t->tests[k], key, k, regs, ret);
	}
	return at == ESPY_TRIGGER_HOLDS;
}

/* Returns the action that one trigger asks for now: enum espy_trigger_action, or 0. A gate asks to keep the call. */
__noinline int trigger_met(u32 cpu, u32 trigger)
{
	struct espy_trigger *t = bpf_map_lookup_elem(&espy_triggers, &trigger);
	u32 at = 0;

	if (!t)
		return 0;
	if (!t->test_cnt)
		return t->action;
	for (u32 i = 0; i < ESPY_TRIGGER_TESTS; i++) {
		if (at >= ESPY_TRIGGER_TESTS)
			break;
		at = run_test(cpu, trigger, at);
	}
	return at == ESPY_TRIGGER_HOLDS ? t->action : 0;
}

/* Runs the triggers of a captured call. Returns non-zero if the task is to be held. */
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

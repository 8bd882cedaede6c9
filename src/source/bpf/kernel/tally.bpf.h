/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts calls by values of registers and clocks (--count-by, --hist), and sends no record. The verifier drops this
 * code if the session does not count so.
 */
#ifndef ESPY_TALLY_BPF_H
#define ESPY_TALLY_BPF_H

#include "general.bpf.h"
#include "tallied.bpf.h"

ESPY_ARRAY(espy_tally_specs, struct espy_tally_spec, BPF_F_MMAPABLE);

static __always_inline u64 tallied_arg(const struct espy_bpf_scratch *s, const struct espy_tally_spec *spec)
{
	u64 arg = spec->arg, shift = 64 - 8 * (u64)spec->width;

	CLAMP(arg, 5);
	arg = s->cap.args[arg] << (shift & 63);
	return spec->is_signed ? (u64)((s64)arg >> (shift & 63)) : arg >> (shift & 63);
}

/* Gives the time in the call. Returns false if it is not known. */
static __always_inline bool tallied_duration(struct task_struct *task, u64 *value)
{
	u32 pid = task->pid;
	struct espy_bpf_enter *enter = bpf_map_lookup_elem(&espy_enters, &pid);
	u64 now = bpf_ktime_get_ns();

	if (!enter || !enter->ns || now < enter->ns)
		return false;
	*value = now - enter->ns;
	return true;
}

static __always_inline void tally_one(struct task_struct *task, const struct espy_bpf_scratch *s, u32 tally,
				      bool no_return)
{
	const bool failed = IS_ERR_RET(s->ret);
	u32 call = (s->cap.abi & 3) * ESPY_BPF_TALLY_CALLS + (s->cap.nr < ESPY_BPF_NRS ? s->cap.nr : ESPY_BPF_NRS);
	u32 id = tally * ESPY_BPF_ABIS * ESPY_BPF_TALLY_CALLS + call;
	const struct espy_tally_spec *spec = bpf_map_lookup_elem(&espy_tally_specs, &id);
	bool is_signed = false, known = true;
	u64 value = 0;

	if (!spec || spec->what == ESPY_TALLIED_NOT)
		return;
	switch (spec->what) {
	case ESPY_TALLIED_RET:
		value = s->ret;
		is_signed = true;
		known = !no_return;
		break;
	case ESPY_TALLIED_ERRNO:
		value = failed ? -s->ret : 0;
		known = !no_return;
		break;
	case ESPY_TALLIED_DURATION:
		known = tallied_duration(task, &value);
		break;
	case ESPY_TALLIED_PID:
		value = task->tgid;
		break;
	case ESPY_TALLIED_TID:
		value = task->pid;
		break;
	default:
		value = tallied_arg(s, spec);
		is_signed = spec->is_signed;
	}
	if (!known)
		tally_slot(tally, ESPY_TALLIED_MISSING);
	else if (conf.tally_hists >> tally & 1 && spec->what == ESPY_TALLIED_RET && failed)
		tally_slot(tally, ESPY_TALLIED_FAILED);
	else
		tally_number(tally, call, value, is_signed);
}

/*
 * Tallies the exit of a call, in place of general_exit(): a program of its own, so that it costs the others nothing.
 * With `dying` the end of a task in a call that does not return.
 */
static __always_inline void tally_exit(struct task_struct *task, const struct pt_regs *regs, s64 ret, bool dying)
{
	u32 cpu = bpf_get_smp_processor_id(), wanted;
	struct espy_bpf_scratch *s = scratch_take(cpu);
	bool no_return;

	if (!s)
		return;
	if (!take_exit(s, task, regs, ret, dying))
		goto out;
	wanted = select_plan(cpu);
	if (!wanted || (s->cap.nr >= ESPY_BPF_NRS && !conf.all_wanted[s->cap.abi < 3 ? s->cap.abi : 0]) ||
	    (dying && !(s->cap.flags & ESPY_CALL_NO_RETURN)) || (!s->ret && !dying && s->cap.flags & ESPY_CALL_TWICE))
		goto out;
	no_return = dying || never_returns();
	for (u32 i = 0; i < ESPY_SOURCE_TALLIES && i < conf.tally_cnt; i++)
		tally_one(task, s, i, no_return);
out:
	scratch_give(s);
}

#endif

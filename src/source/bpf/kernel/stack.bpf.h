/* SPDX-License-Identifier: GPL-2.0-only */
/* Call stacks (-k): registers and bytes of the stack, from which the reader finds the frames. */
#ifndef ESPY_STACK_BPF_H
#define ESPY_STACK_BPF_H

#include "general.bpf.h"

/* A call without room for its stack is shown without one. */
static __always_inline void send_stack(struct task_struct *task, const struct pt_regs *regs)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct espy_bpf_scratch *s = scratch_take(cpu);
	struct espy_bpf_stack *st;
	u64 n;

	if (!s)
		return;
	st = (struct espy_bpf_stack *)ITEMS(s);
	bpf_probe_read_kernel(st->regs, sizeof(st->regs), regs);
	n = read_prefix(cpu, regs->sp, sizeof(*st), conf.stack_bytes);
	CLAMP(n, ESPY_BPF_ITEMS_MAX - sizeof(*st) - 8);
	head_timed(&st->rec, sizeof(*st) + ROUND8(n), ESPY_BPF_REC_STACK, task->pid, task->tgid, time_before_copy());
	st->size = n;
	if (!out_copy(&st->rec, sizeof(*st) + ROUND8(n)))
		not_an_event();
	scratch_give(s);
}

#endif

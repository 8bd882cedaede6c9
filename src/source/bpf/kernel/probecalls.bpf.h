/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls that probes cause. Since 6.11 the kernel lets a probed function return into code of its own, which calls uretprobe(2); since
 * 6.18 a probe of a long NOP is such a call, too (uprobe). The program has made none of them, so they are left out.
 *
 * Such a call leaves the number -1 behind, as a return from a signal handler does and no other call. The place that it
 * returns to tells the two apart. A call of the program's own fails, keeps its number, and is shown.
 */
#ifndef ESPY_PROBECALLS_BPF_H
#define ESPY_PROBECALLS_BPF_H

#include "maps.bpf.h"

#define PROBE_PAGE 4096u
#define TRAMPOLINES 16u /* each reaches 2 GB of code on both sides; few processes have more than one */

/*
 * The stack pointer to which a signal handler returns that has interrupted such a call; 0: there is none. A return to
 * it is the handler's.
 */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} espy_probe_signals SEC(".maps");

/*
 * Returns the trampoline behind this one in the list of a process, 1 if ip is in this one, 0 at the end. A function of
 * its own: the verifier comes here once, and not in each turn of the loop.
 */
__noinline u64 next_trampoline(u64 at, u64 ip)
{
	const struct uprobe_trampoline *t = (void *)(at - bpf_core_field_offset(struct uprobe_trampoline, node));

	if (ip - BPF_CORE_READ(t, vaddr) < PROBE_PAGE)
		return 1;
	return (u64)BPF_CORE_READ((const struct hlist_node *)at, next);
}

/* Tells whether the instruction before ip stands in code that the kernel has put into the process for probes. */
__noinline int in_probe_code(u64 ip)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const void *area;
	u64 at;

	if (bpf_core_field_exists(struct uprobes_state, xol_area)) {
		area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);
		if (area && ip - BPF_CORE_READ((const struct xol_area *)area, vaddr) < PROBE_PAGE)
			return 1;
	}
	if (bpf_core_field_exists(struct uprobes_state, head_tramps)) {
		at = (u64)BPF_CORE_READ(task, mm, uprobes_state.head_tramps.first);
		for (u32 i = 0; i < TRAMPOLINES && at > 1; i++)
			at = next_trampoline(at, ip);
		return at == 1;
	}
	return 0;
}

static __always_inline bool behind_probe_call(struct task_struct *task, const struct pt_regs *regs)
{
	return is_behind_call(regs) && !IS_COMPAT(task) && in_probe_code(regs->ip);
}

/* A signal is about to be delivered to the task. */
static __always_inline void note_probe_signal(struct task_struct *task)
{
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	u64 *sp;

	if (!behind_probe_call(task, regs))
		return;
	sp = bpf_task_storage_get(&espy_probe_signals, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (sp)
		*sp = regs->sp;
}

/* Tells whether a probe has caused the call that ends now. The call has left the number -1. */
static __always_inline bool caused_by_probe(struct task_struct *task, const struct pt_regs *regs)
{
	u64 *sp;

	if (!behind_probe_call(task, regs))
		return false;
	sp = bpf_task_storage_get(&espy_probe_signals, task, NULL, 0);
	if (!sp || *sp != regs->sp)
		return true;
	*sp = 0;
	return false;
}

#endif

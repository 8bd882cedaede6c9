/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probes at functions of the kernel: the end of probe.bpf.c. Each program is there twice, because the kernel wants to
 * know beforehand whether it will be attached to many functions at once (kprobe_multi) or to one place.
 */

/* A function that has not returned yet. A task may be in several, and in one of them several times. */
struct kernel_call_key {
	u32 tid;
	u32 def;
	u64 sp; /* the place of its return address */
};
struct kernel_call {
	u64 begin_ns;
	u64 args[ESPY_PROBE_SAVED];
};
/* Allocated beforehand, see room_for_stack(). A call whose return the kernel missed leaves its entry to the next one at
 * this place. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ESPY_BPF_KERNEL_CALLS);
	__type(key, struct kernel_call_key);
	__type(value, struct kernel_call);
} espy_kernel_calls SEC(".maps");

static __always_inline void record_in_kernel(const struct espy_probe_plan *plan, struct task_struct *task,
					     struct hit *h, struct pt_regs *regs, bool timed)
{
	fetch_all(regs, plan, h);
	record(plan, task, h, timed, (const struct pt_regs *)bpf_task_pt_regs(task), true);
}

static __always_inline int kernel_place(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct hit h = { .memory = MEMORY_BY_ADDRESS };
	const struct espy_probe_plan *plan = begin_hit(task, regs, &h);

	if (plan)
		record_in_kernel(plan, task, &h, regs, false);
	return 0;
}

/* The entry of a function with a probe at its return. */
static __always_inline int kernel_begin(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct kernel_call_key key = { .sp = regs->sp };
	struct kernel_call call;

	if (!watched_current(task))
		return 0;
	key.tid = task->pid;
	key.def = (u32)bpf_get_attach_cookie(regs);
	for (u32 i = 0; i < ESPY_PROBE_SAVED; i++)
		call.args[i] = function_arg(regs, i);
	call.begin_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&espy_kernel_calls, &key, &call, 0);
	return 0;
}

/* Takes what the function was entered with. */
static __noinline bool take_call(struct task_struct *task, u64 sp, struct hit *h)
{
	struct kernel_call_key key = { .tid = task->pid, .def = h->def, .sp = sp };
	struct kernel_call *call = bpf_map_lookup_elem(&espy_kernel_calls, &key);

	if (!call) {
		/* Since Linux 6.14 returns of many functions come with the stack pointer of the code that tells of
		 * them. */
		key.sp = sp + 8 + bpf_core_type_size(struct pt_regs);
		call = bpf_map_lookup_elem(&espy_kernel_calls, &key);
	}
	if (!call)
		return false;
	h->begin_ns = call->begin_ns;
	for (u32 i = 0; i < ESPY_PROBE_SAVED; i++)
		h->saved[i] = call->args[i];
	bpf_map_delete_elem(&espy_kernel_calls, &key);
	return true;
}

static __always_inline int kernel_end(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct hit h = { .memory = MEMORY_BY_ADDRESS };
	const struct espy_probe_plan *plan = begin_hit(task, regs, &h);

	if (!plan)
		return 0;
	h.begun = take_call(task, entry_sp(regs), &h);
	record_in_kernel(plan, task, &h, regs, true);
	return 0;
}

#define KERNEL_PROGRAMS(suffix)                                                                                        \
	SEC("kprobe") int espy_kernel##suffix(struct pt_regs *regs)                                                    \
	{                                                                                                              \
		return kernel_place(regs);                                                                             \
	}                                                                                                              \
	SEC("kprobe") int espy_kernel_begin##suffix(struct pt_regs *regs)                                              \
	{                                                                                                              \
		return kernel_begin(regs);                                                                             \
	}                                                                                                              \
	SEC("kprobe") int espy_kernel_end##suffix(struct pt_regs *regs)                                                \
	{                                                                                                              \
		return kernel_end(regs);                                                                               \
	}

KERNEL_PROGRAMS()
KERNEL_PROGRAMS(_multi)

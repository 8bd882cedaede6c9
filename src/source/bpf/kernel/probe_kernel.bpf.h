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
	record(plan, task, h, timed, (const struct pt_regs *)bpf_task_pt_regs(task), AT_FUNCTION);
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

/*
 * The same by the types of the kernel (fentry, fexit): user space loads such a program for each function. Another one
 * may run on this CPU meanwhile, for another task or inside of this one.
 */
static __noinline u32 fetch_passed(u64 *passed, const struct espy_probe_plan *plan, struct hit *h, bool at_return)
{
	const u8 args[ESPY_PROBE_SAVED] = ESPY_REG_ARGS;
	u64 all[ESPY_REG_CNT] = {};

#pragma unroll
	for (u32 i = 0; i < ESPY_PROBE_SAVED; i++)
		bpf_get_func_arg(passed, i, &all[args[i]]);
	if (at_return)
		bpf_get_func_ret(passed, &all[ESPY_REG_RESULT]);
	return values_of(all, plan, h);
}

static __always_inline int direct_place(u64 *passed, bool at_return)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct hit h = { .memory = MEMORY_BY_ADDRESS };
	const struct espy_probe_plan *plan = begin_hit(task, passed, &h);

	if (!plan)
		return 0;
	/* What the function was given lies at one place from its beginning to its end. */
	if (at_return)
		h.begun = take_call(task, (u64)passed, &h);
	fetch_rest(plan, &h, fetch_passed(passed, plan, &h, at_return));
	record(plan, task, &h, at_return, (const struct pt_regs *)bpf_task_pt_regs(task), AT_NUMBERS);
	return 0;
}

SEC("passed/fentry")
int espy_direct(u64 *passed)
{
	return direct_place(passed, false);
}

SEC("passed/fexit")
int espy_direct_end(u64 *passed)
{
	return direct_place(passed, true);
}

SEC("passed/fentry")
int espy_direct_begin(u64 *passed)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct kernel_call_key key = { .sp = (u64)passed };
	struct kernel_call call = {};

	if (!watched_current(task))
		return 0;
	key.tid = task->pid;
	key.def = (u32)bpf_get_attach_cookie(passed);
	for (u32 i = 0; i < ESPY_PROBE_SAVED; i++)
		bpf_get_func_arg(passed, i, &call.args[i]);
	call.begin_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&espy_kernel_calls, &key, &call, 0);
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

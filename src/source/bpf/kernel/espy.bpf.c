// SPDX-License-Identifier: GPL-2.0-only
/*
 * The BPF object: entry points for system calls. Everything else is in the headers that it includes, one subject
 * each. User space loads only the programs that a session needs.
 *
 * Sections called espy/... are loaded by verify.c: "sys_exit" and "sys_enter" are typed tracepoints (libbpf's
 * tp_btf), "raw" is a raw one. They stand before the small programs, which libbpf loads while they are verified.
 *
 * Two families do the same work under two program types: the raw tracepoints of all calls (tp_btf), and the
 * tracepoints of single calls (tp), which cost the other calls less.
 */
#include "general.bpf.h"
#include "fast.bpf.h"
#include "fdmade.bpf.h"
#define STACK_BYTES ESPY_BPF_STACK_BYTES
#include "stack.bpf.h"
#include "tally.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, ESPY_NEXT_CNT);
	__type(key, u32);
	__type(value, u32);
} espy_raw_next SEC(".maps"), espy_one_next SEC(".maps");

#define IA32_EXECVE 11 /* the kernel leaves this number to every new 32-bit image */

static __always_inline void note_enter(struct task_struct *task)
{
	u32 pid = task->pid;
	struct espy_bpf_enter *enter = bpf_map_lookup_elem(&espy_enters, &pid);

	if (!enter)
		return;
	enter->ns = bpf_ktime_get_ns();
	if (conf.count_only || conf.needs.cpu_ns)
		enter->cpu = task->se.sum_exec_runtime - task->se.exec_start;
}

/* Forgets the time of an earlier call. */
static __always_inline void forget_enter(struct task_struct *task)
{
	u32 pid = task->pid;
	struct espy_bpf_enter *enter = bpf_map_lookup_elem(&espy_enters, &pid);

	if (enter)
		enter->ns = 0;
}

/*
 * The programs of single calls take over from the program of all calls while calls go on. If both are attached, the
 * program of all calls runs first. It marks the task of a call that it has recorded; the other one takes the mark away
 * and does no more. A call without mark is the other one's. single.c deals with marks that are older than its
 * attachment. Returns whether the general program leaves this call to the other one. It never leaves a 32-bit call,
 * which only it sees.
 */
static __always_inline bool left_to_single(struct task_struct *task, u64 nr, s64 ret)
{
	u8 *mark = mark_of(task->pid), was;

	if (!mark)
		return false;
	was = *mark;
	if (conf.guard_compat && IS_COMPAT(task)) {
		shared.compat_seen = 1;
		/*
		 * The first seen call of a program that began unwatched. If it is the execve itself, none is missing.
		 */
		if (was == ESPY_MARK_UNWATCHED && (nr != IA32_EXECVE || ret))
			say_missed(task->pid);
		if (was == ESPY_MARK_UNWATCHED && shared.guarded)
			__sync_fetch_and_add(&shared.missed_calls, -1); /* seen after all */
		*mark = ESPY_MARK_NONE;
		return false;
	}
	if (shared.handed)
		return true;
	if (nr < ESPY_BPF_NRS && shared.fast[nr].shape != ESPY_SHAPE_SKIP) {
		*mark = ESPY_MARK_RECORDED;
		return false;
	}
	if (was)
		*mark = ESPY_MARK_NONE;
	return true;
}

/* ---- all calls */

SEC("espy/sys_exit")
int espy_raw_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fast_call c = { .ctx = ctx, .raw = true };

	if (!watched_current(task)) {
		if (conf.narrow && (u32)task->pid == shared.probe_tid) {
			shared.probe_nr = call_nr((struct pt_regs *)ctx[0]);
			shared.probe_order = shared.probe_order * 8 + 1;
		}
		return 0;
	}
	if (conf.narrow && left_to_single(task, call_nr((struct pt_regs *)ctx[0]), ctx[1]))
		return 0;
	c.task = task;
	if (conf.count_only || conf.needs.cpu_ns || fast_exit(&c)) {
		if (conf.stacks)
			bpf_tail_call_static(ctx, &espy_raw_next, ESPY_NEXT_STACK);
		if (conf.tell_fds)
			bpf_tail_call_static(ctx, &espy_raw_next, ESPY_NEXT_FDNAME);
		bpf_tail_call_static(ctx, &espy_raw_next, ESPY_NEXT_GENERAL);
	}
	/* That place has a program only if tasks can be held. */
	if (c.wrote && must_wait_fast(task))
		bpf_tail_call_static(ctx, &espy_raw_next, ESPY_NEXT_PAUSE);
	return 0;
}

/* Loaded if call stacks are wanted. Every call of the general path comes here first. */
SEC("espy/sys_exit")
int espy_raw_stack(u64 *ctx)
{
	struct espy_bpf_scratch *s = scratch_take(bpf_get_smp_processor_id());
	const struct pt_regs *regs = (struct pt_regs *)ctx[0];

	if (s) {
		send_stack(bpf_get_current_task_btf(), (struct stack_copy *)ITEMS(s), regs, 0);
		scratch_give(s);
	}
	if (conf.tell_fds)
		bpf_tail_call_static(ctx, &espy_raw_next, ESPY_NEXT_FDNAME);
	bpf_tail_call_static(ctx, &espy_raw_next, ESPY_NEXT_GENERAL);
	return 0;
}

/* Loaded if call stacks are wanted. exit and exit_group come to no exit: their stack is copied when they begin. */
SEC("espy/at/sys_enter")
int espy_last_stack(u64 *ctx)
{
	const u16 last = ESPY_CALL_WANTED | ESPY_CALL_NO_RETURN;
	struct task_struct *task = bpf_get_current_task_btf();
	struct espy_bpf_scratch *s;
	struct espy_bpf_call *call;
	u32 id;

	if (!watched_current(task))
		return 0;
	id = IS_COMPAT(task) ? compat_call(task) : ctx[1] < ESPY_BPF_NRS ? ctx[1] : ~0u;
	call = bpf_map_lookup_elem(&espy_calls, &id);
	if (!call || (call->flags & last) != last)
		return 0;
	s = scratch_take(bpf_get_smp_processor_id());
	if (s) {
		send_stack(task, (struct stack_copy *)ITEMS(s), (struct pt_regs *)bpf_task_pt_regs(task),
			   ESPY_BPF_STACK_LAST);
		scratch_give(s);
	}
	return 0;
}

/* Loaded if the trace tells descriptors. Every call of the general path comes here first; few have one to tell. */
SEC("espy/sys_exit")
int espy_raw_fdname(u64 *ctx)
{
	if (!send_fdnames(bpf_get_current_task_btf(), (struct pt_regs *)ctx[0], ctx[1]))
		return 0;
	bpf_tail_call_static(ctx, &espy_raw_next, ESPY_NEXT_GENERAL);
	return 0;
}

SEC("espy/sys_exit")
int espy_raw_general(u64 *ctx)
{
	if (general_exit(bpf_get_current_task_btf(), (struct pt_regs *)ctx[0], ctx[1], false) || must_wait())
		bpf_tail_call_static(ctx, &espy_raw_next, ESPY_NEXT_PAUSE);
	return 0;
}

/* Loaded in place of the one above if calls are only tallied. */
SEC("espy/sys_exit")
int espy_raw_tally(u64 *ctx)
{
	tally_exit(bpf_get_current_task_btf(), (struct pt_regs *)ctx[0], ctx[1], false);
	return 0;
}

/* For -T and counting. */
SEC("espy/sys_enter")
int espy_raw_enter_time(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 nr = ctx[1];

	/* No time is taken of unwanted calls: the clock is half of the price. */
	if (nr < ESPY_BPF_NRS && shared.fast[nr].shape == ESPY_SHAPE_SKIP && !IS_COMPAT(task)) {
		if (conf.calls_change)
			forget_enter(task);
		return 0;
	}
	if (watched_current(task) || (u32)task->pid == shared.start_pid)
		note_enter(task);
	return 0;
}

/* Reads what the call at its entry points to. nr: its number, or what is none. */
static __always_inline int enter(struct task_struct *task, u64 nr)
{
	const struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (nr < ESPY_BPF_NRS && !IS_COMPAT(task)) {
		const struct espy_fast *f = &shared.fast[nr];

		if (f->shape == ESPY_SHAPE_BOTH) {
			if (!points_to_more(regs, f->nulls) && fast_enter(task, regs, f))
				return 0;
		} else if (f->nulls && !points_to_more(regs, f->nulls)) {
			return 0; /* its pointers are NULL: there is no memory to read */
		}
	}
	return general_enter(task, regs);
}

/*
 * Entry parts, at two tracepoints, so that the interpreter is verified once for both (which takes most of its time to
 * load):
 *	sys_enter(regs, number): most calls have no entry part and are to pay as little as possible;
 *	sched_prepare_exec(task, bprm), from 6.10 on: execve is sure to succeed and has touched all its strings, and
 *	registers and memory are still the caller's. Where there is none, execve is read at its entry.
 */
SEC("espy/raw")
int espy_raw_enter(u64 *ctx)
{
	struct task_struct *task;
	u64 nr = ctx[1];

	if (nr <= ~0u) { /* a number, not a pointer */
		u32 slot = nr & (ESPY_BPF_NRS - 1), word = slot / 64;

		if (!((shared.enters[word] | shared.enters[word + 16] | shared.enters[word + 32]) >> (slot & 63) & 1))
			return 0;
	}
	task = bpf_get_current_task_btf();
	if (!watched_current(task) && (u32)task->pid != shared.start_pid)
		return 0;
	return enter(task, nr);
}

/* sched_process_exec(task, old pid, bprm), where there is no sched_prepare_exec. */
SEC("espy/raw")
int espy_exec_refill(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return watched_current(task) ? refill_exec(task, (struct linux_binprm *)ctx[2]) : 0;
}

/* ---- single calls. struct { u64 common; s64 nr; s64 ret; } */

SEC("espy/tp")
int espy_one_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fast_call c = { .ctx = ctx };
	u8 *mark;

	if (!watched_current(task)) {
		if ((u32)task->pid == shared.probe_tid)
			shared.probe_order = shared.probe_order * 8 + 2;
		return 0;
	}
	mark = mark_of(task->pid);
	if (!mark)
		return 0;
	if (*mark == ESPY_MARK_RECORDED || *mark == ESPY_MARK_QUESTIONED) {
		*mark = ESPY_MARK_NONE;
		return 0;
	}
	c.task = task;
	c.one_regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if (fast_exit(&c)) {
		if (conf.tell_fds)
			bpf_tail_call_static(ctx, &espy_one_next, ESPY_NEXT_FDNAME);
		bpf_tail_call_static(ctx, &espy_one_next, ESPY_NEXT_GENERAL);
	}
	if (c.wrote && must_wait_fast(task))
		bpf_tail_call_static(ctx, &espy_one_next, ESPY_NEXT_PAUSE);
	return 0;
}

SEC("espy/tp")
int espy_one_fdname(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!send_fdnames(task, (struct pt_regs *)bpf_task_pt_regs(task), ctx[2]))
		return 0;
	bpf_tail_call_static(ctx, &espy_one_next, ESPY_NEXT_GENERAL);
	return 0;
}

SEC("espy/tp")
int espy_one_exit_general(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (general_exit(task, (struct pt_regs *)bpf_task_pt_regs(task), ctx[2], false) || must_wait())
		bpf_tail_call_static(ctx, &espy_one_next, ESPY_NEXT_PAUSE);
	return 0;
}

SEC("espy/tp")
int espy_one_enter(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!watched_current(task) && (u32)task->pid != shared.start_pid)
		return 0;
	return enter(task, ctx[1]);
}

/*
 * Where the kernel lets programs probe functions: ia32_sys_call(), which every 32-bit call goes through and no other.
 * So none is missed unknown while the program of all calls is not attached.
 */
SEC("kprobe")
int espy_compat_call(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct espy_bpf_call *call;
	u32 id;
	u8 *mark;

	if (!watched_current(task))
		return 0;
	mark = mark_of(task->pid);
	__sync_fetch_and_or(&shared.compat_seen, 1);
	if (!mark || !shared.handed)
		return 0;
	*mark = ESPY_MARK_NONE;
	if (shared.all_back)
		return 0;
	id = compat_call(task);
	call = bpf_map_lookup_elem(&espy_calls, &id);
	if (call && call->flags & (ESPY_CALL_WANTED | ESPY_CALL_OUTER)) {
		*mark = ESPY_MARK_UNWATCHED;
		shared.missed_tid = task->pid;
		__sync_fetch_and_add(&shared.missed_calls, 1);
	}
	wake_reader();
	return 0;
}

#include "task_events.bpf.h"

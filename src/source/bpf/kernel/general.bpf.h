/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The general path of a call: entry parts into the task's slot, and the exit record by the interpreter. Takes every
 * call that the hot path leaves: variants, nested data, calls that are read at entry, 32-bit callers, faults,
 * rt_sigreturn, tasks that die, and the first call after a loss.
 */
#ifndef ESPY_GENERAL_BPF_H
#define ESPY_GENERAL_BPF_H

#include "interp.bpf.h"
#include "known.bpf.h"
#include "out.bpf.h"
#include "probecalls.bpf.h"
#include "trigger.bpf.h"

static __always_inline struct espy_bpf_scratch *scratch_take(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);

	if (!s)
		return NULL;
	if (__sync_lock_test_and_set(&s->busy, 1)) {
		lose(ESPY_LOST_NESTED);
		return NULL;
	}
	return s;
}

static __always_inline void scratch_give(struct espy_bpf_scratch *s)
{
	s->busy = 0;
}

/* Number, ABI and arguments from the registers. */
static __always_inline void take_regs(struct espy_bpf_scratch *s, struct task_struct *task,
				      const struct pt_regs *regs)
{
	u64 nr = call_nr(regs);

	s->cap.ip = regs->ip;
	s->cap.sp = regs->sp;
	if (IS_COMPAT(task)) {
		s->cap.abi = ESPY_ABI_COMPAT;
		s->cap.nr = nr;
		s->cap.args[0] = compat_arg(regs, 0);
		s->cap.args[1] = compat_arg(regs, 1);
		s->cap.args[2] = compat_arg(regs, 2);
		s->cap.args[3] = compat_arg(regs, 3);
		s->cap.args[4] = compat_arg(regs, 4);
		s->cap.args[5] = compat_arg(regs, 5);
		return;
	}
	s->cap.abi = (s64)nr >= 0 && nr & ESPY_ABI_TAG ? ESPY_ABI_TAGGED : ESPY_ABI_NATIVE;
	s->cap.nr = s->cap.abi != ESPY_ABI_NATIVE ? nr & ~(u64)ESPY_ABI_TAG : nr;
	s->cap.args[0] = reg_arg(regs, 0);
	s->cap.args[1] = reg_arg(regs, 1);
	s->cap.args[2] = reg_arg(regs, 2);
	s->cap.args[3] = reg_arg(regs, 3);
	s->cap.args[4] = reg_arg(regs, 4);
	s->cap.args[5] = reg_arg(regs, 5);
}

/* By a helper: as an assignment it would be ninety instructions. */
static __always_inline void copy_capture(struct espy_bpf_capture *to, const struct espy_bpf_capture *from)
{
	bpf_probe_read_kernel(to, sizeof(*to), from);
}

/* Copies the finished entry part to the task's slot. */
__noinline int fill_slot(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct task_struct *task = bpf_get_current_task_btf();
	struct espy_bpf_slot_small *small;
	struct espy_bpf_slot_big *big;
	u64 n;

	if (!s)
		return 0;
	n = s->cap.used;
	small = bpf_task_storage_get(&espy_slots, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!small) {
		lose(ESPY_LOST_NO_SLOT);
		return 0;
	}
	if (n <= ESPY_BPF_SLOT_SMALL) {
		CLAMP(n, ESPY_BPF_SLOT_SMALL);
		bpf_probe_read_kernel(small->items, n, ITEMS(s));
		copy_capture(&small->cap, &s->cap);
		small->cap.valid = ESPY_SLOT_HERE;
		return 0;
	}
	big = bpf_task_storage_get(&espy_big_slots, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!big) {
		lose(ESPY_LOST_NO_SLOT);
		return 0;
	}
	CLAMP(n, ESPY_BPF_SLOT_BIG);
	bpf_probe_read_kernel(big->items, n, ITEMS(s));
	copy_capture(&small->cap, &s->cap);
	small->cap.valid = ESPY_SLOT_IN_BIG;
	return 0;
}

/* Marks operation k to run again if it, or its source, failed at entry, unless the call has overwritten its memory. */
__noinline int mark_redo(u32 cpu, u32 k)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct espy_bpf_op *op;
	u32 id, failed;

	if (!s || k >= s->op_cnt)
		return 0;
	id = s->first_op + k;
	op = bpf_map_lookup_elem(&espy_ops, &id);
	if (!op || op->op.when & ESPY_OP_EXIT)
		return 0;
	failed = s->saved.faults >> (k & 15);
	if (op->op.src & ESPY_OP_SRC_OP)
		failed |= s->redo >> (op->op.src & 15);
	if (failed & 1) {
		s->redo |= 1u << (k & 15);
		__sync_fetch_and_add(&shared.reread, 1);
	}
	return 0;
}

/* Makes the item of the hot path the entry part. The arguments are in the registers still. */
static __always_inline void put_short(struct espy_bpf_scratch *s, const struct espy_bpf_slot_small *small)
{
	u64 k = small->items[0], n = small->cap.used;

	for (u32 i = 0; i < ESPY_PLAN_MAX_OPS; i++)
		*(u64 *)&s->cap.span[i] = 0;
	CLAMP(n, 8 + ESPY_BPF_SHORT);
	BELOW(k, ESPY_PLAN_MAX_OPS);
	bpf_probe_read_kernel(ITEMS(s), n, small->items);
	s->cap.span[k].end = n;
	s->cap.used = n;
}

/*
 * Brings the entry part back, if the task has one of this very call. Operations that failed at entry are marked to run
 * again, unless the call has overwritten their memory since. Returns 1 if the entry part stands in the scratch, 0 if
 * the caller must run it.
 */
__noinline int take_slot(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct task_struct *task = bpf_get_current_task_btf();
	struct espy_bpf_slot_small *small;
	u64 n, faults;
	u32 where;

	if (!s)
		return 0;
	small = bpf_task_storage_get(&espy_slots, task, NULL, 0);
	if (!small || !small->cap.valid)
		return 0;
	where = small->cap.valid;
	small->cap.valid = ESPY_SLOT_EMPTY;
	if (small->cap.nr != s->cap.nr || small->cap.abi != s->cap.abi)
		return 0;
	n = small->cap.used;
	if (where == ESPY_SLOT_SHORT) {
		put_short(s, small);
		return 1;
	}
	faults = small->cap.faults;
	if (small->cap.flags & ESPY_CALL_NEW_IMAGE && s->ret >= 0)
		faults = 0; /* the memory that it pointed to is gone */
	if (where == ESPY_SLOT_HERE) {
		CLAMP(n, ESPY_BPF_SLOT_SMALL);
		bpf_probe_read_kernel(ITEMS(s) + (faults ? ESPY_BPF_ITEMS_MAX : 0), n, small->items);
	} else {
		struct espy_bpf_slot_big *big = bpf_task_storage_get(&espy_big_slots, task, NULL, 0);

		if (!big)
			return 0;
		CLAMP(n, ESPY_BPF_SLOT_BIG);
		bpf_probe_read_kernel(ITEMS(s) + (faults ? ESPY_BPF_ITEMS_MAX : 0), n, big->items);
		bpf_task_storage_delete(&espy_big_slots, task);
	}
	if (!faults) {
		copy_capture(&s->cap, &small->cap);
		return 1;
	}
	copy_capture(&s->saved, &small->cap);
	for (u32 i = 0; i < ESPY_MAX_ARGS; i++)
		s->cap.args[i] = s->saved.args[i];
	s->cap.flags = s->saved.flags;
	s->redo = 0;
	for (u32 k = 0; k < ESPY_PLAN_MAX_OPS; k++)
		mark_redo(cpu, k);
	return 0;
}

/*
 * After exec the kernel has put the number of execve and the ABI of the new image into the registers, whatever the
 * call was (execveat, a program for another ABI). The entry part knows. Returns 1 if it says something else, and 2 if
 * it has seen no such call: then this is another call than the wanted one.
 */
__noinline int exec_call(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct espy_bpf_slot_small *small = bpf_task_storage_get(&espy_slots, bpf_get_current_task_btf(), NULL, 0);

	if (!s)
		return 0;
	if (!small || !small->cap.valid || !(small->cap.flags & ESPY_CALL_NEW_IMAGE))
		return 2;
	if (small->cap.nr == s->cap.nr && small->cap.abi == s->cap.abi)
		return 0;
	s->cap.nr = small->cap.nr;
	s->cap.abi = small->cap.abi;
	return 1;
}

/* Puts the head before the items and sends the record. */
static __always_inline void send_record(struct espy_bpf_scratch *s, u32 tid, u32 tgid, u32 nargs, u32 flags,
					u64 enter_ns, u64 cpu_ns)
{
	struct espy_rec_call *call;
	u64 start, size, at;

	nargs &= 7;
	start = ESPY_BPF_HEAD_MAX - 32 - nargs * 8;
	if (conf.needs.ip) {
		start -= 8;
		flags |= ESPY_RF_IP;
	}
	if (conf.needs.cpu_ns) {
		start -= 8;
		flags |= ESPY_RF_CPU_NS;
	}
	if (conf.needs.enter_ns && enter_ns) {
		start -= 8;
		flags |= ESPY_RF_ENTER_NS;
	}
	CLAMP(start, ESPY_BPF_HEAD_MAX - 32);
	size = ESPY_BPF_HEAD_MAX - start + s->cap.used;
	call = (struct espy_rec_call *)(s->rec + start);
	head_timed(&call->rec, size, ESPY_REC_EXIT, tid, tgid, time_before_copy());
	call->rec.abi = s->cap.abi;
	call->rec.flags = flags | nargs;
	call->rec.nr = s->cap.nr;
	call->ret = s->ret;
	at = start + 32;
	if (conf.needs.enter_ns && enter_ns) {
		CLAMP(at, 96);
		*(u64 *)(s->rec + at) = enter_ns;
		at += 8;
	}
	if (conf.needs.ip) {
		CLAMP(at, 104);
		*(u64 *)(s->rec + at) = s->cap.ip;
		at += 8;
	}
	if (conf.needs.cpu_ns) {
		CLAMP(at, 112);
		*(u64 *)(s->rec + at) = cpu_ns;
	}
	at = nargs * 8;
	CLAMP(at, sizeof(s->cap.args));
	start = ESPY_BPF_HEAD_MAX - at;
	CLAMP(start, ESPY_BPF_HEAD_MAX);
	bpf_probe_read_kernel(s->rec + start, at, s->cap.args);
	CLAMP(size, ESPY_BPF_ITEMS_MAX);
	if (out_copy(&call->rec, size))
		ring_full();
	wake_reader();
}

__noinline int send_call(u32 cpu, u32 nargs, u32 flags, u64 enter_ns, u64 cpu_ns)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct task_struct *task = bpf_get_current_task_btf();

	if (s)
		send_record(s, task->pid, task->tgid, nargs, flags, enter_ns, cpu_ns);
	return 0;
}

/*
 * Returns the time on the CPU since the task entered its call: the run time charged so far, plus the time since the
 * last charge. The scheduler's clock and ours differ by an offset that cancels in the difference.
 */
static __always_inline u64 cpu_since(struct task_struct *task, const struct espy_bpf_enter *enter, u64 wall)
{
	u64 spent = task->se.sum_exec_runtime - task->se.exec_start - enter->cpu + wall;

	if (spent > wall)
		return (s64)spent < 0 ? 0 : wall;
	return spent;
}

static __always_inline u64 cpu_time(struct task_struct *task)
{
	u32 pid = task->pid;
	struct espy_bpf_enter *enter = conf.needs.cpu_ns ? bpf_map_lookup_elem(&espy_enters, &pid) : NULL;

	return enter && enter->ns ? cpu_since(task, enter, bpf_ktime_get_ns() - enter->ns) : 0;
}

/* Counts one more result of a call. */
static __always_inline void count_result(struct espy_bpf_count *count, s64 ret)
{
	count->calls++;
	if (IS_ERR_RET(ret))
		count->errors++;
}

/* Adds the time of the call that was counted last. */
static __always_inline void count_time(struct espy_bpf_count *count, u64 spent)
{
	count->time_ns += spent;
	if (spent < count->min_ns || count->calls == 1)
		count->min_ns = spent;
	if (spent > count->max_ns)
		count->max_ns = spent;
}

static __always_inline void count_call(struct task_struct *task, u32 abi, u32 nr, s64 ret)
{
	u32 id = abi * ESPY_BPF_NRS + nr, pid = task->pid;
	struct espy_bpf_enter *enter = bpf_map_lookup_elem(&espy_enters, &pid);
	struct espy_bpf_count *count;
	u64 wall;

	if (nr >= ESPY_BPF_NRS)
		return;
	count = bpf_map_lookup_elem(&espy_counts, &id);
	if (!count)
		return;
	count_result(count, ret);
	if (!enter || !enter->ns)
		return;
	wall = bpf_ktime_get_ns() - enter->ns;
	count_time(count, conf.needs.enter_ns ? wall : cpu_since(task, enter, wall));
	enter->ns = 0;
}

static __always_inline u64 enter_time(u32 pid)
{
	struct espy_bpf_enter *enter;

	if (!conf.needs.enter_ns)
		return 0;
	enter = bpf_map_lookup_elem(&espy_enters, &pid);
	return enter ? enter->ns : 0;
}

/*
 * Tells whether the task is about to die and never sees the result. The kernel makes a signal that ends the process
 * into a pending SIGKILL when it is sent. For the task that got the signal the call has ended as for any signal.
 */
__noinline int never_returns(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 pid;

	if (!(task->pending.signal.sig[0] >> (SIG_KILL - 1) & 1))
		return 0;
	pid = task->pid;
	return !bpf_map_lookup_elem(&espy_fatals, &pid);
}

/* Takes registers and result of a call at its exit. Returns false if the program has not made the call. */
static __always_inline bool take_exit(struct espy_bpf_scratch *s, struct task_struct *task, const struct pt_regs *regs, s64 ret,
				      bool dying)
{
	take_regs(s, task, regs);
	s->ret = ret;
	s->late = 1;
	if (s->cap.abi == ESPY_ABI_COMPAT)
		s->ret = (s32)ret < 0 && (s32)ret >= -MAX_ERRNO ? (s64)(s32)ret : (s64)(u32)ret;
	if ((s32)s->cap.nr < 0 && !dying) {
		if (caused_by_probe(task, regs))
			return false;
		/* Else only a return from a signal handler leaves no number behind; user space has put its plan there. */
		s->cap.nr = shared.sigreturn_nr[s->cap.abi & 3];
	}
	return true;
}

/*
 * The exit of a call; with `dying` the end of a task in a call that does not return. Returns non-zero if the task is to
 * be held after it.
 */
static __always_inline int general_exit(struct task_struct *task, const struct pt_regs *regs, s64 ret, bool dying)
{
	u32 cpu = bpf_get_smp_processor_id(), flags = 0, wanted;
	struct espy_bpf_scratch *s;
	bool lost = false, kept;
	int hold = 0;

	s = scratch_take(cpu);
	if (!s)
		return 0;
	if (!take_exit(s, task, regs, ret, dying))
		goto out;
	wanted = select_plan(cpu);
	if (!s->ret && !dying && (!wanted || s->cap.flags & ESPY_CALL_NEW_IMAGE)) {
		const int other = exec_call(cpu);

		if (other == 1)
			wanted = select_plan(cpu);
		else if (other && !conf.count_only && wanted && s->cap.flags & ESPY_CALL_NEW_IMAGE)
			goto out;
	}
	if (!wanted || (s->cap.nr >= ESPY_BPF_NRS && !conf.all_wanted[s->cap.abi < 3 ? s->cap.abi : 0]) ||
	    (dying && !(s->cap.flags & ESPY_CALL_NO_RETURN)))
		goto out;
	if (conf.count_only) {
		if (s->ret || !(s->cap.flags & ESPY_CALL_TWICE))
			count_call(task, s->cap.abi, s->cap.nr, s->ret);
		goto out;
	}
	if (dying || never_returns())
		flags = ESPY_RF_NO_RETURN;
	/* Gates do not know the missing values of a call without a result. The items of the entry are not here yet. */
	kept = flags || !conf.gate_cnt || (!s->early_gate && !s->late_gate);
	if (conf.gate_cnt && !kept && s->early_gate && !(s->cap.flags & ESPY_CALL_ENTER)) {
		if (!trigger_met(cpu, s->early_gate) && !s->triggers)
			goto out;
	}
	/* Only now: a call that is not wanted is not lost either. */
	if (shared.attention && !say_lost(task->pid, task->tgid)) {
		lose(ESPY_LOST_RING_FULL);
		if (!conf.trigger_cnt || !s->triggers)
			goto out;
		lost = true; /* its triggers still work */
	}
	if (s->cap.flags & ESPY_CALL_SIGRETURN) {
		struct espy_item *item = (struct espy_item *)ITEMS(s);

		item->op = 0;
		item->status = ESPY_ITEM_OK;
		item->index = 0;
		item->len = 8;
		*(u64 *)(item + 1) = task->blocked.sig[0];
		s->cap.used = 16;
		goto send;
	}
	if (!dying) { /* exit and exit_group point to no memory */
		if (!(s->cap.flags & ESPY_CALL_ENTER) || !take_slot(cpu))
			run_phase(cpu, 0);
		run_phase(cpu, 1);
	}
send:
	if (conf.gate_cnt && !kept)
		kept = (!s->early_gate || trigger_met(cpu, s->early_gate)) && (!s->late_gate || trigger_met(cpu, s->late_gate));
	if (!lost && kept)
		send_call(cpu, wanted, flags, enter_time(task->pid), cpu_time(task));
	if (conf.trigger_cnt && s->triggers && !dying)
		hold = run_triggers(s, cpu);
out:
	scratch_give(s);
	return hold;
}

/*
 * Keeps operation k of an execve from running again if the new image does not hold its data. Else marks its source
 * operation, too.
 */
__noinline int choose_refill(u32 cpu, u32 k, u32 argv_moved, u32 path_moved)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct espy_bpf_op *op, *src;
	u32 id, at;

	if (!s || k >= s->op_cnt || !(s->redo >> (k & 15) & 1))
		return 0;
	id = s->first_op + k;
	op = bpf_map_lookup_elem(&espy_ops, &id);
	if (!op)
		return 0;
	at = op->op.src;
	if (at & ESPY_OP_SRC_OP) {
		id = s->first_op + (at & (ESPY_PLAN_MAX_OPS - 1));
		src = bpf_map_lookup_elem(&espy_ops, &id);
		if (!src)
			return 0;
		/* The pointers that were read at entry are of the old image. */
		s->redo |= 1u << (at & 15);
		at = src->op.src;
	}
	if ((at == s->path_arg && path_moved) || (at == s->path_arg + 1 && argv_moved & 1) ||
	    (at > s->path_arg && argv_moved & 2))
		s->redo &= ~(1u << (k & 15) | (op->op.src & ESPY_OP_SRC_OP ? 1u << (op->op.src & 15) : 0));
	return 0;
}

/*
 * Reads strings of execve that were not readable at its entry from the new image: the kernel has put file name, argv
 * and envp on its stack. The failed operations of the entry part run again, with the arguments pointing there.
 */
static __always_inline int refill_exec(struct task_struct *task, struct linux_binprm *bprm)
{
	struct espy_bpf_slot_small *small = bpf_task_storage_get(&espy_slots, task, NULL, 0);
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	u32 cpu = bpf_get_smp_processor_id(), argc, argv_moved = 0, path_moved = 0;
	struct espy_bpf_scratch *s;
	u64 width, sp, at;

	if (!small || !small->cap.valid || !small->cap.faults || !(small->cap.flags & ESPY_CALL_NEW_IMAGE))
		return 0;
	s = scratch_take(cpu);
	if (!s)
		return 0;
	s->cap.nr = small->cap.nr;
	s->cap.abi = small->cap.abi;
	for (u32 i = 0; i < ESPY_MAX_ARGS; i++)
		s->cap.args[i] = small->cap.args[i];
	s->cap.ip = small->cap.ip;
	s->cap.sp = small->cap.sp;
	s->late = 0;
	s->ret = -1; /* as after a failure: failed operations may run again */
	if (!select_plan(cpu) || take_slot(cpu))
		goto out;
	width = IS_COMPAT(task) ? 4 : 8;
	/* An interpreter gets an argv of its own; a program of other width has pointers of that. */
	if (BPF_CORE_READ(bprm, interp) != BPF_CORE_READ(bprm, filename))
		argv_moved = 1;
	if (width != (s->cap.abi == ESPY_ABI_NATIVE ? 8 : 4))
		argv_moved |= 2;
	if (bpf_core_field_exists(bprm->fdpath) && BPF_CORE_READ(bprm, fdpath))
		path_moved = 1;
	for (u32 k = ESPY_PLAN_MAX_OPS; k-- > 0;)
		choose_refill(cpu, k, argv_moved, path_moved);
	argc = BPF_CORE_READ(bprm, argc);
	sp = regs->sp; /* argc, argv[], NULL, envp[], NULL */
	at = s->path_arg;
	CLAMP(at, 3);
	s->cap.args[at] = BPF_CORE_READ(bprm, exec);
	s->cap.args[at + 1] = sp + width;
	s->cap.args[at + 2] = sp + width * (argc + 2);
	run_phase(cpu, 0);
	for (u32 i = 0; i < ESPY_MAX_ARGS; i++)
		s->cap.args[i] = small->cap.args[i];
	s->cap.faults = 0;
	fill_slot(cpu);
out:
	scratch_give(s);
	return 0;
}

/* The entry of a call whose memory must be read before it runs. */
static __always_inline int general_enter(struct task_struct *task, const struct pt_regs *regs)
{
	u32 cpu = bpf_get_smp_processor_id(), wanted;
	struct espy_bpf_scratch *s = scratch_take(cpu);

	if (!s)
		return 0;
	take_regs(s, task, regs);
	s->ret = 0;
	s->late = 0;
	wanted = select_plan(cpu);
	for (u32 i = 0; conf.paths.cnt && i < ESPY_MAX_ARGS; i++)
		if (s->closes >> i & 1)
			note_closing(task, load_arg(s, i));
	/* Of a raw execve the arguments are kept: after it they are gone too. */
	if (wanted && s->cap.flags & ESPY_CALL_ENTER &&
	    (!(s->cap.flags & ESPY_CALL_RAW) || s->cap.flags & ESPY_CALL_NEW_IMAGE)) {
		run_phase(cpu, 0);
		fill_slot(cpu);
	}
	scratch_give(s);
	return 0;
}

#endif

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holding a task after a call, before its next instruction, without stopping it: no signal, no ptrace, nothing that its
 * parent could see. An object of its own, loaded only when tasks are to be held, because it names functions of the kernel
 * that older ones lack and that take libbpf long to find.
 *
 * How: the program schedules work that the task itself does on its way back to user space. That work reads one page of
 * the memory of a helper process, a page of a file whose server is the helper itself (hold_fuse.c, hold_helper.c). Until
 * the helper answers, the task sleeps in an ordinary wait for a file server:
 *
 *      sys_exit --tail call--> espy_raw_hold --task work--> turn_a: reads a page ... sleeps ... answered (EIO)
 *                                                             |  go == RUN: it runs on
 *                                                             |  go == ROUND: turn_b is scheduled, and so on
 *
 * A read that lasts holds up every process that loads BPF programs (the kernel waits for sleepable programs to end), hence the
 * rounds. A work cannot schedule itself, hence two that schedule each other. At the end of each round the program itself
 * looks whether the task has been held for its longest. If the helper goes, the read fails and the task runs on:
 * whatever becomes of espy, no task stays held.
 */
#include "out.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* The kernel knows this type by its name. */
struct bpf_task_work {
	__u64 opaque;
} __attribute__((aligned(8)));

struct bpf_map;
#define KFUNC(nr) ((void *)(ESPY_KFUNC_BASE + nr))
static int (*const bpf_task_work_schedule_resume_impl)(struct task_struct *task, struct bpf_task_work *work, void *map,
						       int (*turn)(struct bpf_map *map, void *key, void *value),
						       void *aux) = KFUNC(ESPY_KFUNC_TASK_WORK);
static struct task_struct *(*const bpf_task_from_pid)(s32 pid) = KFUNC(ESPY_KFUNC_TASK_FROM_PID);
static void (*const bpf_task_release)(struct task_struct *task) = KFUNC(ESPY_KFUNC_TASK_RELEASE);

struct hold_work {
	struct bpf_task_work work;
};

#define HOLD_MAP(name, value_type, flags)                    \
	struct {                                             \
		__uint(type, BPF_MAP_TYPE_ARRAY);            \
		__uint(max_entries, ESPY_BPF_HOLDS);         \
		__uint(map_flags, flags);                    \
		__type(key, u32);                            \
		__type(value, value_type);                   \
	} name SEC(".maps")

HOLD_MAP(espy_holds, struct espy_bpf_hold, BPF_F_MMAPABLE);
HOLD_MAP(espy_work_a, struct hold_work, 0);
HOLD_MAP(espy_work_b, struct hold_work, 0);

enum { SCHED_FIFO = 1, SCHED_RR = 2, SCHED_DEADLINE = 6 };

#define ESRCH 3
#define EAGAIN 11
#define SIGSTOP 19
#define JOBCTL_TRAP_STOP (1ul << 19)

/* Claims a place for the task. Returns NULL if the task has one already, or no place is free. */
static __always_inline struct espy_bpf_hold *claim(const struct task_struct *task, u32 reason, u32 *index)
{
	u32 tid = task->pid;

	for (u32 i = 0; i < ESPY_BPF_HOLD_PROBES; i++) {
		struct espy_bpf_hold *hold;

		*index = (tid + i) & (ESPY_BPF_HOLDS - 1);
		hold = bpf_map_lookup_elem(&espy_holds, index);
		if (!hold || hold->tid == tid)
			return NULL;
		if (__sync_val_compare_and_swap(&hold->tid, 0, tid))
			continue;
		hold->go = ESPY_GO_NOWHERE; /* the answer was for the task before */
		hold->tgid = task->tgid;
		hold->reason = reason;
		hold->until_ns = 0;
		__sync_fetch_and_add(&shared.pausing.held[reason & 1], 1);
		return hold;
	}
	__sync_fetch_and_add(&shared.pausing.refused, 1);
	return NULL;
}

/* Gives the place back. User space may ask for it to run again before another task has it. */
static __always_inline void give_back(struct espy_bpf_hold *hold)
{
	u32 reason = hold->reason & 1;

	hold->since_ns = 0;
	hold->go = ESPY_GO_NOWHERE;
	__sync_lock_test_and_set(&hold->tid, 0);
	__sync_fetch_and_add(&shared.pausing.held[reason], -1);
}

/* Tells the length of the hold, at the place in the stream where the task runs on. Such a record must not be lost. */
static __always_inline void tell(const struct espy_bpf_hold *hold)
{
	u64 now = bpf_ktime_get_ns();
	struct espy_rec_pause *rec = TASK_RESERVE(sizeof(*rec));

	if (!rec) {
		ring_full();
		return;
	}
	head_of(&rec->rec, sizeof(*rec), ESPY_REC_PAUSE, hold->tid, hold->tgid);
	rec->rec.nr = hold->reason;
	rec->rec.time_ns = hold->since_ns;
	rec->duration_ns = now - hold->since_ns;
	out_submit(rec);
	wake_reader();
}

/*
 * Tells whether a debugger wants the task: it has attached, and its stop waits for the task to leave the kernel. espy
 * lets the task go into that stop, which comes before its next instruction.
 */
static __always_inline bool wanted_by_debugger(const struct task_struct *task)
{
	return task->ptrace && (task->pending.signal.sig[0] >> (SIGSTOP - 1) & 1 || task->jobctl & JOBCTL_TRAP_STOP);
}

/* Tells whether the task has been held for its longest. Less than a millisecond is not worth another round. */
static __always_inline bool held_for_longest(const struct espy_bpf_hold *hold)
{
	u64 longest = shared.pausing.longest_ns[hold->reason & 1], until = hold->until_ns;

	if (until && bpf_ktime_get_ns() + 1000000 >= until)
		return true;
	if (!longest || bpf_ktime_get_ns() - hold->since_ns + 1000000 < longest)
		return false;
	__sync_fetch_and_add(&shared.pausing.expired, 1);
	return true;
}

static __always_inline bool room_again(const struct espy_bpf_hold *hold)
{
	return hold->reason == ESPY_PAUSE_RING_FULL && out_unread() < shared.high / 2;
}

/* Sleeps for one round. Returns false when the task runs on. */
static __always_inline bool sleep_round(u32 index)
{
	struct task_struct *task = bpf_get_current_task_btf(), *helper;
	struct espy_bpf_hold *hold = bpf_map_lookup_elem(&espy_holds, &index);
	u32 go;
	u8 byte;

	if (!hold)
		return false;
	if (!hold->since_ns) {
		/* The reader may have caught up in between: then there is no hold, and no record of one. */
		if (!shared.pausing.on || room_again(hold) || (hold->until_ns && bpf_ktime_get_ns() >= hold->until_ns)) {
			give_back(hold);
			return false;
		}
		hold->since_ns = bpf_ktime_get_ns();
		if (hold->reason == ESPY_PAUSE_RING_FULL)
			__sync_fetch_and_add(&shared.pausing.begun, 1);
	}
	if (shared.pausing.on && __sync_lock_test_and_set(&hold->go, ESPY_GO_NOWHERE) != ESPY_GO_RUN) {
		helper = bpf_task_from_pid(shared.pausing.helper);
		if (helper) {
			bpf_copy_from_user_task(&byte, 1,
						(void *)(shared.pausing.base + (u64)index * ESPY_BPF_HOLD_PAGE), helper,
						0);
			bpf_task_release(helper);
		}
		go = __sync_lock_test_and_set(&hold->go, ESPY_GO_NOWHERE);
		if (go == ESPY_GO_ROUND && shared.pausing.on && !room_again(hold) && !held_for_longest(hold) &&
		    !(hold->reason == ESPY_PAUSE_ASKED && wanted_by_debugger(task)))
			return true;
		/* No answer woke the task: it is being killed, or the helper has ended. */
		if (go == ESPY_GO_NOWHERE && !(task->pending.signal.sig[0] >> (SIG_KILL - 1) & 1)) {
			shared.pausing.on = 0;
			__sync_fetch_and_add(&shared.pausing.broken, 1);
		}
	}
	hold->go = ESPY_GO_RUN; /* for a process that asks meanwhile whether it is held */
	tell(hold);
	give_back(hold);
	return false;
}

static int turn_b(struct bpf_map *map, void *key, void *value);
static int turn_a(struct bpf_map *map, void *key, void *value);

static __always_inline int schedule_b(u32 index)
{
	struct hold_work *work = bpf_map_lookup_elem(&espy_work_b, &index);

	return work ? bpf_task_work_schedule_resume_impl(bpf_get_current_task_btf(), &work->work, &espy_work_b, turn_b,
							 NULL) :
		      -1;
}

static __always_inline int schedule_a(u32 index)
{
	struct hold_work *work = bpf_map_lookup_elem(&espy_work_a, &index);

	return work ? bpf_task_work_schedule_resume_impl(bpf_get_current_task_btf(), &work->work, &espy_work_a, turn_a,
							 NULL) :
		      -1;
}

/* Ends a hold that cannot go on. */
static __always_inline void gave_up(u32 index)
{
	struct espy_bpf_hold *hold = bpf_map_lookup_elem(&espy_holds, &index);

	if (!hold)
		return;
	if (hold->since_ns)
		tell(hold);
	give_back(hold);
}

static int turn_a(struct bpf_map *map, void *key, void *value)
{
	u32 index = *(u32 *)key;

	if (sleep_round(index) && schedule_b(index))
		gave_up(index);
	return 0;
}

static int turn_b(struct bpf_map *map, void *key, void *value)
{
	u32 index = *(u32 *)key;

	if (sleep_round(index) && schedule_a(index))
		gave_up(index);
	return 0;
}

/*
 * Tells whether the task has a real-time policy: other tasks wait for it, as for the helper of another espy. Such a
 * task is held only on request.
 */
static __always_inline bool is_urgent(const struct task_struct *task)
{
	return task->policy == SCHED_FIFO || task->policy == SCHED_RR || task->policy == SCHED_DEADLINE;
}

/* Begins a hold. Returns NULL if the task is not to be held, or cannot be. */
static __always_inline struct espy_bpf_hold *begin(struct task_struct *task, u32 *index)
{
	u32 cpu = bpf_get_smp_processor_id() & 1023, why = shared.pause_why[cpu];
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct espy_bpf_hold *hold;

	shared.pause_why[cpu] = 0;
	if (!why || !shared.pausing.on || (u32)task->tgid == shared.own_tgid[ESPY_OWN_HOLD])
		return NULL;
	if (why - 1 == ESPY_PAUSE_RING_FULL && is_urgent(task)) {
		__sync_fetch_and_add(&shared.pausing.refused, 1);
		return NULL;
	}
	hold = claim(task, why - 1, index);
	if (!hold)
		return NULL;
	hold->abi = IS_COMPAT(task) ? ESPY_ABI_COMPAT : call_nr(regs) & ESPY_ABI_TAG ? ESPY_ABI_TAGGED : ESPY_ABI_NATIVE;
	hold->nr = call_nr(regs) & ~ESPY_ABI_TAG;
	return hold;
}

static __always_inline int hold_current(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 index;

	if (!begin(task, &index))
		return 0;
	/* The work of a place that was just given back may not be over: then the other one is free. */
	if (schedule_a(index) && schedule_b(index))
		gave_up(index);
	return 0;
}

SEC("espy/sys_exit")
int espy_raw_hold(u64 *ctx)
{
	return hold_current();
}

SEC("espy/tp")
int espy_one_hold(u64 *ctx)
{
	return hold_current();
}

/*
 * Holds a task that may be anywhere. It does the work on its way back to user space. A task in user space is made to
 * come into the kernel for it. 0 or a negative errno.
 */
static __always_inline int hold_other(struct task_struct *task, const struct espy_bpf_order *order)
{
	struct espy_bpf_hold *hold;
	struct hold_work *work;
	u32 index;

	if (!task->mm || !watched_other(task, task->pid, task->tgid)) /* no thread of the kernel's: they do no such work */
		return -ESRCH;
	hold = claim(task, ESPY_PAUSE_ASKED, &index);
	if (!hold)
		return -EAGAIN;
	hold->abi = 0;
	hold->nr = ESPY_BPF_NO_CALL;
	hold->until_ns = order->until_ns;
	work = bpf_map_lookup_elem(&espy_work_a, &index);
	if (work && !bpf_task_work_schedule_resume_impl(task, &work->work, &espy_work_a, turn_a, NULL))
		return 0;
	/* The work of a place that was just given back may not be over. */
	work = bpf_map_lookup_elem(&espy_work_b, &index);
	if (work && !bpf_task_work_schedule_resume_impl(task, &work->work, &espy_work_b, turn_b, NULL))
		return 0;
	give_back(hold);
	return -EAGAIN;
}

/* Run by user space (BPF_PROG_RUN), by espy_pause. */
SEC("espy/call")
int espy_hold_task(struct espy_bpf_order *order)
{
	struct task_struct *task;
	int err;

	if (!shared.pausing.on)
		return -EAGAIN;
	task = bpf_task_from_pid(order->tid);
	if (!task)
		return -ESRCH;
	err = hold_other(task, order);
	bpf_task_release(task);
	return err;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Birth, exec, signals and death of tasks. These programs also keep the set of watched tasks: a child's bit is set
 * before its first instruction, a task's bit is cleared after its last record.
 */
#ifndef ESPY_TASK_EVENTS_BPF_H
#define ESPY_TASK_EVENTS_BPF_H

#include "comm.bpf.h"
#include "general.bpf.h"
#include "fdname.bpf.h"
#include "rights.bpf.h"

#define SIG_IS_STOP(sig) ((sig) >= 19 && (sig) <= 22) /* SIGSTOP SIGTSTP SIGTTIN SIGTTOU */
#define TRACE_SIGNAL_DELIVERED 0 /* results of signal_generate */
#define TRACE_SIGNAL_IGNORED 1
#define SIGNAL_GROUP_EXIT 0x4 /* the process is being killed */

/* Flags of clone(2) that show in the structs that parent and child share. */
enum {
	SHARE_VM = 0x100, SHARE_FS = 0x200, SHARE_FILES = 0x400, SHARE_SIGHAND = 0x800, SHARE_PARENT = 0x8000,
	SHARE_THREAD = 0x10000,
};

static __always_inline void speak_up(struct task_struct *task)
{
	tell_comm(task);
	if (shared.attention)
		say_lost(task->pid, task->tgid);
}

/*
 * Sends the numbers of a new task in pid namespaces below the first one. Programs in them name each other by these
 * numbers. Records hold the numbers of the first namespace.
 */
static __always_inline void send_pid_numbers(struct task_struct *task, u32 tid, u32 tgid)
{
	const struct pid *pid = BPF_CORE_READ(task, thread_pid);
	u32 level = BPF_CORE_READ(pid, level);
	struct {
		struct espy_rec_fact f;
		struct espy_pid_number at[ESPY_PID_LEVELS];
	} *rec;

	if (!level || level > ESPY_PID_LEVELS)
		return;
	rec = OUT_RESERVE(sizeof(*rec), sizeof(*rec));
	if (!rec) {
		ring_full();
		return;
	}
	for (u32 i = 0; i < ESPY_PID_LEVELS; i++) {
		u64 at = (u64)pid + bpf_core_field_offset(struct pid, numbers) +
			 (i + 1) * bpf_core_type_size(struct upid);
		u64 there = (u64)i - level;

		/* NULL behind the last level, where nothing can be read: a branch would be one more way to verify. */
		asm volatile("" : "+r"(there));
		at &= -(there >> 63);
		rec->at[i].number = BPF_CORE_READ((const struct upid *)at, nr);
		rec->at[i].ns = BPF_CORE_READ((const struct upid *)at, ns, ns.inum);
	}
	head_of(&rec->f.rec, sizeof(*rec), ESPY_REC_FACT, tid, tgid);
	rec->f.kind = ESPY_FACT_PID_NUMBERS;
	rec->f.arg = 0;
	rec->f.len = level * sizeof(rec->at[0]);
	rec->f.reserved = 0;
	out_submit(rec);
}

/* Returns 1 if both are equal, else 0. Without branches: the verifier would follow them in all combinations. */
static __always_inline u64 same(u64 a, u64 b)
{
	u64 differ = a ^ b;

	differ |= -differ;
	asm volatile("" : "+r"(differ));
	return differ >> 63 ^ 1;
}

#define SAME_MEMBER(a, b, member) same((u64)BPF_CORE_READ(a, member), (u64)BPF_CORE_READ(b, member))

/*
 * The programs here are at raw tracepoints: a typed one (tp_btf) costs the kernel and libbpf a search through all types
 * each, some milliseconds of the start. The current task is typed anyway. Helper calls read the fields of other tasks.
 */
SEC("espy/at/sched_process_fork")
int espy_fork(u64 *ctx)
{
	struct task_struct *parent = bpf_get_current_task_btf(), *child = (void *)ctx[1];
	struct espy_rec_fork *rec;
	u64 flags = 0, thread;
	int exit_signal;
	u32 pid;

	if (!conf.follow && conf.mode == ESPY_BPF_MODE_BITS)
		return 0;
	if (!watched_current(parent))
		return 0;
	look_for_compat(parent);
	pid = BPF_CORE_READ(child, pid);
	if (conf.needs.enter_ns || conf.count_only) {
		struct espy_bpf_enter *enter = bpf_map_lookup_elem(&espy_enters, &pid);

		if (enter)
			enter->ns = 0;
	}
	speak_up(parent);
	if (conf.mode == ESPY_BPF_MODE_BITS || conf.needs.comms)
		pid_set(pid);
	rec = TASK_RESERVE(sizeof(*rec));
	if (!rec) {
		ring_full();
		return 0;
	}
	head(&rec->rec, sizeof(*rec), ESPY_REC_FORK, parent);
	rec->child_tid = pid;
	rec->child_tgid = BPF_CORE_READ(child, tgid);
	flags |= SHARE_VM * SAME_MEMBER(child, parent, mm);
	flags |= SHARE_FS * SAME_MEMBER(child, parent, fs);
	flags |= SHARE_FILES * SAME_MEMBER(child, parent, files);
	flags |= SHARE_SIGHAND * SAME_MEMBER(child, parent, sighand);
	thread = same(rec->child_tgid, (u32)parent->tgid);
	flags |= SHARE_THREAD * thread;
	flags |= SHARE_PARENT * ((thread | same((u32)BPF_CORE_READ(child, real_parent, pid), (u32)parent->tgid)) ^ 1);
	exit_signal = BPF_CORE_READ(child, exit_signal);
	rec->clone_flags = flags | (exit_signal > 0 ? exit_signal : 0);
	out_submit(rec);
	if (conf.needs.comms)
		send_pid_numbers(child, pid, BPF_CORE_READ(child, tgid));
	wake_reader();
	return 0;
}

/* Stops watching a task after the exec of an image that the user may not trace. User space is told, and says so. */
static __always_inline void let_go(struct task_struct *task)
{
	struct espy_rec *rec = TASK_RESERVE(sizeof(*rec));

	pid_clear(task->pid);
	__sync_fetch_and_add(&shared.not_allowed, 1);
	if (rec) {
		head(rec, sizeof(*rec), ESPY_REC_DETACHED, task);
		rec->nr = ESPY_DETACHED_RIGHTS;
		out_submit(rec);
	} else {
		ring_full();
	}
	wake_now();
}

/* Tells the descriptors of the new image: exec has closed some, and no call tells it. */
static __always_inline void send_open_fds(struct task_struct *task)
{
	struct {
		struct espy_rec_fact f;
		u64 bits[ESPY_OPEN_FD_WORDS];
	} *rec = OUT_RESERVE(sizeof(*rec), sizeof(*rec));
	struct fdtable *fdt;
	u64 size;

	/* At once: the verifier of 6.1 takes a record that it has seen to be there for NULL again if calls lie between. */
	if (!rec) {
		ring_full();
		return;
	}
	for (u32 i = 0; i < ESPY_OPEN_FD_WORDS; i++)
		rec->bits[i] = 0;
	fdt = BPF_CORE_READ(task, files, fdt);
	size = BPF_CORE_READ(fdt, max_fds) / 8;
	CLAMP(size, ESPY_OPEN_FD_WORDS * 8);
	bpf_probe_read_kernel(rec->bits, size, BPF_CORE_READ(fdt, open_fds));
	head(&rec->f.rec, sizeof(*rec), ESPY_REC_FACT, task);
	rec->f.kind = ESPY_FACT_OPEN_FD_BITS;
	rec->f.arg = 0;
	rec->f.len = sizeof(rec->bits);
	rec->f.reserved = 0;
	out_submit(rec);
}

/*
 * task_rename(task, new name). A call that gives its own task another name is shown with the old one, as it was when it
 * began; if the call is not recorded the name is true at once.
 */
SEC("espy/at/task_rename")
int espy_rename(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0], *self = bpf_get_current_task_btf();
	u32 tid = BPF_CORE_READ(task, pid), tgid = BPF_CORE_READ(task, tgid), flags = 0;

	if (!watched_other(task, tid, tgid) && tid != shared.start_pid)
		return 0;
	if (conf.mode != ESPY_BPF_MODE_BITS)
		pid_set(tid);
	if (tid == (u32)self->pid) {
		u64 nr = call_nr((struct pt_regs *)bpf_task_pt_regs(self));

		if (nr < ESPY_BPF_NRS && shared.fast[nr].shape != ESPY_SHAPE_SKIP)
			flags = ESPY_FACT_AFTER_ARGS;
	}
	send_comm(tid, tgid, (const char *)ctx[1], flags);
	return 0;
}

#define FILENAME_MAX_SZ 4096

SEC("espy/at/sched_process_exec")
int espy_exec(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const char *filename = BPF_CORE_READ((struct linux_binprm *)ctx[2], filename);
	u32 old = (u32)ctx[1], pid = task->pid;
	struct espy_rec_exec *rec;
	s64 n;

	if (conf.mode == ESPY_BPF_MODE_BITS) {
		if (old != pid && pid_bit(old)) {
			/* A thread that is not the leader takes over the leader's id. The leader's bit went with it. */
			pid_set(pid);
			pid_clear(old);
		} else if (pid == shared.start_pid) {
			shared.start_pid = 0;
			pid_set(pid);
		}
	}
	if (!watched_current(task))
		return 0;
	if (conf.user.borrowed && !may_trace_image(task, (struct linux_binprm *)ctx[2])) {
		let_go(task);
		return 0;
	}
	if (conf.guard_compat) {
		u8 *mark = mark_of(pid);

		if (mark && *mark == ESPY_MARK_UNWATCHED)
			say_missed(pid); /* the image that goes */
		if (IS_COMPAT(task)) {
			/* Before the look at `handed`: user space writes that first and then reads this. */
			__sync_fetch_and_or(&shared.compat_seen, 1);
			if (mark && conf.narrow && shared.handed && !shared.all_back && !shared.guarded)
				*mark = ESPY_MARK_UNWATCHED;
		} else if (mark && *mark == ESPY_MARK_UNWATCHED) {
			*mark = ESPY_MARK_NONE;
		}
	}
	speak_up(task);
	if (conf.needs.comms && old != pid) /* its new name came before its new number */
		send_comm(pid, task->tgid, task->comm, 0);
	if (conf.needs.fds)
		send_open_fds(task);
	/* Most names are short; the long class is for the others only. */
	rec = TASK_RESERVE(sizeof(*rec) + 256);
	if (!rec) {
		ring_full();
		return 0;
	}
	n = bpf_probe_read_kernel_str(rec + 1, 256, filename);
	if (n == 256) {
		out_discard(rec);
		rec = TASK_RESERVE(sizeof(*rec) + FILENAME_MAX_SZ);
		if (!rec) {
			ring_full();
			return 0;
		}
		n = bpf_probe_read_kernel_str(rec + 1, FILENAME_MAX_SZ, filename);
	}
	if (n < 0)
		n = 0;
	head(&rec->rec, sizeof(*rec) + ROUND8(n), ESPY_REC_EXEC, task);
	rec->old_tid = old == pid ? 0 : old;
	rec->filename_sz = n;
	out_submit_short(rec, sizeof(*rec) + ROUND8(n));
	wake_reader();
	return 0;
}

static __always_inline void send_stopped(struct task_struct *task, u32 sig)
{
	struct espy_rec *rec = OUT_RESERVE(sizeof(*rec), sizeof(*rec));

	if (!rec) {
		ring_full();
		return;
	}
	head(rec, sizeof(*rec), ESPY_REC_STOPPED, task);
	rec->nr = sig;
	out_submit(rec);
}

static __always_inline struct espy_rec_signal *signal_record(u32 tid, u32 tgid, u32 sig)
{
	struct espy_rec_signal *rec = OUT_RESERVE(sizeof(*rec), sizeof(*rec));

	if (!rec) {
		ring_full();
		return NULL;
	}
	head_of(&rec->rec, sizeof(*rec), ESPY_REC_SIGNAL, tid, tgid);
	rec->rec.nr = sig;
	rec->info_sz = sizeof(rec->info);
	rec->reserved = 0;
	rec->ip = 0;
	for (u32 i = 0; i < sizeof(rec->info) / 8; i++)
		((u64 *)rec->info)[i] = 0;
	return rec;
}

static __always_inline u64 ip_of(struct task_struct *task)
{
	return conf.needs.ip ? ((const struct pt_regs *)bpf_task_pt_regs(task))->ip : 0;
}

SEC("espy/at/signal_deliver")
int espy_signal(u64 *ctx)
{
	u32 sig = (u32)ctx[0];
	struct kernel_siginfo *info = (void *)ctx[1];
	struct k_sigaction *action = (void *)ctx[2];
	struct task_struct *task = bpf_get_current_task_btf();
	struct espy_rec_signal *rec;

	/* The kernel delivers SIGKILL to no task: the end of the task tells it. */
	if (sig == SIG_KILL || !watched_current(task))
		return 0;
	look_for_compat(task);
	note_probe_signal(task);
	speak_up(task);
	rec = signal_record(task->pid, task->tgid, sig);
	if (rec) {
		bpf_probe_read_kernel(rec->info, ESPY_BPF_SIGINFO, info);
		rec->ip = ip_of(task);
		out_submit(rec);
	}
	if (SIG_IS_STOP(sig) && !BPF_CORE_READ(action, sa.sa_handler))
		send_stopped(task, sig);
	wake_reader();
	return 0;
}

/* The first bytes of a siginfo_t. The kernel gives 0 or 1 in place of a pointer: sent by a program, or by itself. */
static __always_inline void copy_siginfo(u8 *to, u32 sig, u64 info)
{
	u32 *to32 = (u32 *)to;

	if (info > 1) {
		bpf_probe_read_kernel(to, ESPY_BPF_SIGINFO, (void *)info);
		return;
	}
	to32[0] = sig; /* si_signo, si_errno, si_code, (padding,) si_pid */
	to32[2] = info ? 0x80 /* SI_KERNEL */ : 0 /* SI_USER */;
	if (!info) {
		struct task_struct *sender = bpf_get_current_task_btf();

		to32[4] = sender->tgid;
	}
}

/*
 * Tells signals that are sent and never delivered: ignored signals at once. A signal that ends the process is kept
 * until the process ends. Runs with locks held, also in interrupts.
 */
SEC("espy/at/signal_generate")
int espy_signal_sent(u64 *ctx)
{
	u32 sig = (u32)ctx[0], result = (u32)ctx[4];
	struct task_struct *target = (void *)ctx[2];
	u32 tid = BPF_CORE_READ(target, pid), tgid = BPF_CORE_READ(target, tgid);
	bool dying;

	if (sig == SIG_KILL || !watched_other(target, tid, tgid))
		return 0;
	dying = BPF_CORE_READ(target, signal, flags) & SIGNAL_GROUP_EXIT;
	if (result == TRACE_SIGNAL_IGNORED && !dying) {
		struct espy_rec_signal *rec = signal_record(tid, tgid, sig);

		if (!rec)
			return 0;
		rec->rec.flags = ESPY_SIG_IGNORED;
		copy_siginfo(rec->info, sig, ctx[1]);
		out_submit(rec);
		wake_reader();
	} else if (result == TRACE_SIGNAL_DELIVERED && dying &&
		   (BPF_CORE_READ(target, signal, group_exit_code) & 0x7f) == (int)sig) {
		struct espy_bpf_fatal fatal = { .sig = sig };

		copy_siginfo(fatal.info, sig, ctx[1]);
		bpf_map_update_elem(&espy_fatals, &tid, &fatal, 0);
	}
	return 0;
}

/* A 32-bit exit that was counted as missing is recorded here. */
static __always_inline void exit_of_compat(struct task_struct *task)
{
	u8 *mark = conf.guard_compat && shared.guarded ? mark_of(task->pid) : NULL;
	struct espy_bpf_call *call;
	u32 id;

	if (!mark || *mark != ESPY_MARK_UNWATCHED)
		return;
	*mark = ESPY_MARK_NONE;
	id = compat_call(task);
	call = bpf_map_lookup_elem(&espy_calls, &id);
	if (call && call->flags & ESPY_CALL_NO_RETURN)
		__sync_fetch_and_add(&shared.missed_calls, -1);
}

SEC("espy/at/sched_process_exit")
int espy_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct espy_rec_task_exit *rec;
	struct espy_bpf_fatal *fatal;
	u32 pid = task->pid;

	if (!watched_current(task))
		return 0;
	look_for_compat(task);
	exit_of_compat(task);
	speak_up(task);
	if (conf.tally_cnt)
		tally_exit(task, (struct pt_regs *)bpf_task_pt_regs(task), 0, true);
	else
		general_exit(task, (struct pt_regs *)bpf_task_pt_regs(task), 0, true);
	fatal = bpf_map_lookup_elem(&espy_fatals, &pid);
	if (fatal && (task->exit_code & 0x7f) != SIG_KILL) {
		struct espy_rec_signal *signal = signal_record(pid, task->tgid, fatal->sig);

		if (signal) {
			__builtin_memcpy(signal->info, fatal->info, ESPY_BPF_SIGINFO);
			signal->ip = ip_of(task);
			out_submit(signal);
		}
	}
	if (fatal)
		bpf_map_delete_elem(&espy_fatals, &pid);
	rec = TASK_RESERVE(sizeof(*rec));
	if (rec) {
		head(&rec->rec, sizeof(*rec), ESPY_REC_TASK_EXIT, task);
		rec->status = task->exit_code & 0xffff;
		rec->group_dead = BPF_CORE_READ(task, signal, live.counter) == 0;
		out_submit(rec);
	} else {
		ring_full();
	}
	if (conf.mode == ESPY_BPF_MODE_BITS || conf.needs.comms)
		pid_clear(task->pid);
	if (conf.rings.flight && conf.mode == ESPY_BPF_MODE_BITS && !shared.live)
		wake_now(); /* so that the reader notices the end */
	wake_reader();
	return 0;
}

#endif

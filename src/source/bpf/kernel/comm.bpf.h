/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of tasks. The programs tell a name when a watched task gets it: by exec, prctl or a write to /proc/PID/comm.
 * Of a task that ran before espy they tell the name when they see the task first. A child has its parent's name.
 */
#ifndef ESPY_COMM_BPF_H
#define ESPY_COMM_BPF_H

#include "out.bpf.h"

#define COMM_SZ 16u

static __always_inline void send_comm(u32 tid, u32 tgid, const char *comm, u32 flags)
{
	struct {
		struct espy_rec_fact f;
		char name[COMM_SZ];
	} *rec = OUT_RESERVE(sizeof(*rec), sizeof(*rec));
	s64 len;

	if (!rec) {
		ring_full();
		return;
	}
	((u64 *)rec->name)[0] = ((u64 *)rec->name)[1] = 0;
	len = bpf_probe_read_kernel_str(rec->name, COMM_SZ, comm);
	head_of(&rec->f.rec, sizeof(*rec), ESPY_REC_FACT, tid, tgid);
	rec->f.rec.flags = flags;
	rec->f.kind = ESPY_FACT_COMM;
	rec->f.arg = 0;
	rec->f.len = len > 1 ? len - 1 : ESPY_FACT_NO_ANSWER;
	rec->f.reserved = 0;
	out_submit(rec);
}

/* If tasks are not watched one by one, the bit of a task says that its name was told. */
static __always_inline bool nameless(struct task_struct *task)
{
	return conf.needs.comms && conf.mode != ESPY_BPF_MODE_BITS && !pid_bit(task->pid);
}

static __always_inline void tell_comm(struct task_struct *task)
{
	if (!nameless(task))
		return;
	pid_set(task->pid);
	send_comm(task->pid, task->tgid, task->comm, 0);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* Descriptors that a call has made: where they are found. Their names go before its EXIT record. */
#ifndef ESPY_FDMADE_BPF_H
#define ESPY_FDMADE_BPF_H

#include "fddetail.bpf.h"

#define EINPROGRESS 115 /* connect goes on by itself */

static __always_inline void send_new(u32 cpu, u32 fd)
{
	send_name(cpu, fd);
	if (conf.need_fd_details)
		send_detail(cpu, fd);
}

/* The parts of 64-bit struct msghdr and cmsghdr that matter here. */
struct user_msghdr64 {
	u64 name, namelen, iov, iovlen, control, controllen;
};
struct user_cmsghdr64 {
	u64 len;
	u32 level, type;
};
#define SOL_SOCKET_LEVEL 1
#define SCM_RIGHTS_TYPE 1
#define RIGHTS_STEPS 64 /* messages and descriptors that are looked at; the kernel passes up to 253 */

/* Descriptors that a message has brought. After the call the length is of what came. */
__noinline int send_rights(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct user_msghdr64 msg;
	struct user_cmsghdr64 head;
	u64 at, end, fds_end = 0;
	u32 fd;

	if (!s || bpf_probe_read_user(&msg, sizeof(msg), (void *)load_arg(s, s->fds_arg)))
		return 0;
	at = msg.control;
	end = at + msg.controllen;
	for (u32 i = 0; i < RIGHTS_STEPS; i++) {
		if (at < fds_end) {
			if (bpf_probe_read_user(&fd, sizeof(fd), (void *)at))
				break;
			send_new(cpu, fd);
			at += sizeof(fd);
			continue;
		}
		at = (at + 7) & ~7ull;
		if (at + sizeof(head) > end || bpf_probe_read_user(&head, sizeof(head), (void *)at) ||
		    head.len < sizeof(head) || head.len > end - at)
			break;
		if (head.level == SOL_SOCKET_LEVEL && head.type == SCM_RIGHTS_TYPE) {
			fds_end = at + (head.len & ~3ull);
			at += sizeof(head);
		} else {
			at += head.len;
		}
	}
	return 0;
}

#define CLONE_PIDFD 0x1000

/* Where clone and clone3 have put a pidfd for the new process; 0: nowhere. */
static __always_inline u64 pidfd_of_clone(struct espy_bpf_scratch *s)
{
	u64 args[2]; /* the head of struct clone_args: flags, pidfd */

	if (s->fds == ESPY_FDS_CLONE)
		return load_arg(s, 0) & CLONE_PIDFD ? load_arg(s, 2) : 0;
	return bpf_probe_read_user(args, sizeof(args), (void *)load_arg(s, s->fds_arg)) || !(args[0] & CLONE_PIDFD)
		       ? 0
		       : args[1];
}

__noinline int send_from_memory(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	u32 pair[2];
	u64 at;

	if (!s)
		return 0;
	if (s->fds == ESPY_FDS_RIGHTS) {
		send_rights(cpu);
	} else if (s->fds == ESPY_FDS_PAIR) {
		if (bpf_probe_read_user(pair, sizeof(pair), (void *)load_arg(s, s->fds_arg)))
			return 0;
		send_new(cpu, pair[0]);
		send_new(cpu, pair[1]);
	} else {
		at = pidfd_of_clone(s);
		if (at && !bpf_probe_read_user(pair, sizeof(pair[0]), (void *)at))
			send_new(cpu, pair[0]);
	}
	return 0;
}

/* Before the EXIT record of a call that made descriptors, if that is wanted: their names. */
static __always_inline void send_fdnames(struct task_struct *task, const struct pt_regs *regs, s64 ret)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct espy_bpf_scratch *s;

	if ((ret < 0 && ret != -EINPROGRESS) || ret > 0x7fffffff ||
	    (shared.attention && !say_lost(task->pid, task->tgid)))
		return;
	s = scratch_take(cpu);
	if (!s)
		return;
	take_regs(s, task, regs);
	select_plan(cpu);
	if (s->cap.flags & ESPY_CALL_FDS && s->fds == ESPY_FDS_SOCKET)
		send_detail(cpu, load_arg(s, s->fds_arg));
	else if (ret >= 0 && s->cap.flags & ESPY_CALL_RET_FD)
		send_new(cpu, ret);
	else if (ret >= 0 && s->cap.flags & ESPY_CALL_FDS)
		send_from_memory(cpu);
	scratch_give(s);
}

#endif

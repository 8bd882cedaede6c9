/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the descriptors that a call has made. Their names go before its EXIT record. */
#ifndef ESPY_FDMADE_BPF_H
#define ESPY_FDMADE_BPF_H

#include "comm.bpf.h"
#include "fddetail.bpf.h"
#include "paths.bpf.h"

#define EBADF 9
#define EINPROGRESS 115 /* connect goes on by itself */

/* Sends a descriptor that the call at work has made. */
__noinline int send_new(u32 cpu, u32 fd)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct task_struct *task = bpf_get_current_task_btf();
	u64 ino, file = known_file(task, fd, &ino);
	u32 flags = 0;
	bool wanted;

	if (!s || !file)
		return 0;
	wanted = s->cap.flags & ESPY_CALL_WANTED;
	if (!send_name(cpu, fd, file, wanted ? 0 : ESPY_FDNAME_ALONE))
		flags = NOT_TOLD;
	if (conf.needs.details)
		flags |= send_detail(cpu, fd, file, wanted ? ESPY_FACT_AFTER_NAMES : 0);
	if (!(flags & NOT_TOLD))
		*known_word(task->tgid, fd) = known_as(task->tgid, fd, file, ino) | flags;
	return 0;
}

/* Sends what a socket is since the call at work, and remembers it as told. */
__noinline int send_socket(u32 cpu, u32 fd, u32 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 ino, file = known_file(task, fd, &ino);

	if (!file)
		return 0;
	flags = send_detail(cpu, fd, file, flags);
	if (!(flags & NOT_TOLD))
		*known_word(task->tgid, fd) = known_as(task->tgid, fd, file, ino) | flags;
	return 0;
}

/*
 * Sends a descriptor that the call at work has used, unless the stream knows it. If only the address of a socket has
 * changed, the fact takes effect behind the call's arguments.
 */
__noinline int send_used(u32 cpu, u32 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 ino, file = known_file(task, fd, &ino), whole, was;
	u32 flags = 0;

	if (!file)
		return 0;
	was = *known_word(task->tgid, fd);
	whole = known_as(task->tgid, fd, file, ino);
	if ((was & ~KNOWN_NETLINK) == whole)
		return 0;
	if (!conf.needs.fds) {
		flags = send_netlink(cpu, fd, file, was, whole);
	} else if ((was & ~KNOWN_FLAGS) == whole) {
		flags = send_detail(cpu, fd, file, ESPY_FACT_AFTER_ARGS);
	} else {
		if (!send_name(cpu, fd, file, ESPY_FDNAME_ALONE))
			flags = NOT_TOLD;
		if (conf.needs.details)
			flags |= send_detail(cpu, fd, file, 0);
	}
	if (!(flags & NOT_TOLD))
		*known_word(task->tgid, fd) = whole | flags;
	return 0;
}

__noinline int send_args(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);

	if (!s)
		return 0;
	for (u32 i = 0; i < ESPY_MAX_ARGS; i++)
		/* The second argument of dup2 is the descriptor that the call has made. */
		if (s->fd_args >> i & 1 && !(s->cap.flags & ESPY_CALL_RET_FD && (u32)load_arg(s, i) == (u32)s->ret))
			send_used(cpu, load_arg(s, i));
	return 0;
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
/* Steps over messages and descriptors: the kernel passes up to 253 descriptors. */
#define RIGHTS_STEPS 256

/* Sends one descriptor, or reads the head of one control message. Returns non-zero at the end. */
__noinline int right_step(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct user_cmsghdr64 head;
	u64 at;
	u32 fd;

	if (!s)
		return 1;
	at = s->message_at;
	if (at < s->rights_end) {
		s->message_at = at + sizeof(fd);
		if (bpf_probe_read_user(&fd, sizeof(fd), (void *)at))
			return 1;
		send_new(cpu, fd);
		return 0;
	}
	at = (at + 7) & ~7ull;
	if (at + sizeof(head) > s->message_end || bpf_probe_read_user(&head, sizeof(head), (void *)at) ||
	    head.len < sizeof(head) || head.len > s->message_end - at)
		return 1;
	if (head.level == SOL_SOCKET_LEVEL && head.type == SCM_RIGHTS_TYPE) {
		s->rights_end = at + (head.len & ~3ull);
		at += sizeof(head);
	} else {
		at += head.len;
	}
	s->message_at = at;
	return 0;
}

/*
 * Sends the descriptors that a message has brought: the kernel has set its length. Inline: calls nest eight deep at
 * most.
 */
static __always_inline void send_rights(struct espy_bpf_scratch *s, u32 cpu)
{
	struct user_msghdr64 msg;

	if (bpf_probe_read_user(&msg, sizeof(msg), (void *)load_arg(s, s->fds_arg)))
		return;
	s->message_at = msg.control;
	s->message_end = msg.control + msg.controllen;
	s->rights_end = 0;
#pragma unroll 4 /* fewer instructions a step for the verifier, which follows each */
	for (u32 i = 0; i < RIGHTS_STEPS; i++)
		if (right_step(cpu))
			break;
}

#define CLONE_PIDFD 0x1000

/* Returns the address at which clone or clone3 has put a pidfd for the new process; 0: none. */
static __always_inline u64 pidfd_of_clone(struct espy_bpf_scratch *s)
{
	u64 args[2]; /* the head of struct clone_args: flags, pidfd */

	if (s->fds == ESPY_FDS_CLONE)
		return load_arg(s, ESPY_EFFECT_A(s->fds_arg)) & CLONE_PIDFD ? load_arg(s, ESPY_EFFECT_B(s->fds_arg)) : 0;
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
		send_rights(s, cpu);
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

/* Sends the descriptors, the working directory or the fact that the call has made. */
static __always_inline void send_made(struct espy_bpf_scratch *s, u32 cpu)
{
	const u32 flags = s->cap.flags;

	if (flags & ESPY_CALL_FDS && s->fds == ESPY_FDS_SOCKET)
		send_socket(cpu, load_arg(s, s->fds_arg), flags & ESPY_CALL_WANTED ? ESPY_FACT_AFTER_NAMES : 0);
	else if (flags & ESPY_CALL_FDS && s->fds == ESPY_FDS_CWD)
		send_name(cpu, CWD, 0, flags & ESPY_CALL_WANTED ? 0 : ESPY_FDNAME_ALONE);
	else if (s->ret >= 0 && flags & ESPY_CALL_RET_FD)
		send_new(cpu, s->ret);
	else if (s->ret >= 0 && flags & ESPY_CALL_FDS)
		send_from_memory(cpu);
}

/*
 * Sends, before the EXIT record of a call, the descriptors that it has used and made. Returns false if the call
 * touches no wanted path.
 */
static __always_inline bool send_fdnames(struct task_struct *task, const struct pt_regs *regs, s64 ret)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct espy_bpf_scratch *s;
	bool made;

	tell_comm(task);
	made = conf.needs.fds && (ret >= 0 || ret == -EINPROGRESS) && ret <= 0x7fffffff;

	if ((ret == -EBADF && !conf.paths.cnt) || (shared.attention && !say_lost(task->pid, task->tgid)))
		return true;
	s = scratch_take(cpu);
	if (!s)
		return true;
	take_regs(s, task, regs);
	s->ret = ret;
	select_plan(cpu);
	if (conf.paths.cnt && !call_touches(cpu)) {
		if (s->cap.flags & ESPY_CALL_WANTED)
			__sync_fetch_and_add(&shared.off_paths, 1);
		/* Relative paths of later calls begin there. */
		if (made && s->cap.flags & ESPY_CALL_FDS && s->fds == ESPY_FDS_CWD)
			send_name(cpu, CWD, 0, ESPY_FDNAME_ALONE);
		scratch_give(s);
		return false;
	}
	if (s->fd_args && s->cap.flags & ESPY_CALL_WANTED && ret != -EBADF)
		send_args(cpu);
	if (made)
		send_made(s, cpu);
	scratch_give(s);
	return true;
}

#endif

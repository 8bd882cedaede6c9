/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Facts of -yy about a descriptor that only the kernel knows: its socket, or the process of a pidfd. The programs take
 * them when they become true: the program may have ended before espy can ask.
 */
#ifndef ESPY_FDDETAIL_BPF_H
#define ESPY_FDDETAIL_BPF_H

#include "fdname.bpf.h"

enum { FAMILY_UNIX = 1, FAMILY_INET = 2, FAMILY_INET6 = 10, FAMILY_NETLINK = 16 }; /* AF_* */
enum { PROTOCOL_TCP = 6, PROTOCOL_UDP = 17, PROTOCOL_UDPLITE = 136 };		      /* IPPROTO_* */

static __always_inline void take_unix(struct espy_fact_socket *to, struct sock *sk)
{
	struct unix_sock *unix = (struct unix_sock *)sk;
	struct unix_address *addr;
	struct sock *peer;
	u32 len;

	if (!bpf_core_type_exists(struct unix_sock))
		return; /* AF_UNIX is a module: its types are not in the kernel's BTF */
	peer = BPF_CORE_READ(unix, peer);
	if (peer) {
		struct socket_alloc *end = (struct socket_alloc *)BPF_CORE_READ(peer, sk_socket);

		if (end)
			to->peer = BPF_CORE_READ(end, vfs_inode.i_ino);
	}
	addr = BPF_CORE_READ(unix, addr);
	if (!addr)
		return;
	len = BPF_CORE_READ(addr, len) - sizeof(struct sockaddr_un); /* of sun_path */
	if (len > sizeof(to->name))
		return;
	to->name_sz = len;
	bpf_probe_read_kernel(to->name, len, __builtin_preserve_access_index(&addr->name[0]) + 1);
}

static __always_inline void take_inet(struct espy_fact_socket *to, struct sock *sk)
{
	to->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	to->remote_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (to->family == FAMILY_INET) {
		*(u32 *)to->local = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
		*(u32 *)to->remote = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	} else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		bpf_probe_read_kernel(to->local, 16,
				      __builtin_preserve_access_index(&sk->__sk_common.skc_v6_rcv_saddr));
		bpf_probe_read_kernel(to->remote, 16, __builtin_preserve_access_index(&sk->__sk_common.skc_v6_daddr));
	}
}

static __always_inline void take_socket(struct espy_fact_socket *to, u64 file)
{
	struct socket *socket = (struct socket *)KERNEL_WORD(file, struct file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);

	to->ino = ino_of(file);
	to->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	to->protocol = BPF_CORE_READ(sk, sk_protocol);
	/* The entry in the directory of all sockets bears the name of the protocol. */
	bpf_probe_read_kernel_str(to->proto, sizeof(to->proto),
				  (void *)KERNEL_WORD(dentry_of(file), struct dentry, d_name.name));
	if (to->family == FAMILY_UNIX)
		take_unix(to, sk);
	else if (to->family == FAMILY_NETLINK && bpf_core_type_exists(struct netlink_sock))
		to->peer = BPF_CORE_READ((struct netlink_sock *)sk, portid);
	else if (to->family == FAMILY_INET || to->family == FAMILY_INET6)
		take_inet(to, sk);
}

/* The first eight bytes of the name of an anonymous file: "[pidfd]", "[eventfd]". */
static __always_inline u64 anon_name(u64 file)
{
	return kernel_word(KERNEL_WORD(dentry_of(file), struct dentry, d_name.name));
}

/* The struct pid behind a pidfd: of pidfs (Linux 6.9) in the inode, before in the file. NULL: it is something else. */
static __always_inline struct pid *pid_behind(u64 file, u64 magic)
{
	if (magic == MAGIC_PIDFD)
		return (struct pid *)KERNEL_WORD(KERNEL_WORD(file, struct file, f_inode), struct inode, i_private);
	if (anon_name(file) != *(const u64 *)"[pidfd]")
		return NULL;
	return (struct pid *)KERNEL_WORD(file, struct file, private_data);
}

/* Tells whether a later call will give the socket its address (KNOWN_UNBOUND). */
static __always_inline u64 unbound(const struct espy_fact_socket *socket)
{
	if (socket->family == FAMILY_NETLINK)
		return !socket->peer;
	return (socket->family == FAMILY_INET || socket->family == FAMILY_INET6) && !socket->local_port &&
	       (socket->protocol == PROTOCOL_TCP || socket->protocol == PROTOCOL_UDP ||
		socket->protocol == PROTOCOL_UDPLITE);
}

#define EFD_SEMAPHORE 1u /* <linux/eventfd.h> */
#define NOT_TOLD 8 /* no flag of a known word */

/*
 * Sends the fact of the file behind a descriptor beyond its name. flags: of the record. Returns the flags for its known
 * word, or NOT_TOLD.
 */
__noinline int send_detail(u32 cpu, u32 fd, u64 file, u32 flags)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct task_struct *task;
	struct {
		struct espy_rec_fact f;
		union {
			struct espy_fact_socket socket;
			struct espy_fact_eventfd eventfd;
			u64 signals;
			u32 pid;
		};
	} * rec;
	u64 magic, size = sizeof(*rec);
	u32 known = 0;

	if (!s || !file)
		return 0;
	magic = magic_of(file);
	if (magic != MAGIC_SOCK && magic != MAGIC_PIDFD && magic != MAGIC_ANON)
		return 0;
	rec = (void *)ITEMS(s);
	__builtin_memset(rec, 0, sizeof(*rec));
	if (magic == MAGIC_SOCK) {
		rec->f.kind = ESPY_FACT_SOCKET;
		rec->f.len = sizeof(rec->socket);
		take_socket(&rec->socket, file);
		known = unbound(&rec->socket) ? KNOWN_UNBOUND : 0;
		if (rec->socket.family == FAMILY_NETLINK)
			known |= KNOWN_NETLINK;
	} else if (magic == MAGIC_ANON && anon_name(file) == *(const u64 *)"[eventfd" &&
		   bpf_core_type_exists(struct eventfd_ctx)) {
		const struct eventfd_ctx *e = (void *)KERNEL_WORD(file, struct file, private_data);

		rec->f.kind = ESPY_FACT_EVENTFD;
		rec->f.len = sizeof(rec->eventfd);
		rec->eventfd.count = BPF_CORE_READ(e, count);
		rec->eventfd.id = BPF_CORE_READ(e, id);
		rec->eventfd.semaphore = BPF_CORE_READ(e, flags) & EFD_SEMAPHORE;
		size = sizeof(rec->f) + sizeof(rec->eventfd);
		known = KNOWN_UNBOUND; /* calls change it */
	} else if (magic == MAGIC_ANON && anon_name(file) == *(const u64 *)"[signalf" &&
		   bpf_core_type_exists(struct signalfd_ctx)) {
		const struct signalfd_ctx *s = (void *)KERNEL_WORD(file, struct file, private_data);

		rec->f.kind = ESPY_FACT_SIGNALFD;
		rec->f.len = sizeof(rec->signals);
		rec->signals = ~BPF_CORE_READ(s, sigmask.sig[0]);
		size = sizeof(rec->f) + sizeof(rec->signals);
		known = KNOWN_UNBOUND;
	} else {
		struct pid *pid = pid_behind(file, magic);

		if (!pid)
			return 0;
		rec->f.kind = ESPY_FACT_PIDFD;
		rec->f.len = sizeof(rec->pid);
		rec->pid = BPF_CORE_READ(pid, numbers[0].nr);
		size = sizeof(rec->f) + 8;
	}
	task = bpf_get_current_task_btf();
	head_timed(&rec->f.rec, size, ESPY_REC_FACT, told_tid(task), task->tgid, time_before_copy());
	rec->f.rec.flags = flags;
	rec->f.arg = fd;
	if (out_copy(&rec->f.rec, size)) {
		ring_full();
		return NOT_TOLD;
	}
	return known;
}

/*
 * Sends whether the descriptor is a netlink socket, and its protocol. was: the known word before. That it is none must
 * be told only if it may have been one.
 */
__noinline int send_netlink(u32 cpu, u32 fd, u64 file, u64 was, u64 whose)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct task_struct *task = bpf_get_current_task_btf();
	struct {
		struct espy_rec_fact f;
		u64 protocol;
	} * rec;
	u64 size = sizeof(rec->f);
	u32 known = 0;

	if (!s || !file)
		return 0;
	rec = (void *)ITEMS(s);
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->f.len = ESPY_FACT_NO_ANSWER;
	if (magic_of(file) == MAGIC_SOCK) {
		struct socket *socket = (struct socket *)KERNEL_WORD(file, struct file, private_data);
		struct sock *sk = BPF_CORE_READ(socket, sk);

		if (BPF_CORE_READ(sk, __sk_common.skc_family) == FAMILY_NETLINK) {
			rec->f.len = sizeof(u32);
			rec->protocol = BPF_CORE_READ(sk, sk_protocol);
			size += sizeof(rec->protocol);
			known = KNOWN_NETLINK;
		}
	}
	if (!known && KNOWN_WHOSE(was) == KNOWN_WHOSE(whose) && !(was & KNOWN_NETLINK))
		return 0;
	head_timed(&rec->f.rec, size, ESPY_REC_FACT, told_tid(task), task->tgid, time_before_copy());
	rec->f.kind = ESPY_FACT_NETLINK;
	rec->f.arg = fd;
	if (out_copy(&rec->f.rec, size)) {
		ring_full();
		return NOT_TOLD;
	}
	return known;
}

#endif

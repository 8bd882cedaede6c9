/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What -yy says of a descriptor beyond its name, and only the kernel knows: which socket it is, and which process a
 * pidfd stands for. Taken where it comes to be true, for the program may have ended before anyone can ask.
 */
#ifndef ESPY_FDDETAIL_BPF_H
#define ESPY_FDDETAIL_BPF_H

#include "fdname.bpf.h"

enum { FAMILY_UNIX = 1, FAMILY_INET = 2, FAMILY_INET6 = 10, FAMILY_NETLINK = 16 }; /* AF_* */

static __always_inline void take_unix(struct espy_fact_socket *to, struct sock *sk)
{
	struct unix_sock *unix = (struct unix_sock *)sk;
	struct unix_address *addr;
	struct sock *peer;
	u32 len;

	if (!bpf_core_type_exists(struct unix_sock))
		return; /* AF_UNIX is a module, whose types are not with those of the kernel */
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

static __always_inline void take_socket(struct espy_fact_socket *to, struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);

	to->ino = BPF_CORE_READ(file, f_inode, i_ino);
	to->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	to->protocol = BPF_CORE_READ(sk, sk_protocol);
	/* The entry in the directory of all sockets bears the name of the protocol. */
	bpf_probe_read_kernel_str(to->proto, sizeof(to->proto), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	if (to->family == FAMILY_UNIX)
		take_unix(to, sk);
	else if (to->family == FAMILY_NETLINK && bpf_core_type_exists(struct netlink_sock))
		to->peer = BPF_CORE_READ((struct netlink_sock *)sk, portid);
	else if (to->family == FAMILY_INET || to->family == FAMILY_INET6)
		take_inet(to, sk);
}

/* The struct pid behind a pidfd: of pidfs (Linux 6.9) in the inode, before in the file. NULL: it is something else. */
static __always_inline struct pid *pid_behind(struct file *file, u64 magic)
{
	u64 name = 0;

	if (magic == MAGIC_PIDFD)
		return BPF_CORE_READ(file, f_inode, i_private);
	bpf_probe_read_kernel(&name, sizeof(name), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	return name == *(const u64 *)"[pidfd]" ? BPF_CORE_READ(file, private_data) : NULL;
}

__noinline int send_detail(u32 cpu, u32 fd)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct task_struct *task = bpf_get_current_task_btf();
	struct file *file = file_of(fd);
	struct {
		struct espy_rec_fact f;
		union {
			struct espy_fact_socket socket;
			u32 pid;
		};
	} * rec;
	u64 magic, size = sizeof(*rec);

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
	} else {
		struct pid *pid = pid_behind(file, magic);

		if (!pid)
			return 0;
		rec->f.kind = ESPY_FACT_PIDFD;
		rec->f.len = sizeof(rec->pid);
		rec->pid = BPF_CORE_READ(pid, numbers[0].nr);
		size = sizeof(rec->f) + 8;
	}
	head_timed(&rec->f.rec, size, ESPY_REC_FACT, task->pid, task->tgid, time_before_copy());
	if (s->cap.flags & ESPY_CALL_WANTED)
		rec->f.rec.flags = ESPY_FACT_AFTER_NAMES;
	rec->f.arg = fd;
	if (out_copy(&rec->f.rec, size))
		ring_full();
	return 0;
}

#endif

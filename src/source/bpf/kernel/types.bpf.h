/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few kernel types that the BPF programs read, by CO-RE: the loader takes field offsets from the running
 * kernel's BTF, so only names and types matter here, not order or size. The list is kept by hand instead of a dump of
 * one kernel: it shows all that the programs use. A new struct goes into btf.c too.
 */
#ifndef ESPY_TYPES_BPF_H
#define ESPY_TYPES_BPF_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef signed short __s16;
typedef unsigned int __u32;
typedef signed int __s32;
typedef unsigned long long __u64;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

/* Numbers of the kernel's BPF interface (uapi/linux/bpf.h). */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_F_NO_PREALLOC = 1, BPF_F_MMAPABLE = 1 << 10 };
enum { BPF_NOEXIST = 1 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2, BPF_RB_AVAIL_DATA = 0, BPF_RB_PROD_POS = 3 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };

#include "arch/machine_regs.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	unsigned long sig[1];
} sigset_t;

struct sigpending {
	sigset_t signal;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
	u32 flags;
	int group_exit_code;
};

struct sched_entity {
	u64 sum_exec_runtime;
	u64 exec_start;
};

struct qstr {
	u32 len;
	const unsigned char *name;
};

struct super_block {
	unsigned long s_magic;
	u32 s_dev;
};

struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
	void *i_private;
};

struct proc_ns_operations {
	const char *name;
};

struct hlist_bl_node {
	struct hlist_bl_node **pprev;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	struct super_block *d_sb;
	struct hlist_bl_node d_hash;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
	void *private_data;
};

struct kiocb {
	long long ki_pos;
};

struct sock_common {
	u32 skc_daddr, skc_rcv_saddr;
	u16 skc_dport, skc_num, skc_family;
	struct {
		u8 bytes[16];
	} skc_v6_daddr, skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	struct socket *sk_socket;
	u16 sk_protocol;
};

struct socket {
	struct sock *sk;
};

struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};

struct sockaddr_un {
	u16 sun_family;
};

struct unix_address {
	int len; /* of name */
	struct sockaddr_un name[1];
};

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

struct eventfd_ctx {
	u64 count;
	unsigned int flags;
	int id;
};

struct signalfd_ctx {
	sigset_t sigmask; /* the signals that it leaves to others */
};

struct ns_common {
	const struct proc_ns_operations *ops;
	u32 inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct netlink_sock {
	u32 portid;
};

struct fdtable {
	u32 max_fds;
	struct file **fd;
	unsigned long *open_fds;
};

struct files_struct {
	struct fdtable *fdt;
};

struct fs_struct {
	struct path root, pwd;
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
};

/* 6.1 and later keep pointers to the ancestors, earlier kernels their ids. */
struct cgroup___ptrs {
	struct cgroup *ancestors[1];
};
struct cgroup___ids {
	u64 ancestor_ids[1];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct user_namespace {
	struct ns_common ns;
};

typedef struct {
	u32 val;
} kuid_t;
typedef struct {
	u32 val;
} kgid_t;
typedef struct {
	u64 bits; /* the kernel's member has had two names and two types; all are 8 bytes */
} kernel_cap_t;

struct cred {
	kuid_t uid, suid, euid;
	kgid_t gid, sgid, egid;
	kernel_cap_t cap_permitted;
	struct user_namespace *user_ns;
};

/* The pages of code that the kernel puts into a process for probes. */
struct xol_area {
	unsigned long vaddr;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct uprobe_trampoline {
	struct hlist_node node;
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
	struct hlist_head head_tramps;
};

struct mm_struct {
	unsigned long start_stack;
	struct uprobes_state uprobes_state;
};

struct task_struct {
	struct thread_info thread_info;
	struct sched_entity se;
	struct mm_struct *mm;
	unsigned int flags;
	int exit_code, exit_signal;
	int pid, tgid;
	struct pid *thread_pid;
	struct task_struct *real_parent;
	const struct cred *cred;
	struct fs_struct *fs;
	struct files_struct *files;
	struct signal_struct *signal;
	struct sighand_struct *sighand;
	sigset_t blocked;
	struct sigpending pending;
	struct css_set *cgroups;
	char comm[16];
	unsigned int ptrace;
	unsigned int policy;
	unsigned long jobctl;
	struct thread_struct thread;
};

struct io_ring_ctx {
	unsigned int flags;
	unsigned int cached_sq_head, sq_entries;
	u32 *sq_array;
	void *sq_sqes;
};

struct io_kiocb {
	u8 opcode;
	struct io_ring_ctx *ctx;
};

struct io_uring_cqe {
	u64 user_data;
	s32 res;
	u32 flags;
};

struct kernel_siginfo {
	int si_signo;
};

struct sigaction {
	void *sa_handler;
};

struct k_sigaction {
	struct sigaction sa;
};

struct linux_binprm {
	const char *filename, *interp, *fdpath;
	unsigned long exec;
	int argc;
	u32 interp_flags;
};

#pragma clang attribute pop

#endif

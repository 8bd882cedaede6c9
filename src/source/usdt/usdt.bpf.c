// SPDX-License-Identifier: GPL-2.0-only
/*
 * One program for all USDT probes. The cookie of its attachment tells which probe was hit. A table tells the places of
 * the arguments: user space makes it of the probe's note.
 */
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY = 0, BPF_RB_NO_WAKEUP = 1 };

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#define ESPY_BPF 1
#include "arch/machine_regs.h"
#include "usdt_shared.h"

#define STATUS_OK 0
#define STATUS_FAULT 1
#define STATUS_TRUNCATED 2
#define STATUS_NOT_RUN 3

char LICENSE[] SEC("license") = "GPL";

struct super_block {
	__u32 s_dev;
} __attribute__((preserve_access_index));
struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
} __attribute__((preserve_access_index));
struct file {
	struct inode *f_inode;
} __attribute__((preserve_access_index));
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} __attribute__((preserve_access_index));
struct files_struct {
	struct fdtable *fdt;
} __attribute__((preserve_access_index));
struct task_struct {
	__s32 tgid;
	struct files_struct *files;
} __attribute__((preserve_access_index));

/* 1: only the processes of espy_usdt_processes. */
const volatile __u32 by_process = 0;
struct usdt_counts counts;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct usdt_spec);
} espy_usdt_specs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, __u8);
} espy_usdt_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} espy_usdt_ring SEC(".maps");

struct scratch {
	__u64 values[USDT_ARGS];
	struct usdt_event event;
	__u8 args[USDT_RECORD_MAX + 2 * USDT_STRING_MAX + 16];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} espy_usdt_scratch SEC(".maps");

static __always_inline __u64 reg_value(void *ctx, __u8 reg)
{
	__u64 v = 0;

	if (reg < ESPY_REG_CNT)
		bpf_probe_read_kernel(&v, sizeof(v), ctx + reg * 8);
	return v;
}

static __always_inline __u64 read_arg(void *ctx, const struct usdt_arg *a)
{
	__u64 v = (__u64)a->value;
	__u32 bits;

	if (a->kind == USDT_REG) {
		v = reg_value(ctx, a->reg) >> (a->shift & 63);
	} else if (a->kind == USDT_MEM) {
		__u64 at = v + reg_value(ctx, a->reg) + reg_value(ctx, a->index) * a->scale;

		v = 0;
		if (bpf_probe_read_user(&v, sizeof(v), (void *)at)) {
			/* The value may stand at the end of a page. */
			if (a->size == 4)
				bpf_probe_read_user(&v, 4, (void *)at);
			else if (a->size == 2)
				bpf_probe_read_user(&v, 2, (void *)at);
			else if (a->size == 1)
				bpf_probe_read_user(&v, 1, (void *)at);
		}
	}
	bits = 64 - ((a->size * 8) & 63);
	if (a->size < 8)
		v = a->is_signed ? (__u64)((__s64)(v << (bits & 63)) >> (bits & 63)) : v << (bits & 63) >> (bits & 63);
	return v;
}

/* Puts a string or a piece of memory at off. Returns the place of the next argument. */
static __always_inline __u32 put_memory(struct scratch *s, __u32 off, const struct usdt_out *o, __u64 at)
{
	__u32 *head, max = o->max, len = 0, status = STATUS_OK;
	__u64 wanted = max;
	long n;

	if (off > USDT_RECORD_MAX - 8)
		return off;
	head = (__u32 *)(s->args + off);
	if (o->len_word < USDT_ARGS) {
		wanted = s->values[o->len_word & (USDT_ARGS - 1)];
		/* A negative precision is none, a negative length is nothing. */
		if ((__s64)wanted < 0)
			wanted = o->what == USDT_OUT_BYTES ? 0 : max;
	}
	if (max > USDT_STRING_MAX)
		max = USDT_STRING_MAX;
	if (wanted < max)
		max = wanted;
	if (o->what == USDT_OUT_STRING) {
		n = bpf_probe_read_user_str(s->args + off + 8, max < USDT_STRING_MAX ? max + 1 : USDT_STRING_MAX,
					    (void *)at);
		if (n < 0) {
			status = STATUS_FAULT;
		} else if (n > 0) {
			len = (__u32)n - 1;
			if (len >= max && wanted > max)
				status = STATUS_TRUNCATED;
			if (len == max && o->len_word >= USDT_ARGS) {
				__u8 next = 0;

				/* Full: the string is whole only if it ends here. */
				bpf_probe_read_user(&next, 1, (void *)(at + len));
				status = next ? STATUS_TRUNCATED : STATUS_OK;
			}
		}
	} else {
		len = max;
		if (len && bpf_probe_read_user(s->args + off + 8, len & (2 * USDT_STRING_MAX - 1), (void *)at)) {
			status = STATUS_FAULT;
			len = 0;
		} else if (wanted > max) {
			status = STATUS_TRUNCATED;
		}
	}
	if (len > USDT_STRING_MAX)
		len = USDT_STRING_MAX;
	head[0] = len;
	head[1] = status;
	return off + 8 + ((len + 7) & ~7u);
}

SEC("uprobe")
int espy_usdt(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 spec_id = (__u32)bpf_get_attach_cookie(ctx), zero = 0, tgid = id >> 32, off = 0;
	const struct usdt_spec *spec;
	struct scratch *s;

	if (by_process && !bpf_map_lookup_elem(&espy_usdt_processes, &tgid))
		return 0;
	spec = bpf_map_lookup_elem(&espy_usdt_specs, &spec_id);
	s = bpf_map_lookup_elem(&espy_usdt_scratch, &zero);
	if (!spec || !s)
		return 0;
	s->event.time_ns = bpf_ktime_get_ns();
	s->event.spec = spec_id;
	s->event.tid = (__u32)id;
	s->event.tgid = tgid;
	for (__u32 i = 0; i < USDT_ARGS; i++)
		s->values[i] = i < spec->nargs ? read_arg(ctx, &spec->args[i]) : 0;
	for (__u32 i = 0; i < USDT_ARGS; i++) {
		const struct usdt_out *o = &spec->outs[i];
		__u64 v;

		if (i >= spec->nouts)
			break;
		v = s->values[o->word & (USDT_ARGS - 1)];
		if (off > USDT_RECORD_MAX - 8)
			break;
		if (o->what == USDT_OUT_NUMBER) {
			*(__u64 *)(s->args + off) = v;
			off += 8;
		} else if (o->what == USDT_OUT_NOTHING) {
			*(__u64 *)(s->args + off) = (__u64)STATUS_NOT_RUN << 32;
			off += 8;
		} else {
			off = put_memory(s, off, o, v);
		}
	}
	s->event.len = off;
	if (off > USDT_RECORD_MAX)
		return 0;
	if (bpf_ringbuf_output(&espy_usdt_ring, &s->event, sizeof(s->event) + off, 0))
		__sync_fetch_and_add(&counts.lost, 1);
	else
		__sync_fetch_and_add(&counts.events, 1);
	return 0;
}

/* Watches a child of a watched process as well (-f). */
SEC("raw_tp/sched_process_fork")
int espy_usdt_fork(__u64 *ctx)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, child_tgid;
	struct task_struct *child = (void *)ctx[1];
	__u8 one = 1;

	if (!bpf_map_lookup_elem(&espy_usdt_processes, &tgid))
		return 0;
	child_tgid = (__u32)BPF_CORE_READ(child, tgid);
	bpf_map_update_elem(&espy_usdt_processes, &child_tgid, &one, BPF_ANY);
	return 0;
}

/*
 * Tells user space that a process maps code of a file, to look for probes in it. A library is mapped when the call
 * returns, but only before that its descriptor tells the file. Tracepoints of this call suffice: many kernels let no
 * function be probed.
 */
#define PROT_EXEC 4

struct mmap_enter {
	__u64 common;
	long nr;
	unsigned long args[6];
};
struct mmap_exit {
	__u64 common;
	long nr;
	long ret;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct usdt_mapped);
} espy_usdt_mapping SEC(".maps");

SEC("tp/syscalls/sys_enter_mmap")
int espy_usdt_mmap_enter(struct mmap_enter *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = id >> 32, tid = (__u32)id, fd = (__u32)ctx->args[4], dev;
	struct usdt_mapped m = { .event = { .spec = USDT_MAPPED, .tid = tid, .tgid = tgid } };
	struct task_struct *task = (void *)bpf_get_current_task();
	struct file **files, *file = NULL;
	struct inode *inode;

	if (!(ctx->args[2] & PROT_EXEC) || !bpf_map_lookup_elem(&espy_usdt_processes, &tgid) ||
	    fd >= BPF_CORE_READ(task, files, fdt, max_fds))
		return 0;
	files = BPF_CORE_READ(task, files, fdt, fd);
	bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	inode = BPF_CORE_READ(file, f_inode);
	if (!inode)
		return 0;
	dev = BPF_CORE_READ(inode, i_sb, s_dev); /* the kernel's own form: 12 bits of major, 20 of minor */
	m.inode = BPF_CORE_READ(inode, i_ino);
	m.dev_major = dev >> 20;
	m.dev_minor = dev & 0xfffff;
	bpf_map_update_elem(&espy_usdt_mapping, &tid, &m, BPF_ANY);
	return 0;
}

SEC("tp/syscalls/sys_exit_mmap")
int espy_usdt_mmap_exit(struct mmap_exit *ctx)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct usdt_mapped *m = bpf_map_lookup_elem(&espy_usdt_mapping, &tid);

	if (!m)
		return 0;
	m->event.time_ns = bpf_ktime_get_ns();
	bpf_ringbuf_output(&espy_usdt_ring, m, sizeof(*m), 0);
	bpf_map_delete_elem(&espy_usdt_mapping, &tid);
	return 0;
}

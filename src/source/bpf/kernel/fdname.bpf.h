/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The name of a new descriptor, as /proc/PID/fd would show it: walks from the file up to the root, over mounts. The
 * programs write the path from its end, one component a step. Each step is a function of its own for the verifier's
 * sake.
 */
#ifndef ESPY_FDNAME_BPF_H
#define ESPY_FDNAME_BPF_H

#include "general.bpf.h"
#include "known.bpf.h"

#define NAME_STEPS 64     /* components and mounts */
#define NAME_ROOM 4096u
#define NAME_BASE 64u     /* the head of the record goes before the name */
#define COMPONENT_MAX 255u
#define CWD ((u32)-100)   /* AT_FDCWD */

/* s_magic of file systems without paths. */
enum {
	MAGIC_PIPE = 0x50495045,
	MAGIC_SOCK = 0x534f434b,
	MAGIC_ANON = 0x09041934,
	MAGIC_PIDFD = 0x50494446,
	MAGIC_NSFS = 0x6e736673,
};

static __always_inline void put_text(struct espy_bpf_scratch *s, const char *text, u32 len)
{
	u64 pos = s->name_pos - len;

	CLAMP(pos, NAME_BASE + NAME_ROOM);
#pragma unroll
	for (u32 i = 0; i < len; i++)
		ITEMS(s)[pos + i] = text[i];
	s->name_pos = pos;
}

/* Puts len bytes of the kernel's memory in front of the text. */
static __always_inline void put_bytes(struct espy_bpf_scratch *s, const void *name, u64 len)
{
	u64 pos;

	CLAMP(len, COMPONENT_MAX);
	if (s->name_pos < NAME_BASE + len + 1) {
		s->name_pos = 0; /* too long */
		return;
	}
	pos = s->name_pos - len;
	CLAMP(pos, NAME_BASE + NAME_ROOM);
	bpf_probe_read_kernel(ITEMS(s) + pos, len, name);
	s->name_pos = pos;
}

static __always_inline void put_component(struct espy_bpf_scratch *s, u64 dentry)
{
	put_bytes(s, (void *)KERNEL_WORD(dentry, struct dentry, d_name.name),
		  (u32)KERNEL_WORD(dentry, struct dentry, d_name.len));
}

/* Moves the last digit of s->number to the front of the text. Returns non-zero if no digit is left. */
__noinline int put_digit(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	u64 pos;

	if (!s)
		return 1;
	pos = s->name_pos - 1;
	CLAMP(pos, NAME_BASE + NAME_ROOM);
	ITEMS(s)[pos] = '0' + s->number % 10;
	s->name_pos = pos;
	s->number /= 10;
	return !s->number;
}

/* Puts an inode number and a closing bracket in front of the text. */
__noinline int put_inode(u32 cpu, u64 ino)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);

	if (!s)
		return 0;
	put_text(s, "]", 1);
	s->number = ino;
	for (u32 i = 0; i < 20; i++)
		if (put_digit(cpu))
			break;
	return 0;
}

/* Walks up one component or one mount. Returns non-zero at the root. */
__noinline int name_step(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	u64 dentry, parent, mount, above;

	if (!s || !s->name_pos)
		return 1;
	dentry = s->dentry;
	mount = s->mount;
	if (conf.root.ino &&
	    KERNEL_WORD(KERNEL_WORD(dentry, struct dentry, d_inode), struct inode, i_ino) == conf.root.ino &&
	    (u32)KERNEL_WORD(KERNEL_WORD(dentry, struct dentry, d_sb), struct super_block, s_dev) == conf.root.dev)
		return 1;
	if (dentry == KERNEL_WORD(mount, struct mount, mnt.mnt_root)) {
		above = KERNEL_WORD(mount, struct mount, mnt_parent);
		if (above == mount)
			return 1;
		s->dentry = KERNEL_WORD(mount, struct mount, mnt_mountpoint);
		s->mount = above;
		return 0;
	}
	parent = KERNEL_WORD(dentry, struct dentry, d_parent);
	if (parent == dentry)
		return 1;
	put_component(s, dentry);
	if (s->name_pos <= NAME_BASE) {
		s->name_pos = 0;
		return 1;
	}
	put_text(s, "/", 1);
	s->dentry = parent;
	return 0;
}

static __always_inline u64 dentry_of(u64 file)
{
	return KERNEL_WORD(file, struct file, f_path.dentry);
}

static __always_inline u64 magic_of(u64 file)
{
	return KERNEL_WORD(KERNEL_WORD(dentry_of(file), struct dentry, d_sb), struct super_block, s_magic);
}

/* Writes the path of a directory entry to the items, from its end. Returns 0 if it is too long. */
__noinline int name_path(u32 cpu, u64 dentry, u64 mnt)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);

	if (!s)
		return 0;
	s->dentry = dentry;
	s->mount = mnt - bpf_core_field_offset(struct mount, mnt);
	for (u32 i = 0; i < NAME_STEPS; i++) {
		if (!name_step(cpu))
			continue;
		if (s->name_pos == NAME_BASE + NAME_ROOM)
			put_text(s, "/", 1);
		return s->name_pos != 0;
	}
	return 0;
}

/* Writes the name of a namespace: net:[4026531840]. */
static __always_inline void put_namespace(u32 cpu, struct espy_bpf_scratch *s, u64 file)
{
	u64 ns = KERNEL_WORD(KERNEL_WORD(file, struct file, f_inode), struct inode, i_private), kind;
	char name[32];
	long n;

	kind = KERNEL_WORD(KERNEL_WORD(ns, struct ns_common, ops), struct proc_ns_operations, name);
	n = bpf_probe_read_kernel_str(name, sizeof(name), (void *)kind);
	put_inode(cpu, ino_of(file));
	put_text(s, ":[", 2);
	if (n > 1)
		put_bytes(s, (void *)kind, (u64)n - 1);
}

/* An empty name at the end of its room. */
static __always_inline void name_begin(struct espy_bpf_scratch *s)
{
	u64 at = NAME_BASE + NAME_ROOM;

	s->name_pos = at;
	CLAMP(at, NAME_BASE + NAME_ROOM);
	*(u64 *)(ITEMS(s) + at) = 0;
}

/* Writes the name of the current task's working directory. */
__noinline int name_cwd(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct task_struct *task = bpf_get_current_task_btf();

	if (!s)
		return 0;
	name_begin(s);
	return name_path(cpu, (u64)BPF_CORE_READ(task, fs, pwd.dentry), (u64)BPF_CORE_READ(task, fs, pwd.mnt));
}

/* Writes the name of an open file, NUL and all, to the items. Returns 0 if it has none. */
__noinline int name_file(u32 cpu, u64 file)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	u64 dentry, mnt, magic;

	if (!s || !file)
		return 0;
	dentry = dentry_of(file);
	mnt = KERNEL_WORD(file, struct file, f_path.mnt);
	magic = magic_of(file);
	name_begin(s);
	if (magic == MAGIC_PIPE || magic == MAGIC_SOCK) {
		put_inode(cpu, ino_of(file));
		if (magic == MAGIC_PIPE)
			put_text(s, "pipe:[", 6);
		else
			put_text(s, "socket:[", 8);
		return 1;
	}
	if (magic == MAGIC_PIDFD) {
		put_text(s, "anon_inode:[pidfd]", 18);
		return 1;
	}
	if (magic == MAGIC_ANON) {
		put_component(s, dentry);
		put_text(s, "anon_inode:", 11);
		return 1;
	}
	if (KERNEL_WORD(dentry, struct dentry, d_parent) == dentry) {
		/* The root of a file system, or a file that never had a directory. */
		if (KERNEL_WORD(mnt, struct vfsmount, mnt_root) != dentry) {
			if (magic == MAGIC_NSFS) {
				put_namespace(cpu, s, file);
				return 1;
			}
			put_text(s, " (deleted)", 10);
			put_component(s, dentry);
			put_text(s, "/", 1);
			return 1;
		}
	} else if (!KERNEL_WORD(dentry, struct dentry, d_hash.pprev)) {
		put_text(s, " (deleted)", 10);
	}
	return name_path(cpu, dentry, mnt);
}

/*
 * Sends the name of the file behind a descriptor, or with CWD of the working directory. flags: of the record. Returns 0
 * if it could not send it. A file without a name needs no record.
 */
__noinline int send_name(u32 cpu, u32 fd, u64 file, u32 flags)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct espy_rec_fdname *rec;
	struct task_struct *task;
	u64 start, size;

	if (!s)
		return 0;
	if (fd == CWD ? !name_cwd(cpu) : !name_file(cpu, file))
		return 1;
	start = s->name_pos - sizeof(*rec);
	CLAMP(start, NAME_BASE + NAME_ROOM);
	rec = (struct espy_rec_fdname *)(ITEMS(s) + start);
	size = NAME_BASE + NAME_ROOM + 1 - s->name_pos;
	task = bpf_get_current_task_btf();
	head_timed(&rec->rec, sizeof(*rec) + ROUND8(size), ESPY_REC_FDNAME, told_tid(task), task->tgid,
		   time_before_copy());
	rec->rec.flags = flags;
	rec->fd = fd;
	rec->name_sz = size;
	size = sizeof(*rec) + ROUND8(size);
	CLAMP(size, 8192);
	if (out_copy(&rec->rec, size))
		return ring_full();
	return 1;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * -P: tells whether a call touches one of the wanted paths, before any data is copied. A wrong yes is allowed, a wrong
 * no is not: user space compares the whole path.
 *
 * A descriptor touches a wanted path if its file has the inode of one. Inodes of paths that exist are known from the
 * start. A call that makes a descriptor of a path with a wanted last component adds the inode of its file. A path
 * argument touches a wanted path if its last component is a wanted one, or says nothing: "..", or nothing behind a
 * slash.
 */
#ifndef ESPY_PATHS_BPF_H
#define ESPY_PATHS_BPF_H

#include "fdname.bpf.h"

static __always_inline void want_inode(u64 ino)
{
	if (!wanted_inode(ino))
		shared.wanted[__sync_fetch_and_add(&shared.wanted_cnt, 1) & (ESPY_BPF_WANTED - 1)] = ino;
}

static __always_inline bool fd_touches(struct task_struct *task, u32 fd)
{
	u64 ino, file = known_file(task, fd, &ino), *word = known_word(task->tgid, fd);

	if (file && wanted_inode(ino))
		return true;
	if (KNOWN_WHOSE(*word) != KNOWN_WHOSE(known_whose(task->tgid, fd)) || !(*word & KNOWN_CLOSING))
		return false;
	*word &= ~KNOWN_CLOSING;
	return true;
}

/* Tells whether the path in the items ends in the wanted component of this number. len: of the path, with its NUL. */
__noinline int ends_in(u32 cpu, u32 which, u32 len)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	u32 n, from;

	if (!s || which >= ESPY_BPF_PATHS || !len)
		return 0;
	n = conf.paths.len[which];
	len--;
	if (n > ESPY_BPF_COMPONENT || n > len)
		return 0;
	from = len - n;
	if (from && ITEMS(s)[(from - 1) & 4095] != '/')
		return 0;
	for (u32 i = 0; i < ESPY_BPF_COMPONENT; i++) {
		if (i >= n)
			break;
		if (ITEMS(s)[(from + i) & 4095] != conf.paths.name[which][i])
			return 0;
	}
	return 1;
}

/* Tells whether a path argument may touch a wanted path. */
__noinline int path_touches(u32 cpu, u64 ptr)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	s64 len;
	u8 last, before;

	if (!s)
		return 1;
	if (!ptr)
		return 0;
	len = bpf_probe_read_user_str(ITEMS(s), 4096, (void *)ptr);
	if (len < 0)
		return 1; /* not readable now */
	if (len < 2)
		return 0;
	last = ITEMS(s)[(len - 2) & 4095];
	before = len > 2 ? ITEMS(s)[(len - 3) & 4095] : '/';
	if (last == '/' || (last == '.' && (before == '/' || before == '.')))
		return 1;
	for (u32 i = 0; i < ESPY_BPF_PATHS; i++)
		if (i < conf.paths.cnt && ends_in(cpu, i, len))
			return 1;
	return 0;
}

/* Tells whether the call at work touches a wanted path. The scratch holds its plan and its result. */
__noinline int call_touches(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct task_struct *task = bpf_get_current_task_btf();
	bool named = false;
	u64 ino;

	if (!s || s->triggers || s->cap.flags & (ESPY_CALL_NEW_IMAGE | ESPY_CALL_TOUCHES))
		return 1;
	for (u32 i = 0; i < ESPY_MAX_ARGS; i++)
		if (s->path_args >> i & 1 && path_touches(cpu, load_arg(s, i)))
			named = true;
	if (named) {
		if (s->ret >= 0 && s->cap.flags & ESPY_CALL_RET_FD && known_file(task, s->ret, &ino))
			want_inode(ino);
		return 1;
	}
	for (u32 i = 0; i < ESPY_MAX_ARGS; i++)
		if (s->fd_args >> i & 1 && fd_touches(task, load_arg(s, i)))
			return 1;
	return s->ret >= 0 && s->cap.flags & ESPY_CALL_RET_FD && fd_touches(task, s->ret);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * -P: does a call touch one of the wanted paths? Asked before anything is copied. The answer may be yes too often, never no
 * too often: user space compares the whole path.
 *
 * A descriptor touches a path if the inode of its file is that of a wanted path. Those of paths that exist are known from
 * the start; a call that makes a descriptor of a path with a wanted last component adds that of its file. A path touches
 * one if its last component is a wanted one, or says nothing: "..", or nothing behind a slash.
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
	u64 tmp, ino, file = known_file(task, fd, &tmp, &ino), *word = known_word(task->tgid, fd);

	if (file && wanted_inode(ino))
		return true;
	if (KNOWN_WHOSE(*word) != KNOWN_WHOSE(known_whose(task->tgid, fd)) || !(*word & KNOWN_CLOSING))
		return false;
	*word &= ~KNOWN_CLOSING;
	return true;
}

/* Is the last component of the path that stands in the items the wanted one of this number? len: with its NUL. */
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

/* A path argument. */
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
		return 1; /* not to be read now */
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

/* The call at work, whose plan is selected and whose result stands in the scratch. */
__noinline int call_touches(u32 cpu)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct task_struct *task = bpf_get_current_task_btf();
	bool named = false;
	u64 tmp, ino;

	if (!s || s->triggers || s->cap.flags & (ESPY_CALL_NEW_IMAGE | ESPY_CALL_TOUCHES))
		return 1;
	for (u32 i = 0; i < ESPY_MAX_ARGS; i++)
		if (s->path_args >> i & 1 && path_touches(cpu, load_arg(s, i)))
			named = true;
	if (named) {
		if (s->ret >= 0 && s->cap.flags & ESPY_CALL_RET_FD && known_file(task, s->ret, &tmp, &ino))
			want_inode(ino);
		return 1;
	}
	for (u32 i = 0; i < ESPY_MAX_ARGS; i++)
		if (s->fd_args >> i & 1 && fd_touches(task, load_arg(s, i)))
			return 1;
	return s->ret >= 0 && s->cap.flags & ESPY_CALL_RET_FD && fd_touches(task, s->ret);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The descriptors that the stream has told. A call that uses a descriptor costs a look at the file behind it and one
 * comparison. Only a file that this process has not used at this number before is told.
 *
 * A word of shared.known holds the last file told for a process and a number:
 *
 *	63        44                   3 2 1 0
 *	+-----------+------------------+-+-+-+   N: it was a netlink socket
 *	| whose     | which file       |C|N|U|   U: a socket that has no address yet: it is told again
 *	+-----------+------------------+-+-+-+   C: a wanted file is being closed (paths.bpf.h)
 *
 * Several processes may share a word. Then each tells its file again after the other: only time is lost.
 */
#ifndef ESPY_KNOWN_BPF_H
#define ESPY_KNOWN_BPF_H

#include "out.bpf.h"
#include "word.bpf.h"

#define KNOWN_UNBOUND 1ull
#define KNOWN_NETLINK 2ull
#define KNOWN_CLOSING 4ull
#define KNOWN_FLAGS 7ull
#define KNOWN_WHOSE(word) ((word) >> 44)

/* Odd numbers without structure, to mix bits by multiplication. */
#define MIX_FILE 0x9e3779b97f4a7c15ull
#define MIX_INODE 0xc2b2ae3d27d4eb4full
#define MIX_WHOSE 0xff51afd7ed558ccdull

static __always_inline u64 known_whose(u32 tgid, u32 fd)
{
	return ((u64)tgid << 24 ^ fd) * MIX_WHOSE;
}

/* A product's bit depends on no higher bit of its factor: these are above all but the highest bits of a process's number. */
static __always_inline u64 *known_word(u32 tgid, u32 fd)
{
	return &shared.known[known_whose(tgid, fd) >> 28 & (ESPY_BPF_KNOWN - 1)];
}

/*
 * Counts halves of a flight recorder's ring. The ring overwrites its records: so descriptors are told again in each
 * half, and a snapshot that goes back further than that lacks none.
 */
static __always_inline u64 known_lap(void)
{
#ifdef ESPY_OWN_RINGS
	if (conf.rings.flight)
		return (*(volatile u64 *)&OWN_HEAD(own_ring())->head & ESPY_BPF_POS_MASK) >>
		       (conf.rings.chunk_shift + conf.rings.chunks_shift - 4);
#endif
	return 0;
}

/* The word of an open file without its flags. */
static __always_inline u64 known_as(u32 tgid, u32 fd, u64 file, u64 ino)
{
	u64 which = (file + known_lap()) * MIX_FILE ^ ino * MIX_INODE;

	return (known_whose(tgid, fd) & ~0ull << 44) | (which >> 20 & ~KNOWN_FLAGS);
}

static __always_inline u64 ino_of(u64 file)
{
	return KERNEL_WORD(KERNEL_WORD(file, struct file, f_inode), struct inode, i_ino);
}

/*
 * Returns the address of the file behind a descriptor of the current task, and the number of its inode; 0: none. The
 * address alone would not do: the next file may get the address of a closed one.
 */
static __always_inline u64 known_file(struct task_struct *task, u32 fd, u64 *ino)
{
	u64 files, file;
	u32 most;

	/* For a pointer that is loaded from a task the verifier searches all types of the kernel, which takes 1 ms. */
	if (conf.kiocb) {
		const u64 table = KERNEL_WORD(KERNEL_WORD(task, struct task_struct, files), struct files_struct, fdt);

		most = KERNEL_WORD(table, struct fdtable, max_fds);
		files = KERNEL_WORD(table, struct fdtable, fd);
	} else {
		const struct fdtable *table = task->files->fdt;

		most = table->max_fds;
		files = (u64)table->fd;
	}
	if (fd >= most)
		return 0;
	file = kernel_word(files + (u64)fd * sizeof(void *));
	if (file)
		*ino = ino_of(file);
	return file;
}

/* Tells whether this is the inode of a wanted path (-P, paths.bpf.h). */
static __always_inline bool wanted_inode(u64 ino)
{
	for (u32 i = 0; i < ESPY_BPF_WANTED; i++)
		if (shared.wanted[i] == ino && ino)
			return true;
	return false;
}

/* Before a call closes a descriptor of a wanted file: marks its word. After the call the file is unknown. */
static __always_inline void note_closing(struct task_struct *task, u32 fd)
{
	u64 ino, file = known_file(task, fd, &ino), *word = known_word(task->tgid, fd);

	if (!file || !wanted_inode(ino))
		return;
	if (KNOWN_WHOSE(*word) != KNOWN_WHOSE(known_whose(task->tgid, fd)))
		*word = known_whose(task->tgid, fd) & ~0ull << 44;
	*word |= KNOWN_CLOSING;
}

/* Tells whether the stream needs no record of this descriptor of the current task: it is known or not open. */
static __always_inline bool known_fd(struct task_struct *task, u32 fd)
{
	u64 ino, file = known_file(task, fd, &ino);

	return !file || (*known_word(task->tgid, fd) & ~KNOWN_NETLINK) == known_as(task->tgid, fd, file, ino);
}

#endif

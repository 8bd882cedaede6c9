/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Small files, as those of /proc and /sys are, read into room of the caller's. No function here allocates or takes a
 * lock, so a child between fork and exec may call it.
 */
#ifndef ESPY_BASE_SMALL_FILE_H
#define ESPY_BASE_SMALL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads what fits of a file, size > 0, and puts a NUL behind it. Returns how many bytes, or -errno; then text is "". */
ssize_t espy_read_small(const char *path, char *text, size_t size);
/* The same of a file below the directory dir. */
ssize_t espy_read_small_at(int dir, const char *path, char *text, size_t size);
/* The same of /proc/TID/FILE; tid 0: of the caller. */
ssize_t espy_read_proc(pid_t tid, const char *file, char *text, size_t size);
/* The name of a task for a message, "?" if it has none: no byte of it may reach the terminal raw. */
void espy_read_comm(pid_t tid, char *name, size_t size);
/* The first line of a file, without its newline. */
ssize_t espy_read_line(const char *path, char *text, size_t size);

/*
 * Reads what stands behind "NAME:" and blanks in a file of such lines, which may have any length. The value is cut to
 * size - 1 bytes and ends with a NUL. Returns how many bytes it has, -ENOENT if there is no such line or file, or -errno.
 */
ssize_t espy_read_field(const char *path, const char *name, char *value, size_t size);
/* The same of /proc/TID/status; tid 0: of the caller. */
ssize_t espy_read_status(pid_t tid, const char *name, char *value, size_t size);
/* A number of /proc/TID/status; tid 0: of the caller. -1: it is not there. */
long espy_status_field(pid_t tid, const char *name);
/* The same of the number of a task, as it is in our pid namespace. */
long espy_status_pid(pid_t tid, const char *name);

/* Some of /proc/TID/stat. */
struct espy_proc_stat {
	char state;	      /* 'Z': it has ended */
	unsigned flags;	      /* the kernel's PF_* */
	uint64_t start_stack; /* 0 or 1: it may not be seen */
	unsigned stop_signal; /* of a stopped task (state 'T'), since Linux 5.17; 0: not told */
};
/* false: the task is gone, or the kernel told less. */
bool espy_read_proc_stat(pid_t tid, struct espy_proc_stat *stat);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files of file systems with a server, which may be a program of anybody (FUSE) or far away. A request that the server
 * has taken and does not answer keeps its caller in the kernel, and no signal ends that.
 */
#ifndef ESPY_BASE_SERVED_FILE_H
#define ESPY_BASE_SERVED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * Tells whether a file lies on a file system with a server. The server is not asked. /proc/PID/root/..., /proc/PID/exe
 * and /proc/PID/map_files/... are looked up among the mounts of that process.
 */
bool espy_is_served(const char *path);
/*
 * Has a process of its own open, read and close a file that has a server. Returns 0 where the server answered within a
 * second, and for files without a server; -ETIMEDOUT where it did not; -EAGAIN without such a process.
 */
int espy_ask_server(const char *path);
/*
 * Has a process of its own copy the first `most` bytes of a regular file that has a server into memory; SIZE_MAX: all
 * of it, if that is no more than 1 GB. Returns a descriptor of the copy (close-on-exec), and in *st what the file
 * itself is; or -errno: -ETIMEDOUT if the server stands still for a second, or takes more than 30 in all.
 */
int espy_copy_served(const char *path, size_t most, struct stat *st);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files of file systems with a server, which may be a program of anybody (FUSE) or far away. A request that the server
 * has taken and does not answer keeps its caller in the kernel, and no signal ends that.
 */
#ifndef ESPY_BASE_SERVED_FILE_H
#define ESPY_BASE_SERVED_FILE_H

/*
 * Has a process of its own look at a file that has a server: it opens, reads and closes it. Returns 0 where that was
 * done within a second, and for files without a server; -ETIMEDOUT where it was not. /proc/PID/root/... and
 * /proc/PID/map_files/... are looked up among the mounts of that process.
 */
int espy_ask_server(const char *path);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Identifiers of the tracepoints of single system calls. They stand in tracefs, which need not be mounted: then a
 * mount of our own is made that is attached nowhere, so that nothing changes for anyone else.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/small_file.h"
#include "source/bpf/bpf_source.h"

#ifndef FSCONFIG_CMD_CREATE
#define FSCONFIG_CMD_CREATE 6
#endif

int bpf_tracefs_open(void)
{
	static const char *const mounted[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	int fs, fd;

	for (size_t i = 0; i < sizeof(mounted) / sizeof(*mounted); i++) {
		fd = open(mounted[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!faccessat(fd, "events/syscalls", R_OK, 0))
			return fd;
		close(fd);
	}
	fs = (int)syscall(SYS_fsopen, "tracefs", 1 /* FSOPEN_CLOEXEC */);
	if (fs < 0)
		return -errno;
	fd = (int)syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	if (!fd)
		fd = (int)syscall(SYS_fsmount, fs, 1 /* FSMOUNT_CLOEXEC */, 0);
	if (fd < 0)
		fd = -errno;
	close(fs);
	return fd;
}

int bpf_tracefs_event_id(int tracefs, const char *name, bool at_exit)
{
	char path[160], text[32];
	ssize_t n;

	if ((size_t)snprintf(path, sizeof(path), "events/syscalls/sys_%s_%s/id", at_exit ? "exit" : "enter", name) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	n = espy_read_small_at(tracefs, path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	return n ? atoi(text) : -EIO;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Identifiers of tracepoints stand in tracefs, which need not be mounted. Then this file makes a mount of its own and
 * attaches it nowhere, so that nothing changes for other processes.
 */
#include "source/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/small_file.h"

#ifndef FSCONFIG_CMD_CREATE
#define FSCONFIG_CMD_CREATE 6
#endif

int espy_tracefs__open(void)
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
	/* A kernel may have tracefs without tracepoints of calls. */
	if (fd >= 0 && faccessat(fd, "events/syscalls", R_OK, 0)) {
		close(fd);
		fd = -EOPNOTSUPP;
	}
	return fd;
}

static int event_id(int tracefs, const char *tracepoint)
{
	char path[160], text[32];
	ssize_t n;

	if ((size_t)snprintf(path, sizeof(path), "events/%s/id", tracepoint) >= sizeof(path))
		return -ENAMETOOLONG;
	n = espy_read_small_at(tracefs, path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	return n ? atoi(text) : -EIO;
}

int espy_tracepoint__open(uint64_t id)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = id, .sample_period = 1, .disabled = 1
	};
	const int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int espy_tracefs__open_event(int tracefs, const char *tracepoint)
{
	const int id = event_id(tracefs, tracepoint);

	return id < 0 ? id : espy_tracepoint__open((uint64_t)id);
}

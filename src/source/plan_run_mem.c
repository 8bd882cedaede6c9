/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory of another task for the runner of plans: process_vm_readv, or /proc/PID/mem where that is refused. */
#include "source/plan_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/proc_pid.h"

/* The smallest page there is on x86: a read that is split at these ends just before a fault, not somewhere. */
#define PAGE 4096u
#define BATCH 32u
#define KEPT_BELOW 512 /* a page map with such a descriptor stays open */

void espy_task_mem__init(struct espy_task_mem *m, pid_t tid, struct espy_late_pages *late)
{
	*m = (struct espy_task_mem){ .tid = tid, .late = late, .page_map = -1, .mem_fd = -1 };
}

static void close_page_map(struct espy_task_mem *m)
{
	if (m->page_map >= 0)
		close(m->page_map);
	m->page_map = -1;
}

void espy_task_mem__close(struct espy_task_mem *m)
{
	if (m->mem_fd >= 0)
		close(m->mem_fd);
	m->mem_fd = -1;
	close_page_map(m);
}

static size_t read_file(struct espy_task_mem *m, uint64_t addr, unsigned char *buf, size_t n)
{
	size_t have = 0;

	if (m->mem_fd < 0) {
		char path[40];

		snprintf(path, sizeof(path), "/proc/%d/mem", (int)espy_proc_pid((pid_t)m->tid));
		m->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
		if (m->mem_fd < 0)
			return 0;
	}
	while (have < n) {
		size_t want = PAGE - (size_t)((addr + have) & (PAGE - 1));
		ssize_t got;

		if (want > n - have)
			want = n - have;
		got = pread(m->mem_fd, buf + have, want, (off_t)(addr + have));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		have += (size_t)got;
	}
	return have;
}

size_t espy_task_mem__read(void *ctx, uint64_t addr, void *buf, size_t n)
{
	struct espy_task_mem *m = ctx;
	unsigned char *to = buf;
	size_t have = 0;

	if (n > UINT64_MAX - addr)
		n = (size_t)(UINT64_MAX - addr);
	if (m->late)
		n = espy_late_pages__ready(m->late, m->tid, &m->page_map, addr, n);
	/* Thousands of tasks would need all descriptors that there are. */
	if (m->page_map >= KEPT_BELOW)
		close_page_map(m);
	while (have < n && !m->no_readv) {
		struct iovec remote[BATCH], local = { .iov_base = to + have };
		unsigned cnt = 0;
		size_t sum = 0;
		ssize_t got;

		while (cnt < BATCH && sum < n - have) {
			uint64_t at = addr + have + sum;
			size_t len = PAGE - (size_t)(at & (PAGE - 1));

			if (len > n - have - sum)
				len = n - have - sum;
			remote[cnt].iov_base = (void *)(uintptr_t)at;
			remote[cnt++].iov_len = len;
			sum += len;
		}
		local.iov_len = sum;
		got = process_vm_readv(m->tid, &local, 1, remote, cnt, 0);
		if (got < 0 && (errno == EPERM || errno == ENOSYS)) {
			m->no_readv = true; /* a sandbox around us may forbid the call and leave the file */
			break;
		}
		if (got <= 0)
			return have;
		have += (size_t)got;
		if ((size_t)got < sum)
			return have;
	}
	if (have < n && m->no_readv)
		have += read_file(m, addr + have, to + have, n - have);
	return have;
}

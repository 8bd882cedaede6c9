/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Switches the sites of marks in a process without agent, from outside: one aligned write of eight bytes through
 * /proc/PID/mem, in which running threads see either the old instruction or the new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "arch/machine_code.h"
#include "base/array.h"
#include "source/usdt/usdt_source.h"

static int open_memory(pid_t pid)
{
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int usdt_switch_on(struct usdt_source *s, pid_t pid, uint64_t site, uint64_t cold)
{
	const uint64_t word_at = site & ~7ull, in = site & 7;
	const int64_t distance = (int64_t)(cold - (site + ESPY_CODE_SITE_SZ));
	struct usdt_switch sw = { .pid = pid, .addr = word_at };
	const int32_t rel = (int32_t)distance;
	const uint64_t off = ESPY_CODE_NOP5;
	uint8_t bytes[8];
	int fd, err = 0;

	if (in > 3 || rel != distance)
		return -EINVAL;
	if (!espy_array__grow(s->switches, s->switch_cnt, s->switch_cap))
		return -ENOMEM;
	fd = open_memory(pid);
	if (fd < 0)
		return fd;
	if (!espy_late_pages__all_ready(&s->late, pid, word_at, sizeof(bytes)) ||
	    pread(fd, bytes, sizeof(bytes), (off_t)word_at) != sizeof(bytes)) {
		err = -EIO;
	} else if (memcmp(bytes + in, &off, ESPY_CODE_SITE_SZ)) {
		err = -EBUSY;
	} else {
		memcpy(&sw.off, bytes, sizeof(sw.off));
		bytes[in] = ESPY_CODE_JUMP;
		memcpy(bytes + in + 1, &rel, sizeof(rel));
		memcpy(&sw.on, bytes, sizeof(sw.on));
		if (pwrite(fd, &sw.on, sizeof(sw.on), (off_t)word_at) != sizeof(sw.on))
			err = errno ? -errno : -EIO;
		else
			s->switches[s->switch_cnt++] = sw;
	}
	close(fd);
	return err;
}

void usdt_switch_off_all(struct usdt_source *s, pid_t pid)
{
	size_t kept = 0;
	pid_t open_pid = 0;
	int fd = -1;

	/* Backwards: two sites may lie in the same eight bytes. */
	for (size_t i = s->switch_cnt; i-- > 0;) {
		struct usdt_switch *sw = &s->switches[i];
		uint64_t now;

		if (pid && sw->pid != pid)
			continue;
		if (sw->pid != open_pid) {
			if (fd >= 0)
				close(fd);
			fd = open_memory(sw->pid);
			open_pid = sw->pid;
		}
		/* Another program may be there by now: only bytes that are still ours go back. */
		if (fd >= 0 && pread(fd, &now, sizeof(now), (off_t)sw->addr) == sizeof(now) && now == sw->on &&
		    pwrite(fd, &sw->off, sizeof(sw->off), (off_t)sw->addr) < 0)
			errno = 0; /* it ends at this moment */
		sw->pid = 0;
	}
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < s->switch_cnt; i++)
		if (s->switches[i].pid)
			s->switches[kept++] = s->switches[i];
	s->switch_cnt = kept;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/pid_ask.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/proc_pid.h"
#include "base/small_file.h"
#include "base/task_list.h"

#define LEVELS_MAX 33u /* the kernel's MAX_PID_NS_LEVEL, and the first one */

/* Reads the line NSpid of /proc/TID/status: numbers from /proc's namespace to the task's own. tid 0: of the caller. */
static size_t read_numbers(uint32_t tid, uint32_t *to)
{
	char line[512], *at = line, *end;
	size_t cnt = 0;

	if (espy_read_status((pid_t)tid, "NSpid", line, sizeof(line)) < 0)
		return 0;
	for (; cnt < LEVELS_MAX; at = end) {
		const unsigned long n = strtoul(at, &end, 10);

		if (end == at)
			break;
		to[cnt++] = (uint32_t)n;
	}
	return cnt;
}

/* Reads the inodes of the task's pid namespaces, from its own outwards. Returns how many of cnt it could read. */
static size_t read_namespaces(uint32_t tid, uint32_t *to, size_t cnt)
{
	char path[64];
	struct stat st;
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)espy_proc_pid((pid_t)tid));
	for (int fd = open(path, O_RDONLY | O_CLOEXEC), next; fd >= 0; fd = next) {
		const bool known = !fstat(fd, &st);

		if (known)
			to[n++] = (uint32_t)st.st_ino;
		next = known && n < cnt ? ioctl(fd, NS_GET_PARENT) : -1;
		close(fd);
	}
	return n;
}

size_t espy_pid_numbers_ask(uint32_t tid, struct espy_pid_number *to, size_t max)
{
	uint32_t numbers[LEVELS_MAX], ns[LEVELS_MAX];
	const size_t all = read_numbers(tid, numbers), ours = all > 1 ? read_numbers(0, ns) : 1;
	const size_t cnt = all > ours ? all - ours : 0;

	if (!cnt || cnt > max || read_namespaces(tid, ns, cnt) < cnt)
		return 0;
	for (size_t i = 0; i < cnt; i++)
		to[i] = (struct espy_pid_number){ .ns = ns[cnt - 1 - i], .number = numbers[ours + i] };
	return cnt;
}

uint32_t espy_pid_find(struct espy_pid_number number)
{
	struct espy_pid_number at[ESPY_PID_LEVELS];
	DIR *d = espy_task_list__open(0);
	uint32_t found = 0;

	for (pid_t pid; !found && (pid = espy_task_list__next(d));) {
		const size_t cnt = espy_pid_numbers_ask((uint32_t)pid, at, ESPY_PID_LEVELS);

		for (size_t i = 0; i < cnt && !found; i++)
			if (at[i].ns == number.ns && at[i].number == number.number)
				found = (uint32_t)pid;
	}
	espy_task_list__close(d);
	return found;
}

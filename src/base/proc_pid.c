/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/proc_pid.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Since 6.9; older headers have no name for it. */
#define OF_THREAD O_EXCL
#define LEVELS_MAX 33 /* the kernel's MAX_PID_NS_LEVEL, and the first one */

bool espy_proc_is_foreign(void)
{
	static int known; /* 0: not yet, 1: it is ours, 2: foreign; each thread finds the same */
	char self[16];

	if (!__atomic_load_n(&known, __ATOMIC_RELAXED)) {
		const ssize_t len = readlink("/proc/self", self, sizeof(self) - 1);

		self[len > 0 ? len : 0] = '\0';
		__atomic_store_n(&known, len <= 0 || strtol(self, NULL, 10) == getpid() ? 1 : 2, __ATOMIC_RELAXED);
	}
	return __atomic_load_n(&known, __ATOMIC_RELAXED) == 2;
}

/* Reads the numbers in a line "NAME:" of a file. Returns how many there are; the first max of them are in to. */
static int read_numbers(const char *path, const char *name, pid_t *to, int max)
{
	char text[4096], *at, *end;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	int cnt = 0;

	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
	at = strstr(text, name);
	/* a number stands behind a blank or a tab, and the line ends with the last one */
	for (at = at ? at + strlen(name) : text + (len > 0 ? len : 0); *at == ' ' || *at == '\t'; at = end, cnt++) {
		const long n = strtol(at, &end, 10);

		if (end == at)
			break;
		if (cnt < max)
			to[cnt] = (pid_t)n;
	}
	return cnt;
}

/* The kernel tells of a pidfd the number that its process has in the namespace of that /proc. */
static pid_t ask(int pidfd)
{
	char path[48];
	pid_t pid = -1;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	return read_numbers(path, "\nPid:", &pid, 1) && pid > 0 ? pid : -1;
}

pid_t espy_proc_pid(pid_t tid)
{
	if (!espy_proc_is_foreign())
		return tid;
	int pidfd = (int)syscall(SYS_pidfd_open, tid, 0);

	if (pidfd < 0)
		pidfd = (int)syscall(SYS_pidfd_open, tid, OF_THREAD);
	const pid_t pid = pidfd < 0 ? -1 : ask(pidfd);

	if (pidfd >= 0)
		close(pidfd);
	return pid;
}

pid_t espy_proc_pid__ours(pid_t pid)
{
	pid_t numbers[LEVELS_MAX], none;
	char path[32];

	if (!espy_proc_is_foreign())
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	const int cnt = read_numbers(path, "\nNSpid:", numbers, LEVELS_MAX);
	const int ours = read_numbers("/proc/self/status", "\nNSpid:", &none, 1);

	/* A namespace beside ours is as deep, and gives the same numbers. */
	return ours && ours <= cnt && cnt <= LEVELS_MAX && espy_proc_pid(numbers[ours - 1]) == pid ? numbers[ours - 1] : -1;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lets a process of its own close descriptors whose close takes the kernel long. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "source/bpf/bpf_source.h"

static int ascending(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Runs in a process of its own: keeps these descriptors only, waits until it alone has them, and closes them. */
static void __attribute__((noreturn)) hold_and_close(int *keep, size_t cnt, int go, int done)
{
	unsigned first = 0;
	char c;

	qsort(keep, cnt, sizeof(*keep), ascending);
	for (size_t i = 0; i < cnt; i++) {
		if ((unsigned)keep[i] > first)
			syscall(SYS_close_range, first, (unsigned)keep[i] - 1, 0);
		first = (unsigned)keep[i] + 1;
	}
	syscall(SYS_close_range, first, ~0u, 0);
	while (read(go, &c, 1) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < cnt; i++)
		if (keep[i] != go && keep[i] != done)
			close(keep[i]);
	_exit(write(done, "d", 1) != 1);
}

int bpf_release(const int *fds, size_t cnt, int *over)
{
	int go[2] = { -1, -1 }, done[2] = { -1, -1 }, *keep = calloc(cnt + 2, sizeof(*keep)), err = 0;
	pid_t pid = -1;

	if (!keep || pipe2(go, O_CLOEXEC) || pipe2(done, O_CLOEXEC))
		err = keep ? -errno : -ENOMEM;
	else
		pid = fork();
	if (!pid) {
		if (fork())
			_exit(0);
		memcpy(keep, fds, cnt * sizeof(*keep));
		keep[cnt] = go[0];
		keep[cnt + 1] = done[1];
		hold_and_close(keep, cnt + 2, go[0], done[1]);
	}
	if (!err && pid < 0)
		err = -errno;
	for (size_t i = 0; i < cnt; i++)
		close(fds[i]);
	free(keep);
	if (done[1] >= 0)
		close(done[1]);
	if (go[0] >= 0) {
		close(go[0]);
		close(go[1]);
	}
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	if (!err && over)
		*over = done[0];
	else if (done[0] >= 0)
		close(done[0]);
	return err;
}

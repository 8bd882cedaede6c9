/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The helper process: has the pages that tasks sleep on, and sees to those who are held when its owner cannot. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "pause.h"

/* The helper: has the pages mapped, and waits for the end of its owner. */
static void __attribute__((noreturn)) be_helper(int alive, bpf_orphan_fn orphan, void *ctx)
{
	sigset_t all;
	char c;

	/* Not in the terminal's process group, nor ended by anything but SIGKILL. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "espy-hold");
	if (chdir("/") < 0)
		_exit(1);
	if (alive) {
		syscall(SYS_close_range, 0u, (unsigned)alive - 1, 0);
		syscall(SYS_close_range, (unsigned)alive + 1, ~0u, 0);
	}
	while (read(alive, &c, 1) < 0 && errno == EINTR)
		;
	if (orphan)
		orphan(ctx);
	_exit(0);
}

int bpf_pages__start_helper(struct bpf_pages *p, bpf_orphan_fn orphan, void *ctx)
{
	int alive[2], err;

	if (pipe2(alive, O_CLOEXEC))
		return -errno;
	/* No signal at its end: SIGCHLD is for the children that the user knows of. */
	p->helper = (pid_t)syscall(SYS_clone, 0ul, NULL, NULL, NULL, 0ul);
	if (!p->helper)
		be_helper(alive[0], orphan, ctx);
	err = p->helper < 0 ? -errno : 0;
	close(alive[0]);
	p->alive = alive[1];
	if (err) {
		p->helper = 0;
		return err;
	}
	p->pidfd = (int)syscall(SYS_pidfd_open, p->helper, 0);
	return p->pidfd < 0 ? -errno : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/own_process.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

pid_t espy_own_process__begin(void)
{
	const long pid = syscall(SYS_clone, 0ul, NULL, NULL, NULL, 0ul);

	return pid < 0 ? -errno : (pid_t)pid;
}

void espy_own_process__settle(const char *name, int end)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpriority(PRIO_PROCESS, 0, 0); /* the reader may be in more of a hurry */
	if (dup2(end, 0) < 0)
		_exit(1);
	syscall(SYS_close_range, 1u, ~0u, 0);
}

void espy_stuck_processes__add(struct espy_stuck_processes *s, pid_t pid)
{
	s->v[s->cnt++] = pid;
}

unsigned espy_stuck_processes__reap(struct espy_stuck_processes *s)
{
	unsigned left = 0;

	for (unsigned i = 0; i < s->cnt; i++)
		if (!waitpid(s->v[i], NULL, __WALL | WNOHANG))
			s->v[left++] = s->v[i];
	return s->cnt = left;
}

void espy_stuck_processes__end(struct espy_stuck_processes *s)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	for (int i = 0; i < 100 && s->cnt && espy_stuck_processes__reap(s); i++)
		nanosleep(&nap, NULL);
}

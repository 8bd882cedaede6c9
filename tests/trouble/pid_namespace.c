/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs in a pid namespace of their own: the first one, and its child, which asks for numbers, and another one. Prints theirs, from outside. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int inner(void)
{
	const pid_t child = fork();

	if (!child) {
		getppid();
		syscall(SYS_gettid);
		kill(getpid(), 0);
		getpgid(0);
		getpriority(PRIO_PROCESS, (id_t)getpid());
		syscall(SYS_ioprio_get, 1, getpid()); /* IOPRIO_WHO_PROCESS */
		prctl(PR_SET_PTRACER, getpid());
		_exit(0);
	}
	if (child != 2 || waitpid(child, NULL, 0) != child)
		return 1;
	/* One that has ended before its parent hears of its birth. */
	const pid_t brief = vfork();

	if (!brief)
		_exit(0);
	return brief != 3 || waitpid(brief, NULL, 0) != brief;
}

int main(void)
{
	int status;

	if (unshare(CLONE_NEWPID))
		return 77;
	const pid_t first = fork();

	if (!first)
		_exit(inner());
	if (waitpid(first, &status, 0) != first || status)
		return 1;
	printf("%d\n", (int)first);
	return 0;
}

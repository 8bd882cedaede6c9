/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Gives its parent a child, by CLONE_PARENT, and ends when that child has gone. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../wait.h"

int main(void)
{
	const pid_t child = (pid_t)syscall(SYS_clone, (unsigned long)CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0ul);

	if (!child)
		_exit(42);
	if (child < 0)
		return 1;
	/* A zombie is still there: only its parent, the tracer, can take it away. */
	return !WAIT_UNTIL(kill(child, 0) < 0 && errno == ESRCH);
}

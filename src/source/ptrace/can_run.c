/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tells whether the ptrace source can run here. It tries, on a child of our own that does nothing: version numbers lie
 * (back-ports, emulations, sandboxes).
 */
#include "ptrace_source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The first step that failed on the child, and its errno. */
enum step { STEP_OK, STEP_SEIZE, STEP_STOP, STEP_INFO };

static enum step try_on(pid_t pid, int *err)
{
	struct __ptrace_syscall_info info;
	enum step step = STEP_OK;
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)PTRACE_O_TRACESYSGOOD))
		step = STEP_SEIZE;
	else if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) || waitpid(pid, &status, __WALL) != pid ||
		 !WIFSTOPPED(status))
		step = STEP_STOP;
	else if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info) <= 0)
		step = STEP_INFO;
	*err = errno;
	return step;
}

int espy_ptrace__probe(char *why, size_t why_sz)
{
	const pid_t self = getpid();
	/* No exit signal: the caller's SIGCHLD is not touched. Like fork otherwise. */
	pid_t pid = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
	char reason[300];
	enum step step;
	int err = 0, status;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* if we are killed meanwhile, it is not left behind */
		while (getppid() == self) /* killed even before that: no signal would come */
			pause();
		_exit(0);
	}
	if (pid < 0) {
		err = errno;
		snprintf(why, why_sz, "no process can be made: %s", strerror(err));
		return -err;
	}
	step = try_on(pid, &err);
	if (step == STEP_SEIZE)
		espy_ptrace__explain(pid, -err, reason, sizeof(reason));
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
		;
	switch (step) {
	case STEP_OK:
		if (why_sz)
			why[0] = 0;
		return 0;
	case STEP_SEIZE:
		snprintf(why, why_sz, "a child cannot be traced: %s", reason);
		break;
	case STEP_STOP:
		snprintf(why, why_sz, "a traced child cannot be stopped: %s", strerror(err));
		break;
	case STEP_INFO:
		snprintf(why, why_sz, "the kernel lacks PTRACE_GET_SYSCALL_INFO: it needs Linux 5.3 or later");
		break;
	}
	return -(err ? err : EIO);
}

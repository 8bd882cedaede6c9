/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Oracle: clone, clone3, vfork, execveat, wait and exit. */
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int leave(void *arg)
{
	_exit((int)(intptr_t)arg);
}

int main(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	char *argv[] = { (char *)"true", (char *)"an \"argument\"\n", NULL }, *env[] = { (char *)"A=1", (char *)"B=2", NULL };
	struct clone_args ca;
	struct rusage ru;
	siginfo_t si;
	int st, pidfd = -1;

	pid_t p = fork();
	if (!p)
		_exit(3);
	waitpid(p, &st, 0);
	p = clone(leave, stack + sizeof(stack), CLONE_FS | CLONE_FILES | SIGCHLD, (void *)4);
	wait4(p, &st, 0, &ru);
	p = clone(leave, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)5);
	waitid(P_PID, p, &si, WEXITED | WNOWAIT);
	waitid(P_PID, p, &si, WEXITED);
	memset(&ca, 0, sizeof(ca));
	ca.flags = CLONE_PIDFD;
	ca.pidfd = (uintptr_t)&pidfd;
	ca.exit_signal = SIGCHLD;
	p = syscall(SYS_clone3, &ca, sizeof(ca));
	if (!p)
		_exit(6);
	waitid(P_PIDFD, pidfd, &si, WEXITED);
	p = vfork();
	if (!p) {
		execve("/bin/true", argv, env);
		_exit(127);
	}
	waitpid(p, &st, 0);
	p = vfork();
	if (!p) {
		execve("/does/not/exist", argv, env);
		syscall(SYS_execveat, -1, "relative", argv, env, AT_SYMLINK_NOFOLLOW);
		int fd = open("/bin/true", O_PATH | O_CLOEXEC);
		syscall(SYS_execveat, fd, "", argv, env, AT_EMPTY_PATH);
		_exit(127);
	}
	waitpid(p, &st, WUNTRACED | WCONTINUED);
	p = fork();
	if (!p) {
		raise(SIGTERM);
		_exit(0);
	}
	waitpid(p, &st, 0);
	waitpid(-1, &st, WNOHANG);
	waitpid(99999999, &st, __WALL);
	wait(NULL);
	syscall(SYS_clone3, NULL, 0L);
	syscall(SYS_clone3, &ca, 8L);
	return 0;
}

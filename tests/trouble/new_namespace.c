/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * new_namespace: makes a child in a uts namespace of its own by clone(), and prints how that is called. The child stays until
 * standard input ends.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	char name[64];
	const pid_t child = (pid_t)syscall(SYS_clone, CLONE_NEWUTS | SIGCHLD, 0, 0, 0, 0);

	if (child < 0)
		return 77;
	if (!child) {
		const ssize_t n = readlink("/proc/self/ns/uts", name, sizeof(name) - 1);

		name[n > 0 ? n : 0] = '\0';
		puts(name);
		fflush(stdout);
		while (read(STDIN_FILENO, name, sizeof(name)) > 0)
			;
		return 0;
	}
	return wait(NULL) != child;
}

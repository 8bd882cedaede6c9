/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* make_forks N: N children, up to 50 at once; each ends at once with status 3. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, live = 0, st;

	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (!pid)
			syscall(SYS_exit_group, 3);
		if (++live == 50) {
			if (wait(&st) < 0 || WEXITSTATUS(st) != 3)
				return 1;
			live--;
		}
	}
	while (live--)
		if (wait(&st) < 0 || WEXITSTATUS(st) != 3)
			return 1;
	return 0;
}

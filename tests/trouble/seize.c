/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* seize FILE PID...: stops every thread of these processes as a debugger does, then makes FILE; lets go when FILE is gone, after a minute at the latest. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../wait.h"

int main(int argc, char **argv)
{
	int fd;

	for (int i = 2; i < argc; i++) {
		char path[64];
		DIR *d;

		snprintf(path, sizeof(path), "/proc/%s/task", argv[i]);
		d = opendir(path);
		for (struct dirent *e; d && (e = readdir(d));) {
			pid_t tid = (pid_t)atoi(e->d_name);

			if (tid <= 0)
				continue;
			if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) ||
			    waitpid(tid, NULL, __WALL) != tid) {
				perror(e->d_name);
				return 1;
			}
		}
		if (d)
			closedir(d);
	}
	fd = open(argv[1], O_WRONLY | O_CREAT, 0600);
	return fd < 0 || !WAIT_UNTIL(access(argv[1], F_OK)); /* they run on with our end */
}

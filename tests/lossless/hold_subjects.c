/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hold_subjects.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct progress *progress;

static void on_signal(int sig)
{
	(void)sig;
	progress->signals++;
}

/* count FILE N WARM: WARM other calls, then N getpgrps, each counted by the instruction behind the call. */
static int count(const char *file, long n, long warm)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	int fd = open(file, O_RDWR);

	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || progress == MAP_FAILED || sigaction(SIGUSR1, &sa, NULL))
		return 1;
	for (long i = 0; i < warm; i++)
		syscall(SYS_getppid);
	for (long i = 0; i < n; i++) {
		long ret = SYS_getpgrp;

		__asm__ volatile("syscall\n\tlock incq %1" : "+a"(ret), "+m"(progress->counted) : : "rcx", "r11", "memory");
	}
	progress->done = 1;
	return 0;
}

/* writers CHILDREN N: each makes N getpgrps. */
static int writers(long children, long n)
{
	int bad = 0, status;

	for (long c = 0; c < children; c++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid)
			continue;
		for (long i = 0; i < n; i++)
			syscall(SYS_getpgrp);
		_exit(0);
	}
	while (wait(&status) > 0)
		bad |= status;
	return bad != 0;
}

int run_subject(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "count"))
		return count(argv[2], atol(argv[3]), atol(argv[4]));
	if (argc == 4 && !strcmp(argv[1], "writers"))
		return writers(atol(argv[2]), atol(argv[3]));
	return -1;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * spent FILE COMMAND...: runs the command and writes to FILE how long it ran and how much CPU time it took, children
 * included, in seconds. The shell's `times` counts hundredths, which is too coarse. Ends with the status of the command.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct timespec begin, end;
	struct rusage used;
	int status;

	if (argc < 3) {
		fprintf(stderr, "usage: spent FILE COMMAND...\n");
		return 2;
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	const pid_t pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &end);

	FILE *f = fopen(argv[1], "we");
	if (!f)
		return 1;
	fprintf(f, "%.6f %.6f\n", (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9,
		seconds_of(used.ru_utime) + seconds_of(used.ru_stime));
	if (fclose(f))
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

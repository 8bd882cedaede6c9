/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * relay RUNNERS N: a number goes round among processes, each on another CPU as far as there are. Who gets it calls
 * lseek(-1, number) and hands on the next one, until each has had it N times: there is only one order of these calls.
 */
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 64
#define FROM 200 /* Each process has its ends at the same numbers, as the processes of a server have. */
#define TO 201

static int run(int from, int to, long last)
{
	long number;

	while (read(from, &number, sizeof(number)) == sizeof(number)) {
		syscall(SYS_lseek, -1, number, SEEK_SET);
		number++;
		/* Whoever had it last has gone when the last numbers come round. */
		if (write(to, &number, sizeof(number)) != sizeof(number) || number > last)
			return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	long runners = argc > 2 ? atol(argv[1]) : 0, rounds = argc > 2 ? atol(argv[2]) : 0, number = 1;
	int pipes[MOST][2], status, bad = 0;
	cpu_set_t allowed;

	if (runners < 1 || runners > MOST || sched_getaffinity(0, sizeof(allowed), &allowed))
		return 2;
	for (long i = 0; i < runners; i++)
		if (pipe(pipes[i]))
			return 2;
	for (long i = 0, cpu = -1; i < runners; i++) {
		cpu_set_t one;

		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET((size_t)cpu, &allowed));
		CPU_ZERO(&one);
		CPU_SET((size_t)cpu, &one);
		if (!fork()) {
			if (sched_setaffinity(0, sizeof(one), &one))
				_exit(2);
			if (dup2(pipes[i][0], FROM) != FROM || dup2(pipes[(i + 1) % runners][1], TO) != TO)
				_exit(2);
			_exit(run(FROM, TO, (rounds - 1) * runners + i + 1));
		}
	}
	if (write(pipes[0][1], &number, sizeof(number)) != sizeof(number))
		return 2;
	while (wait(&status) > 0)
		bad |= status;
	return bad != 0;
}

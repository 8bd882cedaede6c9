// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * rmdir() now and then among many other calls, over the time in which a tracer of few calls changes its tracepoints:
 *	busy MS		two threads, each a rmdir in eight calls; prints how many were made
 *	idle N		N children: rmdir, no call at all for a random time, rmdir
 *	int80 N MS	after so long, N rmdirs as 32-bit calls of a 64-bit program, which also ends by one
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_ulong made;
static unsigned long stop_ms;

/* Without a system call: the vdso answers. */
static unsigned long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000 + (unsigned long)t.tv_nsec / 1000000;
}

static void *busy(void *arg)
{
	unsigned n = 0;

	while (now_ms() < stop_ms)
		if (++n % 8) {
			syscall(SYS_getppid);
		} else {
			rmdir("/no/such/directory");
			atomic_fetch_add(&made, 1);
		}
	return arg;
}

static int idle_child(unsigned seed)
{
	unsigned long until = now_ms() + seed * 7919 % 160;

	rmdir("/no/such/directory");
	while (now_ms() < until)
		;
	rmdir("/no/such/directory");
	_exit(0);
}

static long call32(long nr, const void *arg)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(nr), "b"(arg) : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

int main(int argc, char **argv)
{
	static char path[] = "/no/such/directory"; /* low in memory: built without PIE */
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	pthread_t t;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "busy")) {
		stop_ms = now_ms() + n;
		if (pthread_create(&t, NULL, busy, NULL))
			return 1;
		busy(NULL);
		pthread_join(t, NULL);
		printf("%lu\n", (unsigned long)made);
	} else if (!strcmp(argv[1], "idle")) {
		for (unsigned i = 0; i < n; i++) {
			if (!fork())
				return idle_child(i);
			if (i >= 3)
				wait(NULL);
		}
		while (wait(NULL) > 0)
			;
	} else if (!strcmp(argv[1], "int80")) {
		usleep((useconds_t)(argc > 3 ? strtoul(argv[3], NULL, 10) : 0) * 1000);
		for (unsigned long i = 0; i < n; i++)
			call32(40 /* rmdir */, path);
		call32(1 /* exit */, NULL);
	}
	return 0;
}

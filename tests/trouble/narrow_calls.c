// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * rmdir() now and then among many other calls, over the time in which a tracer of few calls changes its tracepoints:
 *	busy FILE [US]	two threads, each a rmdir in eight calls, until there is FILE; prints how many were made. Each rests for so
 *			many microseconds behind each 512 calls
 *	some N		N rmdirs in eight times as many calls
 *	idle N FILE	N children: rmdir, no call at all for a random time, rmdir; the first is silent until FILE begins with x
 *	int80 N		behind a line of standard input N rmdirs as 32-bit calls of a 64-bit program, which also ends by one
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../wait.h"

static atomic_ulong made;
static const char *stop_file;
static uint64_t rest_us;

/* Without a system call: the vdso answers. */
static unsigned long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000 + (unsigned long)t.tv_nsec / 1000000;
}

/* Eight calls. */
static void some(void)
{
	for (unsigned i = 0; i < 7; i++)
		syscall(SYS_getppid);
	rmdir("/no/such/directory");
	atomic_fetch_add(&made, 1);
}

static void *busy(void *arg)
{
	for (unsigned i = 1; i % 64 || access(stop_file, F_OK); i++) {
		some();
		if (i % 64 == 0 && rest_us)
			wait_moment_us(rest_us); /* sleeps: a program that is watched */
	}
	return arg;
}

static int idle_child(unsigned seed, volatile const char *flag)
{
	const unsigned long until = now_ms() + seed * 7919 % 160, end = now_ms() + WAIT_LIMIT_MS;

	rmdir("/no/such/directory");
	while (now_ms() < until || (!seed && *flag != 'x' && now_ms() < end))
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
	char c;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "busy")) {
		stop_file = argv[2];
		rest_us = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
		if (pthread_create(&t, NULL, busy, NULL))
			return 1;
		busy(NULL);
		pthread_join(t, NULL);
		printf("%lu\n", (unsigned long)made);
	} else if (!strcmp(argv[1], "some")) {
		while (n--)
			some();
	} else if (!strcmp(argv[1], "idle") && argc > 3) {
		const int fd = open(argv[3], O_RDONLY);
		const char *flag = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);

		if (flag == MAP_FAILED)
			return 1;
		for (unsigned i = 0; i < n; i++) {
			if (!fork())
				return idle_child(i, flag);
			if (i >= 3)
				wait(NULL);
		}
		while (wait(NULL) > 0)
			;
	} else if (!strcmp(argv[1], "int80")) {
		while (read(0, &c, 1) == 1 && c != '\n')
			;
		for (unsigned long i = 0; i < n; i++)
			call32(40 /* rmdir */, path);
		call32(1 /* exit */, NULL);
	}
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A subject of tamper.sh: a few calls, and what the program saw of each on standard output. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

static void *other_thread(void *arg)
{
	for (int i = 0; i < 3; i++) {
		errno = 0;
		const long got = syscall(SYS_getpgid, 0);

		printf("thread %d %d\n", got > 0 ? 1 : -1, errno);
	}
	return arg;
}

int main(int argc, char **argv)
{
	char bytes[256] = "wwwwwww";
	struct timespec a, b;

	signal(SIGUSR2, on_signal);
	if (argc > 1 && !strcmp(argv[1], "threads")) {
		pthread_t t;

		other_thread(NULL);
		errno = 0;
		if (pthread_create(&t, NULL, other_thread, NULL) || pthread_join(t, NULL))
			return 1;
		return 0;
	}
	for (int i = 1; i <= 6; i++) {
		errno = 0;
		clock_gettime(CLOCK_MONOTONIC, &a);
		const long got = syscall(SYS_getpgid, 0);

		clock_gettime(CLOCK_MONOTONIC, &b);
		const long ms = (b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000;
		printf("%d: %s errno %d signals %d%s\n", i, got == getpgrp() ? "own" : got == 42 ? "42" : "other", errno,
		       (int)signals, ms >= 1000 ? " late" : "");
		fflush(stdout);
	}
#ifdef __x86_64__
	syscall(SYS_arch_prctl, 0x1023, 2); /* ARCH_REQ_XCOMP_PERM */
	const uint64_t larger[12] = { [4] = SIGCHLD, [11] = 0x4141 };
	syscall(SYS_clone3, larger, sizeof(larger)); /* the kernel refuses it: it knows no bytes there */
#endif
	uint64_t api[3] = { 0xaa };
	ioctl(-1, 0xc018aa3f, api); /* UFFDIO_API */
	/* It fails: the kernel writes nothing. */
	const long n = syscall(SYS_statfs, NULL, bytes);

	printf("read %ld %.4s\n", n, bytes);
	return 0;
}

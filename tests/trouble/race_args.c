/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* 20000 calls whose path another thread rewrites all the time. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static char path[] = "/nonexistent/aaaaaaaaaaaaaaaa";
static volatile int stop;

static void *scribble(void *arg)
{
	while (!stop)
		for (unsigned i = 13; path[i] && !stop; i++)
			((volatile char *)path)[i] ^= 'a' ^ 'b';
	return arg;
}

int main(void)
{
	pthread_t id;

	if (pthread_create(&id, NULL, scribble, NULL))
		return 1;
	for (int i = 0; i < 20000; i++)
		syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
	stop = 1;
	pthread_join(id, NULL);
	puts("20000 calls");
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The first thread ends before the other one. Prints the number of the first, then of the other. */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_t first;

static void *body(void *arg)
{
	pthread_join(first, NULL);
	usleep(50000);
	printf("%d %ld\n", (int)getpid(), syscall(SYS_gettid));
	return arg;
}

int main(void)
{
	pthread_t id;

	first = pthread_self();
	if (pthread_create(&id, NULL, body, NULL))
		return 1;
	pthread_exit(NULL);
}

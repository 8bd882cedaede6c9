/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* threads N: a process of N threads that wait; prints its pid when all are there. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *wait_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1;
	pthread_attr_t small;
	pthread_t t;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (long i = 1; i < n; i++)
		if (pthread_create(&t, &small, wait_for_ever, NULL)) {
			fprintf(stderr, "threads: %ld of %ld\n", i, n);
			return 1;
		}
	printf("%d\n", (int)getpid());
	fflush(stdout);
	wait_for_ever(NULL);
}

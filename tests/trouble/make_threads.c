/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* make_threads T N: T threads, N calls of getppid in each. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static long calls;

static void *body(void *arg)
{
	for (long i = 0; i < calls; i++)
		syscall(SYS_getppid);
	return arg;
}

int main(int argc, char **argv)
{
	int t = argc > 2 ? atoi(argv[1]) : 1;
	pthread_t *id = calloc((size_t)t, sizeof(*id));

	calls = argc > 2 ? atol(argv[2]) : 1;
	for (int i = 0; i < t; i++)
		if (pthread_create(&id[i], NULL, body, NULL))
			return 1;
	for (int i = 0; i < t; i++)
		pthread_join(id[i], NULL);
	free(id);
	return 0;
}

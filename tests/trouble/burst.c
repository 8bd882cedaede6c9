/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* burst THREADS CALLS BYTES: so many threads at once, each writes so many times so many bytes to /dev/null. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int calls, null;
static size_t bytes;
static char *data;

static void *body(void *arg)
{
	for (int i = 0; i < calls; i++)
		if (write(null, data, bytes) != (ssize_t)bytes)
			abort();
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc > 3 ? atoi(argv[1]) : 0;
	pthread_t *threads = calloc((size_t)n + 1, sizeof(*threads));
	pthread_attr_t attr;

	calls = n ? atoi(argv[2]) : 0;
	bytes = n ? (size_t)atol(argv[3]) : 0;
	data = malloc(bytes + 1);
	null = open("/dev/null", O_WRONLY);
	if (!threads || !data || null < 0)
		return 2;
	memset(data, 'x', bytes);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], &attr, body, NULL)) {
			perror("pthread_create");
			return 1;
		}
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

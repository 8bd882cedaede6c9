/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The first thread ends before the other one, which waits until the kernel says so. Prints the number of the first, then of the other.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../wait.h"

static pthread_t first;

/* Its state is that of a task that has ended. */
static int has_left(void)
{
	char text[512] = "", path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	f = fopen(path, "r");
	if (f) {
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		fclose(f);
	}
	const char *end = strrchr(text, ')');

	return end && end[1] == ' ' && end[2] == 'Z';
}

static void *body(void *arg)
{
	pthread_join(first, NULL);
	if (!WAIT_UNTIL(has_left()))
		return NULL;
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

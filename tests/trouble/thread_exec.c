/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A thread that is not the leader executes a program; the leader waits in pause. */
#include <pthread.h>
#include <unistd.h>

static void *body(void *arg)
{
	char *argv[] = { "echo", "after exec", NULL };
	char *envp[] = { NULL };

	usleep(20000);
	execve("/bin/echo", argv, envp);
	return arg;
}

int main(void)
{
	pthread_t id;

	if (pthread_create(&id, NULL, body, NULL))
		return 1;
	for (;;)
		pause();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread that is not the leader executes a program; the leader sleeps in pause by then. With an argument it does so by
 * execveat.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../wait.h"

static int leader_sleeps(void)
{
	char text[64] = "", path[64];
	FILE *f;
	int nr = -1;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)getpid());
	f = fopen(path, "r");
	if (f && (!fgets(text, sizeof(text), f) || sscanf(text, "%d", &nr) != 1))
		nr = -1;
	if (f)
		fclose(f);
	return nr == SYS_pause;
}

static void *body(void *arg)
{
	char *argv[] = { "echo", "after exec", NULL };
	char *envp[] = { NULL };

	if (!WAIT_UNTIL(leader_sleeps()))
		return NULL;
	if (arg)
		syscall(SYS_execveat, -1, "/bin/echo", argv, envp, 0);
	execve("/bin/echo", argv, envp);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t id;

	if (pthread_create(&id, NULL, body, argc > 1 ? argv : NULL))
		return 1;
	for (;;)
		pause();
}

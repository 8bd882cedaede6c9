/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Changes the names of its tasks by each way there is, and makes a call under each name: getppid after prctl, getuid after
 * a write to /proc/self/comm, getgid of a thread that was named by another, geteuid after exec.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ready[2], go[2];

static void *thread(void *unused)
{
	int tid = (int)syscall(SYS_gettid);
	char byte;

	(void)unused;
	if (write(ready[1], &tid, sizeof(tid)) != sizeof(tid) || read(go[0], &byte, 1) != 1)
		return NULL;
	syscall(SYS_getgid);
	return NULL;
}

static int set_comm(const char *path, const char *name)
{
	int fd = open(path, O_WRONLY);
	int bad = fd < 0 || write(fd, name, strlen(name)) != (ssize_t)strlen(name);

	close(fd);
	return bad;
}

int main(int argc, char **argv)
{
	pthread_t t;
	char path[64];
	int tid;

	if (argc > 1) {
		syscall(SYS_geteuid);
		return 0;
	}
	prctl(PR_SET_NAME, "by-prctl");
	syscall(SYS_getppid);
	if (set_comm("/proc/self/comm", "by-write"))
		return 1;
	syscall(SYS_getuid);
	if (pipe(ready) || pipe(go) || pthread_create(&t, NULL, thread, NULL) ||
	    read(ready[0], &tid, sizeof(tid)) != sizeof(tid))
		return 1;
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
	if (set_comm(path, "by-another") || write(go[1], "", 1) != 1)
		return 1;
	pthread_join(t, NULL);
	execl(argv[0], argv[0], "again", NULL);
	return 1;
}

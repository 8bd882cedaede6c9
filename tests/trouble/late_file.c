/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * late_file: has /dev/null open, which in its mount namespace is a file of a server that answers nothing, and makes
 * calls with it until SIGTERM. Says "ready". Status 77: such a file cannot be had here.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>
#include "../wait.h"

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

int main(void)
{
	const int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[80];
	int fd = -1;

	snprintf(options, sizeof(options), "fd=%d,rootmode=100666,user_id=0,group_id=0,allow_other", fuse);
	/* O_PATH: nobody asks the server. */
	if (fuse >= 0 && !unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	    !mount("none", "/dev/null", "fuse", 0, options))
		fd = open("/dev/null", O_PATH);
	if (fd < 0) {
		printf("SKIP: a file of a server of its own: %s\n", strerror(errno));
		return 77;
	}
	signal(SIGTERM, on_term);
	printf("ready\n");
	fflush(stdout);
	while (!stop) {
		if (fcntl(fd, F_GETFD) < 0)
			return 1;
		wait_moment_us(1000); /* sleeps: a program that is watched */
	}
	return 0;
}

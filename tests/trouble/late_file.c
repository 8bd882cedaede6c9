/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A file of a server that answers nothing, in a mount namespace of its own.
 *
 *	late_file: has /dev/null open, which is that file, and makes calls with it until SIGTERM. Says "ready".
 *	late_file FILE COMMAND...: runs a command to which FILE is that file.
 *
 * Status 77: such a file cannot be had here.
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

/* Nobody answers at the descriptor, which stays open for all that is run from here. */
static int put_over(const char *path)
{
	const int fuse = open("/dev/fuse", O_RDWR);
	char options[80];

	snprintf(options, sizeof(options), "fd=%d,rootmode=100777,user_id=0,group_id=0,allow_other", fuse);
	return fuse >= 0 && !unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
			       !mount("none", path, "fuse", 0, options) ?
		       0 :
		       -1;
}

int main(int argc, char **argv)
{
	const char *path = argc > 2 ? argv[1] : "/dev/null";
	/* O_PATH: nobody asks the server. */
	const int fd = put_over(path) ? -1 : open(path, O_PATH);

	if (fd < 0) {
		printf("SKIP: a file of a server of its own: %s\n", strerror(errno));
		return 77;
	}
	if (argc > 2) {
		execvp(argv[2], argv + 2);
		return 127;
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

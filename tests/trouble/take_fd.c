/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* take_fd FILE: a child opens FILE as descriptor 77; its parent takes that by pidfd_getfd, reads one byte of it, and both end at once. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THEIRS 77

int main(int argc, char **argv)
{
	int ready[2], over[2], pidfd, fd;
	char c;

	if (argc < 2 || pipe(ready) || pipe(over))
		return 2;
	const pid_t child = fork();
	if (!child) {
		fd = open(argv[1], O_RDONLY);
		close(over[1]);
		if (fd < 0 || dup2(fd, THEIRS) != THEIRS || write(ready[1], "r", 1) != 1)
			_exit(1);
		_exit((int)read(over[0], &c, 1)); /* its end */
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		return 1;
	pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, THEIRS, 0);
	if (fd < 0 || read(fd, &c, 1) != 1)
		return 1;
	close(over[1]);
	wait(NULL);
	return 0;
}

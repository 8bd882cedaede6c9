/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * slow_reader FILE [GO]: copies standard input to FILE, with a pause for each 16 KiB. It reads nothing before there is a file GO, or
 * its parent is gone.
 */
#include <fcntl.h>
#include <unistd.h>
#include "../wait.h"

int main(int argc, char **argv)
{
	static char buf[16384];
	int fd = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
	const pid_t parent = getppid();
	ssize_t n;

	while (argc > 2 && access(argv[2], F_OK) && getppid() == parent)
		WAIT_UNTIL(!access(argv[2], F_OK) || getppid() != parent);
	while (fd >= 0 && (n = read(0, buf, sizeof(buf))) > 0) {
		if (write(fd, buf, (size_t)n) != n)
			return 1;
		wait_moment_us(10000); /* sleeps: a reader that is slow */
	}
	return fd < 0;
}

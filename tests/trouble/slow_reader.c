/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* slow_reader FILE: copies standard input to FILE, with a pause for each 16 KiB. */
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char buf[16384];
	int fd = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
	ssize_t n;

	while (fd >= 0 && (n = read(0, buf, sizeof(buf))) > 0) {
		if (write(fd, buf, (size_t)n) != n)
			return 1;
		usleep(10000);
	}
	return fd < 0;
}

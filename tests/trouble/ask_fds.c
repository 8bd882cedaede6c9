/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ask_fds PATH: opens it as 3 and /dev/null as 4, and asks by poll and select for 3, for 4, and for both. */
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/select.h>
#include <unistd.h>

static void ask(int a, int b)
{
	struct pollfd p[2] = { { .fd = a, .events = POLLIN }, { .fd = b, .events = POLLIN } };
	struct timeval now = { 0, 0 };
	fd_set set;

	poll(p, 2, 0);
	FD_ZERO(&set);
	FD_SET(a, &set);
	FD_SET(b, &set);
	select(5, &set, NULL, NULL, &now);
}

int main(int argc, char **argv)
{
	close(3);
	close(4);
	if (argc < 2 || open(argv[1], O_RDONLY) != 3 || open("/dev/null", O_RDONLY) != 4)
		return 1;
	ask(3, 3);
	ask(4, 4);
	ask(4, 3);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* send_recv N: sends N messages over a socket pair, and receives them. */
#include <stdlib.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0;
	char bytes[32] = "";
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	while (n-- > 0)
		if (send(ends[0], bytes, sizeof(bytes), 0) != sizeof(bytes) ||
		    recv(ends[1], bytes, sizeof(bytes), 0) != sizeof(bytes))
			return 1;
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options of sockets under -s 3: an integer is shown as a whole. */
#include <sys/socket.h>
#include "truth.h"

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-s 3 -e trace=socket,getsockopt,setsockopt");
	const long fd = call(SYS_socket, (long)AF_UNIX, (long)SOCK_STREAM, 0L);
	const int wanted = 0x01020300;
	socklen_t *len = tail_alloc(sizeof(*len));
	int *value = tail_alloc(sizeof(*value));

	if (fd < 0)
		truth_skip("no sockets here");
	line(fd, "socket(AF_UNIX, SOCK_STREAM, 0)");
	line(call(SYS_setsockopt, JUNK(fd), JUNK(SOL_SOCKET), JUNK(SO_PEEK_OFF), tail_copy(&wanted, sizeof(wanted)),
		  JUNK(sizeof(wanted))),
	     "setsockopt(%ld, SOL_SOCKET, SO_PEEK_OFF, [%d], 4)", fd, wanted);
	*len = sizeof(*value);
	line(call(SYS_getsockopt, JUNK(fd), JUNK(SOL_SOCKET), JUNK(SO_PEEK_OFF), value, len),
	     "getsockopt(%ld, SOL_SOCKET, SO_PEEK_OFF, [%d], [4])", fd, wanted);
	return 0;
}

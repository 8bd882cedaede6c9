/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Both ends of a connection: the one that waited has a peer with a number once that is accepted. */
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "truth.h"

static unsigned long inode(long fd)
{
	struct stat st;

	return fstat((int)fd, &st) ? 0 : st.st_ino;
}

int main(int argc, char **argv)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	const socklen_t len = offsetof(struct sockaddr_un, sun_path) + 12;

	truth_begin(argc, argv, "-yy -e trace=connect,accept4,shutdown");
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "espy%07d", getpid() % 10000000);
	const int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
	if (listener < 0 || client < 0 || bind(listener, (struct sockaddr *)&name, len) || listen(listener, 1))
		truth_skip("no sockets here");
	const unsigned long l = inode(listener), c = inode(client);
	line(call(SYS_connect, (long)client, tail_copy(&name, len), (long)len),
	     "connect(%d<UNIX-STREAM:[%lu]>, {sa_family=AF_UNIX, sun_path=@\"%s\"}, %u)", client, c, name.sun_path + 1, len);
	const long server = call(SYS_accept4, (long)listener, NULL, NULL, 0L);
	const unsigned long s = inode(server);
	text("accept4(%d<UNIX-STREAM:[%lu,@\"%s\"]>, NULL, NULL, 0) = %ld<UNIX-STREAM:[%lu->%lu,@\"%s\"]>", listener, l, name.sun_path + 1,
	     server, s, c, name.sun_path + 1);
	line(call(SYS_shutdown, (long)client, (long)SHUT_WR), "shutdown(%d<UNIX-STREAM:[%lu->%lu]>, SHUT_WR)", client, c, s);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sockets of each kind, one after the other under the same number; the program ends before anyone can look at them. */
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define FD 30

/* A call that does nothing, so that the descriptor is shown. */
static void look(int fd)
{
	shutdown(fd, 77);
}

static int moved(int fd)
{
	if (fd < 0 || dup2(fd, FD) != FD)
		_exit(1);
	close(fd);
	return FD;
}

static void connected(int family, int type, const struct sockaddr *any, socklen_t len)
{
	struct sockaddr_storage at;
	socklen_t at_len = sizeof(at);
	int server = socket(family, type, 0), fd;

	if (bind(server, any, len) || getsockname(server, (void *)&at, &at_len))
		_exit(2);
	if (type == SOCK_STREAM)
		listen(server, 1);
	fd = moved(socket(family, type, 0));
	look(fd);
	if (connect(fd, (void *)&at, at_len))
		_exit(3);
	look(fd);
	if (type == SOCK_STREAM) {
		int other = accept(server, NULL, NULL);

		look(other);
		close(other);
	}
	close(server);
	close(fd);
}

int main(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK };
	int pair[2];

	snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "espy-%d", (int)getpid());
	connected(AF_INET, SOCK_STREAM, (void *)&in, sizeof(in));
	connected(AF_INET, SOCK_DGRAM, (void *)&in, sizeof(in));
	connected(AF_INET6, SOCK_STREAM, (void *)&in6, sizeof(in6));
	connected(AF_UNIX, SOCK_STREAM, (void *)&un, (socklen_t)(sizeof(sa_family_t) + 1 + strlen(un.sun_path + 1)));
	moved(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
	look(FD);
	if (bind(FD, (void *)&nl, sizeof(nl)))
		return 4;
	look(FD);
	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	look(moved(pair[0]));
	look(moved((int)syscall(SYS_pidfd_open, getpid(), 0)));
	return 0;
}

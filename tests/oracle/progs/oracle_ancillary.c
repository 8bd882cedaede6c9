/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Oracle: control messages of datagram sockets: packet information, times, TTL and TOS, errors. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char name[128], data[100], control[300];

static void receive(int s, int flags)
{
	struct iovec v = { data, sizeof(data) };
	struct msghdr m = {
		.msg_name = name,
		.msg_namelen = sizeof(name),
		.msg_iov = &v,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	recvmsg(s, &m, flags);
}

/* What is sent over the loopback arrives at once, or when the kernel gets to it. */
static void wait_for(int s, short events)
{
	struct pollfd p = { s, events, 0 };

	poll(&p, 1, 60000);
}

static void on(int s, int level, int option, int value)
{
	setsockopt(s, level, option, &value, sizeof(value));
}

int main(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	socklen_t n = sizeof(in);

	int from = socket(AF_INET, SOCK_DGRAM, 0), to = socket(AF_INET, SOCK_DGRAM, 0);
	bind(to, (void *)&in, sizeof(in));
	getsockname(to, (void *)&in, &n);
	on(to, IPPROTO_IP, IP_PKTINFO, 1);
	on(to, IPPROTO_IP, IP_RECVTTL, 1);
	on(to, IPPROTO_IP, IP_RECVTOS, 1);
	on(to, SOL_SOCKET, SO_TIMESTAMP, 1);
	on(from, IPPROTO_IP, IP_TOS, 0x10);
	sendto(from, "one", 3, 0, (void *)&in, sizeof(in));
	receive(to, 0);
	on(to, IPPROTO_IP, IP_RECVORIGDSTADDR, 1);
	on(to, SOL_SOCKET, SO_TIMESTAMPNS, 1);
	sendto(from, "two", 3, 0, (void *)&in, sizeof(in));
	wait_for(to, POLLIN);
	receive(to, MSG_DONTWAIT);

	int err = socket(AF_INET, SOCK_DGRAM, 0);
	on(err, IPPROTO_IP, IP_RECVERR, 1);
	in.sin_port = htons(1);
	sendto(err, "nobody", 6, 0, (void *)&in, sizeof(in));
	wait_for(err, 0); /* POLLERR */
	receive(err, MSG_ERRQUEUE | MSG_DONTWAIT);

	int from6 = socket(AF_INET6, SOCK_DGRAM, 0), to6 = socket(AF_INET6, SOCK_DGRAM, 0);
	bind(to6, (void *)&in6, sizeof(in6));
	n = sizeof(in6);
	getsockname(to6, (void *)&in6, &n);
	on(to6, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	on(to6, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
	sendto(from6, "six", 3, 0, (void *)&in6, sizeof(in6));
	wait_for(to6, POLLIN);
	receive(to6, MSG_DONTWAIT);
	return 0;
}

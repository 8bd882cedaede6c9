/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Oracle: sockets of several families, messages, control messages, options. */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void addresses(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(80),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(443), .sin6_flowinfo = htonl(5), .sin6_scope_id = 1
	};
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/no/such/socket" };
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK, .nl_pid = 5, .nl_groups = 17 };
	struct sockaddr_ll ll = {
		.sll_family = AF_PACKET, .sll_protocol = htons(3), .sll_ifindex = 1, .sll_hatype = 1, .sll_halen = 6
	};
	struct sockaddr any = { .sa_family = AF_CAN, .sa_data = "other" };

	bind(-1, (void *)&in, sizeof(in));
	bind(-1, (void *)&in, 8);
	bind(-1, (void *)&in, 1);
	bind(-1, NULL, 16);
	inet_pton(AF_INET6, "fe80::1", &in6.sin6_addr);
	connect(-1, (void *)&in6, sizeof(in6));
	inet_pton(AF_INET6, "2001:db8::1", &in6.sin6_addr);
	connect(-1, (void *)&in6, sizeof(in6));
	connect(-1, (void *)&un, sizeof(un));
	connect(-1, (void *)&un, 2);
	memcpy(un.sun_path, "\0abstract", 9);
	connect(-1, (void *)&un, offsetof(struct sockaddr_un, sun_path) + 9);
	bind(-1, (void *)&nl, sizeof(nl));
	nl.nl_groups = 0;
	bind(-1, (void *)&nl, sizeof(nl));
	bind(-1, (void *)&ll, sizeof(ll));
	bind(-1, &any, sizeof(any));
	any.sa_family = AF_UNSPEC;
	connect(-1, &any, sizeof(any));
}

static void options(int s, int u)
{
	struct linger l = { 1, 5 };
	struct ucred cred;
	struct timeval tv = { 1, 2 };
	struct ip_mreq mr = { { htonl(0xe0000001) }, { htonl(INADDR_LOOPBACK) } };
	char buf[300];
	socklen_t n;
	int one = 1;

	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(s, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
	setsockopt(s, IPPROTO_IP, IP_TOS, &one, sizeof(one));
	setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &mr, sizeof(mr));
	setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	setsockopt(s, SOL_SOCKET, 999, &one, sizeof(one));
	setsockopt(s, 999, 1, &one, sizeof(one));
	setsockopt(s, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3);
	n = sizeof(one);
	getsockopt(s, SOL_SOCKET, SO_TYPE, &one, &n);
	getsockopt(s, SOL_SOCKET, SO_ERROR, &one, &n);
	n = sizeof(l);
	getsockopt(s, SOL_SOCKET, SO_LINGER, &l, &n);
	n = sizeof(buf);
	getsockopt(s, IPPROTO_TCP, TCP_CONGESTION, buf, &n);
	n = sizeof(buf);
	getsockopt(s, SOL_SOCKET, SO_RCVTIMEO, buf, &n);
	n = sizeof(cred);
	getsockopt(u, SOL_SOCKET, SO_PEERCRED, &cred, &n);
	getsockopt(-1, SOL_SOCKET, SO_TYPE, &one, &n);
}

static void messages(int a, int b)
{
	union {
		struct cmsghdr h;
		char b[CMSG_SPACE(2 * sizeof(int))];
	} c = { .h = { CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	char cb[200], x[8], y[100];
	struct iovec out[2] = { { (char *)"first", 5 }, { (char *)"second part", 11 } },
		     in[2] = { { x, 8 }, { y, 100 } };
	struct msghdr m = { .msg_iov = out, .msg_iovlen = 2, .msg_control = &c, .msg_controllen = sizeof(c) }, r;
	struct mmsghdr mm[2];
	struct timespec t = { 1, 0 };
	int fds[2] = { 0, 1 }, one = 1;

	memcpy(CMSG_DATA(&c.h), fds, sizeof(fds));
	sendmsg(a, &m, MSG_NOSIGNAL);
	r = (struct msghdr){ .msg_iov = in, .msg_iovlen = 2, .msg_control = cb, .msg_controllen = sizeof(cb) };
	recvmsg(b, &r, MSG_CMSG_CLOEXEC);
	setsockopt(b, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
	m.msg_control = NULL;
	m.msg_controllen = 0;
	sendmsg(a, &m, 0);
	r = (struct msghdr){ .msg_iov = in, .msg_iovlen = 1, .msg_control = cb, .msg_controllen = sizeof(cb) };
	recvmsg(b, &r, 0);
	r = (struct msghdr){ .msg_iov = in, .msg_iovlen = 2 };
	recvmsg(b, &r, MSG_DONTWAIT);
	recvmsg(b, &r, MSG_DONTWAIT);
	recvmsg(-1, &r, 0);
	sendmsg(-1, NULL, 0);
	one = 0;
	setsockopt(b, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
	mm[0] = mm[1] = (struct mmsghdr){ .msg_hdr = { .msg_iov = out, .msg_iovlen = 2 } };
	sendmmsg(a, mm, 2, 0);
	mm[0] = mm[1] = (struct mmsghdr){ .msg_hdr = { .msg_iov = in, .msg_iovlen = 2 } };
	recvmmsg(b, mm, 2, MSG_DONTWAIT, NULL);
	recvmmsg(b, mm, 2, MSG_DONTWAIT, &t);
	sendto(a, "plain", 5, MSG_DONTWAIT | MSG_EOR, NULL, 0);
	recvfrom(b, y, 3, MSG_TRUNC | MSG_PEEK, NULL, NULL);
	recvfrom(b, y, 100, 0, NULL, NULL);
	recvfrom(b, y, 100, MSG_DONTWAIT, NULL, NULL);
}

int main(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) }, peer;
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "sock" };
	socklen_t n = sizeof(in);
	char buf[100];
	int sv[2];

	socket(AF_INET6, SOCK_RAW, 58);
	socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT);
	socket(99, 13, 5);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bind(s, (void *)&in, sizeof(in));
	listen(s, 5);
	getsockname(s, (void *)&in, &n);
	int c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP);
	connect(c, (void *)&in, sizeof(in));
	n = sizeof(peer) + 8;
	int a = accept4(s, (void *)&peer, &n, SOCK_CLOEXEC);
	n = sizeof(peer);
	getpeername(a, (void *)&peer, &n);
	shutdown(a, SHUT_WR);
	shutdown(-1, 9);
	accept(-1, NULL, NULL);
	int d = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
	in.sin_port = 0;
	bind(d, (void *)&in, sizeof(in));
	n = sizeof(in);
	getsockname(d, (void *)&in, &n);
	sendto(d, "datagram", 8, 0, (void *)&in, sizeof(in));
	n = sizeof(peer);
	recvfrom(d, buf, sizeof(buf), 0, (void *)&peer, &n);
	int u = socket(AF_UNIX, SOCK_STREAM, 0);
	bind(u, (void *)&un, sizeof(un.sun_family) + 5);
	socketpair(AF_UNIX, SOCK_DGRAM, 0, sv);
	addresses();
	messages(sv[0], sv[1]);
	socketpair(AF_UNIX, SOCK_STREAM, 0, sv);
	options(s, sv[0]);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/socket_ask.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/proc_pid.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD 0x80 /* O_EXCL: linux/pidfd.h since Linux 6.9 */
#endif

/* Asks the kernel's socket diagnosis. It gives each answer to fn until fn returns true. */
static bool ask_diag(const void *req, size_t req_sz, bool (*fn)(void *ctx, const struct nlmsghdr *h), void *ctx)
{
	_Alignas(struct nlmsghdr) char buf[16384];
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	bool found = false, more = true;

	if (fd < 0)
		return false;
	if (send(fd, req, req_sz, 0) != (ssize_t)req_sz)
		more = false;
	while (more && !found) {
		ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

		if (n <= 0)
			break;
		for (const struct nlmsghdr *h = (const struct nlmsghdr *)buf; NLMSG_OK(h, (size_t)n) && !found;
		     h = NLMSG_NEXT(h, n)) {
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
				more = false;
				break;
			}
			if (!(h->nlmsg_flags & NLM_F_MULTI))
				more = false;
			found = h->nlmsg_type == SOCK_DIAG_BY_FAMILY && fn(ctx, h);
		}
	}
	close(fd);
	return found;
}

static bool is_inode(void *ctx, const struct nlmsghdr *h)
{
	const struct inet_diag_msg *m = NLMSG_DATA(h);
	struct espy_fact_socket *s = ctx;

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)) || m->idiag_inode != (uint32_t)s->ino)
		return false;
	s->local_port = ntohs(m->id.idiag_sport);
	s->remote_port = ntohs(m->id.idiag_dport);
	memcpy(s->local, m->id.idiag_src, sizeof(s->local));
	memcpy(s->remote, m->id.idiag_dst, sizeof(s->remote));
	return true;
}

static bool ask_inet(struct espy_fact_socket *s)
{
	static const struct {
		const char *name;
		uint8_t family, protocol;
	} protos[] = {
		{ "TCP", AF_INET, IPPROTO_TCP },	  { "TCPv6", AF_INET6, IPPROTO_TCP },
		{ "UDP", AF_INET, IPPROTO_UDP },	  { "UDPv6", AF_INET6, IPPROTO_UDP },
		{ "UDP-Lite", AF_INET, IPPROTO_UDPLITE }, { "UDPLITEv6", AF_INET6, IPPROTO_UDPLITE },
	};

	for (size_t i = 0; i < sizeof(protos) / sizeof(protos[0]); i++) {
		if (strcmp(s->proto, protos[i].name))
			continue;
		const struct {
			struct nlmsghdr h;
			struct inet_diag_req_v2 r;
		} req = {
			.h = { .nlmsg_len = sizeof(req),
			       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
			.r = { .sdiag_family = protos[i].family,
			       .sdiag_protocol = protos[i].protocol,
			       .idiag_states = UINT32_MAX },
		};

		s->family = protos[i].family;
		s->protocol = protos[i].protocol;
		/* Unlike /proc/net/tcp it also tells of sockets that are bound and do not listen (since Linux 6.8). */
		return ask_diag(&req, sizeof(req), is_inode, s);
	}
	return false;
}

static bool read_unix(void *ctx, const struct nlmsghdr *h)
{
	struct espy_fact_socket *s = ctx;
	const char *msg = (const char *)h;

	for (size_t off = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct unix_diag_msg));
	     off + sizeof(struct nlattr) <= h->nlmsg_len;) {
		const struct nlattr *a = (const struct nlattr *)(msg + off);

		if (a->nla_len < sizeof(*a) || off + a->nla_len > h->nlmsg_len)
			break;
		size_t len = a->nla_len - sizeof(*a);
		if (a->nla_type == UNIX_DIAG_PEER && len >= 4)
			memcpy(&s->peer, a + 1, 4);
		if (a->nla_type == UNIX_DIAG_NAME && len <= sizeof(s->name)) {
			memcpy(s->name, a + 1, len);
			s->name_sz = (uint16_t)len;
		}
		off += NLA_ALIGN(a->nla_len);
	}
	return true;
}

/* Asks for one AF_UNIX socket: /proc/net/unix does not tell the peer. */
static bool ask_unix(struct espy_fact_socket *s)
{
	const struct {
		struct nlmsghdr h;
		struct unix_diag_req r;
	} req = {
		.h = { .nlmsg_len = sizeof(req), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST },
		.r = { .sdiag_family = AF_UNIX,
		       .udiag_states = UINT32_MAX,
		       .udiag_ino = (uint32_t)s->ino,
		       .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER,
		       .udiag_cookie = { ~0u, ~0u } },
	};

	if (!ask_diag(&req, sizeof(req), read_unix, s))
		return false;
	s->family = AF_UNIX;
	return true;
}

bool espy_socket_inode(const char *name, unsigned long *ino)
{
	return sscanf(name, "socket:[%lu]", ino) == 1;
}

/* Finds the line of /proc/TID/net/netlink for an inode. */
static bool find_netlink(uint32_t tid, unsigned long ino, unsigned *proto, uint32_t *port)
{
	char path[64], line[256];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/net/netlink", (int)espy_proc_pid((pid_t)tid));
	FILE *f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		unsigned long n;

		if (sscanf(line, "%*x %u %u %*x %*d %*d %*x %*d %*u %lu", proto, port, &n) == 3)
			found = n == ino;
	}
	if (f)
		fclose(f);
	return found;
}

/*
 * Asks a copy of the descriptor for the protocol of a netlink socket without an address: the kernel does not list it.
 */
static bool ask_copy(uint32_t tid, int fd, unsigned *proto)
{
	int pidfd = (int)syscall(SYS_pidfd_open, tid, PIDFD_THREAD), copy = -1, domain = 0, protocol = 0;
	socklen_t len = sizeof(domain);
	bool known = false;

	if (pidfd < 0)
		pidfd = (int)syscall(SYS_pidfd_open, tid, 0); /* before Linux 6.9 only a process can be opened */
	if (pidfd >= 0)
		copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	if (copy >= 0) {
		known = !getsockopt(copy, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_NETLINK &&
			!getsockopt(copy, SOL_SOCKET, SO_PROTOCOL, &protocol, &len);
		close(copy);
	}
	if (pidfd >= 0)
		close(pidfd);
	*proto = (unsigned)protocol;
	return known;
}

bool espy_netlink_proto(const char *name, uint32_t tid, int fd, unsigned *proto)
{
	unsigned long ino;
	uint32_t port;

	return espy_socket_inode(name, &ino) && (find_netlink(tid, ino, proto, &port) || ask_copy(tid, fd, proto));
}

bool espy_socket_ask(uint32_t tid, unsigned long ino, const char *proto, struct espy_fact_socket *s)
{
	unsigned number;

	*s = (struct espy_fact_socket){ .ino = ino };
	snprintf(s->proto, sizeof(s->proto), "%s", proto);
	if (!strncmp(proto, "UNIX", 4))
		return ask_unix(s);
	if (strcmp(proto, "NETLINK"))
		return ask_inet(s);
	if (!find_netlink(tid, ino, &number, &s->peer))
		return false;
	s->family = AF_NETLINK;
	s->protocol = (uint16_t)number;
	return true;
}

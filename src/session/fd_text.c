/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/fd_text.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "render/text.h"

/* Protocols of netlink by number, as NETLINK_* in linux/netlink.h. */
static const char *const netlink_names[] = {
	[0] = "ROUTE",	    [2] = "USERSOCK",	    [3] = "FIREWALL",  [4] = "SOCK_DIAG", [5] = "NFLOG",
	[6] = "XFRM",	    [7] = "SELINUX",	    [8] = "ISCSI",     [9] = "AUDIT",	  [10] = "FIB_LOOKUP",
	[11] = "CONNECTOR", [12] = "NETFILTER",	    [13] = "IP6_FW",   [14] = "DNRTMSG",  [15] = "KOBJECT_UEVENT",
	[16] = "GENERIC",   [18] = "SCSITRANSPORT", [19] = "ECRYPTFS", [20] = "RDMA",	  [21] = "CRYPTO",
	[22] = "SMC",
};

static void put_quoted(struct espy_buf *b, const char *s, size_t n)
{
	espy_text__quote(b, (const uint8_t *)s, n, ESPY_HEX_NONE, "<>", false);
}

static bool socket_inode(const char *name, unsigned long *ino)
{
	return sscanf(name, "socket:[%lu]", ino) == 1;
}

/* A question to the kernel's socket diagnosis; each answer goes to fn until it returns true. */
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

struct inet_search {
	uint32_t inode;
	struct inet_diag_sockid id;
};

static bool is_inode(void *ctx, const struct nlmsghdr *h)
{
	const struct inet_diag_msg *m = NLMSG_DATA(h);
	struct inet_search *s = ctx;

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)) || m->idiag_inode != s->inode)
		return false;
	s->id = m->id;
	return true;
}

static void put_address(struct espy_buf *b, bool v6, const void *addr, uint16_t port)
{
	char text[INET6_ADDRSTRLEN], tmp[INET6_ADDRSTRLEN + 12];

	if (!inet_ntop(v6 ? AF_INET6 : AF_INET, addr, text, sizeof(text)))
		return;
	snprintf(tmp, sizeof(tmp), v6 ? "[%s]:%u" : "%s:%u", text, ntohs(port));
	espy_buf__puts(b, tmp);
}

static bool put_inet(struct espy_buf *b, const char *proto, unsigned long ino)
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
		if (strcmp(proto, protos[i].name))
			continue;
		const bool v6 = protos[i].family == AF_INET6;
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
		struct inet_search search = { .inode = (uint32_t)ino };

		/* Unlike /proc/net/tcp it also tells of sockets that are bound and do not listen (since Linux 6.8). */
		if (!ask_diag(&req, sizeof(req), is_inode, &search))
			return false;
		espy_buf__puts(b, proto);
		espy_buf__puts(b, ":[");
		put_address(b, v6, search.id.idiag_src, search.id.idiag_sport);
		if (search.id.idiag_dport) {
			espy_buf__puts(b, "->");
			put_address(b, v6, search.id.idiag_dst, search.id.idiag_dport);
		}
		espy_buf__putc(b, ']');
		return true;
	}
	return false;
}

struct unix_info {
	uint32_t peer; /* inode; 0: not connected */
	char name[108];
	size_t name_len;
};

static bool read_unix(void *ctx, const struct nlmsghdr *h)
{
	struct unix_info *info = ctx;
	const char *msg = (const char *)h;

	for (size_t off = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct unix_diag_msg));
	     off + sizeof(struct nlattr) <= h->nlmsg_len;) {
		const struct nlattr *a = (const struct nlattr *)(msg + off);

		if (a->nla_len < sizeof(*a) || off + a->nla_len > h->nlmsg_len)
			break;
		size_t len = a->nla_len - sizeof(*a);
		if (a->nla_type == UNIX_DIAG_PEER && len >= 4)
			memcpy(&info->peer, a + 1, 4);
		if (a->nla_type == UNIX_DIAG_NAME && len <= sizeof(info->name)) {
			memcpy(info->name, a + 1, len);
			info->name_len = len;
		}
		off += NLA_ALIGN(a->nla_len);
	}
	return true;
}

/* One AF_UNIX socket: /proc/net/unix does not tell the peer. */
static bool ask_unix(unsigned long ino, struct unix_info *info)
{
	const struct {
		struct nlmsghdr h;
		struct unix_diag_req r;
	} req = {
		.h = { .nlmsg_len = sizeof(req), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST },
		.r = { .sdiag_family = AF_UNIX,
		       .udiag_states = UINT32_MAX,
		       .udiag_ino = (uint32_t)ino,
		       .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER,
		       .udiag_cookie = { ~0u, ~0u } },
	};

	memset(info, 0, sizeof(*info));
	return ask_diag(&req, sizeof(req), read_unix, info);
}

static bool put_unix(struct espy_buf *b, const char *proto, unsigned long ino)
{
	struct unix_info u;
	char tmp[48];

	if (!ask_unix(ino, &u))
		return false;
	espy_buf__puts(b, proto);
	snprintf(tmp, sizeof(tmp), u.peer ? ":[%lu->%u" : ":[%lu", ino, u.peer);
	espy_buf__puts(b, tmp);
	if (u.name_len) {
		const bool abstract = !u.name[0];

		espy_buf__puts(b, abstract ? ",@\"" : ",\"");
		put_quoted(b, u.name + abstract, abstract ? u.name_len - 1 : strnlen(u.name, u.name_len));
		espy_buf__putc(b, '"');
	}
	espy_buf__putc(b, ']');
	return true;
}

/* The line of /proc/TID/net/netlink for an inode. */
static bool find_netlink(uint32_t tid, unsigned long ino, unsigned *proto, uint32_t *port)
{
	char path[64], line[256];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%u/net/netlink", tid);
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

bool espy_netlink_proto(const char *name, uint32_t tid, unsigned *proto)
{
	unsigned long ino;
	uint32_t port;

	return socket_inode(name, &ino) && find_netlink(tid, ino, proto, &port);
}

static bool put_netlink(struct espy_buf *b, uint32_t tid, unsigned long ino)
{
	unsigned proto;
	uint32_t port;
	char tmp[64];

	if (!find_netlink(tid, ino, &proto, &port))
		return false;
	if (proto < sizeof(netlink_names) / sizeof(netlink_names[0]) && netlink_names[proto])
		snprintf(tmp, sizeof(tmp), "NETLINK:[%s:%u]", netlink_names[proto], port);
	else
		snprintf(tmp, sizeof(tmp), "NETLINK:[%u:%u]", proto, port);
	espy_buf__puts(b, tmp);
	return true;
}

/* What -yy knows of a socket; false: nothing more than its name. */
static bool put_socket(struct espy_buf *b, const char *name, const char *path, uint32_t tid)
{
	unsigned long ino;
	char proto[32] = "", tmp[64];

	if (!socket_inode(name, &ino))
		return false;
	/* The kernel gives the name of a socket's protocol as an extended attribute of the link's target. */
	ssize_t n = getxattr(path, "system.sockprotoname", proto, sizeof(proto) - 1);
	if (n <= 0)
		return false;
	if (!strcmp(proto, "NETLINK")) {
		if (put_netlink(b, tid, ino))
			return true;
	} else if (!strncmp(proto, "UNIX", 4)) {
		if (put_unix(b, proto, ino))
			return true;
	} else if (put_inet(b, proto, ino)) {
		return true;
	} else if (!strcmp(proto, "PACKET") || !strncmp(proto, "AF_VSOCK", 8)) {
		return false;
	}
	snprintf(tmp, sizeof(tmp), "%s:[%lu]", proto, ino);
	espy_buf__puts(b, tmp);
	return true;
}

/* A line "KEY:\tVALUE" of /proc/TID/fdinfo/N. */
static bool fdinfo(const char *path, const char *key, char *out, size_t out_sz)
{
	char info[96], line[256];
	const char *fd = strstr(path, "/fd/");
	bool found = false;

	if (!fd)
		return false;
	snprintf(info, sizeof(info), "%.*s/fdinfo/%s", (int)(fd - path), path, fd + 4);
	FILE *f = fopen(info, "re");
	size_t klen = strlen(key);
	while (f && !found && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, klen) || line[klen] != ':')
			continue;
		const char *v = line + klen + 1 + strspn(line + klen + 1, " \t");

		snprintf(out, out_sz, "%.*s", (int)strcspn(v, "\n"), v);
		found = true;
	}
	if (f)
		fclose(f);
	return found;
}

static bool put_anon(struct espy_buf *b, const char *name, const char *path)
{
	char v[64];

	if (!strcmp(name, "anon_inode:[pidfd]") || !strcmp(name, "pidfd:[pidfd]") || !strncmp(name, "pidfd:", 6)) {
		if (!fdinfo(path, "Pid", v, sizeof(v)) || v[0] == '-')
			return false;
		espy_buf__puts(b, "pid:");
		espy_buf__puts(b, v);
		return true;
	}
	if (!strcmp(name, "anon_inode:[signalfd]")) {
		bool first = true;

		if (!fdinfo(path, "sigmask", v, sizeof(v)))
			return false;
		uint64_t mask = strtoull(v, NULL, 16);
		espy_buf__puts(b, "signalfd:[");
		for (unsigned sig = 1; sig <= 64; sig++) {
			struct espy_buf t = { 0 };

			if (!(mask >> (sig - 1) & 1))
				continue;
			if (!first)
				espy_buf__putc(b, ' ');
			first = false;
			espy_text__signal(&t, sig);
			/* Sets are shown without SIG, as in [USR1]. */
			size_t skip = t.len > 3 && !memcmp(t.data, "SIG", 3) ? 3 : 0;
			espy_buf__put(b, t.data + skip, t.len - skip);
			espy_buf__free(&t);
		}
		espy_buf__putc(b, ']');
		return true;
	}
	if (!strcmp(name, "anon_inode:[eventfd]")) {
		char tmp[160], id[32] = "0", sem[32] = "0";

		if (!fdinfo(path, "eventfd-count", v, sizeof(v)))
			return false;
		fdinfo(path, "eventfd-id", id, sizeof(id));
		fdinfo(path, "eventfd-semaphore", sem, sizeof(sem));
		uint64_t count = strtoull(v, NULL, 16);
		snprintf(tmp, sizeof(tmp),
			 count ? "{eventfd-count=%#" PRIx64 ", eventfd-id=%s, eventfd-semaphore=%s}"
			       : "{eventfd-count=%" PRIx64 ", eventfd-id=%s, eventfd-semaphore=%s}",
			 count, id, sem);
		espy_buf__puts(b, tmp);
		return true;
	}
	return false;
}

/* Bytes of " (deleted)" at the end of the name of a file that is gone. */
static size_t gone_suffix(const char *name)
{
	static const char gone[] = " (deleted)";
	size_t len = strlen(name);

	return name[0] == '/' && len > sizeof(gone) - 1 && !strcmp(name + len - (sizeof(gone) - 1), gone)
		       ? sizeof(gone) - 1
		       : 0;
}

static bool put_device(struct espy_buf *b, const char *name, const char *path)
{
	struct stat st;
	char tmp[64];

	if (strncmp(name, "/dev/", 5) || (stat(path, &st) && stat(name, &st)) ||
	    !(S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
		return false;
	put_quoted(b, name, strlen(name) - gone_suffix(name));
	snprintf(tmp, sizeof(tmp), "<%s %u:%u", S_ISCHR(st.st_mode) ? "char" : "block", major(st.st_rdev),
		 minor(st.st_rdev));
	espy_buf__puts(b, tmp);
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(5, 2) && fdinfo(path, "tty-index", tmp, sizeof(tmp) - 16)) {
		espy_buf__puts(b, " @/dev/pts/");
		espy_buf__puts(b, tmp);
	}
	espy_buf__putc(b, '>');
	return true;
}

bool espy_fd_detail(struct espy_buf *b, const char *name, const char *path, uint32_t tid)
{
	return put_socket(b, name, path, tid) || put_anon(b, name, path) || put_device(b, name, path);
}

void espy_fd_text(struct espy_buf *b, const char *name, const struct espy_buf *detail)
{
	const size_t gone = gone_suffix(name);

	espy_buf__putc(b, '<');
	if (detail)
		espy_buf__put(b, detail->data, detail->len);
	else
		put_quoted(b, name, strlen(name) - gone);
	espy_buf__putc(b, '>');
	if (gone)
		espy_buf__puts(b, "(deleted)");
}

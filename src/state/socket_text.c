/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/socket_text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "base/quote.h"

/* Protocols of netlink by number, as NETLINK_* in linux/netlink.h. */
static const char *const netlink_names[] = {
	[0] = "ROUTE",	    [2] = "USERSOCK",	    [3] = "FIREWALL",  [4] = "SOCK_DIAG", [5] = "NFLOG",
	[6] = "XFRM",	    [7] = "SELINUX",	    [8] = "ISCSI",     [9] = "AUDIT",	  [10] = "FIB_LOOKUP",
	[11] = "CONNECTOR", [12] = "NETFILTER",	    [13] = "IP6_FW",   [14] = "DNRTMSG",  [15] = "KOBJECT_UEVENT",
	[16] = "GENERIC",   [18] = "SCSITRANSPORT", [19] = "ECRYPTFS", [20] = "RDMA",	  [21] = "CRYPTO",
	[22] = "SMC",
};

static void put_address(struct espy_buf *b, const struct espy_fact_socket *s, const uint8_t *addr, uint16_t port)
{
	char text[INET6_ADDRSTRLEN], tmp[INET6_ADDRSTRLEN + 12];

	if (!inet_ntop(s->family, addr, text, sizeof(text)))
		return;
	snprintf(tmp, sizeof(tmp), s->family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
	espy_buf__puts(b, tmp);
}

static void put_inet(struct espy_buf *b, const struct espy_fact_socket *s)
{
	put_address(b, s, s->local, s->local_port);
	if (s->remote_port) {
		espy_buf__puts(b, "->");
		put_address(b, s, s->remote, s->remote_port);
	}
}

static void put_unix(struct espy_buf *b, const struct espy_fact_socket *s)
{
	const size_t len = s->name_sz < sizeof(s->name) ? s->name_sz : sizeof(s->name);
	const bool abstract = len && !s->name[0];
	char tmp[48];

	snprintf(tmp, sizeof(tmp), s->peer ? "%llu->%u" : "%llu", (unsigned long long)s->ino, s->peer);
	espy_buf__puts(b, tmp);
	if (!len)
		return;
	espy_buf__puts(b, abstract ? ",@\"" : ",\"");
	espy_buf__quote(b, (const uint8_t *)s->name + abstract, abstract ? len - 1 : strnlen(s->name, len),
			 ESPY_HEX_NONE, "<>", false);
	espy_buf__putc(b, '"');
}

static void put_netlink(struct espy_buf *b, const struct espy_fact_socket *s)
{
	char tmp[64];

	if (s->protocol < sizeof(netlink_names) / sizeof(netlink_names[0]) && netlink_names[s->protocol])
		snprintf(tmp, sizeof(tmp), "%s:%u", netlink_names[s->protocol], s->peer);
	else
		snprintf(tmp, sizeof(tmp), "%u:%u", s->protocol, s->peer);
	espy_buf__puts(b, tmp);
}

/* Tells whether the text shows its ports. In other families, and for ICMP, "port" is something else. */
static bool has_ports(const struct espy_fact_socket *s)
{
	return (s->family == AF_INET || s->family == AF_INET6) &&
	       (s->protocol == IPPROTO_TCP || s->protocol == IPPROTO_UDP || s->protocol == IPPROTO_UDPLITE);
}

bool espy_socket_text(struct espy_buf *b, const struct espy_fact_socket *s)
{
	const size_t len = strnlen(s->proto, sizeof(s->proto));
	char proto[sizeof(s->proto) + 1] = "", tmp[32];

	for (size_t i = 0; i < len; i++)
		if ((uint8_t)s->proto[i] <= ' ' || (uint8_t)s->proto[i] >= 0x7f)
			return false; /* no kernel calls it so */
	memcpy(proto, s->proto, len);
	if (!len || !strcmp(proto, "PACKET") || !strncmp(proto, "AF_VSOCK", 8))
		return false;
	espy_buf__puts(b, proto);
	espy_buf__puts(b, ":[");
	if (s->family == AF_UNIX) {
		put_unix(b, s);
	} else if (s->family == AF_NETLINK && s->peer) {
		put_netlink(b, s);
	} else if (has_ports(s) && s->local_port) {
		put_inet(b, s);
	} else {
		snprintf(tmp, sizeof(tmp), "%llu", (unsigned long long)s->ino);
		espy_buf__puts(b, tmp);
	}
	espy_buf__putc(b, ']');
	return true;
}

bool espy_socket_is_unbound(const struct espy_fact_socket *s)
{
	return has_ports(s) ? !s->local_port : s->family == AF_NETLINK && !s->peer;
}

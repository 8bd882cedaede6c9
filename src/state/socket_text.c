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

/*
 * The protocols that the text names, by the kernel's names. Of others it has what /proc tells, as strace does. Of RAW
 * and PING "port" is something else.
 */
static const struct protocol {
	const char *name;
	bool ports;
	const char *bound; /* the name of a socket that has an address; NULL: the same */
} protocols[] = {
	{ "UNIX" },	   { "UNIX-STREAM" },	  { "NETLINK" },
	{ "TCP", true },   { "TCPv6", true },	  { "UDP", true },
	{ "UDPv6", true }, { "UDPLITEv6", true }, { "UDP-Lite", true, "UDPLITE" },
	{ "DCCP" },	   { "DCCPv6" },	  { "SCTP" },
	{ "SCTPv6" },	   { "L2TP/IP" },	  { "L2TP/IPv6" },
	{ "PING" },	   { "PINGv6" },	  { "RAW" },
	{ "RAWv6" },
};

static const struct protocol *protocol_of(const struct espy_fact_socket *s)
{
	char name[sizeof(s->proto) + 1] = "";

	memcpy(name, s->proto, sizeof(s->proto));
	for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++)
		if (!strcmp(name, protocols[i].name))
			return &protocols[i];
	return NULL;
}

static bool has_ports(const struct espy_fact_socket *s, const struct protocol *p)
{
	return p && p->ports && (s->family == AF_INET || s->family == AF_INET6);
}

bool espy_socket_text(struct espy_buf *b, const struct espy_fact_socket *s)
{
	const struct protocol *p = protocol_of(s);
	const bool bound = has_ports(s, p) && s->local_port;
	char tmp[32];

	if (!p || (p->bound && !bound))
		return false;
	espy_buf__puts(b, p->bound ? p->bound : p->name);
	espy_buf__puts(b, ":[");
	if (s->family == AF_UNIX) {
		put_unix(b, s);
	} else if (s->family == AF_NETLINK && s->peer) {
		put_netlink(b, s);
	} else if (bound) {
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
	return has_ports(s, protocol_of(s)) ? !s->local_port : s->family == AF_NETLINK && !s->peer;
}

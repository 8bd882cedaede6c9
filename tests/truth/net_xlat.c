/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses of which the bytes and their text are shown (-X verbose). */
#include <sys/socket.h>
#include "truth.h"

#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

static void address(const void *bytes, size_t size, const char *shown)
{
	line(call(SYS_connect, JUNK(-1), tail_copy(bytes, size), JUNK(size)), "connect(-1, {%s}, %zu)", shown, size);
}

/* An attribute of a neighbour, of which the header names two flags and a type. */
static void attribute(const void *message, size_t size, const char *shown)
{
	const long fd = call(SYS_socket, (long)AF_NETLINK, (long)SOCK_RAW, 0L);
	uint8_t *copy = tail_copy(message, size);

	copy[0] = (uint8_t)size;
	if (fd < 0)
		truth_skip("no netlink here");
	line(fd, "socket(0x10 /* AF_NETLINK */, 0x3 /* SOCK_RAW */, 0 /* NETLINK_ROUTE */)");
	line(call(SYS_sendto, JUNK(fd), copy, size, 0L, NULL, 0L),
	     "sendto(%ld, [{nlmsg_len=%zu, nlmsg_type=0x1e /* RTM_GETNEIGH */, nlmsg_flags=0, nlmsg_seq=0, nlmsg_pid=0}, "
	     "{ndm_family=0x2 /* AF_INET */, ndm_ifindex=0, ndm_state=0 /* NUD_NONE */, ndm_flags=0, ndm_type=0 /* RTN_UNSPEC */}, "
	     "[{nla_len=6, nla_type=%s]], %zu, 0, NULL, 0)",
	     fd, size, shown, size);
}

/* A whole message of a protocol; both as they are to be shown. */
static void message(long proto, const char *proto_text, const void *bytes, size_t size, const char *shown)
{
	const long fd = call(SYS_socket, (long)AF_NETLINK, (long)SOCK_RAW, proto);

	if (fd < 0)
		return; /* this kernel does not have it */
	line(fd, "socket(0x10 /* AF_NETLINK */, 0x3 /* SOCK_RAW */, %s)", proto_text);
	line(call(SYS_sendto, JUNK(fd), tail_copy(bytes, size), size, 0L, NULL, 0L),
	     "sendto(%ld, [{%s}], %zu, 0, NULL, 0)", fd, shown, size);
}

/* Numbers of 16 bits and addresses that stand in more room than they need. */
static void netlink(void)
{
#define DIAG "nlmsg_len=72, nlmsg_type=0x14 /* SOCK_DIAG_BY_FAMILY */, nlmsg_flags=0x1 /* NLM_F_REQUEST */, nlmsg_seq=0, nlmsg_pid=0}, "
#define ADDRESS(last) "\"\\x7f\\x00\\x00" last "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\""
	message(4, "0x4 /* NETLINK_SOCK_DIAG */",
		BYTES(72, 0, 0, 0, 20, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 6, 0, 0, 0, 0, 0, 0, 0, 80, 0, 81, 127, 0, 0,
		      1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 127, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		      0, 0, 0, 0, 0, 0, 0, 0, 0),
		DIAG
		"{sdiag_family=0x2 /* AF_INET */, sdiag_protocol=0x6 /* IPPROTO_TCP */, idiag_ext=0, idiag_states=0, "
		"id={idiag_sport=\"\\x00\\x50\" /* htons(80) */, idiag_dport=\"\\x00\\x51\" /* htons(81) */, "
		"idiag_src=" ADDRESS("\\x01") " /* inet_addr(\"127.0.0.1\") */, idiag_dst=" ADDRESS(
			"\\x02") " /* inet_addr(\"127.0.0.2\") */, "
				 "idiag_if=0, idiag_cookie=[0, 0]}");
#define BATCH                                                                                                          \
	"nlmsg_len=20, nlmsg_type=0xa /* NFNL_SUBSYS_NFTABLES */<<8|0 /* NFT_MSG_NEWTABLE */, nlmsg_flags=0, "         \
	"nlmsg_seq=0, nlmsg_pid=0}, "                                                                                  \
	"{nfgen_family=0x2 /* AF_INET */, version=0 /* NFNETLINK_V0 */, res_id="
	message(12, "0xc /* NETLINK_NETFILTER */", BYTES(20, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 10),
		BATCH "0xa00 /* htons(NFNL_SUBSYS_NFTABLES) */");
	message(12, "0xc /* NETLINK_NETFILTER */", BYTES(20, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 10, 0),
		BATCH "0xa /* NFNL_SUBSYS_NFTABLES */");
	message(12, "0xc /* NETLINK_NETFILTER */", BYTES(20, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 1),
		BATCH "htons(1)");
}

/* A number in the order of the network that is written the way it is made keeps its name inside. */
static void made(void)
{
	static const uint8_t link[64] = { 64, 0, 0, 0, 16, [32] = 32, 0, 22, 0, 28, 0, 1, 0, 24, 0, 12, 0, 20, 0, 1, 0,
					  1,  0, 0, 0, 2,  0, 0, 0, 3, 0, 0, 0, 8 };
	const long fd = call(SYS_socket, (long)AF_NETLINK, (long)SOCK_RAW, 0L);

	if (fd < 0)
		return;
	line(fd, "socket(0x10 /* AF_NETLINK */, 0x3 /* SOCK_RAW */, 0 /* NETLINK_ROUTE */)");
	line(call(SYS_sendto, JUNK(fd), tail_copy(link, sizeof(link)), sizeof(link), 0L, NULL, 0L),
	     "sendto(%ld, [{nlmsg_len=64, nlmsg_type=0x10 /* RTM_NEWLINK */, nlmsg_flags=0, nlmsg_seq=0, nlmsg_pid=0}, "
	     "{ifi_family=0 /* AF_UNSPEC */, ifi_type=0 /* ARPHRD_NETROM */, ifi_index=0, ifi_flags=0, ifi_change=0}, "
	     "[{nla_len=32, nla_type=0x16 /* IFLA_VFINFO_LIST */}, [{nla_len=28, nla_type=0x1 /* IFLA_VF_INFO */}, "
	     "[{nla_len=24, nla_type=0xc /* IFLA_VF_VLAN_LIST */}, [{nla_len=20, nla_type=0x1 /* IFLA_VF_VLAN_INFO */}, "
	     "{vf=1, vlan=2, qos=3, vlan_proto=htons(0x800 /* ETH_P_IP */)}]]]]], 64, 0, NULL, 0)",
	     fd);
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-X verbose -e trace=connect,mknod,socket,sendto");
	address(BYTES(31, 0, 1, 2, 3, 0xa, 0xb, 0xc),
		"sa_family=0x1f /* AF_BLUETOOTH */, sco_bdaddr=\"\\x01\\x02\\x03\\x0a\\x0b\\x0c\" /* 01:02:03:0a:0b:0c "
		"*/");
	address(BYTES(3, 0, 'A' << 1, 'B' << 1, ' ' << 1, ' ' << 1, ' ' << 1, ' ' << 1, 2, 0, 0, 0, 0, 0, 0, 0),
		"sa_family=0x3 /* AF_AX25 */, sax25_call={ax25_call=\"\\x82\\x84\\x40\\x40\\x40\\x40\\x02\"} /* AB-1 "
		"*/, sax25_ndigis=0");
	address(BYTES(2, 0, 0, 80, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
		"sa_family=0x2 /* AF_INET */, sin_port=\"\\x00\\x50\" /* htons(80) */, "
		"sin_addr=\"\\x7f\\x00\\x00\\x01\" /* inet_addr(\"127.0.0.1\") */");
	address(BYTES(4, 0, 0x30, 0x39, 0xfa, 0xce, 0xfe, 0xed, 1, 2, 3, 4, 5, 6, 0, 0),
		"sa_family=0x4 /* AF_IPX */, sipx_port=\"\\x30\\x39\" /* htons(12345) */, sipx_network=htonl(0xfacefeed), "
		"sipx_node=[0x1, 0x2, 0x3, 0x4, 0x5, 0x6], sipx_type=00");
	attribute(BYTES(32, 0, 0, 0, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 6, 0xc0, 0, 80),
		  "0x8000 /* NLA_F_NESTED */|0x4000 /* NLA_F_NET_BYTEORDER */|0x6 /* NDA_PORT */}, htons(80)");
	netlink();
	made();
	line(call(SYS_mknod, tail_str("/nope/x"), JUNK(0644), 0L), "mknod(\"/nope/x\", 0644 /* 0644 */)");
	line(call(SYS_mknod, tail_str("/nope/x"), JUNK(030644), 0L), "mknod(\"/nope/x\", 030644)");
	return 0;
}

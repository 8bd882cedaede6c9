/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Socket options whose length is short, long or negative, and addresses of the rarer families. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include "truth.h"

#define TIPC 271
#define TIPC_IMPORTANCE_OPT 127
#define TCP_AO_ADD_KEY_OPT 38

/* Sets an option at each of four lengths: too short or negative ones leave an address. */
static void set(long fd, int level, int option, const char *names, const void *value, int size, const char *shown)
{
	const int lengths[] = { -1, size - 1, size, size + 1 };
	/* One byte more than the value, for the last length. */
	uint8_t *p = tail_alloc((size_t)size + 1);

	memcpy(p, value, (size_t)size);
	for (unsigned i = 0; i < 4; i++) {
		const long ret = call(SYS_setsockopt, JUNK(fd), JUNK(level), JUNK(option), p, JUNK(lengths[i]));

		line(ret, "setsockopt(%ld, %s, %s, %d)", fd, names, i < 2 ? ptr(p) : shown, lengths[i]);
	}
}

static void address(const void *bytes, size_t size, const char *shown)
{
	line(call(SYS_connect, JUNK(-1), tail_copy(bytes, size), JUNK(size)), "connect(-1, {%s}, %zu)", shown, size);
}
#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

/* Families whose address has a size of its own, and addresses of which a part cannot be read. */
static void addresses(void)
{
	const uint8_t *cut = tail_copy("\1\0\0\0\0\0", 6);

	address(BYTES(36, 0, 0, 0, 3, 0, 0, 0, 0xff, 0xff, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0),
		"sa_family=AF_IEEE802154, addr={addr_type=0x3 /* IEEE802154_ADDR_LONG */, "
		"pan_id=0xffff /* IEEE802154_PANID_BROADCAST */, hwaddr=01:02:03:04:05:06:07:08}");
	address(BYTES(36, 0, 0, 0, 2, 0, 0, 0, 0x22, 0x11, 0xfe, 0xff, 0, 0, 0, 0, 0, 0, 0, 0),
		"sa_family=AF_IEEE802154, addr={addr_type=0x2 /* IEEE802154_ADDR_SHORT */, pan_id=0x1122, "
		"short_addr=0xfffe /* IEEE802154_ADDR_UNDEF */}");
	address(BYTES(39, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0),
		"sa_family=AF_NFC, dev_idx=if_nametoindex(\"lo\"), target_idx=0x2, nfc_protocol=NFC_PROTO_NFC_DEP");
	address(BYTES(39, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 7),
		"sa_family=AF_NFC, dev_idx=if_nametoindex(\"lo\"), target_idx=0x2, nfc_protocol=0x9 /* NFC_PROTO_??? */, ...");
	address(BYTES(45, 0, 1, 0, 9, 0, 0, 0, 0xff, 5, 6, 1),
		"sa_family=AF_MCTP, __smctp_pad0=0x1, smctp_network=0x9, smctp_addr={s_addr=MCTP_ADDR_ANY}, smctp_type=0x5, "
		"smctp_tag=0x6, __smctp_pad1=0x1");
	address(BYTES(40, 0, 2, 0, 5, 0, 0, 0, 6, 0, 0, 0, 3, 1, 2, 3),
		"sa_family=AF_VSOCK, svm_reserved1=0x2, svm_cid=0x6, svm_port=0x5, svm_flags=VMADDR_FLAG_TO_HOST|0x2, "
		"svm_zero=\"\\x01\\x02\\x03\"");
	address(BYTES(44, 0, 1, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0),
		"sa_family=AF_XDP, sxdp_flags=XDP_SHARED_UMEM, sxdp_ifindex=if_nametoindex(\"lo\"), sxdp_queue_id=2, "
		"sxdp_shared_umem_fd=3");
	address(BYTES(44, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0),
		"sa_family=AF_XDP, sxdp_flags=0, sxdp_ifindex=if_nametoindex(\"lo\"), sxdp_queue_id=2, sxdp_shared_umem_fd=0x3");
	address(BYTES(44, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0),
		"sa_family=AF_XDP, sxdp_flags=0, sxdp_ifindex=if_nametoindex(\"lo\"), sxdp_queue_id=2");
	/* a call sign, and those of the digipeaters that the length leaves room for */
#define SIGN 'A' << 1, 'B' << 1, 'C' << 1, ' ' << 1, ' ' << 1, ' ' << 1, 1 << 1
	address(BYTES(3, 0, SIGN, 0, 0, 0, 0, 0, 0, 0), "sa_family=AF_AX25, sax25_call=ABC-1, sax25_ndigis=0");
	address(BYTES(3, 0, SIGN, 0, 0, 0, 8, 0, 0, 0),
		"sa_family=AF_AX25, fsa_ax25={sax25_call=ABC-1, sax25_ndigis=8}, fsa_digipeater=[...]");
	address(BYTES(3, 0, SIGN, 0, 0, 0, 2, 0, 0, 0, SIGN),
		"sa_family=AF_AX25, fsa_ax25={sax25_call=ABC-1, sax25_ndigis=2}, fsa_digipeater=[ABC-1, ...]");
	address(BYTES(3, 0, SIGN, 0, 0, 0, 1, 0, 0, 0, SIGN),
		"sa_family=AF_AX25, fsa_ax25={sax25_call=ABC-1, sax25_ndigis=1}, fsa_digipeater=[ABC-1]");
	address(BYTES(3, 0, SIGN, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1),
		"sa_family=AF_AX25, fsa_ax25={sax25_call=ABC-1, sax25_ndigis=-1}, ...");
	address(BYTES(17, 0, 0, 3, 0, 0, 0, 0, 1, 0, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8),
		"sa_family=AF_PACKET, sll_protocol=htons(ETH_P_ALL), sll_ifindex=0, sll_hatype=ARPHRD_ETHER, "
		"sll_pkttype=PACKET_HOST, "
		"sll_halen=9, sll_addr=[0x1, 0x2, 0x3, 0x4, 0x5, 0x6, 0x7, 0x8, ...]");
	address(BYTES(10, 0, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 7, 2),
		"sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, \"::1\", "
		"&sin6_addr), "
		"sin6_scope_id=519");
	/* Bluetooth's second form of L2CAP, and its ranges of numbers */
	address(BYTES(31, 0, 1, 0x11, 1, 2, 3, 4, 5, 6, 0x41, 0),
		"sa_family=AF_BLUETOOTH, l2_psm=htobs(L2CAP_PSM_DYN_START+256), l2_bdaddr=01:02:03:04:05:06, "
		"l2_cid=htobs(L2CAP_CID_DYN_START+1)");
	address(BYTES(31, 0, 0x81, 0, 1, 2, 3, 4, 5, 6, 0x40, 0, 0, 0),
		"sa_family=AF_BLUETOOTH, l2_psm=htobs(L2CAP_PSM_LE_DYN_START+1), l2_bdaddr=01:02:03:04:05:06, "
		"l2_cid=htobs(L2CAP_CID_DYN_START), l2_bdaddr_type=BDADDR_BREDR");
	address(BYTES(42, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xff),
		"sa_family=AF_QIPCRTR, sq_node=QRTR_NODE_BCAST, sq_port=QRTR_PORT_CTRL");
	address(BYTES(38, 0, 'h', 'a', 's', 'h'), "sa_family=AF_ALG, sa_data=\"hash\"");
	address(BYTES(99, 0, 'h', 'a', 's', 'h'), "sa_family=0x63 /* AF_??? */, sa_data=\"hash\"");
	line(call(SYS_connect, JUNK(-1), cut, JUNK(7)), "connect(-1, %s, 7)", ptr(cut));
}

/* Values that the length cuts in the middle of a field. */
static void cut_values(long fd)
{
	int *length = tail_alloc(4);
	uint8_t *value = tail_alloc(12);
	static const struct {
		int len, option;
		const char *shown;
	} cases[] = {
		{ 1, SO_LINGER, "SO_LINGER, {l_onoff=\"\\x01\"}" },
		{ 4, SO_LINGER, "SO_LINGER, {l_onoff=1}" },
		{ 7, SO_LINGER, "SO_LINGER, {l_onoff=1, l_linger=\"\\x02\\x00\\x00\"}" },
		{ 8, SO_LINGER, "SO_LINGER, {l_onoff=1, l_linger=2}" },
		{ 3, SO_PEERCRED, "SO_PEERCRED, {pid=\"\\x00\\x00\\x00\"}" },
		{ 11, SO_PEERCRED, "SO_PEERCRED, {pid=0, uid=-1, gid=\"\\xff\\xff\\xff\"}" },
		{ 3, SO_ERROR, "SO_ERROR, \"\\x00\\x00\\x00\"" },
		{ 4, SO_ERROR, "SO_ERROR, [0]" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		*length = cases[i].len;
		const long ret = call(SYS_getsockopt, fd, JUNK(SOL_SOCKET), JUNK(cases[i].option), value, length);

		line(ret, "getsockopt(%ld, SOL_SOCKET, %s, [%d])", fd, cases[i].shown, cases[i].len);
	}
}

/* struct tcp_ao_add */
static void keys(void)
{
	static const char text[] = "{addr={sa_family=AF_INET, sin_port=htons(0), sin_addr=inet_addr(\"127.0.0.1\")}, prefix=32, "
				   "alg_name=\"cmac(aes)\", ifindex=0, set_current=0, set_rnext=1, sndid=200, rcvid=100, maclen=12, "
				   "keyflags=TCP_AO_KEYF_IFINDEX|TCP_AO_KEYF_EXCLUDE_OPT, key=\"\\x7a\\x66\", keylen=2}";
	uint8_t key[288] = { 2, 0, 0, 0, 127, 0, 0, 1 };

	memcpy(key + 128, "cmac(aes)", 9);
	memcpy(key + 196, "\2\0\0\0\0\0\x20\xc8\x64\x0c\3\2\x7a\x66", 14);
	set(-1, SOL_TCP, TCP_AO_ADD_KEY_OPT, "SOL_TCP, TCP_AO_ADD_KEY", key, sizeof(key), text);
}

/* One control message in room for `room` bytes, `unread` of which cannot be read. */
static void control(uint64_t len, int level, int type, size_t room, size_t unread, const char *shown)
{
	const size_t readable = room - unread;
	uint8_t *p = tail_alloc(readable);
	const struct {
		uint64_t len;
		int level, type;
	} head = { len, level, type };
	struct msghdr *msg = tail_alloc(sizeof(*msg));

	for (size_t i = 0; i < readable; i++)
		p[i] = i < sizeof(head) ? ((const uint8_t *)&head)[i] : i % 4 == 0;
	msg->msg_control = p;
	msg->msg_controllen = room;
	line(call(SYS_sendmsg, JUNK(-1), msg, 0L),
	     "sendmsg(-1, {msg_name=NULL, msg_namelen=0, msg_iov=NULL, msg_iovlen=0, msg_control=%s, msg_controllen=%zu, msg_flags=0}, 0)",
	     unread ? ptr(p) : shown, room);
}

static void control_messages(void)
{
	control(24, SOL_SOCKET, 1, 24, 8, "");
	control(16, SOL_IPV6, 1, 16, 0, "[{cmsg_len=16, cmsg_level=SOL_IPV6, cmsg_type=0x1}]");
	control(9, SOL_SOCKET, 1, 16, 0, "[{cmsg_len=9, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS}]");
	control(24, SOL_SOCKET, 2, 24, 0, "[{cmsg_len=24, cmsg_level=SOL_SOCKET, cmsg_type=SCM_CREDENTIALS}]");
	control(20, SOL_IP, 8, 24, 0, "[{cmsg_len=20, cmsg_level=SOL_IP, cmsg_type=IP_PKTINFO}]");
	control(19, SOL_IP, IP_TOS, 24, 0, "[{cmsg_len=19, cmsg_level=SOL_IP, cmsg_type=IP_TOS, cmsg_data=[0x1, 0, 0]}]");
	control(19, SOL_IP, 6, 24, 0, "[{cmsg_len=19, cmsg_level=SOL_IP, cmsg_type=IP_RECVOPTS, cmsg_data=[0x1, 0, 0]}]");
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-e trace=setsockopt,getsockopt,connect,sendmsg");
	const long fd = call(SYS_socket, (long)AF_UNIX, (long)SOCK_STREAM, 0L);
	const int five = 5, one = 1;

	set(fd, SOL_SOCKET, SO_REUSEADDR, "SOL_SOCKET, SO_REUSEADDR", &five, 4, "[5]");
	const unsigned filters[2] = { 1 | 1 << 2 | 1 << 18, ~(1u | 1 << 8) };
	set(-1, SOL_RAW, 1, "SOL_RAW, ICMP_FILTER", &filters[0], 4, "[ICMP_ECHOREPLY 0x2 /* ICMP_??? */ ICMP_ADDRESSREPLY]");
	set(-1, SOL_RAW, 1, "SOL_RAW, ICMP_FILTER", &filters[1], 4, "~[ICMP_ECHOREPLY ICMP_ECHO]");
	set(-1, SOL_NETLINK, 6, "SOL_NETLINK, NETLINK_RX_RING", &five, 4, "[5]");
	set(fd, SOL_SOCKET, SO_LINGER, "SOL_SOCKET, SO_LINGER", &(struct linger){ 1, 2 }, 8, "{l_onoff=1, l_linger=2}");
	set(-1, SOL_IP, IP_ADD_MEMBERSHIP, "SOL_IP, IP_ADD_MEMBERSHIP",
	    &(struct ip_mreq){ { htonl(0xe0000003) }, { htonl(INADDR_LOOPBACK) } }, 8,
	    "{imr_multiaddr=inet_addr(\"224.0.0.3\"), imr_interface=inet_addr(\"127.0.0.1\")}");
	set(-1, SOL_IPV6, IPV6_ADD_MEMBERSHIP, "SOL_IPV6, IPV6_ADD_MEMBERSHIP", &(struct ipv6_mreq){ IN6ADDR_LOOPBACK_INIT, 1 }, 20,
	    "{inet_pton(AF_INET6, \"::1\", &ipv6mr_multiaddr), ipv6mr_interface=if_nametoindex(\"lo\")}");
	set(-1, TIPC, TIPC_IMPORTANCE_OPT, "SOL_TIPC, TIPC_IMPORTANCE", &one, 4, "[TIPC_MEDIUM_IMPORTANCE]");
	set(-1, TIPC, TIPC_IMPORTANCE_OPT, "SOL_TIPC, TIPC_IMPORTANCE", &five, 4, "[0x5 /* TIPC_???_IMPORTANCE */]");

	set(-1, SOL_NETLINK, 9, "SOL_NETLINK, NETLINK_LIST_MEMBERSHIPS", &five, 4, "[5]");
	/* no byte of a value is none, wherever it would be; a struct of another size is none */
	uint8_t *end = (uint8_t *)tail_alloc(17) + 17;
	line(call(SYS_setsockopt, JUNK(-1), JUNK(SOL_IP), JUNK(IP_TOS), end, JUNK(0)), "setsockopt(-1, SOL_IP, IP_TOS, \"\", 0)");
	line(call(SYS_setsockopt, JUNK(-1), JUNK(SOL_PACKET), JUNK(1), end - 17, JUNK(17)),
	     "setsockopt(-1, SOL_PACKET, PACKET_ADD_MEMBERSHIP, %s, 17)", ptr(end - 17));
	line(call(SYS_setsockopt, JUNK(-1), JUNK(101), JUNK(3), end - 3, JUNK(3)),
	     "setsockopt(-1, SOL_CAN_RAW, CAN_RAW_LOOPBACK, \"\\0\\0\\0\", 3)");
	line(call(SYS_setsockopt, JUNK(-1), JUNK(101), JUNK(9), end - 4, JUNK(4)),
	     "setsockopt(-1, SOL_CAN_RAW, 0x9 /* CAN_RAW_??? */, [0], 4)");

	control_messages();

	/* The kernel writes no more than there is room for. */
	int *length = tail_alloc(4), *value = tail_alloc(4);

	*length = 3;
	line(call(SYS_getsockopt, fd, JUNK(SOL_SOCKET), JUNK(SO_REUSEADDR), value, length),
	     "getsockopt(%ld, SOL_SOCKET, SO_REUSEADDR, \"\\x01\\x00\\x00\", [3])", fd);
	*length = 4;
	line(call(SYS_getsockopt, fd, JUNK(SOL_SOCKET), JUNK(SO_REUSEADDR), value, length),
	     "getsockopt(%ld, SOL_SOCKET, SO_REUSEADDR, [1], [4])", fd);

	address(BYTES(17, 0, 0, 3, 0xed, 0xfe, 0xce, 0xfa, 1, 0, 0, 8, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
		"sa_family=AF_PACKET, sll_protocol=htons(ETH_P_ALL), sll_ifindex=4207869677, sll_hatype=ARPHRD_ETHER, "
		"sll_pkttype=PACKET_HOST, sll_halen=8, sll_addr=[0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68]");
	address(BYTES(16, 0, 0xff, 0xff, 1, 0, 0, 0, 2, 0, 0, 0), "sa_family=AF_NETLINK, nl_pad=0xffff, nl_pid=1, nl_groups=0x000002");
	address(BYTES(30, 0, 1, 0xfe, 42, 0, 0, 0, 2, 0, 0, 0, 20, 0, 0, 0),
		"sa_family=AF_TIPC, addrtype=TIPC_SERVICE_RANGE, scope=-TIPC_CLUSTER_SCOPE, addr={nameseq={type=42, lower=2, upper=20}}");
	address(BYTES(30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
		"sa_family=AF_TIPC, addrtype=0 /* TIPC_??? */, scope=0 /* TIPC_???_SCOPE */, addr=\"\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\"");
	address(BYTES(31, 0, 0x39, 0x30), "sa_family=AF_BLUETOOTH, hci_dev=htobs(12345)");
	address((const uint8_t[36]){ 33 }, 36,
		"sa_family=AF_RXRPC, srx_service=0 /* ???_SERVICE */, transport_type=0 /* SOCK_??? */, transport_len=0, "
		"transport={family=AF_UNSPEC}");
	address((const uint8_t[36]){ 33, 0, 1, 0, 2, 0, 3, 0, 0, 0, 'x', 'y' }, 36,
		"sa_family=AF_RXRPC, srx_service=0x1 /* CM_SERVICE */, transport_type=SOCK_DGRAM, transport_len=3, "
		"transport={family=AF_UNSPEC, \"x\"}");
	address(BYTES(3, 0, 'A' << 1, 'B' << 1, '1' << 1, ' ' << 1, ' ' << 1, ' ' << 1, 13 << 1, 0xff, 0xff, 0xff, 0, 0, 0, 0),
		"sa_family=AF_AX25, sax25_call=AB1-13, sax25_ndigis=0");
	address(BYTES(3, 0, 'A' << 1, ' ' << 1, '1' << 1, ' ' << 1, ' ' << 1, ' ' << 1, 0, 0, 0, 0, 0, 0, 0, 0),
		"sa_family=AF_AX25, sax25_call={ax25_call=\"\\x82\\x40\\x62\\x40\\x40\\x40\\x00\"} /* A 1-0 */, sax25_ndigis=0");
	addresses();
	keys();
	cut_values(fd);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Netlink messages of the smaller families: whole, cut short, and with types and attributes that nobody knows. */
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include "truth.h"

static long fd;

/* Sends a message; type and flags, and what stands behind the header, as they are to be shown. */
static void message(unsigned type, const char *type_text, unsigned flags, const char *flags_text, const void *payload, size_t size,
		    const char *text_of)
{
	struct nlmsghdr *h = tail_alloc(sizeof(*h) + size);
	const size_t len = sizeof(*h) + size;

	*h = (struct nlmsghdr){ .nlmsg_len = (uint32_t)len, .nlmsg_type = (uint16_t)type, .nlmsg_flags = (uint16_t)flags };
	memcpy(h + 1, payload, size);
	line(call(SYS_sendto, JUNK(fd), h, len, JUNK(MSG_DONTWAIT), NULL, 0L),
	     "sendto(%ld, %s{nlmsg_len=%zu, nlmsg_type=%s, nlmsg_flags=%s, nlmsg_seq=0, nlmsg_pid=0}%s%s%s, %zu, MSG_DONTWAIT, "
	     "NULL, 0)",
	     fd, size ? "[" : "", len, type_text, flags_text, size ? ", " : "", text_of, size ? "]" : "", len);
}
#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })
#define DUMP "NLM_F_REQUEST|NLM_F_DUMP"

/* Finds a family beside the controller, and its name. Returns its number; 0: there is none. */
static unsigned some_family(char *name, size_t size)
{
	struct {
		struct nlmsghdr h;
		struct genlmsghdr g;
	} q = { { .nlmsg_len = sizeof(q), .nlmsg_type = GENL_ID_CTRL, .nlmsg_flags = 0x301 },
		{ .cmd = CTRL_CMD_GETFAMILY, .version = 1 } };
	_Alignas(struct nlmsghdr) static char answer[65536];
	const int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	const ssize_t len = s >= 0 && send(s, &q, sizeof(q), 0) > 0 ? recv(s, answer, sizeof(answer), 0) : -1;
	unsigned family = 0;

	close(s);
	for (const struct nlmsghdr *h = (void *)answer;
	     len > 0 && NLMSG_OK(h, answer + len - (const char *)h) && family <= 16;
	     h = (const void *)((const char *)h + NLMSG_ALIGN(h->nlmsg_len))) {
		const struct nlattr *a = (const void *)((const char *)h + sizeof(q));

		for (; (const char *)a < (const char *)h + h->nlmsg_len;
		     a = (const void *)((const char *)a + NLA_ALIGN(a->nla_len))) {
			if (a->nla_type == CTRL_ATTR_FAMILY_NAME)
				snprintf(name, size, "%s", (const char *)(a + 1));
			if (a->nla_type == CTRL_ATTR_FAMILY_ID)
				family = *(const uint16_t *)(a + 1);
		}
	}
	return family > 16 ? family : 0;
}

static void generic_families(void)
{
	char name[64];
	const unsigned family = some_family(name, sizeof(name));

	if (family)
		message(family, name, 1, "NLM_F_REQUEST", BYTES(3, 1, 0, 0), "{cmd=0x3, version=1}");
	message(16, "nlctrl", 2, "NLM_F_MULTI",
		BYTES(1, 2, 0, 0, 12, 0, 2, 0, 'e', 't', 'h', 't', 'o', 'o', 'l', 0, 24, 0, 6, 0, 20, 0, 1, 0, 8, 0, 1,
		      0, 2, 0, 0, 0, 8, 0, 2, 0, 2, 0, 0, 0),
		"{cmd=CTRL_CMD_NEWFAMILY, version=2}, [[{nla_len=12, nla_type=CTRL_ATTR_FAMILY_NAME}, \"ethtool\"], "
		"[{nla_len=24, nla_type=CTRL_ATTR_OPS}, [{nla_len=20, nla_type=0x1}, [[{nla_len=8, "
		"nla_type=CTRL_ATTR_OP_ID}, "
		"ETHTOOL_MSG_LINKINFO_GET_REPLY], [{nla_len=8, nla_type=CTRL_ATTR_OP_FLAGS}, GENL_CMD_CAP_DO]]]]]");
	message(16, "nlctrl", 2, "NLM_F_MULTI",
		BYTES(10, 2, 0, 0, 24, 0, 8, 0, 20, 0, 0, 0, 16, 0, 1, 0, 12, 0, 4, 0, 7, 0, 0, 0, 0, 0, 0, 0),
		"{cmd=CTRL_CMD_GETPOLICY, version=2}, [{nla_len=24, nla_type=CTRL_ATTR_POLICY}, [{nla_len=20, "
		"nla_type=0}, "
		"[{nla_len=16, nla_type=0x1}, [{nla_len=12, nla_type=NL_POLICY_TYPE_ATTR_MIN_VALUE_U}, 7]]]]");
}

/* A header of udev of which the last byte cannot be read: the kernel refuses it, and it is shown as any bytes are. */
static void uevent(void)
{
	static const char message[40] = "?libudev\0\xfe\xed\xca\xfe(\0\0\0(\0\0\0";
	const char *whole = tail_copy(message, sizeof(message));

	line(call(SYS_sendto, JUNK(fd), whole + 1, sizeof(message), JUNK(MSG_DONTWAIT), NULL, 0L),
	     "sendto(%ld, %p, %zu, MSG_DONTWAIT, NULL, 0)", fd, (const void *)(whole + 1), sizeof(message));
}

static void generic(void)
{
	generic_families();
	message(0xffff, "0xffff /* GENERIC_FAMILY_??? */", 0x301, DUMP, "abc", 3, "\"\\x61\\x62\\x63\"");
	message(0xffff, "0xffff /* GENERIC_FAMILY_??? */", 0x301, DUMP, BYTES(3, 1, 0, 0), "{cmd=0x3, version=1}");
	message(0xffff, "0xffff /* GENERIC_FAMILY_??? */", 0x301, DUMP, BYTES(3, 2, 0xed, 0xfe, 8, 0, 10, 0, 'a', 'b', 'c', 'd'),
		"{cmd=0x3, version=2, reserved=0xfeed}, [{nla_len=8, nla_type=0xa}, \"\\x61\\x62\\x63\\x64\"]");
	message(NLMSG_DONE, "NLMSG_DONE", 1, "NLM_F_REQUEST", BYTES(0xad, 0xef, 0xcd, 0xab), "-1412567123");
	message(16, "nlctrl", 0x301, DUMP, "abc", 3, "\"\\x61\\x62\\x63\"");
	message(16, "nlctrl", 0x301, DUMP, BYTES(8, 1, 0, 0), "{cmd=CTRL_CMD_DELMCAST_GRP, version=1}");
	message(16, "nlctrl", 0x301, DUMP, BYTES(3, 2, 0xed, 0xfe, 5, 0, 1, 0, 'a'),
		"{cmd=CTRL_CMD_GETFAMILY, version=2, reserved=0xfeed}, [{nla_len=5, nla_type=CTRL_ATTR_FAMILY_ID}, \"\\x61\"]");
	message(16, "nlctrl", 0x301, DUMP, BYTES(3, 1, 0, 0, 8, 0, 3, 0, 7, 0, 0, 0),
		"{cmd=CTRL_CMD_GETFAMILY, version=1}, [{nla_len=8, nla_type=CTRL_ATTR_VERSION}, 7]");
}

static void selinux(void)
{
	message(16, "SELNL_MSG_SETENFORCE", 1, "NLM_F_REQUEST", "", 0, "");
	message(0xffff, "0xffff /* SELNL_MSG_??? */", 1, "NLM_F_REQUEST", "1234", 4, "\"\\x31\\x32\\x33\\x34\"");
	message(16, "SELNL_MSG_SETENFORCE", 1, "NLM_F_REQUEST", "abc", 3, "\"\\x61\\x62\\x63\"");
	message(16, "SELNL_MSG_SETENFORCE", 1, "NLM_F_REQUEST", BYTES(0xab, 0xdf, 0xdc, 0xfb), "{val=-69410901}");
	message(17, "SELNL_MSG_POLICYLOAD", 1, "NLM_F_REQUEST", BYTES(0xbc, 0xfa, 0xdc, 0xab), "{seqno=2883386044}");
}

#define UNKNOWN 8, 0, 0xff, 0x3f, 'a', 'b', 'c', 'd'
#define UNKNOWN_TEXT(attrs) ", [{nla_len=8, nla_type=0x3fff /* " attrs "_??? */}, \"\\x61\\x62\\x63\\x64\"]"

static void route(void)
{
	message(0xffff, "0xffff /* RTM_??? */", 1, "NLM_F_REQUEST", BYTES(0), "{family=AF_UNSPEC}");
	message(0xffff, "0xffff /* RTM_??? */", 1, "NLM_F_REQUEST", BYTES(2, 'a', 'b'), "{family=AF_INET, data=\"\\x61\\x62\"}");
	message(49, "RTM_DELACTION", 0x100, "NLM_F_ROOT", "", 0, "");
	message(82, "RTM_GETNETCONF", 0x300, "NLM_F_DUMP", BYTES(2), "{ncm_family=AF_INET}");
	message(82, "RTM_GETNETCONF", 0x300, "NLM_F_DUMP", BYTES(2, 0, 0, 0, UNKNOWN), "{ncm_family=AF_INET}" UNKNOWN_TEXT("NETCONFA"));
	message(82, "RTM_GETNETCONF", 0x300, "NLM_F_DUMP", BYTES(2, 0, 0, 0, 8, 0, 1, 0, 1, 0, 0, 0),
		"{ncm_family=AF_INET}, [{nla_len=8, nla_type=NETCONFA_IFINDEX}, if_nametoindex(\"lo\")]");
	message(74, "RTM_GETADDRLABEL", 0x300, "NLM_F_DUMP", BYTES(1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, UNKNOWN),
		"{ifal_family=AF_UNIX, ifal_prefixlen=0, ifal_flags=0, ifal_index=if_nametoindex(\"lo\"), ifal_seq=0}" UNKNOWN_TEXT("IFAL"));
	message(78, "RTM_GETDCB", 0x300, "NLM_F_DUMP", BYTES(1, 0, 0, 0, UNKNOWN), "{dcb_family=AF_UNIX, cmd=DCB_CMD_UNDEFINED}" UNKNOWN_TEXT("DCB_ATTR"));
	message(94, "RTM_GETSTATS", 0x300, "NLM_F_DUMP", BYTES(1, 0, 0, 0, 1, 0, 0, 0, 0x22, 0, 0, 0, UNKNOWN),
		"{family=AF_UNIX, ifindex=if_nametoindex(\"lo\"), filter_mask=1<<IFLA_STATS_LINK_64|1<<IFLA_STATS_AF_SPEC}"
		UNKNOWN_TEXT("IFLA_STATS"));
	message(38, "RTM_GETQDISC", 0x300, "NLM_F_DUMP",
		BYTES(0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 8, 0, 1, 0, 'f', 'q', 0, 0),
		"{tcm_family=AF_UNSPEC, tcm_ifindex=if_nametoindex(\"lo\"), tcm_handle=1, tcm_parent=2, tcm_info=3}, "
		"[{nla_len=8, nla_type=TCA_KIND}, \"fq\\0\"]");
	message(66, "RTM_GETNEIGHTBL", 0x300, "NLM_F_DUMP", BYTES(0, 0, 0, 0, 8, 0, 2, 0, 9, 0, 0, 0),
		"{ndtm_family=AF_UNSPEC}, [{nla_len=8, nla_type=NDTA_THRESH1}, 9]");
	message(90, "RTM_GETNSID", 1, "NLM_F_REQUEST", BYTES(0, 0, 0, 0, 8, 0, 1, 0, 0xff, 0xff, 0xff, 0xff),
		"{rtgen_family=AF_UNSPEC}, [{nla_len=8, nla_type=NETNSA_NSID}, -1]");
	message(106, "RTM_GETNEXTHOP", 0x300, "NLM_F_DUMP", BYTES(2, 0, 0, 0, 0, 0, 0, 0, 8, 0, 1, 0, 5, 0, 0, 0),
		"{nh_family=AF_INET, nh_scope=RT_SCOPE_UNIVERSE, nh_protocol=RTPROT_UNSPEC, nh_flags=0}, [{nla_len=8, nla_type=NHA_ID}, 5]");
}

/* An error with the whole message that it is about, and what the kernel says of it behind that. */
static void errors(void)
{
#define ABOUT(len) 0xa1, 0xff, 0xff, 0xff, len, 0, 0, 0, 90, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0
#define BARE(len) "{error=-EOPNOTSUPP, msg={nlmsg_len=" #len ", nlmsg_type=RTM_GETNSID, nlmsg_flags=NLM_F_REQUEST, nlmsg_seq=0, nlmsg_pid=0}"
#define WITH "{error=-EOPNOTSUPP, msg=[{nlmsg_len=17, nlmsg_type=RTM_GETNSID, nlmsg_flags=NLM_F_REQUEST, nlmsg_seq=0, nlmsg_pid=0}, {rtgen_family=AF_UNSPEC}]}"
#define SAID 11, 0, 1, 0, 'n', 'o', ' ', 'w', 'a', 'y', 0, 0
#define SAID_TEXT "[{nla_len=11, nla_type=NLMSGERR_ATTR_MSG}, \"no way\"]"
	message(2, "NLMSG_ERROR", 0x200, "NLM_F_ACK_TLVS", BYTES(ABOUT(17), 0, 0, 0, 0, SAID), "[" WITH ", " SAID_TEXT "]");
	message(2, "NLMSG_ERROR", 0x200, "NLM_F_ACK_TLVS", BYTES(ABOUT(16), SAID), "[" BARE(16) "}, " SAID_TEXT "]");
	message(2, "NLMSG_ERROR", 0x200, "NLM_F_ACK_TLVS", BYTES(ABOUT(16), SAID, 8, 0, 2, 0, 44, 0, 0, 0),
		"[" BARE(16) "}, [" SAID_TEXT ", [{nla_len=8, nla_type=NLMSGERR_ATTR_OFFS}, 44]]]");
	message(2, "NLMSG_ERROR", 0x200, "NLM_F_ACK_TLVS", BYTES(ABOUT(16)), BARE(16) "}");
	message(2, "NLMSG_ERROR", 0x300, "NLM_F_CAPPED|NLM_F_ACK_TLVS", BYTES(ABOUT(200), SAID), "[" BARE(200) "}, " SAID_TEXT "]");
}

/* The last byte of the message is unreadable: what it belongs to is an address. */
static void unreadable(unsigned type, const char *type_text, const void *payload, size_t size, const char *before,
		       size_t at, const char *behind)
{
	const size_t len = sizeof(struct nlmsghdr) + size;
	struct nlmsghdr *h = tail_alloc(len - 1);
	const struct nlmsghdr head = { .nlmsg_len = (uint32_t)len, .nlmsg_type = (uint16_t)type, .nlmsg_flags = 1 };

	memcpy(h, &head, sizeof(head));
	memcpy((char *)h + sizeof(head), payload, size - 1);
	line(call(SYS_sendto, JUNK(fd), h, len, JUNK(MSG_DONTWAIT), NULL, 0L),
	     "sendto(%ld, [{nlmsg_len=%zu, nlmsg_type=%s, nlmsg_flags=NLM_F_REQUEST, nlmsg_seq=0, nlmsg_pid=0}, "
	     "%s%s%s], %zu, MSG_DONTWAIT, "
	     "NULL, 0)",
	     fd, len, type_text, before, ptr((char *)h + sizeof(head) + at), behind, len);
}

static void faults(void)
{
	unreadable(16, "RTM_NEWLINK", BYTES(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), "{ifi_family=AF_UNIX, ", 1,
		   "}");
	unreadable(20, "RTM_NEWADDR", BYTES(1, 0, 0, 0, 0, 0, 0, 0), "{ifa_family=AF_UNIX, ", 1, "}");
	unreadable(34, "RTM_GETRULE", BYTES(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 15, 0, 1, 2, 3, 4),
		   "{family=AF_UNIX, dst_len=0, src_len=0, tos=0, table=RT_TABLE_UNSPEC, action=FR_ACT_UNSPEC, "
		   "flags=0}, [{nla_len=8, nla_type=FRA_TABLE}, ",
		   16, "]");
	unreadable(20, "RTM_NEWADDR", BYTES(2, 0, 0, 0, 0, 0, 0, 0, 8, 0, 1, 0, 1, 2, 3, 4),
		   "{ifa_family=AF_INET, ifa_prefixlen=0, ifa_flags=0, ifa_scope=RT_SCOPE_UNIVERSE, ifa_index=0}, "
		   "[{nla_len=8, nla_type=IFA_ADDRESS}, ",
		   12, "]");
#define LINK "{ifi_family=AF_UNSPEC, ifi_type=ARPHRD_LOOPBACK, ifi_index=0, ifi_flags=0, ifi_change=0}, "
#define LINK_UNIX "{ifi_family=AF_UNIX, ifi_type=ARPHRD_NETROM, ifi_index=0, ifi_flags=0, ifi_change=0}, "
#define LINK_BYTES 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
	/* not even the first header of what is nested, of one kind or chosen by the family */
	unreadable(16, "RTM_NEWLINK", BYTES(LINK_BYTES, 8, 0, 18, 0, 1, 2, 3, 4), LINK "[{nla_len=8, nla_type=IFLA_LINKINFO}, ",
		   20, "]");
	unreadable(16, "RTM_NEWLINK", BYTES(LINK_BYTES, 8, 0, 26, 0, 1, 2, 3, 4), LINK "[{nla_len=8, nla_type=IFLA_AF_SPEC}, ", 20,
		   "]");
	/* of a string nothing at all */
	unreadable(16, "RTM_NEWLINK", BYTES(LINK_BYTES, 5, 0, 3, 0, 0), LINK "[{nla_len=5, nla_type=IFLA_IFNAME}, ", 20, "]");
	/* a number of as many bytes as there are */
	unreadable(104, "RTM_NEWNEXTHOP", BYTES(2, 0, 0, 0, 0, 0, 0, 0, 12, 0, 12, 0, 8, 0, 2, 0, 1, 2, 3, 4),
		   "{nh_family=AF_INET, nh_scope=RT_SCOPE_UNIVERSE, nh_protocol=RTPROT_UNSPEC, nh_flags=0}, [{nla_len=12, "
		   "nla_type=NHA_RES_GROUP}, [{nla_len=8, nla_type=NHA_RES_GROUP_IDLE_TIMER}, ",
		   16, "]]");
	/* behind a header of one field there may be attributes, behind one that was cut nothing is looked at */
	unreadable(16, "RTM_NEWLINK", BYTES(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 3, 0), LINK_UNIX, 16, "");
	unreadable(2, "NLMSG_ERROR", BYTES(1, 0, 0, 0, 16, 0, 0, 0, 18, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0), "", 0, "");
	unreadable(52, "RTM_NEWPREFIX", BYTES(10, 1, 2, 3, 4), "{family=AF_INET6, data=", 1, "}");
	/* of what varies in size, not even what is always there */
	unreadable(52, "RTM_NEWPREFIX", BYTES(10), "", 0, "");
	unreadable(24, "RTM_NEWROUTE", BYTES(2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 18, 0, 2, 0),
		   "{rtm_family=AF_INET, rtm_dst_len=0, rtm_src_len=0, rtm_tos=0, rtm_table=RT_TABLE_UNSPEC, "
		   "rtm_protocol=RTPROT_UNSPEC, rtm_scope=RT_SCOPE_UNIVERSE, rtm_type=RTN_UNSPEC, rtm_flags=0}, "
		   "[{nla_len=6, nla_type=RTA_VIA}, ",
		   16, "]");
}

int main(int argc, char **argv)
{
	static const struct {
		int protocol;
		const char *name;
		void (*send)(void);
	} sockets[] = { { 16, "NETLINK_GENERIC", generic }, { 15, "NETLINK_KOBJECT_UEVENT", uevent }, { 7, "NETLINK_SELINUX", selinux }, { 0, "NETLINK_ROUTE", route },
		      { 0, "NETLINK_ROUTE", faults }, { 0, "NETLINK_ROUTE", errors } };

	truth_begin(argc, argv, "-s 100 -e trace=socket,sendto");
	for (size_t i = 0; i < sizeof(sockets) / sizeof(sockets[0]); i++) {
		fd = call(SYS_socket, (long)AF_NETLINK, (long)SOCK_RAW, (long)sockets[i].protocol);
		if (fd < 0)
			truth_skip("a netlink protocol is not here");
		line(fd, "socket(AF_NETLINK, SOCK_RAW, %s)", sockets[i].name);
		sockets[i].send();
	}
	return 0;
}

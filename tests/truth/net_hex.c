/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names in attributes of netlink under -x: in hexadecimal the NUL behind them is a byte as well. */
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include "truth.h"

static void send_name(long fd, const char *name, size_t size, const char *shown)
{
	struct {
		struct nlmsghdr h;
		struct ifinfomsg link;
		struct nlattr attr;
		char name[64];
	} m = { .h = { .nlmsg_type = RTM_SETLINK },
		.attr = { .nla_len = (uint16_t)(sizeof(struct nlattr) + size), .nla_type = IFLA_IFALIAS } };
	const size_t len = sizeof(m) - sizeof(m.name) + NLA_ALIGN(size);

	m.h.nlmsg_len = (uint32_t)len;
	memcpy(m.name, name, size);
	line(call(SYS_sendto, JUNK(fd), tail_copy(&m, len), len, JUNK(MSG_DONTWAIT), NULL, 0L),
	     "sendto(%ld, [{nlmsg_len=%zu, nlmsg_type=RTM_SETLINK, nlmsg_flags=0, nlmsg_seq=0, nlmsg_pid=0}, "
	     "{ifi_family=AF_UNSPEC, "
	     "ifi_type=ARPHRD_NETROM, ifi_index=0, ifi_flags=0, ifi_change=0}, [{nla_len=%zu, nla_type=IFLA_IFALIAS}, "
	     "%s]], %zu, "
	     "MSG_DONTWAIT, NULL, 0)",
	     fd, len, sizeof(struct nlattr) + size, shown, len);
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-x -e trace=socket,sendto");
	const long fd = call(SYS_socket, (long)AF_NETLINK, (long)SOCK_RAW, (long)NETLINK_ROUTE);

	if (fd < 0)
		truth_skip("no netlink here");
	line(fd, "socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE)");
	send_name(fd, "lo", 2, "\"lo\"...");
	send_name(fd, "lo", 3, "\"\\x6c\\x6f\\x00\"...");
	send_name(fd, "", 1, "\"\\x00\"...");
	send_name(fd, "abcdefghijklmnopqrstuvwxyzabcdef", 32, "\"abcdefghijklmnopqrstuvwxyzabcdef\"...");
	send_name(fd, "abcdefghijklmnopqrstuvwxyzabcdef", 33, "\"abcdefghijklmnopqrstuvwxyzabcdef\"...");
	return 0;
}

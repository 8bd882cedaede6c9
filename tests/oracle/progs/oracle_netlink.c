/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Oracle: netlink by way of the C library: interfaces, addresses, names. */
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
	struct {
		struct nlmsghdr h;
		struct rtmsg r;
	} q = { { sizeof(q), RTM_GETROUTE, NLM_F_REQUEST | NLM_F_DUMP, 1, 0 }, { .rtm_family = AF_INET } };
	struct {
		struct nlmsghdr h;
		struct ifinfomsg i;
	} bad = { { sizeof(bad), RTM_GETLINK, NLM_F_REQUEST | NLM_F_ACK, 2, 0 }, { .ifi_index = 9999 } };
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK };
	static char buf[16384];
	struct ifaddrs *ifa;
	struct ifreq r = { .ifr_name = "lo" };

	if (!getifaddrs(&ifa))
		freeifaddrs(ifa);
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	bind(s, (void *)&nl, sizeof(nl));
	sendto(s, &q, sizeof(q), 0, (void *)&nl, sizeof(nl));
	struct iovec v = { buf, sizeof(buf) };
	struct msghdr m = { .msg_name = &nl, .msg_namelen = sizeof(nl), .msg_iov = &v, .msg_iovlen = 1 };
	recvmsg(s, &m, 0);
	recvmsg(s, &m, MSG_DONTWAIT);
	v = (struct iovec){ &bad, sizeof(bad) };
	sendmsg(s, &m, 0);
	v = (struct iovec){ buf, sizeof(buf) };
	recvmsg(s, &m, 0);
	int d = socket(AF_INET, SOCK_DGRAM, 0);
	ioctl(d, SIOCGIFINDEX, &r);
	ioctl(d, SIOCGIFFLAGS, &r);
	ioctl(d, SIOCGIFADDR, &r);
	ioctl(d, SIOCGIFMTU, &r);
	ioctl(d, SIOCGIFHWADDR, &r);
	strcpy(r.ifr_name, "missing");
	ioctl(d, SIOCGIFINDEX, &r);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes of sockets beyond what is read of a message by default: as many are shown as -s says. */
#include <linux/netlink.h>
#include <sys/socket.h>
#include "truth.h"

#define LONG 1500u
#define ATTRS 31u
#define ATTR_SZ 40u

/* A message of netlink with many attributes, each a name of its own. */
static void netlink(void)
{
	const size_t size = 32 + (size_t)ATTRS * ATTR_SZ;
	const long fd = call(SYS_socket, (long)AF_NETLINK, (long)SOCK_RAW, 0L);
	static char shown[1 << 13];
	uint8_t *p = tail_alloc(size);
	char *end = shown;

	if (fd < 0)
		truth_skip("no netlink here");
	((struct nlmsghdr *)p)->nlmsg_len = (uint32_t)size;
	((struct nlmsghdr *)p)->nlmsg_type = 16;
	for (unsigned i = 0; i < ATTRS; i++) {
		uint8_t *attr = p + 32 + (size_t)i * ATTR_SZ;
		attr[0] = ATTR_SZ;
		attr[2] = 3; /* IFLA_IFNAME */
		memset(attr + 4, 'a' + (int)(i % 26), ATTR_SZ - 5);
		end += sprintf(end, "%s[{nla_len=%u, nla_type=IFLA_IFNAME}, \"%s\"]", i ? ", " : "", ATTR_SZ, attr + 4);
	}
	line(fd, "socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE)");
	line(call(SYS_sendto, JUNK(fd), p, size, 0L, NULL, 0L),
	     "sendto(%ld, [{nlmsg_len=%zu, nlmsg_type=RTM_NEWLINK, nlmsg_flags=0, nlmsg_seq=0, nlmsg_pid=0}, {ifi_family=AF_UNSPEC, "
	     "ifi_type=ARPHRD_NETROM, ifi_index=0, ifi_flags=0, ifi_change=0}, [%s]], %zu, 0, NULL, 0)",
	     fd, size, shown, size);
}

/* Of several messages the kernel says only of those that went out how long they were. */
static void partly(int fd)
{
	struct iovec *vec = tail_copy(&(struct iovec){ (void *)"abc", 3 }, sizeof(*vec));
	struct mmsghdr *all = tail_alloc(2 * sizeof(*all));

	all[0].msg_hdr = (struct msghdr){ .msg_iov = vec, .msg_iovlen = 1 };
	all[1].msg_hdr = (struct msghdr){ .msg_iov = (struct iovec *)1, .msg_iovlen = 1 };
	all[1].msg_len = 9;
	line(call(SYS_sendmmsg, JUNK(fd), all, 2L, 0L),
	     "sendmmsg(%d, [{msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"abc\", iov_len=3}], msg_iovlen=1, "
	     "msg_controllen=0, msg_flags=0}, msg_len=3}, {msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=0x1, msg_iovlen=1, "
	     "msg_controllen=0, msg_flags=0}}], 2, 0)",
	     fd);
}

/* Of control messages beyond what is read, more is said to follow, however long the last one says that it is. */
static void control(void)
{
	const size_t size = 1 << 18;
	struct cmsghdr *c = tail_alloc(size);
	static char shown[1 << 14];
	char *end = shown;

	*c = (struct cmsghdr){ .cmsg_len = size, .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	for (unsigned i = 0; i < 2000; i++)
		end += sprintf(end, "0, ");
	line(call(SYS_sendmsg, -1L, tail_copy(&(struct msghdr){ .msg_control = c, .msg_controllen = size }, sizeof(struct msghdr)), 0L),
	     "sendmsg(-1, {msg_name=NULL, msg_namelen=0, msg_iov=NULL, msg_iovlen=0, msg_control=[{cmsg_len=%zu, cmsg_level=SOL_SOCKET, "
	     "cmsg_type=SCM_RIGHTS, cmsg_data=[%s...]}, ...], msg_controllen=%zu, msg_flags=0}, 0)",
	     size, shown, size);
}

/* All of them are shown, more than -s says, and more than the 64 KiB that are read of other buffers. */
static void many_controls(void)
{
	enum { MANY = 4375 };
	const size_t size = MANY * sizeof(struct cmsghdr);
	struct cmsghdr *c = tail_alloc(size);
	static char shown[1 << 19];
	char *end = shown;

	for (unsigned i = 0; i < MANY; i++) {
		c[i] = (struct cmsghdr){ .cmsg_len = sizeof(*c), .cmsg_level = SOL_SOCKET, .cmsg_type = 0x63 };
		end += sprintf(end, "%s{cmsg_len=%zu, cmsg_level=SOL_SOCKET, cmsg_type=0x63 /* SCM_??? */}", i ? ", " : "", sizeof(*c));
	}
	line(call(SYS_sendmsg, -1L, tail_copy(&(struct msghdr){ .msg_control = c, .msg_controllen = size }, sizeof(struct msghdr)), 0L),
	     "sendmsg(-1, {msg_name=NULL, msg_namelen=0, msg_iov=NULL, msg_iovlen=0, msg_control=[%s], msg_controllen=%zu, msg_flags=0}, 0)",
	     shown, size);
}

int main(int argc, char **argv)
{
	char *bytes = tail_alloc(LONG);
	int fds[2];

	truth_begin(argc, argv, "-s 2000 -e trace=socket,sendto,recvfrom,sendmmsg,sendmsg");
	memset(bytes, 'x', LONG);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		truth_skip("no pair of sockets");
	line(call(SYS_sendto, JUNK(fds[0]), bytes, (long)LONG, 0L, NULL, 0L), "sendto(%d, \"%.*s\", %u, 0, NULL, 0)", fds[0], (int)LONG, bytes,
	     LONG);
	line(call(SYS_recvfrom, JUNK(fds[1]), bytes, (long)LONG, 0L, NULL, NULL), "recvfrom(%d, \"%.*s\", %u, 0, NULL, NULL)", fds[1],
	     (int)LONG, bytes, LONG);
	partly(fds[0]);
	control();
	many_controls();
	netlink();
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sends one request over a netlink socket that came by each way: made, inherited through exec, received from another
 * process, taken out of another process; and the same bytes over a socket of another kind that has its number. Each is
 * told by its length. Ends at once: nobody can ask later.
 */
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT 30 /* the number that all of them have in turn */

static char message[4096];

static void request(int fd, unsigned len)
{
	struct nlmsghdr *h = (struct nlmsghdr *)message;
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	h->nlmsg_len = len;
	h->nlmsg_type = NLMSG_NOOP; /* the kernel does nothing with it */
	h->nlmsg_flags = NLM_F_REQUEST;
	sendto(fd, message, len, 0, (const struct sockaddr *)&kernel, fd == AT ? sizeof(kernel) : 0);
}

static int netlink(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	if (fd < 0)
		exit(1);
	return fd;
}

/* A descriptor that another process has passed on. */
static int received(void)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte = 0;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	int ends[2], fd;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	if (!fork()) {
		fd = netlink();
		control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
		_exit(sendmsg(ends[1], &msg, 0) != 1);
	}
	if (recvmsg(ends[0], &msg, 0) != 1 || control.head.cmsg_type != SCM_RIGHTS)
		exit(1);
	wait(NULL);
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	return fd;
}

/* A descriptor of another process, of which this one takes a copy. */
static int taken(void)
{
	int ends[2], pidfd, fd, theirs;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	pid = fork();
	if (!pid) {
		fd = netlink();
		if (write(ends[1], &fd, sizeof(fd)) != sizeof(fd))
			_exit(1);
		_exit(read(ends[1], &fd, 1) != 1);
	}
	if (read(ends[0], &theirs, sizeof(theirs)) != sizeof(theirs))
		exit(1);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, theirs, 0);
	if (write(ends[0], "", 1) != 1 || fd < 0)
		exit(1);
	wait(NULL);
	return fd;
}

static void move(int fd)
{
	if (dup2(fd, AT) != AT)
		exit(1);
	close(fd);
}

int main(int argc, char **argv)
{
	int pair[2];

	if (argc > 1) { /* after exec */
		request(AT, 20);
		move(received());
		request(AT, 24);
		move(taken());
		request(AT, 28);
		return 0;
	}
	move(netlink());
	request(AT, 16);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		return 1;
	move(pair[0]);
	send(AT, message, 17, 0);
	move(netlink());
	execl(argv[0], argv[0], "again", NULL);
	return 1;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pass_fds FILE: opens FILE by each kind of call that makes descriptors, reads a byte from each, and ends at once. Some
 * come back by a socket, behind other control messages.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PASSED 253 /* descriptors in one message: as many as the kernel passes */

static void read_one(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		_exit(2);
}

int main(int argc, char **argv)
{
	char control[CMSG_SPACE(PASSED * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))] = { 0 }, c = 'x';
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control };
	int s[2], p[2], fd[PASSED], one = 1;

	if (argc != 2 || (fd[0] = open(argv[1], O_RDONLY)) < 0)
		return 1;
	read_one(fd[0]);
	read_one(dup(fd[0]));
	read_one(dup3(fd[0], 50, 0));
	read_one(fcntl(fd[0], F_DUPFD, 60));
	if (pipe(p) || write(p[1], "x", 1) != 1)
		return 1;
	read_one(p[0]);

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) || setsockopt(s[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)))
		return 1;
	struct cmsghdr *h = (struct cmsghdr *)control;

	for (int i = 1; i < PASSED; i++)
		fd[i] = fd[0];
	*h = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(fd)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(h), fd, sizeof(fd));
	m.msg_controllen = CMSG_SPACE(sizeof(fd));
	if (sendmsg(s[0], &m, 0) != 1)
		return 1;
	m.msg_controllen = sizeof(control);
	if (recvmsg(s[1], &m, 0) != 1)
		return 1;
	for (h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h))
		if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS)
			memcpy(fd, CMSG_DATA(h), sizeof(fd));
	read_one(fd[0]);
	read_one(fd[PASSED - 1]);
	return 0;
}

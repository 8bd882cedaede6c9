/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* send_calls FILE: what stands in FILE goes through sockets and message queues, in each way that there is. */
#include <fcntl.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

struct message {
	long type;
	char text[256];
};

int main(int argc, char **argv)
{
	char in[sizeof(((struct message *)0)->text)], out[sizeof(in)];
	struct message msg = { .type = 1 };
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1, pair[2];
	ssize_t len = fd < 0 ? -1 : read(fd, in, sizeof(in));
	struct iovec to = { in, 0 }, from = { out, sizeof(out) };
	struct mmsghdr put = { .msg_hdr = { .msg_iov = &to, .msg_iovlen = 1 } };
	struct mmsghdr get = { .msg_hdr = { .msg_iov = &from, .msg_iovlen = 1 } };

	if (len <= 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		return 1;
	to.iov_len = (size_t)len;
	if (send(pair[0], in, to.iov_len, 0) != len || recv(pair[1], out, sizeof(out), 0) != len)
		return 2;
	if (sendmsg(pair[0], &put.msg_hdr, 0) != len || recvmsg(pair[1], &get.msg_hdr, 0) != len)
		return 3;
	if (sendmmsg(pair[0], &put, 1, 0) != 1 || recvmmsg(pair[1], &get, 1, 0, NULL) != 1)
		return 4;
	int queue = msgget(IPC_PRIVATE, 0600);

	memcpy(msg.text, in, to.iov_len);
	if (queue < 0)
		return 0; /* a kernel without them */
	int bad = msgsnd(queue, &msg, to.iov_len, 0) || msgrcv(queue, &msg, sizeof(msg.text), 0, 0) != len;

	msgctl(queue, IPC_RMID, NULL);
	return bad ? 5 : 0;
}

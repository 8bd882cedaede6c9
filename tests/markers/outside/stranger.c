/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Somebody else (user 65534) at the socket on which espy listens for calls of agents.
 * stranger take NAME SECONDS: as soon as the name is free it listens there itself; says how many descriptors it was given.
 * stranger keep NAME COUNT: makes COUNT connections, says "kept", says nothing to the other end, and keeps them until it is
 * killed; those that are closed are made again.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_un addr = { .sun_family = AF_UNIX };
static socklen_t addr_len;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int descriptors(int fd)
{
	char bytes[256];
	struct iovec iov = { bytes, sizeof(bytes) };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(16 * sizeof(int))];
	} control;
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (poll(&p, 1, 1000) < 1 || recvmsg(fd, &m, 0) < 0 || !CMSG_FIRSTHDR(&m))
		return 0;
	return (int)((CMSG_FIRSTHDR(&m)->cmsg_len - CMSG_LEN(0)) / sizeof(int));
}

static int take(double seconds)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	int got = 0, calls = 0;
	double until = now() + 60;

	puts("waits");
	while (bind(fd, (struct sockaddr *)&addr, addr_len)) {
		if (errno != EADDRINUSE || now() > until) {
			printf("not bound: %s\n", strerror(errno));
			return 1;
		}
		usleep(100);
	}
	if (listen(fd, 4096))
		return 1;
	until = now() + seconds;
	for (struct pollfd p = { .fd = fd, .events = POLLIN }; now() < until;) {
		if (poll(&p, 1, 100) < 1)
			continue;
		const int one = accept(fd, NULL, NULL);

		if (one < 0)
			continue;
		calls++;
		got += descriptors(one);
		close(one);
	}
	printf("calls %d descriptors %d\n", calls, got);
	return 0;
}

static void keep(int count)
{
	int *fds = calloc((size_t)count, sizeof(*fds));
	char c;

	for (int i = 0; i < count; i++)
		fds[i] = -1;
	for (unsigned round = 0;; round++) {
		for (int i = 0; i < count; i++) {
			if (fds[i] >= 0 && recv(fds[i], &c, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN)
				continue;
			if (fds[i] >= 0)
				close(fds[i]);
			fds[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
			if (connect(fds[i], (struct sockaddr *)&addr, addr_len)) {
				close(fds[i]);
				fds[i] = -1;
			}
		}
		if (!round)
			puts("kept");
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	const struct rlimit many = { 8192, 8192 };

	if (argc != 4 || strlen(argv[2]) > sizeof(addr.sun_path) - 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	memcpy(addr.sun_path + 1, argv[2], strlen(argv[2]));
	addr_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(argv[2]));
	if (setrlimit(RLIMIT_NOFILE, &many) || setgid(65534) || setuid(65534)) {
		perror("to be somebody else");
		return 77;
	}
	if (!strcmp(argv[1], "take"))
		return take(atof(argv[3]));
	keep(atoi(argv[3]));
	return 1;
}

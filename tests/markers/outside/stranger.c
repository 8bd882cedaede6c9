/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Somebody else (user 65534) at the socket on which espy listens for calls of agents.
 * stranger take NAME MAX: as soon as the name is free it listens there itself, for up to MAX calls, and says "listens";
 * says how many descriptors it was given when its standard input ends. stranger keep NAME COUNT: makes COUNT
 * connections, says "kept", says nothing to the other end, and keeps them until it is killed; those that are closed are
 * made again. stranger give NAME[,TAG] FILE: sends a descriptor of FILE, whose server answers no request but the first
 * two, and says "given"; then "hung up", when the other end has closed the connection. With the TAG (hexadecimal) the
 * message is a child's, and the descriptor comes twice, as if it were the child's memory. stranger linger NAME FILE:
 * the same with the last descriptor of a TCP connection whose close waits for its peer, for an hour.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "../../../agent/abi.h"
#include "../../wait.h"

static struct sockaddr_un addr = { .sun_family = AF_UNIX };
static socklen_t addr_len;

/* That one has sent; 0 also if it has left. */
static int descriptors(int fd)
{
	char bytes[256];
	struct iovec iov = { bytes, sizeof(bytes) };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(16 * sizeof(int))];
	} control;
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};

	if (recvmsg(fd, &m, MSG_DONTWAIT) < 0 || !CMSG_FIRSTHDR(&m))
		return 0;
	return (int)((CMSG_FIRSTHDR(&m)->cmsg_len - CMSG_LEN(0)) / sizeof(int));
}

static bool is_bound(int fd)
{
	return !bind(fd, (struct sockaddr *)&addr, addr_len);
}

/* Each call is waited for until the end: whoever is slow has the time to give something. */
static int take(unsigned max)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	struct pollfd *p = calloc(max + 2, sizeof(*p));
	unsigned open = 0;
	int got = 0, calls = 0;

	puts("waits");
	if (!p || !WAIT_UNTIL(is_bound(fd) || errno != EADDRINUSE) || listen(fd, 4096)) {
		printf("not bound: %s\n", strerror(errno));
		return 1;
	}
	puts("listens");
	p[0] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	while (!p[0].revents) {
		p[1] = (struct pollfd){ .fd = open < max ? fd : -1, .events = POLLIN };
		if (poll(p, open + 2, -1) < 1)
			continue;
		for (unsigned i = open + 1; i >= 2; i--)
			if (p[i].revents) {
				got += descriptors(p[i].fd);
				close(p[i].fd);
				p[i] = p[--open + 2];
			}
		const int one = p[1].revents ? accept(fd, NULL, NULL) : -1;

		if (one >= 0) {
			calls++;
			p[open++ + 2] = (struct pollfd){ .fd = one, .events = POLLIN };
		}
	}
	printf("calls %d descriptors %d\n", calls, got);
	free(p);
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
		usleep(20000); /* sleeps: a beat */
	}
}

/* The server: the file can be opened. A close of it waits for an answer. */
static void serve(int fuse)
{
	char bytes[65536];
	const struct fuse_in_header *in = (const void *)bytes;
	struct {
		struct fuse_out_header head;
		union {
			struct fuse_init_out init;
			struct fuse_open_out open;
		};
	} out;

	while (read(fuse, bytes, sizeof(bytes)) > 0) {
		memset(&out, 0, sizeof(out));
		if (in->opcode == FUSE_INIT) {
			out.init.major = FUSE_KERNEL_VERSION;
			out.init.minor = 31;
			out.init.max_write = 4096;
			out.head.len = sizeof(out.head) + sizeof(out.init);
		} else if (in->opcode == FUSE_OPEN) {
			out.head.len = sizeof(out.head) + sizeof(out.open);
		} else {
			continue;
		}
		out.head.unique = in->unique;
		if (write(fuse, &out, out.head.len) != (ssize_t)out.head.len)
			_exit(1);
	}
	_exit(0);
}

/* As root, in a mount namespace of its own: the file becomes one of that server. Its descriptor, or -1. */
static int served_file(const char *path)
{
	const int fuse = open("/dev/fuse", O_RDWR);
	char options[80];
	int fd;

	snprintf(options, sizeof(options), "fd=%d,rootmode=100666,user_id=0,group_id=0,allow_other", fuse);
	if (fuse < 0 || unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", path, "fuse", 0, options))
		return -1;
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(fuse);
	}
	fd = open(path, O_RDONLY);
	close(fuse);
	return fd;
}

/* One end of a TCP connection that has bytes for the other, which takes none; it is kept open. -1: there is none. */
static int lingering(void)
{
	const struct linger hour = { .l_onoff = 1, .l_linger = 3600 };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	static const char bytes[65536];
	socklen_t len = sizeof(to);
	const int at = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(at, (struct sockaddr *)&to, sizeof(to)) || listen(at, 1) ||
	    getsockname(at, (struct sockaddr *)&to, &len) || connect(fd, (struct sockaddr *)&to, sizeof(to)) ||
	    accept(at, NULL, NULL) < 0 || setsockopt(fd, SOL_SOCKET, SO_LINGER, &hour, sizeof(hour)))
		return -1;
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	return fd;
}

static int give(int file, bool is_last, const char *tag)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), files[2] = { file, file };
	char text[] = "take this";
	struct espy_agent_call call = { .magic = ESPY_AGENT_CALL_MAGIC, .what = ESPY_CALL_BORN };
	struct iovec iov = { text, sizeof(text) };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = { .head = { CMSG_LEN(sizeof(files)), SOL_SOCKET, SCM_RIGHTS } };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};

	if (tag) {
		call.tag = strtoull(tag, NULL, 16);
		iov = (struct iovec){ &call, sizeof(call) };
	}
	memcpy(CMSG_DATA(&control.head), files, sizeof(files));
	if (connect(fd, (struct sockaddr *)&addr, addr_len) || sendmsg(fd, &m, 0) < 0) {
		perror("to give it");
		return 1;
	}
	/* The other end's descriptor is to be the last of a connection; a close of a file waits for its server here,
	 * too. */
	if (is_last)
		close(file);
	puts("given");
	if (recv(fd, text, sizeof(text), 0) <= 0)
		puts("hung up");
	return pause();
}

int main(int argc, char **argv)
{
	const struct rlimit many = { 8192, 8192 };
	int file = -1;
	char *tag = argc == 4 ? strchr(argv[2], ',') : NULL;

	if (tag)
		*tag++ = '\0';
	if (argc != 4 || strlen(argv[2]) > sizeof(addr.sun_path) - 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	memcpy(addr.sun_path + 1, argv[2], strlen(argv[2]));
	addr_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(argv[2]));
	if (!strcmp(argv[1], "give") && (file = served_file(argv[3])) < 0) {
		printf("SKIP: a file of a server of its own: %s\n", strerror(errno));
		return 77;
	}
	if (!strcmp(argv[1], "linger") && (file = lingering()) < 0) {
		printf("SKIP: a TCP connection: %s\n", strerror(errno));
		return 77;
	}
	if (setrlimit(RLIMIT_NOFILE, &many) || setgid(65534) || setuid(65534)) {
		perror("to be somebody else");
		return 77;
	}
	if (!strcmp(argv[1], "take"))
		return take((unsigned)atoi(argv[3]));
	if (file >= 0)
		return give(file, !strcmp(argv[1], "linger"), tag);
	keep(atoi(argv[3]));
	return 1;
}

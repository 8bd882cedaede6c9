/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* where_calls DIR [MS]: calls with arguments of every kind that a condition may ask for, always the same ones; one of them takes MS. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void files(const char *dir)
{
	char path[300], buf[64], long_text[200];
	struct stat st;

	memset(long_text, 'x', sizeof(long_text));
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/file%d", dir, i);
		int fd = open(path, O_RDWR | O_CREAT | (i & 1 ? O_EXCL : O_TRUNC), 0600 + i);

		(void)!write(fd, "hello\nworld", (size_t)(3 + i));
		(void)!write(fd, long_text, sizeof(long_text));
		(void)!pread(fd, buf, sizeof(buf), i);
		fstat(fd, &st);
		dup2(fd, 20 + i);
		close(20 + i);
		close(fd);
		unlink(path);
	}
	open("/no/such/file", O_RDONLY);
	open("/etc/passwd", O_WRONLY | O_DIRECTORY);
	syscall(SYS_openat, AT_FDCWD, 8L, O_RDONLY);
	syscall(SYS_unlink, 0L);
	access("", R_OK);
	stat("/", &st);
	mkdir("/proc/no", 0755);
	close(-1);
	close(77);
	syscall(SYS_write, 1, 16L, 5L);
}

static void messages(long ms)
{
	struct iovec iov[2] = { { "GET /index", 10 }, { "tail", 4 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv))
		return;
	sendmsg(sv[0], &msg, MSG_NOSIGNAL);
	iov[0].iov_base = "PUT /index";
	msg.msg_iovlen = 1;
	sendmsg(sv[0], &msg, 0);
	(void)!writev(sv[1], iov, 2);
	close(sv[0]);
	close(sv[1]);
	kill(getpid(), 0);
	kill(getpid(), SIGCHLD);
	nanosleep(&t, NULL); /* sleeps: a program that is watched */
	syscall(SYS_getpriority, 0, 0);
}

int main(int argc, char **argv)
{
	int status;

	if (argc < 2)
		return 1;
	files(argv[1]);
	messages(argc > 2 ? atol(argv[2]) : 20);
	pid_t pid = fork();
	if (!pid) {
		close(99);
		execl("/bin/true", "true", "one", "two", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	return 0;
}

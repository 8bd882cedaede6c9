/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* -yy: names of files that no directory holds, and of sockets of which strace knows no more than the inode. */
#include "truth.h"
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>

static void shown(int fd, const char *name)
{
	if (fd >= 0)
		line(call(SYS_fsync, JUNK(fd)), "fsync(%d<%s>)", fd, name);
}

/* A file that the kernel makes up: its link tells the name. */
static void made_up(int fd)
{
	char path[64], link[256];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return;
	link[n] = 0;
	char *gone = strstr(link, " (deleted)");

	if (gone)
		memcpy(gone, ">(deleted)", sizeof(">(deleted)"));
	else
		strcat(link, ">");
	line(call(SYS_fsync, JUNK(fd)), "fsync(%d<%s)", fd, link);
}

static void of_socket(int fd, const char *kind)
{
	struct stat st;
	char name[64];

	if (fstat(fd, &st))
		return;
	snprintf(name, sizeof(name), "%s:[%llu]", kind, (unsigned long long)st.st_ino);
	shown(fd, name);
}

/* Descriptors whose calls change what is shown of them: an argument is as it was before the call. */
static void changing(void)
{
	const uint64_t usr2 = 1ull << (SIGUSR2 - 1), both = usr2 | 1ull << (SIGCHLD - 1);
	int fd = (int)call(SYS_eventfd2, JUNK(5), JUNK(0)), id = -1;
	uint64_t *got = tail_alloc(8);
	char path[64], line_of[128];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	FILE *f = fopen(path, "r");

	while (f && fgets(line_of, sizeof(line_of), f))
		sscanf(line_of, "eventfd-id: %d", &id);
	if (f)
		fclose(f);
	text("eventfd2(5, 0) = %d<{eventfd-count=0x5, eventfd-id=%d, eventfd-semaphore=0}>", fd, id);
	line(call(SYS_read, JUNK(fd), got, 8L), "read(%d<{eventfd-count=0x5, eventfd-id=%d, eventfd-semaphore=0}>, \"\\5\\0\\0\\0\\0\\0\\0\\0\", 8)",
	     fd, id);
	line(call(SYS_fsync, JUNK(fd)), "fsync(%d<{eventfd-count=0, eventfd-id=%d, eventfd-semaphore=0}>)", fd, id);
	fd = (int)call(SYS_signalfd4, JUNK(-1), tail_copy(&usr2, 8), 8L, JUNK(0));
	text("signalfd4(-1, [USR2], 8, 0) = %d<signalfd:[USR2]>", fd);
	call(SYS_signalfd4, JUNK(fd), tail_copy(&both, 8), 8L, JUNK(0));
	text("signalfd4(%d<signalfd:[USR2]>, [USR2 CHLD], 8, 0) = %d<signalfd:[USR2 CHLD]>", fd, fd);
	line(call(SYS_fsync, JUNK(fd)), "fsync(%d<signalfd:[USR2 CHLD]>)", fd);
}

/* A descriptor of a process, which is no descriptor of the caller: the call has made it one. */
static void taken(void)
{
	const long of = call(SYS_pidfd_open, JUNK(getpid()), 0L), fd = open("/dev/null", O_RDONLY);
	const long copy = call(SYS_pidfd_getfd, JUNK(of), JUNK(fd), 0L);

	if (copy < 0)
		return;
	text("pidfd_getfd(%ld<pid:%d>, %ld</dev/null<char 1:3>>, 0) = %ld</dev/null<char 1:3>>", of, getpid(), fd, copy);
	line(call(SYS_pidfd_getfd, JUNK(of), JUNK(999), 0L), "pidfd_getfd(%ld<pid:%d>, 999, 0)", of, getpid());
}

int main(int argc, char **argv)
{
	static const char *const spaces[] = { "net", "pid", "mnt", "user", "uts", "ipc", "cgroup", "pid_for_children" };

	truth_begin(argc, argv, "-yy -e trace=fsync,dup2,clone,eventfd2,read,signalfd4,pidfd_getfd");
	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/ns/%s", spaces[i]);
		made_up(open(path, O_RDONLY));
	}
	made_up((int)syscall(SYS_memfd_create, "a b/c", 0));
	made_up((int)syscall(SYS_memfd_create, "huge", 4)); /* MFD_HUGETLB */
	made_up((int)syscall(447, 0));			    /* memfd_secret */

	of_socket(socket(AF_INET, SOCK_RAW, IPPROTO_UDP), "RAW");
	of_socket(socket(AF_INET, SOCK_RAW, IPPROTO_TCP), "RAW");
	of_socket(socket(AF_INET6, SOCK_RAW, IPPROTO_UDP), "RAWv6");
	of_socket(socket(AF_INET, SOCK_STREAM, 262), "socket"); /* MPTCP */
	of_socket(socket(44, SOCK_RAW, 0), "socket");		/* XDP */
	of_socket(socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE), "socket");
	of_socket(socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP), "UDPv6");
	taken();

	changing();

	/* the second argument is the file before the call, whatever the upper half of the register is */
	const int null = open("/dev/null", O_RDONLY), full = fcntl(open("/dev/full", O_WRONLY), F_DUPFD, 300);

	call(SYS_dup2, JUNK(null), JUNK(full));
	int pidfd = -1;
	const long child = call(SYS_clone, (unsigned long)CLONE_PIDFD | SIGCHLD, NULL, &pidfd, NULL, 0ul);

	if (!child)
		for (;;)
			pause();
	kill((pid_t)child, SIGKILL);
	text("dup2(%d</dev/null<char 1:3>>, %d</dev/full<char 1:7>>) = %d</dev/null<char 1:3>>", null, full, full);
	text("clone(child_stack=NULL, flags=CLONE_PIDFD|SIGCHLD, parent_tid=[%d<pid:%ld>]) = %ld", pidfd, child, child);
	return 0;
}

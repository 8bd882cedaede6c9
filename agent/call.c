// SPDX-License-Identifier: LGPL-2.1-or-later
// A process tells espy that it is there (abi.h, part 4). It must never wait for an espy that is gone, stopped or busy for
// longer than was agreed on, and never mind if there is none.
#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

// A full queue is tried again, a millisecond apart: other processes fill it, and espy empties it. A fork must not wait
// longer than this. A program that starts waits for espy anyway, and would run without its marks.
#define DIAL_BORN_MS 20u
// While a program waits for espy's answer, it looks at intervals whether espy traces it. After so many such looks in
// turn it waits no longer.
#define LOOK_MS 50u
#define TRACED_LOOKS 6u

// Returns the process at the other end; pid 0 and uid -1 if the kernel does not tell.
static struct ucred peer_of(int fd)
{
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(who);

	if (sys(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&who, (long)&len, 0))
		return (struct ucred){ .uid = (uid_t)-1 };
	return who;
}

// Returns whether root or this process's own user listens. The listener gets descriptors of this process, and when espy
// is gone any user can listen under its name.
static int is_trusted(int fd)
{
	const struct ucred who = peer_of(fd);

	return !who.uid || who.uid == (uid_t)sys(SYS_geteuid, 0, 0, 0, 0, 0, 0);
}

// Returns a connection, or -errno. Without a listener it fails at once. It does not try in a program under a seccomp
// filter, which could kill the program for it.
static int dial(const char *name, size_t len, uint64_t until_ns)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd, e;

	if (!len || len >= sizeof(to.sun_path))
		return -EINVAL;
	if (sys(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0))
		return -EPERM;
	__builtin_memcpy(to.sun_path + 1, name, len);
	fd = (int)sys(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0, 0, 0);
	if (fd < 0)
		return fd;
	for (;;) {
		const struct timespec nap = { .tv_nsec = 1000000 };

		e = (int)sys(SYS_connect, fd, (long)&to, (long)(offsetof(struct sockaddr_un, sun_path) + 1 + len), 0, 0, 0);
		if (e != -EAGAIN || now_ns() >= until_ns)
			break;
		sys(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&nap, 0, 0, 0);
	}
	if (!e && !is_trusted(fd))
		e = -EPERM;
	if (e) {
		sys(SYS_close, fd, 0, 0, 0, 0, 0);
		return e;
	}
	return fd;
}

void call_born(uint32_t i)
{
	const struct session *s = &agent.sessions[i];
	struct espy_agent_call call = { .magic = ESPY_AGENT_CALL_MAGIC,
					.tag = s->tag,
					.what = ESPY_CALL_BORN,
					.slot = i,
					.helper = agent.helper_tid };
	struct iovec iov = { &call, sizeof(call) };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(2 * sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	const int fds[2] = { agent.area_fd, s->ring->fd };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.bytes)
	};
	size_t len = 0;
	int fd;

	while (len < sizeof(s->asked.call) && s->asked.call[len])
		len++;
	fd = dial(s->asked.call, len, now_ns() + DIAL_BORN_MS * 1000000ull);
	if (fd < 0)
		return;
	__builtin_memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
	sys(SYS_sendmsg, fd, (long)&m, MSG_NOSIGNAL, 0, 0, 0);
	sys(SYS_close, fd, 0, 0, 0, 0, 0);
}

// Returns the number behind that name in /proc/self/status; 0: there is none.
static long field(const char *status, long n, const char *name, long len)
{
	long value = 0;

	for (long i = 0; i + len < n; i++)
		if (!__builtin_memcmp(status + i, name, (size_t)len)) {
			for (i += len; i < n && status[i] >= '0' && status[i] <= '9'; i++)
				value = value * 10 + status[i] - '0';
			return value;
		}
	return 0;
}

// Returns whether a thread of that process traces this thread by ptrace; pid 0: the parent.
static int is_traced_by(long pid)
{
	static const char tracer[] = "TracerPid:\t", parent[] = "PPid:\t";
	char status[1024];
	long n, tid, fd = sys(SYS_openat, AT_FDCWD, (long)"/proc/self/status", O_RDONLY | O_CLOEXEC, 0, 0, 0);

	if (fd < 0)
		return 0;
	n = sys(SYS_read, fd, (long)status, sizeof(status) - 1, 0, 0, 0);
	sys(SYS_close, fd, 0, 0, 0, 0, 0);
	tid = field(status, n, tracer, sizeof(tracer) - 1);
	if (!tid)
		return 0;
	snprintf(status, sizeof(status), "/proc/%ld/task/%ld", pid ? pid : field(status, n, parent, sizeof(parent) - 1), tid);
	return !sys(SYS_faccessat, AT_FDCWD, (long)status, F_OK, 0, 0, 0);
}

// Waits until espy closes the connection. espy may trace this thread itself. Either it came to load the agent before
// this one was there, and answers when it has let go. Or it waits for the dlopen() that runs here, and answers only
// afterwards.
static void wait_for_espy(int fd, int traces_all, uint64_t until_ns)
{
	const long espy = traces_all ? 0 : peer_of(fd).pid;
	struct pollfd hangup = { .fd = fd, .events = POLLIN };
	unsigned traced = 0;

	while (now_ns() < until_ns && traced < TRACED_LOOKS) {
		struct timespec limit = { .tv_nsec = LOOK_MS * 1000000l };

		if (sys(SYS_ppoll, (long)&hangup, 1, (long)&limit, 0, 0, 0))
			return;
		traced = espy && is_traced_by(espy) ? traced + 1 : 0;
	}
}

void call_started(const char *where)
{
	struct espy_agent_call call = { .magic = ESPY_AGENT_CALL_MAGIC, .what = ESPY_CALL_STARTED };
	const char *c;
	size_t len = 0;

	while (where[len] && where[len] != ',')
		len++;
	for (c = where + len + (where[len] == ','); *c && *c != ','; c++)
		call.tag = call.tag << 4 | (uint64_t)(*c <= '9' ? *c - '0' : (*c | 32) - 'a' + 10);
	const uint64_t until_ns = now_ns() + ESPY_AGENT_CALL_MS * 1000000ull;
	const int fd = dial(where, len, until_ns);

	if (fd < 0)
		return;
	// A parent that traces this program has held it from its first instruction on: a debugger, or espy, which looks
	// at it anyway. With a third word espy traces all its programs.
	if ((*c || !is_traced_by(0)) && sys(SYS_sendto, fd, (long)&call, sizeof(call), MSG_NOSIGNAL, 0, 0) == (long)sizeof(call))
		wait_for_espy(fd, !!*c, until_ns);
	sys(SYS_close, fd, 0, 0, 0, 0, 0);
}

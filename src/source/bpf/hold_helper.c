/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The helper process: has the pages that tasks sleep on, and sees to those who are held when its owner cannot, because
 * it has ended or has been stopped (SIGSTOP, ^Z, a debugger).
 *
 * It must not have the server's end of the file: that would live on when the owner is killed. It waits for requests by
 * an epoll descriptor of the owner's, which keeps no file open, and takes the server's end out of the stopped owner for
 * as long as it needs to answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "pause.h"

/* An owner that looks after its tasks does so every 50 ms. */
#define PATIENCE_MS 200

/* All that the helper has open. */
enum { ALIVE, WAITING, OWNER, WAKE, FD_CNT };

/* T: by a signal, t: by a debugger. Whoever is slow is neither. */
static bool is_stopped(uint32_t tid)
{
	char path[64], line[256];
	const char *end;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, line, sizeof(line) - 1);
		close(fd);
	}
	line[n > 0 ? n : 0] = '\0';
	end = strrchr(line, ')');
	return end && (!strncmp(end, ") T", 3) || !strncmp(end, ") t", 3));
}

/* Someone waits. Is that seen to? */
static void watch(const struct bpf_helper_duty *d, int server)
{
	struct pollfd alive = { .fd = ALIVE, .events = POLLIN }, waiting = { .fd = WAITING, .events = POLLIN };
	uint32_t beat = __atomic_load_n(d->beat, __ATOMIC_ACQUIRE);
	uint64_t one = 1;
	int fd;

	if (poll(&alive, 1, PATIENCE_MS) || beat != __atomic_load_n(d->beat, __ATOMIC_ACQUIRE) ||
	    !is_stopped(__atomic_load_n(d->keeper, __ATOMIC_ACQUIRE)) || poll(&waiting, 1, 0) <= 0)
		return;
	fd = (int)syscall(SYS_pidfd_getfd, OWNER, server, 0);
	if (fd < 0)
		return;
	d->deserted(d->ctx, fd);
	close(fd);
	if (write(WAKE, &one, sizeof(one)) < 0)
		return; /* it is about to look */
}

static void __attribute__((noreturn)) be_helper(const int fds[FD_CNT], const struct bpf_helper_duty *d, int server)
{
	struct pollfd p[2] = { { .fd = ALIVE, .events = POLLIN }, { .fd = WAITING, .events = POLLIN } };
	sigset_t all;
	int own[FD_CNT];

	/* Not in the terminal's process group, nor ended by anything but SIGKILL. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "espy-hold");
	for (int i = 0; i < FD_CNT; i++) /* out of the way of those that they become */
		own[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD, FD_CNT);
	for (int i = 0; i < FD_CNT; i++)
		if (own[i] < 0 || dup2(own[i], i) < 0)
			close(i);
	syscall(SYS_close_range, (unsigned)FD_CNT, ~0u, 0);
	if (own[ALIVE] < 0 || chdir("/") < 0)
		_exit(1);
	if (own[WAITING] < 0)
		p[1].fd = -1;
	while (poll(p, 2, -1) < 0 || !p[0].revents)
		if (p[1].revents)
			watch(d, server);
	if (d->orphaned)
		d->orphaned(d->ctx);
	_exit(0);
}

/* An epoll descriptor that tells when tasks wait for the server. */
static int see_waiting(int server)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd >= 0 && !epoll_ctl(fd, EPOLL_CTL_ADD, server, &ev))
		return fd;
	close(fd);
	return -1;
}

int bpf_pages__start_helper(struct bpf_pages *p, const struct bpf_helper_duty *duty)
{
	static const struct bpf_helper_duty none = { 0 };
	int alive[2], fds[FD_CNT] = { -1, -1, -1, -1 }, err;

	if (pipe2(alive, O_CLOEXEC))
		return -errno;
	fds[ALIVE] = alive[0];
	if (duty && duty->deserted) {
		fds[WAITING] = see_waiting(p->fuse);
		fds[OWNER] = (int)syscall(SYS_pidfd_open, getpid(), 0);
		fds[WAKE] = duty->wake;
	}
	/* No signal at its end: SIGCHLD is for the children that the user knows of. */
	p->helper = (pid_t)syscall(SYS_clone, 0ul, NULL, NULL, NULL, 0ul);
	if (!p->helper)
		be_helper(fds, duty ? duty : &none, p->fuse);
	err = p->helper < 0 ? -errno : 0;
	close(alive[0]);
	for (int i = WAITING; i <= OWNER; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	p->alive = alive[1];
	if (err) {
		p->helper = 0;
		return err;
	}
	/* Where the kernel lets only ancestors look into a process (Yama), the helper is to be let, too. */
	if (duty && duty->deserted)
		prctl(PR_SET_PTRACER, p->helper);
	p->pidfd = (int)syscall(SYS_pidfd_open, p->helper, 0);
	return p->pidfd < 0 ? -errno : 0;
}

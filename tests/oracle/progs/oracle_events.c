/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Oracle: epoll, eventfd, timerfd, signalfd, inotify. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

int main(void)
{
	struct epoll_event ev = { EPOLLIN | EPOLLET, { .u64 = 0x1234 } }, out[4];
	struct itimerspec its = { { 0, 0 }, { 0, 1000000 } }, old;
	struct signalfd_siginfo si;
	char buf[4096];
	uint64_t n = 1;
	sigset_t set;

	int e = epoll_create1(EPOLL_CLOEXEC), f = eventfd(3, EFD_NONBLOCK | EFD_CLOEXEC);
	epoll_create(5);
	epoll_ctl(e, EPOLL_CTL_ADD, f, &ev);
	epoll_wait(e, out, 4, 0);
	ev.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLONESHOT;
	epoll_ctl(e, EPOLL_CTL_MOD, f, &ev);
	epoll_wait(e, out, 4, 10);
	epoll_ctl(e, EPOLL_CTL_DEL, f, NULL);
	epoll_ctl(e, 77, f, &ev);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	epoll_pwait(e, out, 4, 0, &set);
	syscall(SYS_epoll_pwait2, e, out, 4, &its.it_value, &set, 8L);
	write(f, &n, 8);
	read(f, &n, 8);
	read(f, &n, 8);
	eventfd(0, EFD_SEMAPHORE);

	int t = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	timerfd_settime(t, 0, &its, NULL);
	timerfd_settime(t, TFD_TIMER_ABSTIME, &its, &old);
	timerfd_gettime(t, &old);
	struct pollfd due = { t, POLLIN, 0 };
	poll(&due, 1, 60000);
	read(t, &n, 8);
	timerfd_create(CLOCK_REALTIME, 0x77);

	sigprocmask(SIG_BLOCK, &set, NULL);
	int s = signalfd(-1, &set, SFD_CLOEXEC);
	kill(getpid(), SIGUSR1);
	read(s, &si, sizeof(si));
	sigaddset(&set, SIGUSR2);
	signalfd(s, &set, SFD_NONBLOCK);

	mkdirat(AT_FDCWD, "watched", 0700);
	int i = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	int w = inotify_add_watch(i, "watched", IN_CREATE | IN_DELETE | IN_ONLYDIR);
	close(open("watched/file", O_CREAT | O_WRONLY, 0600));
	read(i, buf, sizeof(buf));
	inotify_rm_watch(i, w);
	inotify_rm_watch(i, 99);
	inotify_init();
	inotify_add_watch(i, "missing", IN_ALL_EVENTS);
	return 0;
}

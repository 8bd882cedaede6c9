/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* poll, select, epoll, inotify, fanotify, memfd. */
#include "truth.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <time.h>

/* Of more descriptors than are shown one that is ready stands behind the result all the same. */
static void many(int busy, int ready)
{
	struct pollfd fds[40];
	char shown[2048] = "";

	for (int i = 0; i < 40; i++) {
		fds[i] = (struct pollfd){ i == 38 ? ready : busy, POLLOUT, 0 };
		if (i < 32)
			sprintf(shown + strlen(shown), "{fd=%d, events=POLLOUT}, ", busy);
	}
	call(SYS_poll, tail_copy(fds, sizeof(fds)), JUNK(40), JUNK(0));
	text("poll([%s...], 40, 0) = 1 ([{fd=%d, revents=POLLOUT}])", shown, ready);
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");

	int p[2];
	if (pipe(p))
		return 2;
	struct pollfd pf[3] = { { p[1], POLLOUT, 0 }, { p[0], POLLIN | POLLPRI, 0 }, { -1, POLLIN, 0 } };
	struct pollfd *fds = tail_copy(pf, sizeof(pf));
	call(SYS_poll, fds, JUNK(3), JUNK(0));
	text("poll([{fd=%d, events=POLLOUT}, {fd=%d, events=POLLIN|POLLPRI}, {fd=-1}], 3, 0) = 1 ([{fd=%d, "
	     "revents=POLLOUT}])",
	     p[1], p[0], p[1]);
	call(SYS_poll, fds + 1, JUNK(1), JUNK(1));
	text("poll([{fd=%d, events=POLLIN|POLLPRI}], 1, 1) = 0 (Timeout)", p[0]);
	line(call(SYS_poll, NULL, JUNK(1), JUNK(0)), "poll(NULL, 1, 0)");
	line(call(SYS_poll, fds, JUNK(4), JUNK(0)),
	     "poll([{fd=%d, events=POLLOUT}, {fd=%d, events=POLLIN|POLLPRI}, {fd=-1}, ... /* %s */], 4, 0)", p[1], p[0],
	     ptr(fds + 3));

	many(p[0], p[1]);

	struct timespec zero = { 0, 0 };
	uint64_t set = 1 | 1 << 9;
	call(SYS_ppoll, fds, JUNK(1), tail_copy(&zero, sizeof(zero)), tail_copy(&set, 8), 8L);
	text("ppoll([{fd=%d, events=POLLOUT}], 1, {tv_sec=0, tv_nsec=0}, [HUP USR1], 8) = 1 ([{fd=%d, "
	     "revents=POLLOUT}], "
	     "left {tv_sec=0, tv_nsec=0})",
	     p[1], p[1]);
	call(SYS_ppoll, fds + 1, JUNK(1), tail_copy(&zero, sizeof(zero)), NULL, 8L);
	text("ppoll([{fd=%d, events=POLLIN|POLLPRI}], 1, {tv_sec=0, tv_nsec=0}, NULL, 8) = 0 (Timeout)", p[0]);

	uint64_t rd = 1ul << p[0], wr = 1ul << p[1], none = 0;
	long tv[2] = { 0, 0 };
	call(SYS_select, JUNK(20), tail_copy(&rd, 8), tail_copy(&wr, 8), tail_copy(&none, 8), tail_copy(tv, 16));
	text("select(20, [%d], [%d], [], {tv_sec=0, tv_usec=0}) = 1 (out [%d], left {tv_sec=0, tv_usec=0})", p[0], p[1],
	     p[1]);
	/* the last set that the kernel writes is the empty one */
	uint64_t *both = tail_copy(&wr, 8);
	call(SYS_select, JUNK(20), both, both, both, NULL);
	text("select(20, [%d], [%d], [%d], NULL) = 1 ()", p[1], p[1], p[1]);
	call(SYS_select, JUNK(0), NULL, NULL, NULL, tail_copy(tv, 16));
	text("select(0, NULL, NULL, NULL, {tv_sec=0, tv_usec=0}) = 0 (Timeout)");
	line(call(SYS_select, JUNK(-1), NULL, NULL, NULL, NULL), "select(-1, NULL, NULL, NULL, NULL)");
	struct {
		void *set;
		size_t size;
	} sig = { tail_copy(&set, 8), 8 };
	call(SYS_pselect6, JUNK(20), tail_copy(&rd, 8), NULL, NULL, tail_copy(tv, 16), tail_copy(&sig, sizeof(sig)));
	text("pselect6(20, [%d], NULL, NULL, {tv_sec=0, tv_nsec=0}, {sigmask=[HUP USR1], sigsetsize=8}) = 0 (Timeout)",
	     p[0]);

	sig.size = 7;
	line(call(SYS_pselect6, JUNK(20), tail_copy(&rd, 8), NULL, NULL, tail_copy(tv, 16), tail_copy(&sig, sizeof(sig))),
	     "pselect6(20, [%d], NULL, NULL, {tv_sec=0, tv_nsec=0}, {sigmask=%s, sigsetsize=7})", p[0], ptr(sig.set));

	line(call(SYS_epoll_create, JUNK(5)), "epoll_create(5)");
	line(call(SYS_epoll_create1, JUNK(1)), "epoll_create1(0x1 /* EPOLL_??? */)");
	long ep = call(SYS_epoll_create1, JUNK(EPOLL_CLOEXEC));
	line(ep, "epoll_create1(EPOLL_CLOEXEC)");
	struct epoll_event ev = { .events = EPOLLOUT | EPOLLET, .data.u64 = 0x1234567800000005 };
	line(call(SYS_epoll_ctl, JUNK(ep), JUNK(EPOLL_CTL_ADD), JUNK(p[1]), tail_copy(&ev, sizeof(ev))),
	     "epoll_ctl(%ld, EPOLL_CTL_ADD, %d, {events=EPOLLOUT|EPOLLET, data=0x1234567800000005})", ep, p[1]);
	line(call(SYS_epoll_ctl, ep, (long)EPOLL_CTL_DEL, JUNK(-3), NULL), "epoll_ctl(%ld, EPOLL_CTL_DEL, -3, NULL)",
	     ep);
	struct epoll_event *evs = tail_alloc(2 * sizeof(*evs));
	line(call(SYS_epoll_wait, JUNK(ep), evs, JUNK(2), JUNK(-1)),
	     "epoll_wait(%ld, [{events=EPOLLOUT, data=0x1234567800000005}], 2, -1)", ep);
	line(call(SYS_epoll_wait, ep, evs, 2L, 0L), "epoll_wait(%ld, [], 2, 0)", ep);
	line(call(SYS_epoll_wait, JUNK(-1), evs, 2L, 0L), "epoll_wait(-1, %s, 2, 0)", ptr(evs));
	line(call(SYS_epoll_pwait, ep, evs, 2L, 0L, tail_copy(&set, 8), 8L),
	     "epoll_pwait(%ld, [], 2, 0, [HUP USR1], 8)", ep);
	line(call(SYS_epoll_pwait2, ep, evs, 2L, tail_copy(&zero, 16), NULL, 8L),
	     "epoll_pwait2(%ld, [], 2, {tv_sec=0, tv_nsec=0}, NULL, 8)", ep);

	void *mask = tail_copy(&set, 8), *time = tail_copy(&zero, 16);
	line(call(SYS_epoll_pwait, JUNK(-1), evs, 2L, 0L, mask, 8L), "epoll_pwait(-1, %s, 2, 0, %s, 8)", ptr(evs), ptr(mask));
	line(call(SYS_epoll_pwait2, JUNK(-1), evs, 2L, time, mask, 8L), "epoll_pwait2(-1, %s, 2, %s, %s, 8)", ptr(evs), ptr(time),
	     ptr(mask));

	long in = call(SYS_inotify_init1, JUNK(IN_NONBLOCK));
	line(in, "inotify_init1(IN_NONBLOCK)");
	line(call(SYS_inotify_add_watch, JUNK(in), tail_str("."), JUNK(IN_MODIFY | IN_ONESHOT)),
	     "inotify_add_watch(%ld, \".\", IN_MODIFY|IN_ONESHOT)", in);
	line(call(SYS_inotify_rm_watch, JUNK(in), JUNK(-5)), "inotify_rm_watch(%ld, -5)", in);
	line(call(SYS_inotify_init), "inotify_init()");
	line(call(SYS_fanotify_init, JUNK(0xc), JUNK(0)), "fanotify_init(0xc /* FAN_CLASS_??? */, O_RDONLY)");
	line(call(SYS_fanotify_mark, JUNK(-1), JUNK(1), 0x21L, JUNK(AT_FDCWD), tail_str("x")),
	     "fanotify_mark(-1, FAN_MARK_ADD, FAN_ACCESS|FAN_OPEN, AT_FDCWD, \"x\")");

	line(call(SYS_memfd_create, tail_str("name"), JUNK(3)),
	     "memfd_create(\"name\", MFD_CLOEXEC|MFD_ALLOW_SEALING)");
	line(call(SYS_memfd_create, tail_str("abcdefghijklmnopqrstuvwxyzABCDEFGHI"), JUNK(0x40)),
	     "memfd_create(\"abcdefghijklmnopqrstuvwxyzABCDEF\"..., 0x40 /* MFD_??? */)");
	line(call(SYS_memfd_create, NULL, 0L), "memfd_create(NULL, 0)");
	return 0;
}

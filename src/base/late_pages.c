/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/late_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/proc_pid.h"

#define PAGE 4096ull
#define PATIENCE_MS 1000
#define PATIENCE_DIV_MOST 6
#define BATCH 64u /* pages that are looked up at once */
/* An entry of /proc/PID/pagemap: the page is in memory. */
#define PRESENT (1ull << 63)

enum answer { CAME_NOT, CAME, LATE, ENDED }; /* the first two are the process's */

/* One descriptor beside a message. */
union room {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* ---- in the process: nothing here takes a lock of the C library */

static int take_question(uint64_t *addr)
{
	union room room;
	struct iovec iov = { addr, sizeof(*addr) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof(room) };
	int fd;

	if (recvmsg(0, &m, 0) != sizeof(*addr) || !CMSG_FIRSTHDR(&m) || CMSG_FIRSTHDR(&m)->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static void __attribute__((noreturn)) be_toucher(int sock)
{
	uint64_t addr;
	char byte = 0;
	int fd;

	espy_own_process__settle("espy-page", sock);
	while ((fd = take_question(&addr)) >= 0) {
		/* A page of userfaultfd makes this read fail, where process_vm_readv() waits; a page of a server makes
		 * it wait. */
		const ssize_t n = pread(fd, &byte, 1, (off_t)addr);

		close(fd);
		byte = n == 1 ? CAME : CAME_NOT;
		if (send(0, &byte, 1, MSG_NOSIGNAL) != 1)
			break;
	}
	_exit(0);
}

/* ---- in the reader */

static bool begin(struct espy_late_pages *l)
{
	int ends[2];

	if (l->pid)
		return true;
	if (espy_stuck_processes__reap(&l->stuck) >= ESPY_OWN_PROCESSES_STUCK - 1 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return false;
	l->pid = espy_own_process__begin();
	if (!l->pid)
		be_toucher(ends[1]);
	close(ends[1]);
	l->sock = ends[0];
	if (l->pid > 0)
		return true;
	l->pid = 0;
	close(l->sock);
	return false;
}

/* The process ends when the socket is closed; one that waits for a page is killed. */
static void drop(struct espy_late_pages *l, bool waits)
{
	if (!l->pid)
		return;
	close(l->sock);
	if (waits)
		kill(l->pid, SIGKILL);
	espy_stuck_processes__add(&l->stuck, l->pid);
	l->pid = 0;
}

static bool ask(struct espy_late_pages *l, int mem, uint64_t addr)
{
	union room room = { 0 };
	struct iovec iov = { &addr, sizeof(addr) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof(room) };

	room.head.cmsg_level = SOL_SOCKET;
	room.head.cmsg_type = SCM_RIGHTS;
	room.head.cmsg_len = CMSG_LEN(sizeof(mem));
	memcpy(CMSG_DATA(&room.head), &mem, sizeof(mem));
	return sendmsg(l->sock, &m, MSG_NOSIGNAL) == sizeof(addr);
}

/* Waits for the answer until its time is over; a signal does not end the wait. */
static enum answer await(const struct espy_late_pages *l)
{
	const uint64_t until_ns = espy_now_ns() + (PATIENCE_MS * 1000000ull >> l->patience_div);
	struct pollfd p = { .fd = l->sock, .events = POLLIN };
	char byte;

	for (uint64_t now_ns; (now_ns = espy_now_ns()) < until_ns;) {
		const int n = poll(&p, 1, (int)((until_ns - now_ns) / 1000000) + 1);

		if (n == 1)
			return recv(l->sock, &byte, 1, 0) == 1 ? (enum answer)byte : ENDED;
		if (n < 0 && errno != EINTR)
			break;
	}
	return LATE;
}

/* Has the page touched. Returns whether it is there now. */
static bool bring(struct espy_late_pages *l, int mem, uint64_t addr)
{
	/* The process may have been killed since the last question: once more with another one. */
	for (int i = 0; i < 2 && begin(l); i++) {
		const enum answer a = ask(l, mem, addr) ? await(l) : ENDED;

		if (a == CAME)
			l->patience_div -= l->patience_div > 0;
		else if (a == LATE)
			l->patience_div += l->patience_div < PATIENCE_DIV_MOST;
		if (a == CAME || a == CAME_NOT)
			return a == CAME;
		drop(l, a == LATE);
		if (a == LATE)
			break;
	}
	return false;
}

static int open_of(pid_t tid, const char *name)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)espy_proc_pid(tid), name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

size_t espy_late_pages__ready(struct espy_late_pages *l, pid_t tid, int *page_map, uint64_t addr, size_t n)
{
	const uint64_t first = addr / PAGE, last = n ? (addr + (n - 1)) / PAGE : first;
	uint64_t late = UINT64_MAX;
	int mem = -1;

	if (*page_map < 0)
		*page_map = open_of(tid, "pagemap");
	for (uint64_t at = first; n && at <= last && late == UINT64_MAX;) {
		const unsigned cnt = last - at < BATCH ? (unsigned)(last - at) + 1 : BATCH;
		uint64_t entries[BATCH];
		const ssize_t got = *page_map < 0 ? 0
						  : pread(*page_map, entries, cnt * sizeof(*entries),
							  (off_t)(at * sizeof(*entries)));
		const unsigned known = got < 0 ? 0 : (unsigned)((size_t)got / sizeof(*entries));

		for (unsigned i = 0; i < cnt && late == UINT64_MAX; i++) {
			if (i < known && entries[i] & PRESENT)
				continue;
			if (mem < 0 && (mem = open_of(tid, "mem")) < 0)
				return n; /* nor will the task's memory be read */
			if (!bring(l, mem, i || at != first ? (at + i) * PAGE : addr))
				late = at + i;
		}
		at += cnt;
	}
	if (mem >= 0)
		close(mem);
	return late == UINT64_MAX ? n : late == first ? 0 : (size_t)(late * PAGE - addr);
}

bool espy_late_pages__all_ready(struct espy_late_pages *l, pid_t tid, uint64_t addr, size_t n)
{
	int page_map = -1;
	const bool all = espy_late_pages__ready(l, tid, &page_map, addr, n) == n;

	if (page_map >= 0)
		close(page_map);
	return all;
}

void espy_late_pages__end(struct espy_late_pages *l)
{
	drop(l, false);
	espy_stuck_processes__end(&l->stuck);
}

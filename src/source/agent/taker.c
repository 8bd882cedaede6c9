/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/agent/taker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* So many the kernel sends at once. Without room for them it would close the rest, and wait, in the midst of the call. */
#define FDS_MOST 253
/* The process answers at once, unless a signal or a debugger has stopped it. */
#define PATIENCE_MS 300

enum { TAKE = 't', KEEP = 'k' };

union fds_room {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(FDS_MOST * sizeof(int))];
};

/* One byte of a word, and descriptors. */
static int send_word(int to, char word, const int *fds, size_t cnt)
{
	struct iovec iov = { &word, 1 };
	union fds_room room;
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (cnt) {
		memset(&room, 0, CMSG_SPACE(cnt * sizeof(int)));
		room.head = (struct cmsghdr){ CMSG_LEN(cnt * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(&room.head), fds, cnt * sizeof(int));
		m.msg_control = &room;
		m.msg_controllen = CMSG_SPACE(cnt * sizeof(int));
	}
	return sendmsg(to, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Returns the word of a message, 0: none. *cnt: how many descriptors came. */
static char receive_word(int from, int fds[FDS_MOST], size_t *cnt)
{
	char word = 0;
	struct iovec iov = { &word, 1 };
	union fds_room room;
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof(room) };
	const ssize_t n = recvmsg(from, &m, MSG_CMSG_CLOEXEC);

	*cnt = 0;
	if (n < 0)
		return 0;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h))
		if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS) {
			*cnt = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(fds, CMSG_DATA(h), *cnt * sizeof(int));
		}
	return n ? word : 0;
}

/* ---- in the process: nothing here takes a lock of the C library, and nothing foreign is closed before its end */

static void take_from(int connection)
{
	int fds[FDS_MOST];
	size_t cnt;

	receive_word(connection, fds, &cnt);
	const bool good = cnt == 2 && fcntl(fds[0], F_GET_SEALS) >= 0 && fcntl(fds[1], F_GET_SEALS) >= 0;

	send_word(0, TAKE, fds, good ? 2 : 0);
	for (size_t i = 0; good && i < cnt; i++)
		close(fds[i]);
	/* The reader has it open, too. Its queue is not empty for that: the reader looks. */
	if (good)
		close(connection);
}

static void __attribute__((noreturn)) be_taker(int end)
{
	int fds[FDS_MOST];
	size_t cnt;
	char word;

	espy_own_process__settle("espy-take", end);
	if (chdir("/") < 0)
		_exit(1);
	while ((word = receive_word(0, fds, &cnt)))
		if (word == TAKE && cnt == 1)
			take_from(fds[0]);
	_exit(0); /* a process that ends does not linger at its connections */
}

/* ---- in the reader */

bool espy_taker__is_stuck(struct espy_taker *t)
{
	return espy_stuck_processes__reap(&t->stuck) == ESPY_OWN_PROCESSES_STUCK;
}

/* It ends with its socket; the signal is for one that stands still. */
static void drop(struct espy_taker *t, bool kill_it)
{
	if (!t->pid)
		return;
	close(t->ask);
	if (kill_it)
		kill(t->pid, SIGKILL);
	espy_stuck_processes__add(&t->stuck, t->pid);
	t->pid = 0;
	t->holds = false;
}

static int begin(struct espy_taker *t)
{
	const struct timeval patience = { .tv_usec = PATIENCE_MS * 1000 };
	int ends[2], err;

	if (t->pid)
		return 0;
	if (espy_taker__is_stuck(t))
		return -EAGAIN;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	t->pid = espy_own_process__begin();
	if (!t->pid)
		be_taker(ends[1]);
	err = t->pid < 0 ? t->pid : 0;
	close(ends[1]);
	t->ask = ends[0];
	if (err) {
		close(t->ask);
		t->pid = 0;
	}
	return err;
}

/* Hands a connection over; a process that has ended meanwhile is no reason not to. */
static int hand_over(struct espy_taker *t, char word, int connection)
{
	int err = 0;

	for (int tries = 0; tries < 2; tries++) {
		err = begin(t);
		err = err ? err : send_word(t->ask, word, &connection, 1);
		if (!err)
			return 0;
		drop(t, true);
	}
	return err;
}

int espy_taker__take(struct espy_taker *t, int connection, int fds[2])
{
	int got[FDS_MOST], err = hand_over(t, TAKE, connection);
	size_t cnt = 0;

	fds[0] = fds[1] = -1;
	if (err)
		return err;
	if (!receive_word(t->ask, got, &cnt)) {
		drop(t, true);
		return -EPROTO;
	}
	if (cnt == 2)
		memcpy(fds, got, 2 * sizeof(int));
	else
		t->holds = true;
	return 0;
}

/* Is there a message with descriptors, or may there be? Messages without are taken. No further ones can come. */
static bool holds_descriptors(int connection)
{
	const int on = 1;
	char byte, room[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec iov = { &byte, 1 };

	/* With its sender's name even a message of no bytes is told from the end of all messages. */
	if (setsockopt(connection, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)))
		return true;
	for (;;) {
		struct msghdr m = {
			.msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)
		};

		if (recvmsg(connection, &m, MSG_PEEK | MSG_DONTWAIT) < 0)
			return errno != EAGAIN;
		if (!m.msg_controllen)
			return false;
		/* There was no room for them: they are left in it. */
		if (m.msg_flags & MSG_CTRUNC)
			return true;
		recv(connection, &byte, 1, MSG_DONTWAIT);
	}
}

int espy_taker__hang_up(struct espy_taker *t, int connection)
{
	int err = 0;

	shutdown(connection, SHUT_RDWR);
	if (holds_descriptors(connection)) {
		err = hand_over(t, KEEP, connection);
		t->holds = !err;
	}
	if (!err)
		close(connection);
	return err;
}

void espy_taker__flush(struct espy_taker *t)
{
	if (t->holds)
		drop(t, false);
}

void espy_taker__end(struct espy_taker *t)
{
	drop(t, false);
	espy_stuck_processes__end(&t->stuck);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes that call (agent/abi.h, part 4): forked children, which may have ended by now, and programs that wait for
 * their marks to be switched on. Any process can call: a call counts only if it has the session's tag.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/clock.h"
#include "source/agent/agent_source.h"

#define BACKLOG 4096
#define TURN_MAX 16384 /* calls at one look: more than can wait in the queue */

int espy_agent_calls__open(struct espy_agent_calls *c, uint64_t tag)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int len, err = 0;

	if (c->fd >= 0)
		return 0;
	if (espy_taker__is_stuck(&c->taker))
		return -EAGAIN;
	/* Not the tag, which is a secret between espy and the processes: every user can read the name. */
	len = snprintf(c->name, sizeof(c->name), "espy-agent-%d-%x", (int)getpid(), (unsigned)espy_now_ns());
	memcpy(a.sun_path + 1, c->name, (size_t)len);
	c->tag = tag;
	c->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		return -errno;
	if (bind(c->fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) ||
	    listen(c->fd, BACKLOG)) {
		err = -errno;
		close(c->fd);
		c->fd = -1;
	}
	return err;
}

static void hang_up(struct espy_agent_calls *c, unsigned i)
{
	espy_taker__hang_up(&c->taker, c->waiting[i].fd);
	c->waiting[i] = c->waiting[--c->cnt];
}

static bool is_silent(const struct espy_agent_waiting *w, uid_t uid)
{
	return !w->started && w->uid == uid;
}

/* Callers of that user that have not said anything yet. */
static unsigned silent_of(const struct espy_agent_calls *c, uid_t uid)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < c->cnt; i++)
		cnt += is_silent(&c->waiting[i], uid);
	return cnt;
}

/*
 * Room for one more: of the callers that say nothing the older ones of the user that has most of them. So users that only
 * keep connections take room from themselves. False: all that wait have a reason to.
 */
static bool make_room(struct espy_agent_calls *c)
{
	uint64_t oldest_ns = UINT64_MAX, sum_ns = 0;
	unsigned most = 0;
	uid_t uid = 0;

	if (c->cnt < ESPY_AGENT_CALLERS)
		return true;
	for (unsigned i = 0; i < c->cnt; i++) {
		if (c->waiting[i].started || (most && c->waiting[i].uid == uid))
			continue;
		const unsigned cnt = silent_of(c, c->waiting[i].uid);

		if (cnt > most) {
			most = cnt;
			uid = c->waiting[i].uid;
		}
	}
	if (!most)
		return false;
	for (unsigned i = 0; i < c->cnt; i++)
		if (is_silent(&c->waiting[i], uid) && c->waiting[i].until_ns < oldest_ns)
			oldest_ns = c->waiting[i].until_ns;
	for (unsigned i = 0; i < c->cnt; i++)
		if (is_silent(&c->waiting[i], uid))
			sum_ns += c->waiting[i].until_ns - oldest_ns;
	for (unsigned i = c->cnt; i-- > 0;)
		if (is_silent(&c->waiting[i], uid) && c->waiting[i].until_ns - oldest_ns <= sum_ns / most)
			hang_up(c, i);
	return c->cnt < ESPY_AGENT_CALLERS;
}

bool espy_agent_calls__any(const struct espy_agent_calls *c)
{
	for (unsigned i = 0; i < c->cnt; i++)
		if (c->waiting[i].started || !c->waiting[i].uid || c->waiting[i].uid == geteuid())
			return true;
	return false;
}

void espy_agent_calls__close(struct espy_agent_calls *c)
{
	int one;

	while (c->cnt)
		hang_up(c, 0);
	if (c->fd >= 0) {
		/* The end of a queue is the end of all that is in it. */
		shutdown(c->fd, SHUT_RDWR);
		while ((one = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
			espy_taker__hang_up(&c->taker, one);
		close(c->fd);
	}
	c->fd = -1;
	espy_taker__end(&c->taker);
}

/*
 * Receives one message and its descriptors (-1: none). -EAGAIN: it has not come yet; another error: it never will.
 * Only a process that knows the tag can give descriptors.
 */
static int receive(struct espy_agent_calls *c, int fd, struct espy_agent_call *call, int fds[2])
{
	ssize_t n = recv(fd, call, sizeof(*call), MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC);

	fds[0] = fds[1] = -1;
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (n != sizeof(*call) || call->magic != ESPY_AGENT_CALL_MAGIC || call->tag != c->tag)
		return -EPROTO;
	return call->what == ESPY_CALL_BORN ? espy_taker__take(&c->taker, fd, fds) : 0;
}

static void answer_born(struct espy_agent_source *s, pid_t pid, const struct espy_agent_call *call, int fds[2])
{
	if (fds[0] < 0 || fds[1] < 0)
		return;
	if (!espy_agent_process__born(s, pid, call, fds[0], fds[1]))
		fds[0] = -1; /* kept */
}

/* true: whatever comes of it, the caller need not wait for it any more. */
static bool answer_started(struct espy_agent_source *s, struct espy_agent_waiting *w)
{
	if (espy_now_ns() > w->until_ns || (!s->follow && !espy_agent_source__expects(s, w->pid)))
		return true;
	s->quiet = true;
	int err = espy_agent_process__begin(s, w->pid, ESPY_AGENT_FIND);

	s->quiet = false;
	return err != -ENOENT; /* else its thread is still on its way */
}

/* true: done with. */
static bool answer(struct espy_agent_source *s, struct espy_agent_waiting *w)
{
	struct espy_agent_call call;
	int fds[2], err;

	if (w->started)
		return answer_started(s, w);
	err = receive(&s->calls, w->fd, &call, fds);
	if (err == -EAGAIN)
		return espy_now_ns() > w->until_ns;
	if (!err && call.what == ESPY_CALL_BORN)
		answer_born(s, w->pid, &call, fds);
	w->started = !err && call.what == ESPY_CALL_STARTED;
	for (unsigned i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return !w->started || answer_started(s, w);
}

/* Takes the next caller from the queue to the end of `waiting`. Returns 1; 0: none; -1: one that does not count. */
static int take_next(struct espy_agent_calls *c)
{
	struct ucred who;
	socklen_t size = sizeof(who);
	int fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) || who.pid <= 0) {
		espy_taker__hang_up(&c->taker, fd);
		return -1;
	}
	c->waiting[c->cnt++] = (struct espy_agent_waiting){
		.fd = fd, .pid = who.pid, .uid = who.uid, .until_ns = espy_now_ns() + ESPY_AGENT_CALL_MS * 1000000ull
	};
	return 1;
}

void espy_agent_calls__answer(struct espy_agent_source *s)
{
	struct espy_agent_calls *c = &s->calls;

	if (c->fd < 0)
		return;
	for (unsigned i = 0; i < c->cnt;)
		if (answer(s, &c->waiting[i]))
			hang_up(c, i);
		else
			i++;
	for (unsigned turn = 0; turn < TURN_MAX && make_room(c); turn++) {
		const int next = take_next(c);

		if (!next)
			break;
		if (next > 0 && answer(s, &c->waiting[c->cnt - 1]))
			hang_up(c, c->cnt - 1);
	}
	/* Nothing that it does is the programs' doing. */
	if (c->taker.pid && c->taker.pid != c->hidden_taker)
		espy_agent_source__hide(s, c->hidden_taker = c->taker.pid);
	espy_taker__flush(&c->taker);
	if (espy_taker__is_stuck(&c->taker)) {
		espy_source_report(
			&s->opts, ESPY_REPORT_WARN,
			"callers have sent descriptors that cannot be closed: no process is answered any more");
		espy_agent_calls__close(c);
	}
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a session: polls its source, works between two polls, and ends it. */
#include "lib/session_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "arch/machine_code.h"
#include "base/clock.h"
#include "lib/flight_recorder.h"
#include "lib/held_tasks.h"
#include "sink/summary.h"

/* How long one poll of run waits when nothing comes: the grain of the hang display and of a stop request. */
#define POLL_MS 100
/* A caller's own loop is woken so often. */
#define WAKE_NS 5000000
/* Clocks drift apart by some microseconds in that time. */
#define CLOCK_EVERY_NS UINT64_C(10000000000)

void espy_session__clock(struct espy_session *s)
{
	const struct espy_rec_clock c = {
		.rec = { .size = sizeof(c), .type = ESPY_REC_CLOCK, .time_ns = espy_now_ns() },
		.realtime_ns = espy_clock_ns(CLOCK_REALTIME),
		.tsc = espy_code_ticks(), /* where marks carry it, a trace tells how it runs against the clocks */
		.utc_offset_s = espy_utc_offset(),
	};

	espy_session__record(s, &c.rec);
}

static void flush(struct espy_session *s)
{
	for (unsigned i = 0; i < s->engines.cnt; i++) {
		struct espy_sink *sink = s->engines.v[i]->sink;

		if (sink && sink->ops->flush)
			sink->ops->flush(sink);
	}
	espy_session__note_errors(s);
}

/* Writes the clocks into traces now and then, also while nothing else comes. */
static void tick(struct espy_session *s)
{
	const uint64_t now = espy_now_ns();

	if (s->engines.record_sinks && s->run.clock_ns && now - s->run.clock_ns >= CLOCK_EVERY_NS) {
		s->run.clock_ns = now;
		espy_session__clock(s);
	}
}

/* --detach-on=execve: the task has a new image and goes on without us. */
static void detach_one(struct espy_session *s)
{
	struct espy_task *task = espy_state__task(s->pipe.state, s->targets.detach_tid);

	s->src_ops->remove_target(s->src, (pid_t)s->targets.detach_tid);
	s->targets.command_let_go |= (pid_t)s->targets.detach_tid == s->targets.command_pid;
	s->targets.detach_tid = 0;
	if (!task)
		return;
	espy_session__drop_task(s, task);
	espy_session__say(s, ESPY_TOPIC_TASKS, "Process %u detached", task->tid);
}

/* Lets go of every task. Records on their way still come. */
static void detach_all(struct espy_session *s)
{
	s->src_ops->remove_target(s->src, 0);
	s->run.draining = true;
	while (!s->run.error && !s->trace && s->src_ops->poll(s->src, espy_session__record, s, 0) > 0)
		;
	s->run.draining = false;
	if (!s->trace)
		espy_session__detached(s);
	flush(s);
	for (size_t i = 0; i < s->o.pid_count; i++)
		if (espy_state__task(s->pipe.state, (uint32_t)s->o.pids[i]))
			espy_session__say(s, ESPY_TOPIC_TASKS, "Process %d detached", s->o.pids[i]);
}

static bool must_end(const struct espy_session *s)
{
	return s->run.stopping || s->run.stop_asked || s->run.error;
}

/* Polls once, and does the work between two polls. Returns as espy_session_dispatch. */
static int dispatch(struct espy_session *s, int timeout_ms)
{
	int n = espy_session__start_once(s);

	if (n)
		return n;
	if (s->run.phase != PHASE_RUNS)
		return -ESRCH;
	espy_session__serve_requests(s);
	if (!must_end(s)) {
		n = s->src_ops->poll(s->src, espy_session__record, s, timeout_ms);
		if (s->targets.detach_tid)
			detach_one(s);
		tick(s);
		flush(s);
		espy_resume__serve(s);
		if (s->o.flight_bytes)
			espy_flight__look(s);
	}
	espy_session__serve_requests(s);
	if (!must_end(s) && (n >= 0 || n == -EINTR))
		return n;
	s->run.phase = PHASE_OVER;
	/* A flight recorder is for the records that led to the end. */
	if (s->o.flight_bytes)
		espy_flight__end(s);
	s->run.detached = must_end(s);
	if (s->run.detached)
		detach_all(s);
	return -ESRCH;
}

int espy_session__come_out(struct espy_session *s, int n)
{
	const bool closing = s->run.closing;

	espy_session__leave(s);
	if (!closing)
		return n;
	s->run.closing = false;
	espy_session_close(s);
	return -ECANCELED;
}

int espy_session_start(struct espy_session *s)
{
	int err = s ? espy_session__enter(s) : -EINVAL;

	if (err)
		return err;
	err = s->run.phase != PHASE_NEW ? -EALREADY : espy_session__start_once(s);
	return espy_session__come_out(s, err);
}

int espy_session_dispatch(struct espy_session *s, int timeout_ms)
{
	int n = s ? espy_session__enter(s) : -EINVAL;

	return n ? n : espy_session__come_out(s, dispatch(s, timeout_ms));
}

int espy_session_fd(struct espy_session *s)
{
	const struct itimerspec every = { .it_interval.tv_nsec = WAKE_NS, .it_value.tv_nsec = WAKE_NS };
	struct epoll_event in = { .events = EPOLLIN };
	int timer, err;

	if (!s)
		return -EINVAL;
	if (s->wait_fd >= 0)
		return s->wait_fd;
	s->wait_fd = epoll_create1(EPOLL_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->wait_fd < 0 || timer < 0 || timerfd_settime(timer, 0, &every, NULL) ||
	    epoll_ctl(s->wait_fd, EPOLL_CTL_ADD, timer, &in) ||
	    epoll_ctl(s->wait_fd, EPOLL_CTL_ADD, s->engines.wake.fd, &in)) {
		err = -errno;
		if (timer >= 0)
			close(timer);
		if (s->wait_fd >= 0)
			close(s->wait_fd);
		s->wait_fd = -1;
		return err;
	}
	s->timer_fd = timer;
	return s->wait_fd;
}

void espy_session_stop(struct espy_session *s)
{
	if (!s)
		return;
	s->run.stop_asked = true;
	espy_session__wake(s);
}

void espy_session_snapshot(struct espy_session *s)
{
	if (!s)
		return;
	s->run.snapshot_asked = true;
	espy_session__wake(s);
}

/* ---- the end */

/* Waits for the program, which runs on after a full disk or the call limit. Returns its status: a trace tells it. */
static int wait_for_program(struct espy_session *s)
{
	int status = 0;

	if (!s->targets.command_pid || s->targets.command_let_go || s->run.stop_asked)
		return 0;
	while (s->src_ops->command_status(s->src, &status) == -EAGAIN && !s->run.stop_asked)
		s->src_ops->poll(s->src, espy_session__record, s, POLL_MS);
	return status;
}

static int finish(struct espy_session *s)
{
	if (s->run.phase == PHASE_NEW || s->run.phase == PHASE_FINISHED)
		return s->run.phase == PHASE_NEW ? -EINVAL : -s->run.error;
	if (s->run.phase == PHASE_RUNS) {
		s->run.stopping = true;
		dispatch(s, 0);
	}
	if (s->run.error && !s->o.flight_bytes) /* the flight recorder has told of its trace */
		espy_session__error(s, "writing to %s: %s; tracing ends here%s", s->run.failed, strerror(s->run.error),
				    s->trace ? "" : ", the program runs on");
	if (s->counted.engine && s->counted.engine->sink)
		espy_session__add_counts(s);
	for (unsigned i = 0; i < s->engines.cnt; i++) {
		struct espy_sink *sink = s->engines.v[i]->sink;

		if (sink && sink->ops->finish)
			sink->ops->finish(sink);
	}
	flush(s);
	espy_session__report_end(s);
	espy_session__end_traces(s, wait_for_program(s));
	s->run.phase = PHASE_FINISHED;
	return -s->run.error;
}

int espy_session_finish(struct espy_session *s)
{
	int err = s ? espy_session__enter(s) : -EINVAL;

	return err ? err : espy_session__come_out(s, finish(s));
}

int espy_session_run(struct espy_session *s)
{
	int n = s ? espy_session__enter(s) : -EINVAL;

	if (n)
		return n;
	n = espy_session__start_once(s);
	if (!n) {
		do
			n = dispatch(s, POLL_MS);
		while (n >= 0 || n == -EINTR);
		n = s->run.closing ? 0 : finish(s);
	}
	return espy_session__come_out(s, n);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The life of a session: opened, started, run or dispatched, finished, closed. */
#include "lib/session_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "describe/builtin.h"
#include "lib/call_set.h"
#include "lib/event_values.h"
#include "lib/flight_recorder.h"
#include "lib/held_tasks.h"
#include "sink/recording.h"
#include "sink/summary.h"
#include "trace/trace.h"

/* How long one poll of run waits when nothing comes: the grain of the hang display and of a stop request. */
#define POLL_MS 100
/* A caller's own loop is woken so often. */
#define WAKE_NS 5000000
/* Clocks drift apart by some microseconds in that time. */
#define CLOCK_EVERY_NS UINT64_C(10000000000)
/* Of strings that marks carry: so many bytes are copied at least, and at most. */
#define MARK_STRINGS_LEAST 256u
#define MARK_STRINGS_MOST 65536u
/* For tasks and descriptors that a trace tells of; a million of each fit. */
#define TRACE_TABLES_BYTES ((size_t)512 << 20)

/* x86-64 has a counter that programs may read; where markers carry it, a trace tells how it runs against the clocks. */
static uint64_t time_stamp_counter(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

void espy_session__clock(struct espy_session *s)
{
	const struct espy_rec_clock c = {
		.rec = { .size = sizeof(c), .type = ESPY_REC_CLOCK, .time_ns = espy_now_ns() },
		.realtime_ns = espy_clock_ns(CLOCK_REALTIME),
		.tsc = time_stamp_counter(),
		.utc_offset_s = espy_utc_offset(),
	};

	espy_session__record(s, &c.rec);
}

/* ---- opening */

static int keep_program(struct espy_session *s, const struct espy_program *given)
{
	struct espy_program p;
	size_t argc = 0, envc = 0;
	int err = espy_options__take(&p, sizeof(p), given);

	if (err)
		return err;
	char *const *envp = p.envp ? p.envp : environ;

	if (!p.path || !p.argv)
		return -EINVAL;
	while (p.argv[argc])
		argc++;
	while (envp[envc])
		envc++;
	s->targets.command = (struct espy_command){
		.path = espy_kept__string(&s->kept, p.path),
		.argv = espy_kept__strings(&s->kept, (const char *const *)p.argv, argc),
		.envp = espy_kept__strings(&s->kept, (const char *const *)envp, envc),
		.child_setup = p.child_setup,
		.child_ctx = p.child_ctx,
	};
	return 0;
}

static int keep_options(struct espy_session *s)
{
	struct espy_session_options *o = &s->o;
	struct espy_kept *k = &s->kept;
	int err = o->program ? keep_program(s, o->program) : 0;

	if (err)
		return err;
	s->trace = o->trace;
	o->pids = o->pid_count ? espy_kept__bytes(k, o->pids, o->pid_count * sizeof(*o->pids)) : NULL;
	o->cgroup = espy_kept__string(k, o->cgroup);
	o->source = espy_kept__string(k, o->source);
	o->describe = (const char *const *)espy_kept__strings(k, o->describe, o->describe_count);
	o->pause_on = (const char *const *)espy_kept__strings(k, o->pause_on, o->pause_on_count);
	o->snapshot_on = (const char *const *)espy_kept__strings(k, o->snapshot_on, o->snapshot_on_count);
	if (!o->interruptible)
		o->interruptible = 2;
	return k->error;
}

static bool contradicts(const struct espy_session_options *o)
{
	const unsigned kinds = (o->program || o->pid_count) + (o->cgroup != NULL) + o->all + (o->trace != NULL);

	return kinds > 1 || (o->trace && o->flight_bytes) || (o->pid_count && !o->pids) ||
	       (o->describe_count && !o->describe) || (o->pause_on_count && !o->pause_on) ||
	       (o->snapshot_on_count && !o->snapshot_on);
}

int espy_session_open(struct espy_session **out, const struct espy_session_options *options)
{
	struct espy_session *s = out ? calloc(1, sizeof(*s)) : NULL;
	int err;

	if (!out)
		return -EINVAL;
	if (!s)
		return -ENOMEM;
	s->wait_fd = -1;
	s->engines.wake_fd = -1;
	espy_session__open_log(s);
	err = espy_options__take(&s->o, sizeof(s->o), options);
	if (!err && contradicts(&s->o))
		err = -EINVAL;
	if (!err)
		err = keep_options(s);
	if (!err)
		err = espy_session__open_engines(s);
	if (err) {
		espy_kept__free(&s->kept);
		free(s);
		return err;
	}
	*out = s;
	return 0;
}

/* ---- starting */

static void open_stream(struct espy_session *s)
{
	s->stream = (struct espy_stream){
		.images = s->images,
		.recorded = s->trace,
		.origin = {
			.command = s->targets.command.path,
			.wide = s->o.all || s->o.cgroup,
			.pids = (uint32_t)s->o.pid_count,
			.follow = s->o.follow,
			.argv = s->targets.command.path ? s->targets.command.argv : NULL,
		},
		.log = &s->log,
	};
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		s->stream.image_bytes[abi] = s->descriptions.own[abi];
		s->stream.image_sizes[abi] = s->descriptions.own_size[abi];
		if (!s->descriptions.own[abi])
			s->stream.image_bytes[abi] = espy_builtin_image((enum espy_abi)abi, &s->stream.image_sizes[abi]);
	}
}

static int open_state(struct espy_session *s)
{
	const struct espy_state_opts so = {
		.size = sizeof(so),
		.lookups = s->trace ? &espy_lookups_trace : &espy_lookups_live,
		.follow_fds = s->follow_fds,
		.names = s->needs.comms,
		.ask_once = s->gathers,
		.max_bytes = s->trace ? TRACE_TABLES_BYTES : 0,
		.slot_sz = sizeof(struct espy_task_notes),
	};
	int err = espy_state__new(&s->state, &so);

	if (err)
		return err;
	s->stream.state = s->state;
	espy_state__set_realtime_offset(s->state, (int64_t)(espy_clock_ns(CLOCK_REALTIME) - espy_now_ns()));
	if (s->trace)
		espy_session__open_window(s);
	s->resolver = espy_state__resolver(s->state);
	s->decoder.resolver = &s->resolver;
	espy_session__note_sinks(s);
	return 0;
}

/* The rules of all engines together; they are the filters', which stay. */
static int open_marks(struct espy_session *s)
{
	for (unsigned i = 0; i < s->engines.cnt; i++) {
		struct espy_engine *e = s->engines.v[i];
		const struct espy_mark_rules *own = &e->filter->marks;
		struct espy_mark_rule *v;
		unsigned k = 0;

		while (k < i && s->engines.v[k]->filter != e->filter)
			k++;
		if (k < i || !own->cnt)
			continue;
		v = reallocarray(s->marks.v, s->marks.cnt + own->cnt, sizeof(*v));
		if (!v)
			return -ENOMEM;
		memcpy(v + s->marks.cnt, own->v, own->cnt * sizeof(*v));
		s->marks.v = v;
		s->marks.cnt += own->cnt;
		if (e->needs.str_limit > s->marks.string_max)
			s->marks.string_max = e->needs.str_limit < MARK_STRINGS_MOST ? e->needs.str_limit : MARK_STRINGS_MOST;
	}
	if (s->marks.string_max < MARK_STRINGS_LEAST)
		s->marks.string_max = MARK_STRINGS_LEAST;
	s->marks.via = (enum espy_marks_via)s->o.marks_by;
	return 0;
}

/* Filters are used by the source until it is closed, though their engines may go before. */
static int keep_filters(struct espy_session *s)
{
	s->filters = calloc(s->engines.cnt + 1, sizeof(*s->filters));
	if (!s->filters)
		return -ENOMEM;
	for (unsigned i = 0; i < s->engines.cnt; i++) {
		s->filters[i] = s->engines.v[i]->filter;
		__atomic_fetch_add(&s->filters[i]->users, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

static bool follows_fds(const struct espy_session *s)
{
	bool paths = false;

	for (unsigned i = 0; i < s->engines.cnt; i++)
		paths |= s->engines.v[i]->filter->path_cnt != 0;
	return s->trace || s->needs.fds || paths;
}

static int start_engines(struct espy_session *s)
{
	int err = 0;

	for (unsigned i = 0; i < s->engines.cnt && !err; i++)
		err = espy_session__start_engine(s, s->engines.v[i]);
	return err;
}

static int open_input(struct espy_session *s)
{
	int err;

	if (s->trace) {
		err = espy_session__set_gates(s);
		err = err ? err : espy_session__open_trace(s);
		return err ? err : start_engines(s);
	}
	if (s->o.raise_file_limit)
		espy_session__raise_file_limit(s);
	err = espy_session__open_source(s);
	if (!err && s->o.pause_on_count)
		err = espy_resume_socket__open(&s->resume_socket, s);
	if (err)
		return err;
	s->stream.passive = s->src_ops->caps & ESPY_SRC_PASSIVE;
	s->stream.origin.source = s->src_ops->name;
	/* After the source, whose name stands in a trace, and before the first task is watched. */
	err = start_engines(s);
	if (!err && s->o.flight_bytes)
		err = espy_flight__open(s);
	return err ? err : espy_session__add_targets(s);
}

static int start(struct espy_session *s)
{
	int err = espy_session__open_images(s);

	s->first_filter = s->engines.cnt ? s->engines.v[0]->filter : NULL;
	if (!err)
		err = espy_session__open_where(s);
	if (!err)
		err = espy_session__open_call_sets(s);
	if (!err)
		err = open_marks(s);
	if (!err)
		err = keep_filters(s);
	if (err)
		return err;
	s->follow_fds |= follows_fds(s);
	open_stream(s);
	err = open_state(s);
	if (!err)
		err = espy_hold__triggers(s);
	if (!err)
		err = open_input(s);
	if (!err)
		s->run.phase = PHASE_RUNS;
	return err;
}

static int start_once(struct espy_session *s)
{
	if (s->run.phase != PHASE_NEW)
		return s->run.phase == PHASE_RUNS ? 0 : -ESRCH;
	int err = start(s);
	if (err == -ENOMEM)
		espy_session__error(s, "out of memory");
	if (err)
		s->run.phase = PHASE_FINISHED;
	return err;
}

int espy_session_start(struct espy_session *s)
{
	int err = s ? espy_session__enter(s) : -EINVAL;

	if (err)
		return err;
	err = s->run.phase != PHASE_NEW ? -EALREADY : start_once(s);
	espy_session__leave(s);
	return err;
}

/* ---- running */

static void flush(struct espy_session *s)
{
	for (unsigned i = 0; i < s->engines.cnt; i++) {
		struct espy_sink *sink = s->engines.v[i]->sink;

		if (sink && sink->ops->flush)
			sink->ops->flush(sink);
	}
	espy_session__note_errors(s);
}

/* Write the clocks into traces now and then, also while nothing else comes. */
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
	struct espy_task *task = espy_state__task(s->state, s->targets.detach_tid);

	s->src_ops->remove_target(s->src, (pid_t)s->targets.detach_tid);
	s->targets.detach_tid = 0;
	if (!task)
		return;
	espy_session__drop_task(s, task);
	espy_session__say(s, ESPY_TOPIC_TASKS, "Process %u detached", task->tid);
}

/* Let go of every task; what was on its way is still told. */
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
		if (espy_state__task(s->state, (uint32_t)s->o.pids[i]))
			espy_session__say(s, ESPY_TOPIC_TASKS, "Process %d detached", s->o.pids[i]);
}

static bool must_end(const struct espy_session *s)
{
	return s->run.stopping || s->run.stop_asked || s->run.error;
}

/* One poll, and what is to be done between two of them. As espy_session_dispatch. */
static int dispatch(struct espy_session *s, int timeout_ms)
{
	int n = start_once(s);

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
		if (s->resume_socket)
			espy_resume_socket__serve(s->resume_socket);
		if (s->o.flight_bytes)
			espy_flight__look(s);
	}
	espy_session__serve_requests(s);
	if (!must_end(s) && (n >= 0 || n == -EINTR))
		return n;
	s->run.phase = PHASE_OVER;
	/* What led to the end is what a flight recorder is for. */
	if (s->o.flight_bytes)
		espy_flight__end(s);
	s->run.detached = must_end(s);
	if (s->run.detached)
		detach_all(s);
	return -ESRCH;
}

/* The reader comes out of the session. Returns n, or that the session is gone. */
static int leave(struct espy_session *s, int n)
{
	const bool closing = s->run.closing;

	espy_session__leave(s);
	if (!closing)
		return n;
	s->run.closing = false;
	espy_session_close(s);
	return -ECANCELED;
}

int espy_session_dispatch(struct espy_session *s, int timeout_ms)
{
	int n = s ? espy_session__enter(s) : -EINVAL;

	return n ? n : leave(s, dispatch(s, timeout_ms));
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
	    epoll_ctl(s->wait_fd, EPOLL_CTL_ADD, s->engines.wake_fd, &in)) {
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
	s->run.stop_asked = 1;
}

void espy_session_snapshot(struct espy_session *s)
{
	s->run.snapshot_asked = 1;
}

/* ---- the end */

static void add_counts(struct espy_session *s)
{
	struct espy_count *counts = calloc(ESPY_MAX_SYSCALLS, sizeof(*counts));

	for (unsigned abi = 0; abi < ESPY_ABI_CNT && counts; abi++) {
		memset(counts, 0, ESPY_MAX_SYSCALLS * sizeof(*counts));
		if (!s->src_ops->counts(s->src, (enum espy_abi)abi, counts, ESPY_MAX_SYSCALLS))
			espy_summary__add(s->counts_for->sink, &s->images[abi], counts, ESPY_MAX_SYSCALLS);
	}
	free(counts);
}

/* The program runs on after a full disk or the call limit: its status is still to be had, and belongs into a trace. */
static int wait_for_program(struct espy_session *s)
{
	int status = 0;

	if (!s->targets.command_pid || s->run.stop_asked)
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
	if (s->run.error && !s->o.flight_bytes) /* which has said which trace could not be written */
		espy_session__error(s, "writing to %s: %s; tracing ends here%s", s->run.failed, strerror(s->run.error),
				    s->trace ? "" : ", the program runs on");
	if (s->counts_for && s->counts_for->sink)
		add_counts(s);
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

	return err ? err : leave(s, finish(s));
}

int espy_session_run(struct espy_session *s)
{
	int n = s ? espy_session__enter(s) : -EINVAL;

	if (n)
		return n;
	n = start_once(s);
	if (!n) {
		do
			n = dispatch(s, POLL_MS);
		while (n >= 0 || n == -EINTR);
		n = s->run.closing ? 0 : finish(s);
	}
	return leave(s, n);
}

static void free_session(struct espy_session *s)
{
	espy_session__close_engines(s);
	espy_flight__close(s);
	espy_session__free_answers(s->answers);
	espy_prefetch__free(&s->prefetch);
	espy_resume_socket__close(s->resume_socket);
	if (s->src)
		s->src_ops->close(s->src);
	espy_state__free(s->state);
	espy_decoder__free(&s->decoder);
	espy_session__close_where(s);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		espy_call_set__free(&s->sets[abi]);
		free(s->descriptions.own[abi]);
	}
	for (size_t i = 0; s->filters && s->filters[i]; i++)
		espy_filter_free(s->filters[i]);
	free(s->filters);
	free(s->marks.v);
	if (s->wait_fd >= 0) {
		close(s->timer_fd);
		close(s->wait_fd);
	}
	espy_kept__free(&s->kept);
	free(s);
}

void espy_session_close(struct espy_session *s)
{
	struct session_engines *e;

	if (!s)
		return;
	e = &s->engines;
	pthread_mutex_lock(&e->lock);
	if (e->reading && pthread_equal(e->reader, pthread_self())) {
		s->run.closing = s->run.stopping = true; /* dispatch does it, when it comes to its end */
		pthread_mutex_unlock(&e->lock);
		return;
	}
	while (e->reading) {
		s->run.stop_asked = 1;
		pthread_cond_wait(&e->changed, &e->lock);
	}
	pthread_mutex_unlock(&e->lock);
	free_session(s);
}

/* ---- asked of it */

static int add_pid(struct espy_session *s, pid_t pid, bool single_task)
{
	int err = s->trace ? -EINVAL : start_once(s);

	return err ? err : espy_session__add_pid(s, pid, single_task);
}

int espy_session_add_pid(struct espy_session *s, pid_t pid, bool single_task)
{
	int err = s && pid > 0 ? espy_session__enter(s) : -EINVAL;

	if (err)
		return err;
	err = add_pid(s, pid, single_task);
	espy_session__leave(s);
	return err;
}

int espy_session_remove_pid(struct espy_session *s, pid_t pid)
{
	struct espy_task *task;
	int err = s && pid > 0 ? espy_session__enter(s) : -EINVAL;

	if (err)
		return err;
	err = s->run.phase != PHASE_RUNS || s->trace ? -ESRCH : s->src_ops->remove_target(s->src, pid);
	task = err ? NULL : espy_state__task(s->state, (uint32_t)pid);
	if (task)
		espy_session__drop_task(s, task);
	espy_session__leave(s);
	return err;
}

pid_t espy_session_program(struct espy_session *s)
{
	return s && s->targets.command_pid ? s->targets.command_pid : -ESRCH;
}

int espy_session_program_status(struct espy_session *s, int *status)
{
	if (!s || !status)
		return -EINVAL;
	return s->targets.command_pid ? s->src_ops->command_status(s->src, status) : -ESRCH;
}

const char *espy_session_source(struct espy_session *s)
{
	return s && s->src_ops ? s->src_ops->name : NULL;
}

const char *espy_version(void)
{
	return ESPY_VERSION;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/merged_source.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/clock.h"
#include "record/merge.h"
#include "source/command.h"
#include "source/hold.h"
#include "source/wanted_marks.h"
#include "source/source_report.h"

/* How late a record may come after a younger one of the other source; then the stream goes on without waiting. */
#define WINDOW_NS 200000000ull
/* Between the time in a record and the moment when it can be read. */
#define MARGIN_NS 1000000ull
#define QUEUE_MAX (8u << 20)
#define RUN_MAX (64u << 10)
#define TURN_MS 4 /* one source is waited for so long before the other one is looked at */

struct input {
	const struct espy_source_ops *ops;
	struct espy_source *src;
	struct merged *of;
	uint8_t *buf;
	size_t head, tail, cap;
	uint64_t last_ns;    /* time of the newest record that came */
	uint64_t given_ns;   /* of the last one that was given out */
	uint64_t promise_ns; /* nothing older will come */
	bool over;
	bool all;  /* a snapshot: there is no limit but its own */
	int error; /* of memory */
};

struct merged {
	struct espy_source base;
	struct espy_source_ops ops;
	char name[32];
	struct espy_source_opts opts;
	struct input in[2]; /* calls (ops NULL: none), marks */
	const struct espy_inside_ops *inside; /* of the source of marks */
	struct espy_merge merge;
	bool merge_ready;
	bool closing;  /* nothing new is wanted: what is there goes out */
	int error;     /* of the calls, while an agent was waited for */
	pid_t command; /* started here; 0: none */
	bool reaped, told_exit;
	int status;
};

enum { CALLS, MARKS };

static struct merged *to_merged(struct espy_source *s)
{
	return (struct merged *)s;
}

/* ---- queues */

static const struct espy_rec *front(const struct input *in)
{
	return in->head < in->tail ? (const struct espy_rec *)(const void *)(in->buf + in->head) : NULL;
}

static bool peek(void *ctx, uint64_t *time_ns)
{
	const struct input *in = ctx;
	const struct espy_rec *rec = front(in);

	if (rec) {
		/* One without a time belongs behind the one before it. */
		*time_ns = rec->time_ns ? rec->time_ns : in->given_ns;
		return true;
	}
	*time_ns = in->over ? UINT64_MAX : in->promise_ns;
	return false;
}

static int append(struct input *in, const void *records, size_t size)
{
	if (in->head == in->tail)
		in->head = in->tail = 0;
	if (in->tail + size > in->cap) {
		/* What has been given out makes room first. */
		if (in->head > in->cap / 2) {
			memmove(in->buf, in->buf + in->head, in->tail - in->head);
			in->tail -= in->head;
			in->head = 0;
		}
		if (!espy_array__room(&in->buf, in->tail, &in->cap, 1, size))
			return in->error = -ENOMEM;
	}
	memcpy(in->buf + in->tail, records, size);
	in->tail += size;
	/* Enough for now: the source keeps the rest (and counts what it cannot). */
	return !in->all && in->tail - in->head >= QUEUE_MAX ? 1 : 0;
}

static int enqueue(void *ctx, const struct espy_rec *rec)
{
	struct input *in = ctx;
	struct merged *m = in->of;

	if (in == &m->in[CALLS] && m->inside) {
		if (m->inside->hides(m->in[MARKS].src, rec))
			return 0;
		m->inside->saw(m->in[MARKS].src, rec);
	}
	if (rec->time_ns > in->last_ns)
		in->last_ns = rec->time_ns;
	return append(in, rec, rec->size);
}

static int enqueue_marks(void *ctx, const struct espy_rec *first, size_t size)
{
	const uint8_t *at = (const uint8_t *)first, *end = at + size;
	struct input *in = ctx;

	for (const struct espy_rec *rec; at < end; at += rec->size) {
		rec = (const struct espy_rec *)(const void *)at;
		if (rec->time_ns > in->last_ns)
			in->last_ns = rec->time_ns;
	}
	return append(in, first, size);
}

static int fill(struct input *in, int timeout_ms)
{
	const uint64_t begun = espy_now_ns();
	int n;

	if (!in->ops || in->over || in->tail - in->head >= QUEUE_MAX)
		return 0;
	n = in->ops->poll(in->src, enqueue, in, timeout_ms);
	if (in->error)
		return in->error;
	if (n == -ESRCH) {
		in->over = true;
		return 0;
	}
	if (n < 0)
		return n;
	/* Empty at a moment that was not before `begun`; else: up to what came last. */
	in->promise_ns = n ? in->last_ns : begun;
	in->promise_ns -= in->promise_ns > MARGIN_NS ? MARGIN_NS : in->promise_ns;
	return 0;
}

/*
 * While a process is given an agent, or an agent is waited for: the rings must not run full, and a source that stops what it
 * traces traces the agents' threads too (-f). What comes meanwhile waits in the queue.
 */
static void let_calls_go_on(void *ctx)
{
	struct merged *m = ctx;
	const bool over = m->in[CALLS].over;

	if (m->error || over || m->in[CALLS].tail - m->in[CALLS].head >= QUEUE_MAX)
		poll(NULL, 0, 1);
	else
		m->error = fill(&m->in[CALLS], 1);
	/* It may have nobody to look at only because its targets have not been told it yet. */
	m->in[CALLS].over = over;
}

static void reap(struct merged *m)
{
	if (m->command && !m->reaped && waitpid(m->command, &m->status, WNOHANG) == m->command)
		m->reaped = true;
}

static struct espy_rec_task_exit command_exit(const struct merged *m)
{
	return (struct espy_rec_task_exit){
		.rec = { .size = sizeof(struct espy_rec_task_exit),
			 .type = ESPY_REC_TASK_EXIT,
			 .tid = (uint32_t)m->command,
			 .tgid = (uint32_t)m->command,
			 .time_ns = espy_now_ns() },
		.status = (uint32_t)m->status,
		.group_dead = 1,
	};
}

/* Marks alone are in order already: no queue, no merging. Nobody else tells here how the command ended. */
static int poll_alone(struct merged *m, espy_record_fn fn, void *ctx, int timeout_ms)
{
	struct input *in = &m->in[MARKS];
	const struct timespec nap = { .tv_nsec = 1000000 };

	if (!in->over) {
		int n = in->ops->poll(in->src, fn, ctx, timeout_ms);

		if (n != -ESRCH)
			return n;
		in->over = true;
	}
	for (uint64_t until = espy_now_ns() + (uint64_t)(timeout_ms < 0 ? INT_MAX : timeout_ms) * 1000000u;;) {
		reap(m);
		if (!m->command || m->told_exit)
			return -ESRCH;
		if (m->reaped) {
			const struct espy_rec_task_exit x = command_exit(m);
			int stop = fn(ctx, &x.rec);

			m->told_exit = true;
			return stop ? stop : 1;
		}
		if (espy_now_ns() >= until)
			return 0;
		if (nanosleep(&nap, NULL))
			return -errno;
	}
}

/* ---- the flight recorder: nothing is read before a snapshot, and all of it then */

static int poll_flight(struct merged *m, espy_record_fn fn, void *ctx, int timeout_ms)
{
	struct input *calls = &m->in[CALLS], *marks = &m->in[MARKS];
	const bool alone = !calls->ops;
	int n = alone ? 0 : calls->ops->poll(calls->src, fn, ctx, timeout_ms);

	if (n < 0)
		return n;
	n = marks->ops->poll(marks->src, fn, ctx, alone ? timeout_ms : 0);
	if (n == -ESRCH && alone) {
		reap(m);
		if (m->command && !m->reaped)
			n = poll(NULL, 0, 1) < 0 ? -errno : 0; /* it has executed something without an agent, say */
	} else if (n == -ESRCH) {
		n = 0;
	}
	return n;
}

struct both {
	struct merged *m;
	espy_record_fn fn;
	void *ctx;
	int cnt, stop;
};

static int keep(void *ctx, const struct espy_rec *rec)
{
	return append(ctx, rec, rec->size);
}

static int give_one(struct both *b, const struct espy_rec *rec)
{
	b->cnt++;
	b->stop = b->fn(b->ctx, rec);
	return b->stop;
}

/* The marks that come before a moment. */
static int give_marks(struct both *b, uint64_t until_ns)
{
	struct input *in = &b->m->in[MARKS];
	const struct espy_rec *rec;

	while (!b->stop && (rec = front(in)) && rec->time_ns <= until_ns) {
		in->head += rec->size;
		give_one(b, rec);
	}
	return b->stop;
}

static int give_call(void *ctx, const struct espy_rec *rec)
{
	struct both *b = ctx;

	if (b->m->inside && b->m->inside->hides(b->m->in[MARKS].src, rec))
		return 0;
	return rec->time_ns && give_marks(b, rec->time_ns) ? b->stop : give_one(b, rec);
}

static int merged_snapshot(struct espy_source *src, espy_record_fn fn, void *ctx)
{
	struct merged *m = to_merged(src);
	struct input *calls = &m->in[CALLS], *marks = &m->in[MARKS];
	struct both b = { .m = m, .fn = fn, .ctx = ctx };
	int err;

	marks->all = true;
	err = marks->ops->snapshot(marks->src, keep, marks);
	if (err >= 0 && calls->ops)
		err = calls->ops->snapshot(calls->src, give_call, &b);
	if (err >= 0)
		err = give_marks(&b, UINT64_MAX);
	if (!err && !calls->ops && m->reaped) {
		const struct espy_rec_task_exit x = command_exit(m);

		err = give_one(&b, &x.rec);
	}
	marks->head = marks->tail = 0;
	marks->all = false;
	return err ? err : b.cnt;
}

/* The front of an input; if it is a mark, also the marks behind it that no other input's record comes before. */
static int give(struct merged *m, struct input *in, espy_record_fn fn, void *ctx, int *cnt)
{
	const struct espy_rec *first = front(in), *rec = first;
	const uint64_t until = espy_merge__until(&m->merge);
	const size_t begin = in->head;

	do {
		in->head += rec->size;
		if (rec->time_ns)
			in->given_ns = rec->time_ns;
		++*cnt;
		rec = front(in);
	} while (m->opts.marks_fn && first->type == ESPY_REC_MARK && in->head - begin < RUN_MAX && rec &&
		 rec->type == ESPY_REC_MARK && rec->time_ns < until);
	if (m->opts.marks_fn && first->type == ESPY_REC_MARK)
		return m->opts.marks_fn(ctx, first, in->head - begin);
	return fn(ctx, first);
}

static int merged_poll(struct espy_source *src, espy_record_fn fn, void *ctx, int timeout_ms)
{
	struct merged *m = to_merged(src);
	const uint64_t start = espy_now_ns();

	if (m->opts.flight_bytes)
		return poll_flight(m, fn, ctx, timeout_ms);
	if (!m->in[CALLS].ops)
		return poll_alone(m, fn, ctx, timeout_ms);
	for (;;) {
		const bool calls = !m->in[CALLS].over;
		const bool idle = !front(&m->in[CALLS]) && !front(&m->in[MARKS]);
		const int wait = timeout_ms < 0 || timeout_ms > TURN_MS ? TURN_MS : timeout_ms;
		struct input *in;
		int err, cnt = 0, stop = 0;

		err = m->error ? m->error : fill(&m->in[CALLS], idle ? wait : 0);
		err = err ? err : fill(&m->in[MARKS], idle && !calls ? wait : 0);
		if (err)
			return err;
		espy_merge__look(&m->merge);
		while (!stop && (in = espy_merge__next(&m->merge, m->closing ? UINT64_MAX : espy_now_ns())))
			stop = give(m, in, fn, ctx, &cnt);
		if (stop)
			return stop;
		if (cnt)
			return cnt;
		if (!front(&m->in[CALLS]) && !front(&m->in[MARKS]) && !calls && m->in[MARKS].over)
			return -ESRCH;
		if ((timeout_ms >= 0 && espy_now_ns() - start >= (uint64_t)timeout_ms * 1000000u) || espy_wake__is_asked(m->opts.wake))
			return 0;
	}
}

/* ---- targets */

/* The command's set-up with our part: after what the user wants, the last thing before execve. */
static int setup_and_hold(void *ctx)
{
	const struct espy_command *cmd = ctx;
	int err = cmd->child_setup ? cmd->child_setup(cmd->child_ctx) : 0;

	/* Where it may not be traced it starts unheld: the first marks are then missed. */
	if (!err)
		espy_hold__child();
	return err;
}

/*
 * Beside a source that traces the command itself nobody else can load anything into it: it gets the library by LD_PRELOAD,
 * calls, and waits in front of main until its marks are on.
 */
static int start_preloaded(struct merged *m, const struct espy_command *cmd, pid_t *pid)
{
	struct espy_command preloaded = *cmd;
	char call[96], *words[2] = { NULL, call };
	int err = espy_command__preload(&m->opts, m->inside, cmd->envp, &words[0]);

	if (err)
		return err;
	const bool calls_us = m->inside->call_word(m->in[MARKS].src, true, call, sizeof(call));

	preloaded.envp = espy_command__env(cmd->envp, words, 1 + calls_us);
	err = preloaded.envp ? m->in[CALLS].ops->start_command(m->in[CALLS].src, &preloaded, pid) : -ENOMEM;
	free((void *)preloaded.envp);
	free(words[0]);
	if (!err)
		m->inside->expect(m->in[MARKS].src, *pid);
	return err;
}

/* What the command and its children shall find in their environment. cmd->envp and *preload are allocated here. */
static int add_env(const struct merged *m, struct espy_command *cmd, char *call, size_t call_sz, char **preload)
{
	char *words[2];
	size_t cnt = 0;
	int err;

	if (!m->inside)
		return 0;
	if (m->opts.marks->via == ESPY_VIA_PRELOAD) {
		err = espy_command__preload(&m->opts, m->inside, cmd->envp, preload);
		if (err)
			return err;
		words[cnt++] = *preload;
	}
	if (m->inside->call_word(m->in[MARKS].src, false, call, call_sz))
		words[cnt++] = call;
	cmd->envp = espy_command__env(cmd->envp, words, cnt);
	return cmd->envp ? 0 : -ENOMEM;
}

static int merged_start_command(struct espy_source *src, const struct espy_command *cmd, pid_t *pid)
{
	struct merged *m = to_merged(src);
	struct espy_command held = *cmd;
	const struct input *calls = &m->in[CALLS];
	char call[96], *preload = NULL;
	int err;

	if (calls->ops && !(calls->ops->caps & ESPY_SRC_PASSIVE)) {
		if (m->inside)
			return start_preloaded(m, cmd, pid);
		espy_source_report(&m->opts, ESPY_REPORT_ERROR, "--via kernel goes with the bpf source, not with %s",
				   calls->ops->name);
		return -EOPNOTSUPP;
	}
	held.child_setup = setup_and_hold;
	held.child_ctx = (void *)cmd;
	err = add_env(m, &held, call, sizeof(call), &preload);
	if (!err)
		err = calls->ops ? calls->ops->start_command(calls->src, &held, pid) : espy_command__start(&held, pid);
	if (!err && !calls->ops)
		m->command = *pid;
	if (held.envp != cmd->envp)
		free((void *)held.envp);
	free(preload);
	if (err)
		return err;
	err = espy_hold__to_entry(*pid);
	if (err == -ESRCH)
		return 0; /* it has ended already: its status tells how */
	const struct espy_target t = { .kind = ESPY_TARGET_PID, .pid = *pid, .held = !err };

	err = m->in[MARKS].ops->add_target(m->in[MARKS].src, &t);
	if (t.held)
		espy_hold__release(*pid);
	/* The reason was told. Without marks the calls are still worth seeing; without those nothing is. */
	if (err && !calls->ops) {
		kill(*pid, SIGKILL);
		waitpid(*pid, NULL, 0);
		m->command = 0;
		return err;
	}
	return 0;
}

static int merged_add_target(struct espy_source *src, const struct espy_target *t)
{
	struct merged *m = to_merged(src);
	/* Marks first: what loading the agent does in the process is then not among the calls. */
	int err = m->in[MARKS].ops->add_target(m->in[MARKS].src, t);

	return m->in[CALLS].ops ? m->in[CALLS].ops->add_target(m->in[CALLS].src, t) : err;
}

static int merged_remove_target(struct espy_source *src, pid_t pid)
{
	struct merged *m = to_merged(src);

	if (!pid)
		m->closing = true;
	m->in[MARKS].ops->remove_target(m->in[MARKS].src, pid);
	return m->in[CALLS].ops ? m->in[CALLS].ops->remove_target(m->in[CALLS].src, pid) : 0;
}

static int merged_set_calls(struct espy_source *src, enum espy_abi abi, const struct espy_call_set *set)
{
	struct merged *m = to_merged(src);

	return m->in[CALLS].ops ? m->in[CALLS].ops->set_calls(m->in[CALLS].src, abi, set) : 0;
}

static void merged_stats(struct espy_source *src, struct espy_source_stats *st)
{
	struct merged *m = to_merged(src);

	*st = (struct espy_source_stats){ 0 };
	if (m->in[CALLS].ops)
		m->in[CALLS].ops->stats(m->in[CALLS].src, st);
	/* Nobody is held for marks, nor are there snapshots of them alone. */
	if (m->in[MARKS].ops) {
		struct espy_source_stats one = { 0 };

		m->in[MARKS].ops->stats(m->in[MARKS].src, &one);
		st->records += one.records;
		st->bytes += one.bytes;
		for (unsigned r = 0; r < ESPY_LOST_REASONS; r++)
			st->lost[r] += one.lost[r];
		st->reread += one.reread;
		st->tasks = one.tasks > st->tasks ? one.tasks : st->tasks;
		st->hangs += one.hangs;
		st->agents += one.agents;
		st->marked += one.marked;
		st->overwritten += one.overwritten;
		if (one.whole_since_ns > st->whole_since_ns)
			st->whole_since_ns = one.whole_since_ns;
		st->triggers += one.triggers;
		if (one.trigger_ns > st->trigger_ns)
			st->trigger_ns = one.trigger_ns;
		st->wakeups += one.wakeups;
	}
}

static int merged_command_status(struct espy_source *src, int *status)
{
	struct merged *m = to_merged(src);

	if (m->in[CALLS].ops)
		return m->in[CALLS].ops->command_status(m->in[CALLS].src, status);
	if (!m->command)
		return -ECHILD;
	reap(m);
	*status = m->status;
	return m->reaped ? 0 : -EAGAIN;
}

static void merged_close(struct espy_source *src)
{
	struct merged *m = to_merged(src);

	for (unsigned i = 0; i < 2; i++) {
		if (m->in[i].src)
			m->in[i].ops->close(m->in[i].src);
		free(m->in[i].buf);
	}
	if (m->merge_ready)
		espy_merge__free(&m->merge);
	free(m);
}

int espy_merged_source__open(struct espy_source **out, const struct espy_source_ops *calls,
			     const struct espy_source_ops *marks, const struct espy_source_opts *o)
{
	struct merged *m = calloc(1, sizeof(*m));
	struct espy_source_opts so = *o;
	void *inputs[2];
	int err;

	if (!m)
		return -ENOMEM;
	m->opts = *o;
	m->inside = marks->inside;
	snprintf(m->name, sizeof(m->name), "%s%s%s", calls ? calls->name : "", calls ? " and " : "", marks->name);
	m->ops = (struct espy_source_ops){
		.name = m->name,
		.caps = calls ? calls->caps & ~(unsigned)ESPY_SRC_COUNT : marks->caps,
		.set_calls = merged_set_calls,
		.start_command = merged_start_command,
		.add_target = merged_add_target,
		.remove_target = merged_remove_target,
		.poll = merged_poll,
		.snapshot = o->flight_bytes ? merged_snapshot : NULL,
		.stats = merged_stats,
		.command_status = merged_command_status,
		.close = merged_close,
	};
	m->base.ops = &m->ops;
	so.needs.times = true; /* or else there is no order between the two */
	so.count_only = false;
	/* Alone they go through as they are; those of a snapshot wait for one that is to be put between them. */
	if (calls || o->flight_bytes)
		so.marks_fn = enqueue_marks;
	for (unsigned i = 0; i < 2; i++) {
		m->in[i] = (struct input){ .ops = i == CALLS ? calls : marks, .of = m, .over = i == CALLS && !calls };
		inputs[i] = &m->in[i];
	}
	err = calls ? calls->open(&m->in[CALLS].src, &so) : 0;
	err = err ? err : marks->open(&m->in[MARKS].src, &so);
	err = err ? err : espy_merge__init(&m->merge, peek, inputs, 2, WINDOW_NS);
	if (err) {
		merged_close(&m->base);
		return err;
	}
	m->merge_ready = true;
	if (m->inside && calls && (!o->flight_bytes || !(calls->caps & ESPY_SRC_PASSIVE)))
		m->inside->meanwhile(m->in[MARKS].src, let_calls_go_on, m);
	*out = &m->base;
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/merged_impl.h"

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

/* How late a record may come after a younger one of another source; then the stream goes on without waiting. */
#define WINDOW_NS 200000000ull
/* Between the time in a record and the moment when it can be read. */
#define MARGIN_NS 1000000ull
#define QUEUE_MAX (8u << 20)
#define RUN_MAX (64u << 10)
#define TURN_MS 4 /* one source is waited for so long before the others are looked at */

/* ---- queues */

static const struct espy_rec *front(const struct input *in)
{
	return in->head < in->tail ? (const struct espy_rec *)(const void *)(in->buf + in->head) : NULL;
}

static bool has_front(const struct merged *m)
{
	for (size_t i = 0; i < m->cnt; i++)
		if (front(&m->in[i]))
			return true;
	return false;
}

static bool is_over(const struct merged *m)
{
	for (size_t i = 0; i < m->cnt; i++)
		if (!m->in[i].over)
			return false;
	return true;
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
		/* Records that were given out make room first. */
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

	if (in == m->lead && m->guest) {
		if (m->guest->ops->inside->hides(m->guest->src, rec))
			return 0;
		m->guest->ops->inside->saw(m->guest->src, rec);
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

	if (in->over || in->tail - in->head >= QUEUE_MAX)
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
	/* An empty source was empty at a moment not before `begun`. Else its last record's time is the promise. */
	in->promise_ns = n ? in->last_ns : begun;
	in->promise_ns -= in->promise_ns > MARGIN_NS ? MARGIN_NS : in->promise_ns;
	return 0;
}

/*
 * Reads calls while a process gets an agent, or an agent is waited for. The rings must not run full, and a source that
 * stops its tracees traces the agents' threads, too (-f). Records that come meanwhile wait in the queue.
 */
static void let_calls_go_on(void *ctx)
{
	struct merged *m = ctx;
	struct input *in = m->lead;
	const bool over = in->over;

	if (m->error || over || in->tail - in->head >= QUEUE_MAX)
		poll(NULL, 0, 1);
	else
		m->error = fill(in, 1);
	/* It may have no process to watch only because its targets have not been added yet. */
	in->over = over;
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

/* Polls a single input: it is in order already. No other function learns here how the command ended. */
static int poll_alone(struct merged *m, espy_record_fn fn, void *ctx, int timeout_ms)
{
	struct input *in = &m->in[0];
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
	int n = m->lead ? m->lead->ops->poll(m->lead->src, fn, ctx, timeout_ms) : 0;

	for (struct input *in = NULL; n >= 0 && (in = follower(m, in));) {
		n = in->ops->poll(in->src, fn, ctx, m->lead ? 0 : timeout_ms);
		if (n == -ESRCH && m->lead) {
			n = 0;
		} else if (n == -ESRCH) {
			reap(m);
			if (m->command && !m->reaped)
				n = poll(NULL, 0, 1) < 0 ? -errno : 0; /* it has executed something without an agent, say */
		}
	}
	return n;
}

struct all {
	struct merged *m;
	espy_record_fn fn;
	void *ctx;
	int cnt, stop;
};

static int keep(void *ctx, const struct espy_rec *rec)
{
	return append(ctx, rec, rec->size);
}

static int give_one(struct all *b, const struct espy_rec *rec)
{
	b->cnt++;
	b->stop = b->fn(b->ctx, rec);
	return b->stop;
}

static struct input *oldest_follower(struct merged *m, uint64_t until_ns)
{
	struct input *oldest = NULL;

	for (struct input *in = NULL; (in = follower(m, in));)
		if (front(in) && front(in)->time_ns <= until_ns && (!oldest || front(in)->time_ns < front(oldest)->time_ns))
			oldest = in;
	return oldest;
}

/* Gives the records of the followers from before a moment. */
static int give_followers(struct all *b, uint64_t until_ns)
{
	struct input *in;

	while (!b->stop && (in = oldest_follower(b->m, until_ns))) {
		const struct espy_rec *rec = front(in);

		in->head += rec->size;
		give_one(b, rec);
	}
	return b->stop;
}

static int give_call(void *ctx, const struct espy_rec *rec)
{
	struct all *b = ctx;
	const struct input *guest = b->m->guest;

	if (guest && guest->ops->inside->hides(guest->src, rec))
		return 0;
	return rec->time_ns && give_followers(b, rec->time_ns) ? b->stop : give_one(b, rec);
}

static int merged_snapshot(struct espy_source *src, espy_record_fn fn, void *ctx)
{
	struct merged *m = to_merged(src);
	struct all b = { .m = m, .fn = fn, .ctx = ctx };
	int err = 0;

	for (struct input *in = NULL; err >= 0 && (in = follower(m, in));) {
		in->all = true;
		err = in->ops->snapshot(in->src, keep, in);
	}
	if (err >= 0 && m->lead)
		err = m->lead->ops->snapshot(m->lead->src, give_call, &b);
	if (err >= 0)
		err = give_followers(&b, UINT64_MAX);
	if (!err && !m->lead && m->reaped) {
		const struct espy_rec_task_exit x = command_exit(m);

		err = give_one(&b, &x.rec);
	}
	for (struct input *in = NULL; (in = follower(m, in));) {
		in->head = in->tail = 0;
		in->all = false;
	}
	return err ? err : b.cnt;
}

/* Gives the front of an input; if it is a mark, also the marks behind it that come before any other input's record. */
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
	} while (m->opts.marks.fn && first->type == ESPY_REC_MARK && in->head - begin < RUN_MAX && rec &&
		 rec->type == ESPY_REC_MARK && rec->time_ns < until);
	if (m->opts.marks.fn && first->type == ESPY_REC_MARK)
		return m->opts.marks.fn(ctx, first, in->head - begin);
	return fn(ctx, first);
}

static int merged_poll(struct espy_source *src, espy_record_fn fn, void *ctx, int timeout_ms)
{
	struct merged *m = to_merged(src);
	const uint64_t start = espy_now_ns();

	if (m->opts.rings.flight_bytes)
		return poll_flight(m, fn, ctx, timeout_ms);
	if (m->cnt == 1)
		return poll_alone(m, fn, ctx, timeout_ms);
	for (;;) {
		/* The first one that is not over is waited for. */
		int wait = has_front(m) ? 0 : timeout_ms < 0 || timeout_ms > TURN_MS ? TURN_MS : timeout_ms;
		int err = m->error, cnt = 0, stop = 0;
		struct input *in;

		for (in = m->in; !err && in < m->in + m->cnt; in++) {
			const bool waited = !in->over;

			err = fill(in, wait);
			wait = waited ? 0 : wait;
		}
		if (err)
			return err;
		espy_merge__look(&m->merge);
		while (!stop && (in = espy_merge__next(&m->merge, m->closing ? UINT64_MAX : espy_now_ns())))
			stop = give(m, in, fn, ctx, &cnt);
		if (stop)
			return stop;
		if (cnt)
			return cnt;
		if (is_over(m) && !has_front(m))
			return -ESRCH;
		if ((timeout_ms >= 0 && espy_now_ns() - start >= (uint64_t)timeout_ms * 1000000u) || espy_wake__is_asked(m->opts.wake))
			return 0;
	}
}

/* ---- the whole */

static int merged_set_calls(struct espy_source *src, enum espy_abi abi, const struct espy_call_set *set)
{
	const struct input *lead = to_merged(src)->lead;

	return lead ? lead->ops->set_calls(lead->src, abi, set) : 0;
}

static void merged_stats(struct espy_source *src, struct espy_source_stats *st)
{
	struct merged *m = to_merged(src);

	*st = (struct espy_source_stats){ 0 };
	if (m->lead)
		m->lead->ops->stats(m->lead->src, st);
	/* No task is held for the followers, and no snapshot is theirs alone. */
	for (struct input *in = NULL; (in = follower(m, in));) {
		struct espy_source_stats one = { 0 };

		in->ops->stats(in->src, &one);
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

	if (m->lead)
		return m->lead->ops->command_status(m->lead->src, status);
	if (!m->command)
		return -ECHILD;
	reap(m);
	*status = m->status;
	return m->reaped ? 0 : -EAGAIN;
}

/* The leading one is closed last: the others may wait for agents, whose threads it lets go on meanwhile. */
static void merged_close(struct espy_source *src)
{
	struct merged *m = to_merged(src);

	for (size_t i = 0; i < m->cnt; i++)
		if (m->in[i].src && &m->in[i] != m->lead)
			m->in[i].ops->close(m->in[i].src);
	if (m->lead && m->lead->src)
		m->lead->ops->close(m->lead->src);
	for (size_t i = 0; i < m->cnt; i++)
		free(m->in[i].buf);
	if (m->merge_ready)
		espy_merge__free(&m->merge);
	free(m);
}

/* Notes the inputs, and which of them leads. */
static void set_inputs(struct merged *m, const struct espy_source_ops *const *inputs, size_t cnt)
{
	for (size_t i = 0; i < cnt && i < INPUTS_MAX; i++) {
		struct input *in = &m->in[m->cnt++];
		const size_t used = strlen(m->name);

		*in = (struct input){ .ops = inputs[i], .of = m };
		if (inputs[i]->start_command)
			m->lead = in;
		if (inputs[i]->inside)
			m->guest = in;
		snprintf(m->name + used, sizeof(m->name) - used, "%s%s", i ? " and " : "", inputs[i]->name);
	}
}

int espy_merged_source__open(struct espy_source **out, const struct espy_source_ops *const *inputs, size_t cnt,
			     const struct espy_source_opts *o)
{
	struct merged *m = calloc(1, sizeof(*m));
	struct espy_source_opts so = *o;
	void *merged[INPUTS_MAX];
	int err = 0;

	if (!m)
		return -ENOMEM;
	m->opts = *o;
	set_inputs(m, inputs, cnt);
	m->ops = (struct espy_source_ops){
		.name = m->name,
		.caps = m->lead ? m->lead->ops->caps & ~(unsigned)ESPY_SRC_COUNT : m->in[0].ops->caps,
		.set_calls = merged_set_calls,
		.start_command = merged_start_command,
		.add_target = merged_add_target,
		.remove_target = merged_remove_target,
		.poll = merged_poll,
		.snapshot = o->rings.flight_bytes ? merged_snapshot : NULL,
		.stats = merged_stats,
		.command_status = merged_command_status,
		.close = merged_close,
	};
	m->base.ops = &m->ops;
	so.needs.times = true; /* or else there is no order between them */
	so.count_only = false;
	/* Marks of a single input go through as they are. Marks of a snapshot wait for the records between them. */
	if (m->cnt > 1 || o->rings.flight_bytes)
		so.marks.fn = enqueue_marks;
	for (size_t i = 0; i < m->cnt && !err; i++) {
		merged[i] = &m->in[i];
		err = m->in[i].ops->open(&m->in[i].src, &so);
	}
	err = err ? err : espy_merge__init(&m->merge, peek, merged, m->cnt, WINDOW_NS);
	if (err) {
		merged_close(&m->base);
		return err;
	}
	m->merge_ready = true;
	if (m->guest && m->lead && (!o->rings.flight_bytes || !(m->lead->ops->caps & ESPY_SRC_PASSIVE)))
		m->guest->ops->inside->meanwhile(m->guest->src, let_calls_go_on, m);
	*out = &m->base;
	return 0;
}

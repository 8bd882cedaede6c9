/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records, one after the other: what each changes in the tables, and which line it makes. */
#include "session/impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "record/clock.h"
#include "session/marks.h"
#include "session/recording.h"

/* Of a trace that is shown: is the task one of those asked for? */
static bool is_hidden(const struct espy_session *s, const struct espy_task *task)
{
	for (size_t i = 0; i < s->show->pid_cnt; i++)
		if ((uint32_t)s->show->pids[i] == task->tid || (uint32_t)s->show->pids[i] == task->tgid)
			return false;
	return s->show->pid_cnt;
}

/* NULL: nothing is to be written of this task, or nowhere to. */
static struct espy_sink *sink_of(struct espy_session *s, struct espy_task *task)
{
	char *name;

	if (s->no_lines || (s->per_task_sinks && task->hidden))
		return NULL;
	if (!s->per_task_sinks)
		return &s->sink;
	if (task->sink) {
		task->sink->muted = s->outside;
		return task->sink;
	}
	if (s->outside)
		return NULL; /* no file for lines that are not wanted */
	if (asprintf(&name, "%s.%u", s->o.output, task->tid) < 0)
		return NULL;
	task->sink = calloc(1, sizeof(*task->sink));
	if (!task->sink) {
		free(name);
		return NULL;
	}
	int err = espy_sink__open(task->sink, name, s->o.append);
	if (err) {
		/* The lines of this task have nowhere to go: as with a full disk, the session ends. */
		if (!s->write_error)
			espy_session__say(s, "Can't open '%s': %s", name, strerror(-err));
		s->write_error = -err;
		task->sink->error = -err;
	}
	free(name);
	task->sink->whole_lines = s->show;
	return task->sink;
}

static void close_sink(struct espy_session *s, struct espy_task *task)
{
	if (!task->sink)
		return;
	int err = espy_sink__close(task->sink);

	if (err && !s->write_error)
		s->write_error = -err;
	free(task->sink);
	task->sink = NULL;
}

static void show_deferred(struct espy_session *s, struct espy_sink *sink, struct espy_task *task)
{
	for (size_t i = 0; i < task->deferred_cnt; i++)
		espy_lines__signal(&s->lines, sink, task, &task->deferred[i]);
	task->deferred_cnt = 0;
}

/* A source may send more than is shown: what the tables of descriptors need. */
static bool wants_call(const struct espy_session *s, enum espy_abi abi, uint32_t nr)
{
	if (s->show && nr < ESPY_MAX_SYSCALLS && !(s->recorded[abi][nr / 64] >> (nr % 64) & 1))
		return false;
	return nr < ESPY_MAX_SYSCALLS ? espy_syscall_set__has(&s->o.filter->trace, abi, nr) : s->sets[abi].all_wanted;
}

static bool wants_status(const struct espy_session *s, const struct espy_call_view *v)
{
	if (s->o.status == ESPY_STATUS_ALL)
		return true;
	if (v->no_return)
		return s->o.status & ESPY_STATUS_UNFINISHED;
	bool failed = v->ret < 0 && v->ret >= -4095;

	return s->o.status & (failed ? ESPY_STATUS_FAILED : ESPY_STATUS_SUCCESSFUL);
}

/* The union of -P and --trace-fds: a call that touches none of them is not shown. */
static bool wants_object(struct espy_session *s, const struct espy_call_view *v)
{
	const struct espy_filter *f = s->o.filter;

	if (!f->path_cnt && !f->fds.given)
		return true;
	return espy_touches__match(v, f, &s->resolve.complete);
}

/* A program of another ABI was executed, or this one makes calls of two. */
static void note_abi(struct espy_session *s, struct espy_task *task, enum espy_abi abi)
{
	if (abi == task->abi)
		return;
	task->abi = abi;
	if (s->o.quiet & ESPY_QUIET_PERSONALITY)
		return;
	struct espy_sink *sink = sink_of(s, task);

	if (sink)
		espy_lines__personality(sink, task);
}

static void on_enter(struct espy_session *s, struct espy_task *task, const struct espy_rec *rec)
{
	enum espy_abi abi = espy_rec_abi(rec);

	note_abi(s, task, abi);
	task->last_nr = rec->nr;
	if (espy_tasks__begin_call(&s->tasks, task, rec))
		return;
	if (s->gathers) {
		/* A reader of the trace may show the call before its end is known. */
		if (!espy_call_view__init(&s->view, &s->images[abi], rec, NULL))
			espy_gather__args(&s->gather, &s->view, ESPY_PART_ENTER);
		return;
	}
	if (s->no_lines || s->o.status != ESPY_STATUS_ALL || !wants_call(s, abi, rec->nr))
		return;
	if (espy_call_view__init(&s->view, &s->images[abi], rec, NULL) || !wants_object(s, &s->view))
		return;
	struct espy_sink *sink = sink_of(s, task);
	if (!sink)
		return;
	espy_lines__enter(&s->lines, sink, task, &s->view);
	if (s->passive) {
		/* A passive source tells of an entry only when the call hangs: say so now. */
		espy_lines__interrupt(sink);
	} else {
		s->open_since_ns = rec->time_ns ? rec->time_ns : espy_now_ns();
	}
}

/* The line of a call that has ended, if the filter wants it. */
static void show_call(struct espy_session *s, struct espy_task *task, const struct espy_call_view *v)
{
	if (!wants_call(s, (enum espy_abi)v->image->abi, v->nr))
		return;
	if (v->call == ESPY_NONE)
		s->undescribed++;
	if (s->o.syscall_limit && s->printed >= s->o.syscall_limit)
		return; /* what was on its way when the limit was reached */
	bool shown = (wants_status(s, v) && wants_object(s, v)) || task->enter_shown;

	const bool unseen = task->hidden || s->outside;
	if (shown && s->summary && !unseen)
		espy_summary__call(s->summary, v);
	struct espy_sink *sink = sink_of(s, task);
	if (sink && shown && unseen && !sink->open && !task->enter_shown) {
		/* Nothing would be left of the line. */
		s->lines.last_time_ns = espy_lines__call_time(v);
	} else if (sink && shown) {
		espy_lines__exit(&s->lines, sink, task, v);
		if (s->o.filter->read.given || s->o.filter->write.given) {
			espy_dump__call(&sink->buf, s->o.filter, v);
			espy_sink__whole_lines(sink);
		}
		if (++s->printed == s->o.syscall_limit) {
			espy_session__say(s, "System call limit has been reached, detaching tracees");
			s->stopping = 1;
		}
		if (sink->buf.len > 256 * 1024)
			espy_sink__flush(sink);
	}
	if (sink && task->deferred_cnt)
		show_deferred(s, sink, task);
}

static void on_exit_call(struct espy_session *s, struct espy_task *task, const struct espy_rec *rec)
{
	enum espy_abi abi = espy_rec_abi(rec);
	struct espy_call_view *v = &s->view;
	const struct espy_rec *enter = NULL;

	note_abi(s, task, abi);
	task->last_nr = rec->nr;
	if (task->in_call && task->enter->nr == rec->nr)
		enter = task->enter;
	else
		task->enter_shown = false; /* what was begun has another number: it was never ended */
	task->in_call = false;
	if (espy_call_view__init(v, &s->images[abi], enter, rec)) {
		if (!s->damaged_records++) /* a file may hold millions of them */
			espy_session__say(s, "a record of task %u is damaged and was left out", task->tid);
		return;
	}
	v->tgid = task->tgid;
	if (v->call != ESPY_NONE && !v->ret && (v->image->plans[v->plan].flags & ESPY_PLAN_TWICE))
		return; /* fork and clone returning in the child: strace shows none, and the parent's line tells it */
	espy_resolve__before_args(&s->resolve, v);
	if (s->gathers)
		espy_gather__args(&s->gather, v, ESPY_PART_WHOLE);
	else
		show_call(s, task, v);
	espy_resolve__before_result(&s->resolve);
	if (s->gathers)
		espy_gather__result(&s->gather, v);
	espy_resolve__call(&s->resolve, v);
	if (s->follow_fds && v->call != ESPY_NONE && !v->ret && v->image->plans[v->plan].flags & ESPY_PLAN_NEW_IMAGE)
		espy_resolve__exec(&s->resolve, v->tgid);
}

static void on_fork(struct espy_session *s, const struct espy_task *parent, const struct espy_rec_fork *f)
{
	struct espy_task *child = espy_tasks__find(&s->tasks, f->child_tid);

	if (child && child->detached)
		espy_tasks__remove(&s->tasks, child); /* its number has come round again */
	child = espy_tasks__get(&s->tasks, f->child_tid, f->child_tgid);
	if (!child)
		return;
	child->abi = parent->abi;
	espy_resolve__fork(&s->resolve, f);
	if (s->gathers)
		espy_gather__task(&s->gather, f->child_tid);
	if (!child->announced && espy_session__tells_tasks(s) && !s->targets.wide)
		espy_session__say(s, "Process %u attached", child->tid);
	child->announced = true;
}

void espy_session__drop_task(struct espy_session *s, struct espy_task *task)
{
	close_sink(s, task);
	espy_tasks__detach(&s->tasks, task);
}

static void on_exec(struct espy_session *s, struct espy_task *task, const struct espy_rec_exec *x)
{
	if (s->o.detach_on_execve && (s->command_execed || x->rec.tgid != (uint32_t)s->command_pid))
		s->detach_tid = x->rec.tid;
	s->command_execed = true;
	if (s->gathers)
		espy_gather__task(&s->gather, x->rec.tid);
	if (!x->old_tid || x->old_tid == x->rec.tid)
		return;
	struct espy_task *caller = espy_tasks__find(&s->tasks, x->old_tid);
	struct espy_sink *sink = sink_of(s, task);

	if (sink && !(s->o.quiet & ESPY_QUIET_SUPERSEDED))
		espy_lines__superseded(&s->lines, sink, task, x->old_tid, x->rec.time_ns);
	if (!caller)
		return;
	if (sink && sink->open == task)
		espy_lines__interrupt(sink);
	/* From here on the caller is known by the number of its process; its unfinished execve goes with it. */
	close_sink(s, caller);
	caller->sink = task->sink;
	task->sink = NULL;
	espy_tasks__rename(&s->tasks, caller, x->rec.tid);
}

static void on_signal(struct espy_session *s, struct espy_task *task, const struct espy_rec_signal *sig)
{
	if (s->no_lines || !sig->rec.nr || sig->rec.nr > 64 ||
	    !(s->o.filter->signals >> (sig->rec.nr - 1) & 1))
		return;
	const bool later = sig->rec.flags & ESPY_SIG_IGNORED;

	if (later && task->deferred_cnt < ESPY_DEFERRED_MAX) {
		espy_tasks__defer_signal(&s->tasks, task, sig);
		return;
	}
	struct espy_sink *sink = sink_of(s, task);

	if (!sink)
		return;
	show_deferred(s, sink, task);
	espy_lines__signal(&s->lines, sink, task, sig);
}

static void on_task_exit(struct espy_session *s, struct espy_task *task, const struct espy_rec_task_exit *x)
{
	struct espy_sink *sink = sink_of(s, task);

	if (sink) {
		show_deferred(s, sink, task);
		if (sink->open == task)
			espy_lines__interrupt(sink);
		if (!(s->o.quiet & ESPY_QUIET_EXIT))
			espy_lines__task_exit(&s->lines, sink, task, x);
	}
	espy_resolve__forget(&s->resolve, x->rec.tid, task->tgid, x->group_dead);
	close_sink(s, task);
	espy_tasks__remove(&s->tasks, task);
}

static void on_clock(struct espy_session *s, const struct espy_rec_clock *c)
{
	s->lines.realtime_offset_ns = (int64_t)(c->realtime_ns - c->rec.time_ns);
}

void espy_session__show_unfinished(struct espy_session *s)
{
	struct espy_task *task, *next;

	espy_lines__interrupt(&s->sink);
	HASH_ITER(hh, s->tasks.by_tid, task, next)
	if (task->sink)
		espy_lines__interrupt(task->sink);
}

void espy_session__show_detached(struct espy_session *s)
{
	struct espy_task *task, *next;

	HASH_ITER(hh, s->tasks.by_tid, task, next)
	{
		struct espy_sink *sink = s->per_task_sinks ? task->sink : &s->sink;

		if (sink)
			espy_lines__detached(sink, task);
	}
}

static void on_mark_def(struct espy_session *s, const struct espy_rec_mark_def *def)
{
	if (!s->marks)
		s->marks = espy_marks_seen__new(s->show ? s->o.marks : NULL);
	if (!s->marks || espy_marks_seen__define(s->marks, def))
		espy_session__say(s, "the definition of a mark is damaged and was left out");
}

static void on_mark(struct espy_session *s, struct espy_task *task, const struct espy_rec_mark *mark)
{
	struct espy_sink *sink = sink_of(s, task);
	const struct espy_mark_text *text = s->marks ? espy_marks_seen__event(s->marks, mark) : NULL;

	if (sink)
		espy_lines__mark(&s->lines, sink, task, text, mark);
	if (sink && sink->buf.len > 256 * 1024)
		espy_sink__flush(sink);
}

/* What concerns no task that is watched. true: dealt with. */
static bool on_general(struct espy_session *s, const struct espy_rec *rec)
{
	switch (rec->type) {
	case ESPY_REC_LOST:
		if (!s->no_lines && !s->per_task_sinks)
			espy_lines__lost(&s->sink, (const struct espy_rec_lost *)rec);
		return true;
	case ESPY_REC_FACT:
		espy_resolve__fact(&s->resolve, (const struct espy_rec_fact *)rec);
		return true;
	case ESPY_REC_CLOCK:
		on_clock(s, (const struct espy_rec_clock *)rec);
		return true;
	case ESPY_REC_END:
		if (rec->flags & ESPY_END_DETACHED)
			espy_session__show_detached(s);
		return true;
	case ESPY_REC_MARK_DEF:
		on_mark_def(s, (const struct espy_rec_mark_def *)rec);
		return true;
	case ESPY_REC_MARK:
		return s->show && s->o.marks &&
		       !(s->marks && espy_marks_seen__wants(s->marks, (const struct espy_rec_mark *)rec));
	case ESPY_REC_PAD:
	case ESPY_REC_MAP:
		return true;
	default:
		return !rec->tid; /* of a later version: not for us */
	}
}

static void on_task_record(struct espy_session *s, struct espy_task *task, const struct espy_rec *rec)
{
	switch (rec->type) {
	case ESPY_REC_ATTACHED:
		task->announced = true;
		if (rec->flags & ESPY_ATTACHED_LONG_AGO) {
			task->abi = espy_rec_abi(rec);
			task->last_nr = rec->nr;
		}
		if (s->gathers)
			espy_gather__task(&s->gather, rec->tid);
		break;
	case ESPY_REC_ENTER:
		on_enter(s, task, rec);
		break;
	case ESPY_REC_EXIT:
		on_exit_call(s, task, rec);
		break;
	case ESPY_REC_FORK:
		on_fork(s, task, (const struct espy_rec_fork *)rec);
		break;
	case ESPY_REC_EXEC:
		on_exec(s, task, (const struct espy_rec_exec *)rec);
		break;
	case ESPY_REC_TASK_EXIT:
		on_task_exit(s, task, (const struct espy_rec_task_exit *)rec);
		break;
	case ESPY_REC_SIGNAL:
		on_signal(s, task, (const struct espy_rec_signal *)rec);
		break;
	case ESPY_REC_STOPPED:
		if (sink_of(s, task) && rec->nr && rec->nr <= 64 && (s->o.filter->signals >> (rec->nr - 1) & 1))
			espy_lines__stopped(&s->lines, sink_of(s, task), task, rec);
		break;
	case ESPY_REC_FDNAME:
		espy_resolve__fdname(&s->resolve, (const struct espy_rec_fdname *)rec);
		break;
	case ESPY_REC_MARK:
		on_mark(s, task, (const struct espy_rec_mark *)rec);
		break;
	default: /* what later sources send: no line of its own */
		break;
	}
}

/* Types after which a task is not made known: what they tell of may be no task of ours. */
static bool makes_known(const struct espy_rec *rec)
{
	return rec->type <= ESPY_REC_ATTACHED || rec->type == ESPY_REC_MARK;
}

/*
 * Marks alone of a trace that has more: what a live session without a source of calls would not have been told, so that the
 * lines are the same.
 */
static bool is_beside_marks(struct espy_session *s, const struct espy_rec *rec)
{
	if (rec->type == ESPY_REC_ATTACHED && rec->flags & ESPY_ATTACHED_COMMAND)
		s->shown_command = rec->tid;
	if (!s->show || !s->o.marks_only || rec->type == ESPY_REC_MARK || rec->type == ESPY_REC_ATTACHED)
		return false;
	return rec->type != ESPY_REC_TASK_EXIT || rec->tid != s->shown_command;
}

/*
 * What --from and --to leave is one piece of the stream, from the first record that is not before to the first that is
 * behind: so the pieces of two neighbouring times are together what both times are.
 */
static void note_window(struct espy_session *s, uint64_t time_ns)
{
	if (s->outside && time_ns >= s->from_ns && time_ns)
		s->outside = false;
	if (s->to_ns && time_ns > s->to_ns) {
		s->outside = true;
		s->stopping = 1;
	}
	s->sink.muted = s->outside;
}

int espy_session__record(void *session, const struct espy_rec *rec)
{
	struct espy_session *s = session;

	if (s->recording)
		espy_recording__expect(s->recording, rec, rec->size);
	espy_resolve__begin(&s->resolve, rec->time_ns);
	if (s->show) {
		if (rec->type != ESPY_REC_CLOCK) /* taken when the recorder began to write, maybe long after what follows */
			note_window(s, rec->time_ns);
		if (rec->type == ESPY_REC_ENTER || rec->type == ESPY_REC_EXIT)
			espy_session__need_image(s, rec);
	}
	/* So that the text does not depend on when the record was read: by its own time. */
	if (s->sink.open && rec->time_ns)
		espy_session__mark_hanging(s, rec->time_ns);
	if (!on_general(s, rec) && !is_beside_marks(s, rec)) {
		struct espy_task *task = makes_known(rec) ? espy_tasks__get(&s->tasks, rec->tid, rec->tgid)
							  : espy_tasks__find(&s->tasks, rec->tid);

		if (task && task->detached) {
			if (rec->type == ESPY_REC_TASK_EXIT)
				espy_tasks__remove(&s->tasks, task);
			return 0;
		}
		if (task && rec->tgid)
			task->tgid = rec->tgid;
		if (task && s->show)
			task->hidden = is_hidden(s, task);
		if (task)
			on_task_record(s, task, rec);
	}
	if (s->recording)
		espy_recording__append(s->recording, rec);
	if (s->sink.error && !s->write_error)
		s->write_error = s->sink.error;
	return s->write_error || s->stopping || s->detach_tid;
}

/* Marks of one task and one definition, which lie between two places of a run. */
static const struct espy_rec_mark *same_marks(const struct espy_rec_mark *first, const uint8_t *end, uint64_t *cnt,
					      const struct espy_rec_mark **last)
{
	const struct espy_rec_mark *m = first;

	for (*cnt = 0; (const uint8_t *)m < end && m->rec.tid == first->rec.tid && m->def == first->def; ++*cnt) {
		*last = m;
		m = (const struct espy_rec_mark *)(const void *)((const uint8_t *)m + m->rec.size);
	}
	return m;
}

/*
 * A recording alone needs nothing of a mark but its count and its task: the run goes to the file as it lies. Of tasks
 * that were let go nothing is kept, so there may be holes.
 */
static void record_marks(struct espy_session *s, const struct espy_rec *first, const uint8_t *end)
{
	const struct espy_rec_mark *m = (const struct espy_rec_mark *)first, *piece = m, *next, *last = m;
	uint64_t cnt;

	espy_recording__expect(s->recording, first, (size_t)(end - (const uint8_t *)first));
	espy_resolve__begin(&s->resolve, first->time_ns);
	for (; (const uint8_t *)m < end; m = next) {
		struct espy_task *task = espy_tasks__get(&s->tasks, m->rec.tid, m->rec.tgid);

		next = same_marks(m, end, &cnt, &last);
		if (task && task->detached) {
			espy_recording__marks(s->recording, piece,
					      (size_t)((const uint8_t *)m - (const uint8_t *)piece));
			piece = next;
			continue;
		}
		if (task && m->rec.tgid)
			task->tgid = m->rec.tgid;
		if (s->marks)
			espy_marks_seen__events(s->marks, m, last, cnt);
	}
	s->resolve.now_ns = last->rec.time_ns;
	espy_recording__marks(s->recording, piece, (size_t)(end - (const uint8_t *)piece));
}

int espy_session__marks(void *session, const struct espy_rec *first, size_t size)
{
	struct espy_session *s = session;
	const uint8_t *at = (const uint8_t *)first, *end = at + size;
	int stop = 0;

	if (s->recording && s->no_lines && !s->show && !s->sink.open) {
		record_marks(s, first, end);
		return s->write_error || s->stopping || s->detach_tid;
	}
	for (; at < end; at += ((const struct espy_rec *)(const void *)at)->size)
		stop |= espy_session__record(s, (const struct espy_rec *)(const void *)at);
	return stop;
}

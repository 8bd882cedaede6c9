/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Dispatches records, one after the other: applies each to the state, and gives its event to the engines. */
#include "lib/session_impl.h"

#include <fcntl.h>
#include <string.h>
#include "base/clock.h"
#include "state/fd_table.h"
#include "state/marks_seen.h"

/* ---- events */

/*
 * Fills in an event, each member by itself: compilers fill a struct of this size by an instruction that takes longer to
 * begin than this whole function.
 */
static void set_event(struct espy_event *e, struct espy_session *s, unsigned type, struct espy_task *task, const struct espy_rec *rec)
{
	e->type = type;
	e->withheld = e->args_shown = 0;
	e->rec = rec;
	e->task = task;
	e->other = NULL;
	e->tid = task ? task->tid : 0;
	e->tgid = task ? task->tgid : 0;
	e->time_ns = rec ? rec->time_ns : 0;
	e->image = &s->pipe.images[ESPY_ABI_NATIVE];
	e->call = NULL;
	e->mark = NULL;
	e->broken_off = e->decoded = false;
	e->session = s;
	e->cwd = NULL;
	e->args.at = e->result.at = NULL;
	e->args.cnt = e->result.cnt = 0;
}

static struct espy_event make_event(struct espy_session *s, unsigned type, struct espy_task *task, const struct espy_rec *rec)
{
	struct espy_event e;

	set_event(&e, s, type, task, rec);
	return e;
}

static void plain_event(struct espy_session *s, unsigned type, struct espy_task *task, const struct espy_rec *rec)
{
	struct espy_event e = make_event(s, type, task, rec);

	espy_session__event(s, &e);
}

static bool is_wanted(const struct espy_session *s, unsigned type)
{
	for (unsigned i = 0; i < s->engines.cnt; i++)
		if (s->engines.v[i]->events & type)
			return true;
	return false;
}

/* Tells whether an engine wants the call. A source may send more calls: the state needs them for its tables of descriptors. */
static bool is_call_wanted(const struct espy_session *s, unsigned type, enum espy_abi abi, uint32_t nr)
{
	for (unsigned i = 0; i < s->engines.cnt; i++)
		if (s->engines.v[i]->events & type && espy_engine__wants_call(s->engines.v[i], abi, nr))
			return true;
	return false;
}

/* Tells whether an engine selects by paths. */
static bool has_paths(const struct espy_session *s)
{
	for (unsigned i = 0; i < s->engines.cnt; i++)
		if (s->engines.v[i]->filter->path_cnt)
			return true;
	return false;
}

/* Returns a copy of the working directory of a task, because the current call may change it. Returns NULL if it is not known. */
static const char *copy_cwd(struct pipeline *p, const struct espy_task *task)
{
	const struct espy_fd_name *n = espy_state__fd(p->state, task->tid, AT_FDCWD);

	if (!n || strlen(n->name) >= sizeof(p->cwd))
		return NULL;
	return strcpy(p->cwd, n->name);
}

/* Tells whether the task has died in the call. The effect of the call on its arguments stays unknown then. */
static bool is_broken_off(const struct espy_call_view *v)
{
	return v->no_return && !(v->plan < v->image->plan_cnt && v->image->plans[v->plan].flags & ESPY_PLAN_NO_RETURN);
}

/*
 * Decodes the values of a call, once for all engines that want them. The arguments are as the state knew the tracee before
 * the call, the result as the state knows it after the call.
 */
static void decode_call(struct espy_session *s, struct espy_event *e)
{
	struct pipeline *p = &s->pipe;
	struct espy_task_notes *notes = espy_task_notes(e->task);
	const bool ended = e->type == ESPY_EVENT_CALL_END;
	unsigned manners = 0;

	for (unsigned i = 0; i < s->engines.cnt; i++)
		manners |= espy_engine__manners(s->engines.v[i], e, &p->stream);
	const bool broken_off = ended && is_broken_off(e->call), known = broken_off && notes->args_shown;
	if (manners && ended && !broken_off)
		espy_decoder__args(&p->decoder, e->call, manners, notes->args_shown);
	else if (manners && !known)
		notes->args_shown = espy_decoder__begin(&p->decoder, e->call, manners);
	else if (!ended)
		notes->args_shown = 0;
	e->args_shown = notes->args_shown;
	e->broken_off = broken_off;
	if (ended)
		notes->args_shown = 0;
	if (manners && has_paths(s))
		e->cwd = copy_cwd(p, e->task);
	if (ended)
		espy_state__before_result(p->state);
	if (!manners)
		return;
	e->decoded = true;
	if (ended) {
		espy_decoder__result(&p->decoder, e->call, manners);
		e->result = espy_token_list__view(&p->decoder.result);
	}
	if (!known)
		e->args = espy_token_list__view(&p->decoder.args);
}

static void call_event(struct espy_session *s, unsigned type, struct espy_task *task, const struct espy_rec *rec,
		       const struct espy_call_view *v)
{
	struct espy_event e;

	set_event(&e, s, type, task, rec);
	e.call = v;
	e.image = v->image;
	decode_call(s, &e);
	espy_session__event(s, &e);
}

static void show_abi(struct espy_session *s, struct espy_task *task, const struct espy_rec *rec)
{
	if (task->abi_changed)
		plain_event(s, ESPY_EVENT_MODE, task, rec);
}

static void on_enter(struct espy_session *s, struct espy_task *task, const struct espy_rec *rec)
{
	show_abi(s, task, rec);
	if (!task->in_call || (!s->pipe.gathers && !is_call_wanted(s, ESPY_EVENT_CALL_BEGIN, rec->abi, rec->nr)))
		return;
	if (espy_call_view__init(&s->pipe.view, &s->pipe.images[rec->abi], rec, NULL))
		return;
	espy_long_items__join(&s->pipe.long_items, &s->pipe.view);
	/* A reader of the trace may show the call before the trace has the end of the call. */
	if (s->pipe.gathers)
		espy_prefetch__args(&s->pipe.prefetch, &s->pipe.view);
	call_event(s, ESPY_EVENT_CALL_BEGIN, task, rec, &s->pipe.view);
}

static void show_call(struct espy_session *s, struct espy_task *task, const struct espy_rec *rec)
{
	if (!is_call_wanted(s, ESPY_EVENT_CALL_END, rec->abi, rec->nr))
		return;
	if (s->pipe.view.call == ESPY_NONE)
		s->run.undescribed++;
	call_event(s, ESPY_EVENT_CALL_END, task, rec, &s->pipe.view);
}

/* Shows a call that has ended. Returns the call if the session could read it and its effects are to be applied; else NULL. */
static const struct espy_call_view *on_exit_call(struct espy_session *s, struct espy_task *task,
						 const struct espy_rec *rec)
{
	enum espy_abi abi = rec->abi;
	struct pipeline *p = &s->pipe;
	struct espy_call_view *v = &p->view;
	const struct espy_rec *enter = NULL;

	show_abi(s, task, rec);
	if (task->in_call && task->enter->nr == rec->nr && task->enter->abi == rec->abi)
		enter = task->enter;
	if (espy_call_view__init(v, &p->images[abi], enter, rec)) {
		if (!s->run.damaged++) /* a trace may hold millions of damaged records */
			espy_session__say(s, ESPY_TOPIC_GENERAL, "a record of task %u is damaged and was left out", task->tid);
		return NULL;
	}
	espy_long_items__join(&p->long_items, v);
	v->tgid = task->tgid;
	if (v->call != ESPY_NONE && !v->ret && (v->image->plans[v->plan].flags & ESPY_PLAN_TWICE))
		/* fork and clone return in the child, too: strace shows no such line, and the parent's line tells of the child */
		return NULL;
	espy_state__before_args(p->state, v);
	if (p->gathers) {
		espy_prefetch__args(&p->prefetch, v);
		espy_session__where(s, v); /* the answers to the condition's questions become part of the trace */
	}
	show_call(s, task, rec);
	espy_state__before_result(p->state);
	if (p->gathers)
		espy_prefetch__result(&p->prefetch, v);
	return v;
}

static void on_fork(struct espy_session *s, struct espy_task *parent, const struct espy_rec_fork *f)
{
	struct espy_task *child = espy_state__task(s->pipe.state, f->child_tid);

	if (!child)
		return;
	if (!espy_task_notes(child)->announced && !s->pipe.stream.origin.wide)
		espy_session__say(s, ESPY_TOPIC_TASKS, "Process %u attached", child->tid);
	espy_task_notes(child)->announced = true;
	struct espy_event e = make_event(s, ESPY_EVENT_FORK, parent, &f->rec);
	e.other = child;
	espy_session__event(s, &e);
}

void espy_session__drop_task(struct espy_session *s, struct espy_task *task)
{
	plain_event(s, ESPY_EVENT_DETACH, task, NULL);
	espy_state__detach(s->pipe.state, task);
}

static void on_exec(struct espy_session *s, struct espy_task *task, const struct espy_rec_exec *x)
{
	struct espy_event e = make_event(s, ESPY_EVENT_EXEC, task, &x->rec);

	if (s->o.detach_on_execve &&
	    (s->targets.command_execed || x->rec.tgid != (uint32_t)s->targets.command_pid))
		s->targets.detach_tid = x->rec.tid;
	s->targets.command_execed = true;
	/*
	 * From here on the task that called execve has the number of its process. Its unfinished execve goes with the task
	 * (e.other) to that number.
	 */
	if (x->old_tid && x->old_tid != x->rec.tid)
		e.other = espy_state__task(s->pipe.state, x->old_tid);
	espy_session__event(s, &e);
}

void espy_session__detached(struct espy_session *s)
{
	if (!is_wanted(s, ESPY_EVENT_DETACH))
		return;
	for (struct espy_task *t = NULL; (t = espy_state__next_task(s->pipe.state, t));)
		if (!t->detached)
			plain_event(s, ESPY_EVENT_DETACH, t, NULL);
}

static void on_definition(struct espy_session *s)
{
	const uint64_t bad = espy_state__bad_definitions(s->pipe.state);

	if (bad != s->run.bad_definitions)
		espy_session__say(s, ESPY_TOPIC_GENERAL, "the definition of a mark or a probe is damaged and was left out");
	s->run.bad_definitions = bad;
}

/* Gives the event of a mark or of a hit of a probe. def: the number of its definition. */
static void on_mark(struct espy_session *s, unsigned type, struct espy_task *task, const struct espy_rec *rec,
		    uint32_t def)
{
	struct espy_marks_seen *seen = espy_state__marks_seen(s->pipe.state);
	struct espy_event e = make_event(s, type, task, rec);

	e.mark = seen ? espy_marks_seen__event(seen, def, rec->time_ns) : NULL;
	espy_session__event(s, &e);
}

/* Gives the event of a record that is about no watched task. */
static void on_general(struct espy_session *s, const struct espy_rec *rec)
{
	switch (rec->type) {
	case ESPY_REC_LOST:
		plain_event(s, ESPY_EVENT_LOSS, NULL, rec);
		break;
	case ESPY_REC_END:
		if (rec->flags & ESPY_END_DETACHED)
			espy_session__detached(s);
		break;
	case ESPY_REC_MARK_DEF:
	case ESPY_REC_PROBE_DEF:
		on_definition(s);
		break;
	case ESPY_REC_STACK:
		plain_event(s, ESPY_EVENT_STACK, NULL, rec);
		break;
	}
}

/*
 * Gives the event of a record about a watched task. Returns the call if the record ends a call whose effects are to be
 * applied; else NULL.
 */
static const struct espy_call_view *on_task_record(struct espy_session *s, struct espy_task *task,
						   const struct espy_rec *rec)
{
	/* These events tell nothing but the record. */
	static const unsigned plain[] = {
		[ESPY_REC_TASK_EXIT] = ESPY_EVENT_EXIT,	 [ESPY_REC_SIGNAL] = ESPY_EVENT_SIGNAL,
		[ESPY_REC_STOPPED] = ESPY_EVENT_STOPPED, [ESPY_REC_PAUSE] = ESPY_EVENT_PAUSE,
		[ESPY_REC_STACK] = ESPY_EVENT_STACK,
	};

	switch (rec->type) {
	case ESPY_REC_ATTACHED:
		espy_task_notes(task)->announced = true;
		plain_event(s, ESPY_EVENT_ATTACH, task, rec);
		break;
	case ESPY_REC_ENTER:
		on_enter(s, task, rec);
		break;
	case ESPY_REC_EXIT:
		return on_exit_call(s, task, rec);
	case ESPY_REC_FORK:
		on_fork(s, task, (const struct espy_rec_fork *)rec);
		break;
	case ESPY_REC_EXEC:
		on_exec(s, task, (const struct espy_rec_exec *)rec);
		break;
	case ESPY_REC_DETACHED:
		if (rec->nr == ESPY_DETACHED_RIGHTS)
			espy_session__say(
				s, ESPY_TOPIC_GENERAL,
				"Process %u runs a program that its user may not trace: it is watched no longer", task->tid);
		espy_session__drop_task(s, task);
		break;
	case ESPY_REC_MARK:
		on_mark(s, ESPY_EVENT_MARK, task, rec, ((const struct espy_rec_mark *)rec)->def);
		break;
	case ESPY_REC_PROBE:
		on_mark(s, ESPY_EVENT_PROBE, task, rec, ((const struct espy_rec_probe *)rec)->def);
		break;
	case ESPY_REC_MORE:
		espy_long_items__add(&s->pipe.long_items, (const struct espy_rec_more *)rec);
		break;
	default: /* the others have no event */
		if (rec->type < sizeof(plain) / sizeof(plain[0]) && plain[rec->type])
			plain_event(s, plain[rec->type], task, rec);
	}
	return NULL;
}

/*
 * Tells whether to leave out a record of a trace of which only marks are shown (no_calls). The session leaves out each
 * record that a live session without a source of calls would not get, so that both show the same lines. Also notes
 * the number of the command's task.
 */
static bool is_beside_marks(struct espy_session *s, const struct espy_rec *rec)
{
	if (rec->type == ESPY_REC_ATTACHED && rec->flags & ESPY_ATTACHED_COMMAND)
		s->window.command = rec->tid;
	if (!s->trace || !s->o.no_calls || rec->type == ESPY_REC_MARK || rec->type == ESPY_REC_PROBE ||
	    rec->type == ESPY_REC_ATTACHED)
		return false;
	return rec->type != ESPY_REC_TASK_EXIT || rec->tid != s->window.command;
}

/*
 * Tells whether an engine wants the record. A trace may hold more marks than the engines want, and some sources cannot test
 * all conditions.
 */
static bool is_record_wanted(const struct espy_session *s, const struct espy_rec *rec)
{
	for (unsigned i = 0; i < s->engines.cnt; i++)
		if (espy_engine__wants_record(s->engines.v[i], rec))
			return true;
	return false;
}

/* Tells whether the record is no part of the shown stream. The session does not apply such a record to the state either. */
static bool is_left_out(struct espy_session *s, const struct espy_rec *rec)
{
	switch (rec->type) {
	case ESPY_REC_LOST:
	case ESPY_REC_FACT:
	case ESPY_REC_CLOCK:
	case ESPY_REC_END:
	case ESPY_REC_MARK_DEF:
	case ESPY_REC_PROBE_DEF:
		return false;
	case ESPY_REC_MARK:
	case ESPY_REC_PROBE:
		return !is_record_wanted(s, rec);
	default:
		return is_beside_marks(s, rec);
	}
}

/*
 * Gives the event of a record: applies its first half to the state, calls the engines, applies its second half. *call is
 * the call that the record ends. Returns false if the session has dropped the record's task.
 */
static bool on_record(struct espy_session *s, const struct espy_rec *rec, const struct espy_call_view **call)
{
	const struct espy_call_view *v = NULL;
	struct espy_task *task;

	if (!espy_state__apply(s->pipe.state, rec, &task))
		return false;
	if (task)
		v = on_task_record(s, task, rec);
	else
		on_general(s, rec);
	espy_state__applied(s->pipe.state, rec, v);
	*call = v;
	return true;
}

/*
 * Notes whether the stream is inside --from and --to. A session shows the stream from the first record that is not before
 * --from. It stops at the first record that is behind --to. So it always shows a contiguous piece of the stream: the pieces
 * of two neighbouring times together are the piece of both times.
 */
static void note_window(struct espy_session *s, uint64_t time_ns)
{
	if (s->pipe.stream.outside && time_ns >= s->window.from_ns && time_ns)
		s->pipe.stream.outside = false;
	if (s->window.to_ns && time_ns > s->window.to_ns) {
		s->pipe.stream.outside = true;
		s->run.stopping = true;
	}
}

/* ---- sinks of records */

/* Returns the next engine whose sink takes records, from index *i on, and moves *i behind it. Returns NULL behind the last. */
static struct espy_engine *next_recorder(const struct espy_session *s, unsigned *i)
{
	while (*i < s->engines.cnt) {
		struct espy_engine *e = s->engines.v[(*i)++];

		if (e->sink && e->sink->ops->record && !e->gone && !e->sink->error)
			return e;
	}
	return NULL;
}

static void expect(struct espy_session *s, const struct espy_rec *rec, size_t size)
{
	struct espy_engine *e;

	for (unsigned i = 0; (e = next_recorder(s, &i));)
		e->sink->ops->expect(e->sink, rec, size);
	if (s->run.clock_ns)
		return;
	s->run.clock_ns = espy_now_ns();
	espy_session__clock(s);
}

static void record(struct espy_session *s, const struct espy_rec *rec, const struct espy_call_view *call)
{
	struct espy_engine *e;

	for (unsigned i = 0; (e = next_recorder(s, &i));)
		if (espy_engine__wants_record(e, rec))
			e->sink->ops->record(e->sink, rec, call);
}

void espy_session__note_errors(struct espy_session *s)
{
	for (unsigned i = 0; i < s->engines.cnt; i++) {
		const struct espy_engine *e = s->engines.v[i];

		if (e->sink && e->sink->error && e->ends_session && !s->run.error) {
			s->run.error = e->sink->error;
			s->run.failed = e->name;
		}
	}
}

static int stop_asked(struct espy_session *s)
{
	espy_session__note_errors(s);
	return s->run.error || (!s->run.draining && (s->run.stopping || s->run.stop_asked)) || s->targets.detach_tid;
}

static void define(struct espy_session *s, const struct espy_rec *rec)
{
	for (unsigned i = 0; i < s->engines.cnt; i++) {
		if (s->engines.v[i]->mark_filter)
			espy_def_filter__define(s->engines.v[i]->mark_filter, rec);
		if (s->engines.v[i]->probe_filter)
			espy_def_filter__define(s->engines.v[i]->probe_filter, rec);
	}
}

int espy_session__record(void *session, const struct espy_rec *rec)
{
	const struct espy_call_view *call = NULL;
	struct espy_session *s = session;

	espy_session__serve_requests(s);
	if (s->engines.record_sinks)
		expect(s, rec, rec->size);
	if (s->trace) {
		if (rec->type != ESPY_REC_CLOCK) /* the recorder took it when it began to write, maybe long after the records that follow */
			note_window(s, rec->time_ns);
		if (rec->type == ESPY_REC_ENTER || rec->type == ESPY_REC_EXIT)
			espy_session__need_image(s, rec);
	}
	if (rec->type == ESPY_REC_MARK_DEF || rec->type == ESPY_REC_PROBE_DEF)
		define(s, rec);
	if (!is_left_out(s, rec)) {
		if (!on_record(s, rec, &call))
			return 0;
		if (s->engines.record_sinks)
			record(s, rec, call);
		if (s->pipe.long_items.cnt && (rec->type == ESPY_REC_EXIT || rec->type == ESPY_REC_TASK_EXIT))
			espy_long_items__forget(&s->pipe.long_items, rec->tid);
	}
	return stop_asked(s);
}

/*
 * Finds the marks of one task and one definition that a run begins with. Writes their number to *cnt and the last of them
 * to *last. Returns the place behind them.
 */
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
 * Records a run of marks. A recorder alone needs nothing of a mark but its count and its task: it writes the run to the
 * file as it lies. The trace leaves out the marks of tasks that the session has dropped, so the run may be written in
 * pieces.
 */
static void record_marks(struct espy_session *s, struct espy_sink *r, const struct espy_rec *first, const uint8_t *end)
{
	const struct espy_rec_mark *m = (const struct espy_rec_mark *)first, *piece = m, *next, *last = m;
	uint64_t cnt;

	expect(s, first, (size_t)(end - (const uint8_t *)first));
	for (; (const uint8_t *)m < end; m = next) {
		next = same_marks(m, end, &cnt, &last);
		if (espy_state__marks(s->pipe.state, m, last, cnt))
			continue;
		r->ops->marks(r, piece, (size_t)((const uint8_t *)m - (const uint8_t *)piece));
		piece = next;
	}
	r->ops->marks(r, piece, (size_t)(end - (const uint8_t *)piece));
}

int espy_session__marks(void *session, const struct espy_rec *first, size_t size)
{
	struct espy_session *s = session;
	const uint8_t *at = (const uint8_t *)first, *end = at + size;
	int stop = 0;

	espy_session__serve_requests(s);
	if (s->engines.cnt == 1 && s->engines.record_sinks && !s->engines.v[0]->mark_filter) {
		record_marks(s, s->engines.v[0]->sink, first, end);
		return stop_asked(s);
	}
	for (; at < end; at += ((const struct espy_rec *)(const void *)at)->size)
		stop |= espy_session__record(s, (const struct espy_rec *)(const void *)at);
	return stop;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state as an object: it gives records to the parts that they change, and questions to the part that answers. */
#include "state/state.h"

#include <errno.h>
#include <stdlib.h>
#include "base/restart.h"
#include "state/clocks.h"
#include "state/marks_seen.h"
#include "state/resolve.h"

struct espy_state {
	struct espy_state_opts o;
	struct espy_tasks tasks;
	struct espy_resolve resolve;
	struct espy_marks_seen *marks; /* made with the first definition */
	struct espy_zone zone;
	struct espy_budget budget;
	bool numbers_told; /* of new tasks in pid namespaces */
	struct espy_clocks clocks;
	uint64_t bad_definitions;
};

/* Begins with the parts that records fill, empty. */
static void begin(struct espy_state *s)
{
	struct espy_budget *budget = s->o.max_bytes ? &s->budget : NULL;

	s->tasks = (struct espy_tasks){ .budget = budget,
					.slot_sz = s->o.slot_sz,
					.drop_slot = s->o.drop_slot,
					.slot_ctx = s->o.slot_ctx };
	s->resolve = (struct espy_resolve){ .lookups = s->o.lookups,
					    .tasks = &s->tasks,
					    .zone = &s->zone,
					    .fds.budget = budget,
					    .pids.budget = budget,
					    .ask_once = s->o.ask_once,
					    .note = s->resolve.note,
					    .note_ctx = s->resolve.note_ctx };
}

static void end(struct espy_state *s)
{
	espy_tasks__clear(&s->tasks);
	espy_resolve__clear(&s->resolve);
	espy_marks_seen__free(s->marks);
	s->marks = NULL;
	s->clocks.cnt = 0;
}

int espy_state__new(struct espy_state **out, const struct espy_state_opts *opts)
{
	struct espy_state *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->o = *opts;
	s->budget.max = opts->max_bytes;
	begin(s);
	*out = s;
	return 0;
}

void espy_state__reset(struct espy_state *s)
{
	end(s);
	begin(s);
}

void espy_state__free(struct espy_state *s)
{
	if (!s)
		return;
	end(s);
	free(s);
}

void espy_state__numbers_are_told(struct espy_state *s)
{
	s->numbers_told = true;
}

void espy_state__keep_facts(struct espy_state *s, espy_record_fn fn, void *ctx)
{
	s->resolve.note = fn;
	s->resolve.note_ctx = ctx;
	s->resolve.note_stop = 0;
}

/* ---- records */

static void on_fork(struct espy_state *s, struct espy_task *parent, const struct espy_rec_fork *f)
{
	const enum espy_abi abi = parent->abi;
	struct espy_task *child = espy_tasks__find(&s->tasks, f->child_tid);

	parent->born = f->child_tid;
	if (child && child->detached)
		espy_tasks__remove(&s->tasks, child); /* its number has come round again */
	child = espy_tasks__get(&s->tasks, f->child_tid, f->child_tgid);
	if (!child)
		return;
	child->abi = abi;
	espy_resolve__fork(&s->resolve, f);
	if (s->o.names) {
		espy_resolve__comm(&s->resolve, f->child_tid);
		if (!s->numbers_told)
			espy_resolve__ask_pid_numbers(&s->resolve, f->child_tid);
	}
}

static void on_call(struct espy_task *task, const struct espy_rec *rec)
{
	const enum espy_abi abi = (enum espy_abi)rec->abi;

	task->abi_changed = abi != task->abi;
	task->abi = abi;
	task->last_nr = rec->nr;
}

static void on_definition(struct espy_state *s, const struct espy_rec *def)
{
	if (!s->marks)
		s->marks = espy_marks_seen__new();
	if (!s->marks || espy_marks_seen__define(s->marks, def))
		s->bad_definitions++;
}

/* Applies a record that concerns no watched task. Returns false if it concerns one. */
static bool apply_general(struct espy_state *s, const struct espy_rec *rec)
{
	switch (rec->type) {
	case ESPY_REC_FACT:
		espy_resolve__fact(&s->resolve, (const struct espy_rec_fact *)rec);
		return true;
	case ESPY_REC_CLOCK:
		espy_clocks__add(&s->clocks, (const struct espy_rec_clock *)rec);
		return true;
	case ESPY_REC_MARK_DEF:
	case ESPY_REC_PROBE_DEF:
		on_definition(s, rec);
		return true;
	case ESPY_REC_LOST:
	case ESPY_REC_END:
	case ESPY_REC_PAD:
	case ESPY_REC_MAP:
		return true;
	default:
		return !rec->tid; /* a later version's */
	}
}

static void apply_to_task(struct espy_state *s, struct espy_task *task, const struct espy_rec *rec)
{
	switch (rec->type) {
	case ESPY_REC_ATTACHED:
		if (rec->flags & ESPY_ATTACHED_LONG_AGO) {
			task->abi = (enum espy_abi)rec->abi;
			task->last_nr = rec->nr;
			if (rec->flags & ESPY_ATTACHED_INTERRUPTED)
				task->interrupted_nr = rec->nr;
		}
		if (s->o.names) {
			espy_resolve__comm(&s->resolve, rec->tid);
			espy_resolve__ask_pid_numbers(&s->resolve, rec->tid);
		}
		break;
	case ESPY_REC_ENTER:
		on_call(task, rec);
		espy_tasks__begin_call(&s->tasks, task, rec);
		break;
	case ESPY_REC_EXIT:
		if (rec->abi != ESPY_ABI_IO_URING)
			on_call(task, rec);
		break;
	case ESPY_REC_FORK:
		on_fork(s, task, (const struct espy_rec_fork *)rec);
		break;
	case ESPY_REC_EXEC:
		if (s->o.names)
			espy_resolve__comm_changed(&s->resolve, rec->tid);
		break;
	case ESPY_REC_FDNAME:
		espy_resolve__fdname(&s->resolve, (const struct espy_rec_fdname *)rec);
		break;
	default: /* the others change nothing */
		break;
	}
}

/* Tells whether a record makes its task known. The other types may tell of a task that is not watched. */
static bool makes_known(const struct espy_rec *rec)
{
	return rec->type <= ESPY_REC_ATTACHED || rec->type == ESPY_REC_MARK || rec->type == ESPY_REC_PROBE ||
	       rec->type == ESPY_REC_MORE;
}

bool espy_state__apply(struct espy_state *s, const struct espy_rec *rec, struct espy_task **task)
{
	*task = NULL;
	espy_resolve__begin(&s->resolve, rec->time_ns);
	if (apply_general(s, rec))
		return true;
	*task = makes_known(rec) ? espy_tasks__get(&s->tasks, rec->tid, rec->tgid)
				 : espy_tasks__find(&s->tasks, rec->tid);
	if (!*task)
		return true;
	if ((*task)->detached) {
		if (rec->type == ESPY_REC_TASK_EXIT)
			espy_tasks__remove(&s->tasks, *task);
		*task = NULL;
		return false;
	}
	if (rec->tgid)
		(*task)->tgid = rec->tgid;
	(*task)->abi_changed = false;
	apply_to_task(s, *task, rec);
	return true;
}

void espy_state__before_args(struct espy_state *s, const struct espy_call_view *v)
{
	espy_resolve__before_args(&s->resolve, v);
}

void espy_state__before_result(struct espy_state *s)
{
	espy_resolve__before_result(&s->resolve);
}

/* Gives a thread that has become its process by an exec the number of that process. */
static void after_exec(struct espy_state *s, const struct espy_rec_exec *x)
{
	struct espy_task *caller;

	if (!x->old_tid || x->old_tid == x->rec.tid)
		return;
	caller = espy_tasks__find(&s->tasks, x->old_tid);
	if (caller)
		espy_tasks__rename(&s->tasks, caller, x->rec.tid);
}

/* Notes that the kernel will go on with the call as a call of its own. Only the first one's name tells its meaning. */
static void note_interruption(struct espy_task *task, const struct espy_rec *rec)
{
	if (((const struct espy_rec_call *)rec)->ret != -ESPY_ERESTART_RESTARTBLOCK)
		task->interrupted_nr = ESPY_NR_UNKNOWN;
	else if (task->interrupted_nr == ESPY_NR_UNKNOWN)
		task->interrupted_nr = rec->nr;
}

void espy_state__applied(struct espy_state *s, const struct espy_rec *rec, const struct espy_call_view *v)
{
	struct espy_task *task;

	switch (rec->type) {
	case ESPY_REC_EXIT:
		task = espy_tasks__find(&s->tasks, rec->tid);
		/* An operation of io_uring ends while its task is in any call, or in none. */
		if (task && rec->abi != ESPY_ABI_IO_URING) {
			task->in_call = false;
			task->born = 0;
			note_interruption(task, rec);
		}
		espy_resolve__call_shown(&s->resolve);
		if (!v)
			break;
		espy_resolve__call(&s->resolve, v);
		if (s->o.follow_fds && v->call != ESPY_NONE && !v->ret &&
		    v->image->plans[v->plan].flags & ESPY_PLAN_NEW_IMAGE)
			espy_resolve__exec(&s->resolve, v->tgid);
		break;
	case ESPY_REC_EXEC:
		after_exec(s, (const struct espy_rec_exec *)rec);
		break;
	case ESPY_REC_DETACHED:
		task = espy_tasks__find(&s->tasks, rec->tid);
		if (task)
			espy_tasks__detach(&s->tasks, task);
		break;
	case ESPY_REC_TASK_EXIT:
		task = espy_tasks__find(&s->tasks, rec->tid);
		if (!task)
			break;
		espy_resolve__forget(&s->resolve, rec->tid, task->tgid,
				     ((const struct espy_rec_task_exit *)rec)->group_dead);
		espy_tasks__remove(&s->tasks, task);
		break;
	default:
		break;
	}
}

bool espy_state__marks(struct espy_state *s, const struct espy_rec_mark *first, const struct espy_rec_mark *last,
		       uint64_t cnt)
{
	struct espy_task *task;

	espy_resolve__begin(&s->resolve, last->rec.time_ns);
	task = espy_tasks__get(&s->tasks, first->rec.tid, first->rec.tgid);
	if (task && task->detached)
		return false;
	if (task && first->rec.tgid)
		task->tgid = first->rec.tgid;
	if (s->marks)
		espy_marks_seen__events(s->marks, first, last, cnt);
	return true;
}

/* ---- everything, as records */

static int dump_tasks(struct espy_state *s, espy_record_fn fn, void *ctx)
{
	struct espy_task *task, *next;
	int stop = 0;

	HASH_ITER(hh, s->tasks.by_tid, task, next)
	{
		const bool interrupted = task->interrupted_nr != ESPY_NR_UNKNOWN;
		const struct espy_rec_attached a = { .rec = { .size = sizeof(a),
							      .type = ESPY_REC_ATTACHED,
							      .abi = (uint8_t)task->abi,
							      .flags = ESPY_ATTACHED_LONG_AGO |
								       (interrupted ? ESPY_ATTACHED_INTERRUPTED : 0),
							      .nr = (uint16_t)(interrupted ? task->interrupted_nr :
											     task->last_nr),
							      .tid = task->tid,
							      .tgid = task->tgid,
							      .time_ns = s->resolve.now_ns } };

		if (!task->detached && !stop)
			stop = fn(ctx, &a.rec);
	}
	return stop;
}

static int dump_calls(struct espy_state *s, espy_record_fn fn, void *ctx)
{
	struct espy_task *task, *next;
	int stop = 0;

	HASH_ITER(hh, s->tasks.by_tid, task, next)
	if (!stop && !task->detached && task->in_call)
		stop = fn(ctx, task->enter);
	return stop;
}

int espy_state__dump(struct espy_state *s, espy_record_fn fn, void *ctx)
{
	int stop = 0;

	for (unsigned i = 0; i < s->clocks.cnt && !stop; i++)
		stop = fn(ctx, &s->clocks.v[i].rec);
	if (!stop)
		stop = dump_tasks(s, fn, ctx);
	if (!stop)
		stop = espy_resolve__dump(&s->resolve, fn, ctx);
	if (!stop && s->marks)
		stop = espy_marks_seen__each(s->marks, fn, ctx);
	if (!stop) /* behind the facts: a call that has begun may be shown at once */
		stop = dump_calls(s, fn, ctx);
	return stop ? stop : espy_resolve__dump_news(&s->resolve, fn, ctx);
}

/* ---- tasks */

struct espy_task *espy_state__task(struct espy_state *s, uint32_t tid)
{
	return espy_tasks__find(&s->tasks, tid);
}

struct espy_task *espy_state__next_task(struct espy_state *s, const struct espy_task *task)
{
	return task ? task->hh.next : s->tasks.by_tid;
}

const size_t *espy_state__live_tasks(const struct espy_state *s)
{
	return &s->tasks.live;
}

void espy_state__detach(struct espy_state *s, struct espy_task *task)
{
	espy_tasks__detach(&s->tasks, task);
}

/* ---- descriptors and names */

struct espy_resolver espy_state__resolver(struct espy_state *s)
{
	return espy_resolve__resolver(&s->resolve);
}

const struct espy_fd_name *espy_state__fd(struct espy_state *s, uint32_t tid, int fd)
{
	return espy_resolve__fd(&s->resolve, tid, fd, false);
}

const char *espy_state__comm(struct espy_state *s, uint32_t tid)
{
	return espy_resolve__comm(&s->resolve, tid);
}

const char *espy_state__of_task(struct espy_state *s, enum espy_fact_kind kind, uint32_t tid)
{
	return espy_resolve__of_task(&s->resolve, kind, tid);
}

bool espy_state__had_netlink(const struct espy_state *s)
{
	return s->resolve.netlink;
}

const struct espy_fd_name *espy_state__mapped_file(struct espy_state *s, const struct espy_call_view *v)
{
	if (!espy_resolve__maps_file(v) || v->ret < 0)
		return NULL;
	return espy_fd_table__find(&s->resolve.fds, v->tgid, (int)v->args[4]);
}

void espy_state__seed(struct espy_state *s, uint32_t tgid)
{
	espy_resolve__seed(&s->resolve, tgid, false);
}

void espy_state__inherit(struct espy_state *s, uint32_t tgid)
{
	espy_resolve__seed(&s->resolve, tgid, true);
}

/* ---- the rest */

struct espy_marks_seen *espy_state__marks_seen(struct espy_state *s)
{
	return s->marks;
}

uint64_t espy_state__bad_definitions(const struct espy_state *s)
{
	return s->bad_definitions;
}

int64_t espy_state__realtime_offset_ns(const struct espy_state *s, uint64_t time_ns)
{
	return espy_clocks__realtime_offset_ns(&s->clocks, time_ns);
}

void espy_state__set_realtime_offset(struct espy_state *s, int64_t ns)
{
	s->clocks.first_offset_ns = ns;
}

struct espy_zone *espy_state__zone(struct espy_state *s)
{
	return &s->zone;
}

struct espy_budget *espy_state__budget(struct espy_state *s)
{
	return s->o.max_bytes ? &s->budget : NULL;
}

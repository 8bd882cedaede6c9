/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lines of tasks and signals: how a task is stopped, executes a program, ends, is let go of. */
#include "sink/text_sink_impl.h"

#include <limits.h>
#include <sys/wait.h>
#include "sink/text_functions.h"
#include "state/state.h"

static bool is_met(struct text_sink *t, uint32_t tid)
{
	const struct espy_text_task *tt = espy_text_tasks__find(&t->tasks, tid);

	return !t->stream->origin.wide || (tt && tt->shown);
}

/* Shows the ignored signals with numbers below this one, and keeps the others. */
static void show_below(struct text_sink *t, const struct espy_line_task *lt, uint64_t ip, unsigned below)
{
	struct espy_text_task *tt = espy_text_tasks__find(&t->tasks, lt->task->tid);
	size_t left = 0;

	for (size_t i = 0; tt && i < tt->later_cnt; i++) {
		if (tt->later[i].rec.nr >= below) {
			tt->later[left++] = tt->later[i];
			continue;
		}
		tt->later[i].ip = ip;
		espy_lines__signal(&t->lines, lt, &tt->later[i]);
	}
	if (tt)
		tt->later_cnt = left;
}

void espy_text_lives__later(struct text_sink *t, const struct espy_line_task *lt, uint64_t ip)
{
	show_below(t, lt, ip, UINT_MAX);
}

/*
 * A stopped task takes none of its signals before it runs, and then that with the lowest number first. If it dies of
 * that, it has never taken the others.
 */
static unsigned taken_before(const struct text_sink *t, uint32_t tid, unsigned sig)
{
	const struct espy_text_task *tt = espy_text_tasks__find((struct espy_text_tasks *)&t->tasks, tid);

	return tt && tt->stopped && sig ? sig : UINT_MAX;
}

void espy_text_lives__superseded(struct text_sink *t, const struct espy_line_task *lt, struct espy_text_task *tt)
{
	if (!(t->o.quiet & ESPY_QUIET_SUPERSEDED))
		espy_lines__superseded(&t->lines, lt, tt->superseded_by, tt->superseded_ns);
	tt->superseded_by = 0;
}

void espy_text_lives__signal(struct text_sink *t, const struct espy_event *e)
{
	const struct espy_rec_signal *sig = (const struct espy_rec_signal *)e->rec;
	struct espy_line_task lt;

	if (sig->rec.flags & ESPY_SIG_IGNORED && espy_text_tasks__keep_signal(&t->tasks, e->task->tid, sig))
		return;
	if (!is_met(t, e->task->tid) || !espy_text_sink__line_task(t, e, &lt))
		return;
	show_below(t, &lt, 0, taken_before(t, e->task->tid, sig->rec.nr));
	espy_lines__signal(&t->lines, &lt, sig);
}

void espy_text_lives__stopped(struct text_sink *t, const struct espy_event *e)
{
	struct espy_text_task *tt = espy_text_tasks__get(&t->tasks, e->task->tid);
	struct espy_line_task lt;

	if (tt)
		tt->stopped = true;
	if (!(e->withheld & ESPY_WITHHELD_FILTER) && espy_text_sink__line_task(t, e, &lt))
		espy_lines__stopped(&t->lines, &lt, e->rec);
}

/* Moves a thread that has executed a program to the number and the file of its leader. */
void espy_text_lives__exec(struct text_sink *t, const struct espy_event *e)
{
	const struct espy_rec_exec *x = (const struct espy_rec_exec *)e->rec;
	struct espy_line_task lt;
	struct espy_text_task *leader, *caller;

	leader = t->o.functions ? espy_text_tasks__find(&t->tasks, x->rec.tid) : NULL;
	if (leader && leader->functions)
		espy_text_functions__forget(leader->functions);
	if (!x->old_tid || x->old_tid == x->rec.tid)
		return;
	leader = espy_text_tasks__find(&t->tasks, x->rec.tid);
	if (leader)
		leader->left = false;
	if (espy_text_sink__line_task(t, e, &lt)) {
		struct espy_text_task *tt = espy_text_tasks__get(&t->tasks, x->rec.tid);

		caller = espy_text_tasks__find(&t->tasks, x->old_tid);
		if (tt) {
			tt->superseded_by = x->old_tid;
			tt->superseded_ns = x->rec.time_ns;
			lt.gone = e->other != NULL;
			/* If this call has no line yet, its first part comes before. */
			if (caller && caller->begun) {
				if (espy_lines__is_open(lt.out, x->old_tid))
					espy_lines__renumber(lt.out, x->rec.tid);
				espy_text_lives__superseded(t, &lt, tt);
			}
		}
		if (e->other && espy_lines__is_open(lt.out, x->rec.tid))
			espy_lines__interrupt(lt.out);
	}
	if (!e->other)
		return;
	leader = espy_text_tasks__find(&t->tasks, x->rec.tid);
	caller = espy_text_tasks__find(&t->tasks, x->old_tid);
	espy_task_outputs__close(&t->own, x->old_tid);
	if (caller) {
		if (leader) {
			caller->cut = leader->cut;
			caller->superseded_by = leader->superseded_by;
			caller->superseded_ns = leader->superseded_ns;
		}
		espy_text_tasks__drop(&t->tasks, leader);
		espy_text_tasks__rename(&t->tasks, caller, x->rec.tid);
	} else if (leader) {
		leader->begun = false;
		leader->later_cnt = 0;
	}
	/* The half line of the caller's execve goes on under its new number. */
	if (espy_lines__is_open(t->out, x->old_tid))
		t->out->open_tid = x->rec.tid;
}

void espy_text_lives__left(struct text_sink *t, struct espy_text_task *tt, uint64_t time_ns)
{
	struct espy_task task = { .tid = tt->tid, .tgid = tt->tid, .last_nr = ESPY_NR_UNKNOWN };
	const struct espy_rec_task_exit x = { .rec = { .tid = tt->tid, .time_ns = time_ns },
					      .status = tt->left_status };
	struct espy_output *own = espy_task_outputs__find(&t->own, tt->tid);
	const struct espy_line_task lt = { .out = own ? own : t->out, .task = &task, .hidden = tt->left_hidden };

	lt.out->muted = t->stream->outside;
	if (!lt.out->per_task && !(t->o.quiet & ESPY_QUIET_EXIT))
		espy_lines__task_exit(&t->lines, &lt, &x);
	espy_text_tasks__drop(&t->tasks, tt);
	espy_task_outputs__close(&t->own, task.tid);
}

/*
 * Shows the end of a task. A process ends with its first thread, as its parent and a debugger see it: the line of a
 * first thread waits for the last of the others. If one of them executes a program, it has no line.
 */
void espy_text_lives__exit(struct text_sink *t, const struct espy_event *e)
{
	const struct espy_rec_task_exit *x = (const struct espy_rec_task_exit *)e->rec;
	const bool first = e->task->tid == e->task->tgid;
	const bool shown = !(t->o.quiet & ESPY_QUIET_EXIT) && is_met(t, e->task->tid);
	struct espy_line_task lt;
	struct espy_text_task *tt;

	if (espy_text_sink__line_task(t, e, &lt)) {
		show_below(t, &lt, 0,
			   taken_before(t, e->task->tid, WIFSIGNALED((int)x->status) ? WTERMSIG((int)x->status) : 0));
		if (espy_lines__is_open(lt.out, e->task->tid))
			espy_lines__interrupt(lt.out);
		if (first && !x->group_dead && shown && (tt = espy_text_tasks__get(&t->tasks, e->task->tid))) {
			tt->left = true;
			tt->left_hidden = lt.hidden;
			tt->left_status = x->status;
			tt->left_ns = x->rec.time_ns;
			return;
		}
		lt.depth = 0;
		if (shown)
			espy_lines__task_exit(&t->lines, &lt, x);
	}
	tt = espy_text_tasks__find(&t->tasks, e->task->tid);
	t->ended_shown = tt && tt->line_shown;
	espy_text_tasks__drop(&t->tasks, tt);
	espy_task_outputs__close(&t->own, e->task->tid);
	tt = x->group_dead && !first ? espy_text_tasks__find(&t->tasks, e->task->tgid) : NULL;
	if (tt && tt->left)
		espy_text_lives__left(t, tt, x->rec.time_ns);
}

void espy_text_lives__detach(struct text_sink *t, const struct espy_event *e)
{
	const uint32_t tid = e->task->tid;
	struct espy_output *out = t->out->per_task ? espy_task_outputs__find(&t->own, tid) : t->out;
	struct espy_text_task *tt = espy_text_tasks__find(&t->tasks, tid);

	if (out && tt && tt->kept)
		espy_lines__kept_detached(out, tt->kept);
	else if (out)
		espy_lines__detached(out, tid);
	espy_text_tasks__drop(&t->tasks, tt);
	espy_task_outputs__close(&t->own, tid);
}

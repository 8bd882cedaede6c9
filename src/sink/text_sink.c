/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes the lines of each event. The sink keeps nothing of most tasks: only of tasks with a begun call on the screen,
 * or with ignored signals to be shown.
 */
#include "sink/text_sink_impl.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include "sink/hexdump.h"
#include "sink/text_functions.h"
#include "sink/text_stack.h"
#include "state/resolver.h"
#include "state/state.h"

static struct text_sink *to_text(struct espy_sink *s)
{
	return (struct text_sink *)s;
}

/* Returns the file of a task's own; NULL: there is none. */
static struct espy_output *own_output(struct text_sink *t, struct espy_task *task)
{
	struct espy_output *out;

	/* Unwanted lines make no file. */
	out = t->stream->outside ? espy_task_outputs__find(&t->own, task->tid) : espy_task_outputs__get(&t->own, task->tid);
	if (out)
		out->muted = t->stream->outside;
	return out;
}

bool espy_text_sink__line_task(struct text_sink *t, const struct espy_event *e, struct espy_line_task *lt)
{
	const bool hidden = e->withheld & ESPY_WITHHELD_TASK;

	*lt = (struct espy_line_task){ .out = t->out, .task = e->task, .hidden = hidden };
	if (t->out->per_task)
		lt->out = hidden ? NULL : own_output(t, e->task);
	else
		t->out->muted = t->stream->outside;
	if (t->o.functions && lt->out && !espy_text_functions__is(e)) {
		const struct espy_text_task *tt = espy_text_tasks__find(&t->tasks, e->task->tid);

		espy_text_functions__show(tt ? tt->functions : NULL, &t->lines, lt);
	}
	return lt->out;
}

static void set_call(struct espy_line_task *lt, struct espy_text_task *tt)
{
	lt->begun = tt ? &tt->begun : NULL;
	lt->args_shown = tt ? &tt->args_shown : NULL;
}

/* Notes that a call or a hit has a line: its stack, if there is one, comes next. */
static void note_line(struct text_sink *t, uint32_t tid)
{
	struct espy_text_task *tt = t->o.stacks ? espy_text_tasks__get(&t->tasks, tid) : NULL;

	if (tt)
		tt->line_shown = true;
}

/* Notes that a task was shown. If the whole system is watched, only such tasks have lines of signals and ends. */
static void note_shown(struct text_sink *t, uint32_t tid)
{
	struct espy_text_task *tt = t->stream->origin.wide ? espy_text_tasks__get(&t->tasks, tid) : NULL;

	if (tt)
		tt->shown = true;
}

/* ---- events */

static void on_call_begin(struct text_sink *t, const struct espy_event *e)
{
	struct espy_text_task *tt = espy_text_tasks__find(&t->tasks, e->task->tid);
	struct espy_line_task lt;

	if (tt) {
		tt->begun = tt->stopped = false;
		tt->args_shown = 0;
	}
	if (e->withheld & ESPY_WITHHELD_FILTER || !espy_text_sink__line_task(t, e, &lt))
		return;
	tt = espy_text_tasks__get(&t->tasks, e->task->tid);
	if (!tt)
		return;
	note_shown(t, e->task->tid);
	tt->nr = e->rec->nr;
	set_call(&lt, tt);
	if (t->filter->status != ESPY_STATUS_ALL) {
		espy_text_task__forget_kept(tt);
		tt->kept = espy_lines__keep(&t->lines, &lt, e);
		return;
	}
	espy_lines__enter(&t->lines, &lt, e);
	note_line(t, e->task->tid);
}

static bool makes_image(const struct espy_call_view *v)
{
	return v->plan < v->image->plan_cnt && v->image->plans[v->plan].flags & ESPY_PLAN_NEW_IMAGE;
}

/* Shows a call that one thread began and that ends in the first one's place: in two parts, as to a stopping tracer. */
static void show_superseding(struct text_sink *t, const struct espy_line_task *lt, const struct espy_event *e,
			     struct espy_text_task *tt)
{
	struct espy_task caller = *e->task;
	struct espy_line_task half = *lt;

	caller.tid = tt->superseded_by;
	half.task = &caller;
	half.several = true;
	set_call(&half, tt);
	espy_lines__enter(&t->lines, &half, e);
	/* The leader's last line would have come after this half. If lines wait for the status of their calls, it came
	 * before. */
	if (tt->cut && t->filter->status == ESPY_STATUS_ALL)
		espy_lines__interrupt(lt->out);
	else
		espy_lines__renumber(lt->out, e->task->tid);
	tt->cut = false;
	espy_text_lives__superseded(t, lt, tt);
}

static void show_call(struct text_sink *t, const struct espy_line_task *lt, const struct espy_event *e)
{
	note_shown(t, e->task->tid);
	note_line(t, e->task->tid);
	espy_lines__exit(&t->lines, lt, e);
	if (t->filter->read.given || t->filter->write.given) {
		espy_hexdump__call(&lt->out->buf, t->filter, e->call, e->args);
		espy_line_output__whole_lines(lt->out);
	}
	t->base.calls++;
	espy_line_output__flush_much(lt->out);
}

static void on_call_end(struct text_sink *t, const struct espy_event *e)
{
	struct espy_text_task *tt = espy_text_tasks__find(&t->tasks, e->task->tid);
	struct espy_line_task lt;

	if (tt && tt->nr != e->rec->nr)
		tt->begun = false; /* the call that began never ended */
	if (tt)
		tt->line_shown = tt->stopped = false;
	espy_text_task__forget_kept(tt);
	if (!espy_text_sink__line_task(t, e, &lt))
		return;
	/* Ignored during a call that is not shown. It takes the time of the beginning (-T, -t) to know it. */
	if (tt && tt->later_cnt && e->call->enter_ns > tt->later[tt->later_cnt - 1].rec.time_ns)
		espy_text_lives__later(t, &lt, 0);
	bool begun = tt && tt->begun;
	const bool superseding = tt && tt->superseded_by && makes_image(e->call);

	if (tt && tt->superseded_by && (e->withheld & ESPY_WITHHELD_FILTER || !superseding || t->out->per_task)) {
		espy_text_lives__superseded(t, &lt, tt);
	} else if (superseding) {
		show_superseding(t, &lt, e, tt);
		begun = true;
	}
	if (!(e->withheld & ESPY_WITHHELD_FILTER) || begun) {
		struct espy_text_task *ending = e->call->no_return ? espy_text_tasks__get(&t->tasks, e->task->tid) : tt;

		if (ending)
			ending->cut = e->call->no_return;
		set_call(&lt, tt);
		if ((lt.hidden || t->stream->outside) && !lt.out->open && !begun)
			t->lines.last_time_ns = espy_lines__call_time(e->call); /* nothing would be left of the line */
		else
			show_call(t, &lt, e);
	}
	if (tt && tt->later_cnt)
		espy_text_lives__later(t, &lt, e->call->ip);
}

/* An operation of io_uring ends in the middle of whatever its task does, and has no halves. */
static void on_operation_end(struct text_sink *t, const struct espy_event *e)
{
	struct espy_line_task lt;

	if (!(e->withheld & ESPY_WITHHELD_FILTER) && espy_text_sink__line_task(t, e, &lt) && !lt.hidden)
		show_call(t, &lt, e);
}

static void on_mark(struct text_sink *t, const struct espy_event *e)
{
	struct espy_line_task lt;

	if (!espy_text_sink__line_task(t, e, &lt))
		return;
	note_shown(t, e->task->tid);
	espy_lines__mark(&t->lines, &lt, e->mark, (const struct espy_rec_mark *)e->rec);
	espy_line_output__flush_much(lt.out);
}

static void show_function(struct text_sink *t, struct espy_line_task *lt, const struct espy_event *e)
{
	struct espy_text_task *tt = espy_text_tasks__get(&t->tasks, e->task->tid);

	if (tt && !tt->functions)
		tt->functions = espy_text_functions__new(t->tasks.budget);
	espy_text_functions__event(tt ? tt->functions : NULL, &t->lines, lt, e);
}

static void on_probe(struct text_sink *t, const struct espy_event *e)
{
	struct espy_line_task lt;

	if (!espy_text_sink__line_task(t, e, &lt))
		return;
	if (t->o.functions && espy_text_functions__is(e))
		show_function(t, &lt, e);
	else
		espy_lines__probe(&t->lines, &lt, e->mark, (const struct espy_rec_probe *)e->rec);
	note_line(t, e->task->tid);
	espy_line_output__flush_much(lt.out);
}

static void on_stack(struct text_sink *t, const struct espy_event *e)
{
	struct espy_text_task *tt = e->task ? espy_text_tasks__find(&t->tasks, e->task->tid) : NULL;
	const bool shown = e->task ? tt && tt->line_shown : t->ended_shown;
	struct espy_line_task lt = { .out = t->out };

	if (tt)
		tt->line_shown = false;
	t->ended_shown = false;
	if (!t->o.stacks || !shown || (e->task ? !espy_text_sink__line_task(t, e, &lt) : t->out->per_task != NULL) ||
	    lt.out->open)
		return;
	if (!t->symbols)
		t->symbols = espy_symbolizer__new();
	if (espy_text_stack(&lt.out->buf, (const struct espy_rec_stack *)e->rec, t->symbols, t->o.stack_source))
		t->base.damaged++;
	espy_line_output__whole_lines(lt.out);
}

/* Asks for no values of a call that leaves no line. The end of a begun call may leave one. */
static unsigned text_manners(struct espy_sink *s, const struct espy_event *e)
{
	struct text_sink *t = to_text(s);
	const struct espy_text_task *tt = espy_text_tasks__find(&t->tasks, e->task->tid);
	const bool ended = e->type == ESPY_EVENT_CALL_END;
	const bool begun = ended && tt && tt->begun && tt->nr == e->rec->nr && e->rec->abi != ESPY_ABI_IO_URING;
	const bool unseen = ended && (e->withheld & ESPY_WITHHELD_TASK || t->stream->outside);

	if (!begun && (e->withheld & ESPY_WITHHELD_FILTER || (unseen && !t->out->per_task && !t->out->open)))
		return 0;
	const unsigned bytes = t->filter->read.given || t->filter->write.given ? ESPY_MANNER_BYTES : 0;
	return espy_lines__manner(&t->lines, e->call, begun) | bytes;
}

static void text_event(struct espy_sink *s, const struct espy_event *e)
{
	struct text_sink *t = to_text(s);
	struct espy_text_task *tt = e->task && e->type != ESPY_EVENT_CALL_END ? espy_text_tasks__find(&t->tasks, e->task->tid) : NULL;
	struct espy_line_task lt;

	if (tt && tt->superseded_by && espy_text_sink__line_task(t, e, &lt))
		espy_text_lives__superseded(t, &lt, tt);
	switch (e->type) {
	case ESPY_EVENT_CALL_BEGIN:
		on_call_begin(t, e);
		break;
	case ESPY_EVENT_CALL_END:
		if (e->rec->abi == ESPY_ABI_IO_URING)
			on_operation_end(t, e);
		else
			on_call_end(t, e);
		break;
	case ESPY_EVENT_MODE:
		if (!(t->o.quiet & ESPY_QUIET_PERSONALITY) && espy_text_sink__line_task(t, e, &lt))
			espy_lines__mode(&lt);
		break;
	case ESPY_EVENT_SIGNAL:
		if (!(e->withheld & ESPY_WITHHELD_FILTER))
			espy_text_lives__signal(t, e);
		break;
	case ESPY_EVENT_STOPPED:
		espy_text_lives__stopped(t, e);
		break;
	case ESPY_EVENT_EXEC:
		espy_text_lives__exec(t, e);
		break;
	case ESPY_EVENT_EXIT:
		espy_text_lives__exit(t, e);
		break;
	case ESPY_EVENT_DETACH:
		espy_text_lives__detach(t, e);
		break;
	case ESPY_EVENT_MARK:
		on_mark(t, e);
		break;
	case ESPY_EVENT_PROBE:
		on_probe(t, e);
		break;
	case ESPY_EVENT_STACK:
		on_stack(t, e);
		break;
	case ESPY_EVENT_LOSS:
		t->out->muted = t->stream->outside;
		if (!t->out->per_task)
			espy_lines__lost(t->out, (const struct espy_rec_lost *)e->rec);
		break;
	}
	if (t->out->error)
		espy_sink__fail(s, t->out->error);
}

static int text_start(struct espy_sink *s, const struct espy_stream *stream)
{
	struct text_sink *t = to_text(s);

	t->stream = stream;
	t->tasks.budget = espy_state__budget(stream->state);
	t->own = (struct espy_task_outputs){ .sink = s, .base = t->out, .stream = stream };
	t->lines = (struct espy_lines){
		.o = &t->o,
		.stream = stream,
		.live = espy_state__live_tasks(stream->state),
		.to_file = t->out->per_task || !t->out->keep_fd,
	};
	t->lines.column = t->o.task_column || (t->lines.to_file && !t->out->per_task && espy_stream__several(stream));
	if (stream->recorded) /* the user may want a part */
		t->out->whole_lines = true;
	t->lines.resolver = espy_state__resolver(stream->state);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		t->lines.text[abi] = (struct espy_text_opts){
			.str_limit = t->o.string_limit,
			.xlat = (enum espy_xlat)t->o.names,
			.hex = (enum espy_hex)t->o.strings,
			.arg_names = t->o.argument_names,
			.column = t->o.column,
			.abbrev = t->filter->abbrev.bits[abi],
			.verbose = t->filter->verbose.bits[abi],
			.raw = t->filter->raw.bits[abi],
			.paths = (t->o.fds & (ESPY_FD_PATH | ESPY_FD_ALL)) != 0,
			.details = t->o.fds & ESPY_FD_ALL ? UINT_MAX : (unsigned)t->o.fds & ~(unsigned)ESPY_FD_PATH,
			.comms = t->o.task_names,
			.pids = t->o.task_numbers,
			.contexts = t->o.contexts,
		};
	espy_text__want(&t->lines.text[0], &s->want);
	s->want.vcpus = t->o.vcpus;
	t->lines.signals.want = s->want;
	return 0;
}

static void text_flush(struct espy_sink *s)
{
	struct text_sink *t = to_text(s);

	if (t->out->per_task)
		espy_task_outputs__flush(&t->own);
	else
		espy_line_sink__flush(s);
}

/* Interrupts a line that is open where --to ends: its call ends in the part that follows. */
static void end_line(struct text_sink *t, struct espy_output *out)
{
	out->muted = t->stream->outside;
	espy_lines__interrupt(out);
}

static void text_finish(struct espy_sink *s)
{
	struct text_sink *t = to_text(s);

	struct espy_text_task *tt, *next;

	HASH_ITER(hh, t->tasks.by_tid, tt, next)
		if (tt->left)
			espy_text_lives__left(t, tt, tt->left_ns);
	end_line(t, t->out);
	for (struct espy_task_output *f = t->own.files; f; f = f->hh.next)
		if (f->out)
			end_line(t, f->out);
	text_flush(s);
}

static int text_close(struct espy_sink *s)
{
	struct text_sink *t = to_text(s);
	struct espy_text_task *tt, *next;

	HASH_ITER(hh, t->tasks.by_tid, tt, next)
	espy_text_tasks__drop(&t->tasks, tt);
	espy_task_outputs__free(&t->own);
	espy_symbolizer__free(t->symbols);
	espy_decoder__free(&t->lines.signals);
	return espy_line_sink__close(s);
}

static const struct espy_sink_ops text_ops = {
	.name = "text",
	.start = text_start,
	.manners = text_manners,
	.event = text_event,
	.flush = text_flush,
	.finish = text_finish,
	.close = text_close,
};

int espy_text_sink__new(struct espy_sink **out, const struct espy_text_options *o, const struct espy_filter *f)
{
	struct text_sink *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->base = (struct espy_sink){
		.ops = &text_ops,
		.events = ESPY_EVENT_CALL_BEGIN | ESPY_EVENT_CALL_END | ESPY_EVENT_SIGNAL | ESPY_EVENT_EXEC |
			  ESPY_EVENT_EXIT | ESPY_EVENT_DETACH | ESPY_EVENT_MARK | ESPY_EVENT_PROBE | ESPY_EVENT_LOSS |
			  ESPY_EVENT_MODE | ESPY_EVENT_STOPPED | ESPY_EVENT_STACK,
		.takes_withheld = true,
		.keeps_begun = true,
	};
	t->o = *o;
	t->filter = f;
	if (!o->string_limit_given)
		t->o.string_limit = 32;
	if (!o->column_given)
		t->o.column = 40;
	err = espy_line_sink__open(out, &t->base, o->output);
	if (!err)
		t->out = t->base.output;
	return err;
}

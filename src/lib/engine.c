/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "filter/path_filter.h"
#include "filter/where.h"
#include "sink/callback_sink.h"
#include "sink/line_output.h"
#include "sink/recording.h"
#include "sink/sink_kind.h"
#include "sink/summary.h"
#include "sink/tally.h"
#include "sink/text_sink.h"

#define STRING_LIMIT 32u /* the default */

/* ---- making */

static uint32_t string_limit(uint32_t limit, bool given)
{
	return given ? limit : STRING_LIMIT;
}

static const char *output_name(struct espy_engine *e, const struct espy_output *out)
{
	return out && out->name ? espy_kept__string(&e->kept, out->name) : "stderr";
}

static int make_text(struct espy_engine *e, const struct espy_text_options *given)
{
	struct espy_text_options o;
	int err = espy_options__take(&o, sizeof(o), given);

	if (err)
		return err;
	e->lines = true;
	e->needs = (struct espy_needs){
		.times = o.time != ESPY_TIME_NONE || o.relative_time || o.call_time,
		.fds = o.fds != ESPY_FD_NONE,
		.details = (o.fds & ~ESPY_FD_PATH) != 0,
		.comms = o.task_names || o.task_numbers,
		.in_time = o.namespaces || o.vcpus || o.contexts != ESPY_CONTEXTS_NONE,
		.whole_data = e->filter->read.given || e->filter->write.given,
		.numbers = o.call_number,
		.str_limit = string_limit(o.string_limit, o.string_limit_given),
	};
	e->name = output_name(e, o.output);
	return espy_text_sink__new(&e->sink, &o, e->filter);
}

static int make_named(struct espy_engine *e, const struct espy_sink_options *given)
{
	const struct espy_sink_kind *kind;
	struct espy_sink_options o;
	int err = espy_options__take(&o, sizeof(o), given);

	if (err)
		return err;
	kind = o.name ? espy_sink_kind__find(o.name) : NULL;
	if (!kind)
		return -ENOENT;
	o.string_limit = string_limit(o.string_limit, o.string_limit_given);
	o.string_limit_given = true;
	e->lines = true;
	e->needs = kind->needs;
	e->needs.details |= o.fd_details;
	e->needs.comms |= o.task_names;
	e->needs.str_limit = o.string_limit;
	e->name = output_name(e, o.output);
	return kind->make(&e->sink, &o, e->filter);
}

static int make_summary(struct espy_engine *e, const struct espy_summary_options *given)
{
	struct espy_summary_options o;
	int err = espy_options__take(&o, sizeof(o), given);

	if (err)
		return err;
	e->needs = (struct espy_needs){
		.counts = true,
		.times = true,
		.wall_clock = espy_summary__needs_wall_clock(&o),
		.cpu_ns = !espy_summary__needs_wall_clock(&o),
	};
	e->name = output_name(e, o.output);
	e->every_status = o.every_status;
	return espy_summary__new(&e->sink, &o);
}

void espy_engine__say_tally(const struct espy_log *log, const struct espy_tally_error *wrong)
{
	if (wrong->text)
		espy_log__say(log, ESPY_LOG_ERROR, ESPY_TOPIC_GENERAL, "%s '%s', column %zu: %s", wrong->option, wrong->text, wrong->e.at + 1,
			      wrong->e.text);
}

static int make_tally(struct espy_engine *e, const struct espy_tally_options *given, const struct espy_log *log)
{
	struct espy_tally_error wrong = { .text = NULL };
	struct espy_tally_options o;
	int err = espy_options__take(&o, sizeof(o), given);

	if (err)
		return err;
	e->name = output_name(e, o.output);
	err = espy_tally__new(&e->sink, &o, &wrong);
	espy_engine__say_tally(log, &wrong);
	if (err)
		return err;
	e->tally = e->sink;
	e->needs = (struct espy_needs){
		.times = espy_tally__names(e->sink, "duration"),
		.wall_clock = espy_tally__names(e->sink, "duration"),
		.comms = espy_tally__names(e->sink, "comm"),
		.no_env = true,
		.limit_data = true,
	};
	return 0;
}

static int make_trace(struct espy_engine *e, const struct espy_trace_options *given, bool flight)
{
	struct espy_trace_options *o = &e->trace;
	int err = espy_options__take(o, sizeof(*o), given);

	if (err || !o->path)
		return err ? err : -EINVAL;
	o->path = espy_kept__string(&e->kept, o->path);
	o->words = (const char *const *)espy_kept__strings(&e->kept, o->words, o->word_count);
	e->name = o->path;
	e->needs = (struct espy_needs){
		.times = true,
		.fds = true,
		.details = true,
		.comms = true,
		.verbose = true, /* `espy show` may want it in full */
		.whole_data = e->filter->read.given || e->filter->write.given,
		.str_limit = string_limit(o->string_limit, o->string_limit_given),
		.no_env = o->no_environment,
		.limit_data = o->limit_data,
		.data_bytes = o->data_limit,
	};
	if (e->kept.error || flight)
		return e->kept.error;
	return espy_recording__new(&e->sink, o, e->filter);
}

static int make_callbacks(struct espy_engine *e, const struct espy_engine_options *o)
{
	e->needs = (struct espy_needs){
		.times = true,
		.fds = true,
		.comms = true,
		.verbose = true,
		.str_limit = UINT32_MAX,
	};
	e->name = "callbacks";
	return espy_callback_sink__new(&e->sink, o->event, o->ctx, !o->no_values);
}

static int make_sink(struct espy_engine *e, const struct espy_engine_options *o, bool flight, const struct espy_log *log)
{
	if (!!o->event + !!o->text + !!o->sink + !!o->summary + !!o->trace + !!o->tally != 1)
		return -EINVAL;
	if (o->text)
		return make_text(e, o->text);
	if (o->sink)
		return make_named(e, o->sink);
	if (o->summary)
		return make_summary(e, o->summary);
	if (o->trace)
		return make_trace(e, o->trace, flight);
	if (o->tally)
		return make_tally(e, o->tally, log);
	return make_callbacks(e, o);
}

void espy_engine__set_filter(struct espy_engine *e, struct espy_filter *f)
{
	__atomic_fetch_add(&f->users, 1, __ATOMIC_RELAXED);
	espy_filter_free(e->filter);
	e->filter = f;
	e->unknown_calls = f->trace_unknown;
	memcpy(e->calls, f->trace.bits, sizeof(e->calls));
}

int espy_engine__new(struct espy_engine **out, const struct espy_engine_options *o, bool flight, const struct espy_log *log)
{
	struct espy_engine *e = calloc(1, sizeof(*e));
	struct espy_filter *f = (struct espy_filter *)o->filter, *own = NULL;
	int err = e ? 0 : -ENOMEM;

	if (!err && !f) {
		err = espy_filter_new(&own);
		f = own;
	}
	if (!err) {
		espy_engine__set_filter(e, f);
		err = make_sink(e, o, flight, log);
	}
	espy_filter_free(own);
	if (err) {
		if (e)
			espy_engine__free(e);
		return err;
	}
	e->events = o->events ? o->events : e->sink ? e->sink->events : 0;
	if (o->events && e->sink && !o->event)
		e->events &= e->sink->events;
	e->call_limit = o->call_limit;
	e->ends_session = o->ends_session;
	e->removed = o->removed;
	e->ctx = o->ctx;
	*out = e;
	return 0;
}

int espy_engine__free(struct espy_engine *e)
{
	int err = e->sink ? e->sink->ops->close(e->sink) : 0;

	espy_def_filter__free(e->mark_filter);
	espy_def_filter__free(e->probe_filter);
	espy_where__free(e->own_where);
	espy_filter_free(e->filter);
	espy_kept__free(&e->kept);
	if (e->removed)
		e->removed(e->ctx);
	free(e);
	return err;
}

/* ---- events */

/* Returns the statuses of calls that the engine wants. */
static unsigned statuses(const struct espy_engine *e)
{
	return e->every_status ? ESPY_STATUS_ALL : e->filter->status;
}

/* Tells whether the sink takes a call that has only begun. */
static bool wants_begun(const struct espy_engine *e)
{
	return statuses(e) == ESPY_STATUS_ALL || (e->sink->keeps_begun && statuses(e) & ESPY_STATUS_DETACHED);
}

static bool wants_status(const struct espy_engine *e, const struct espy_call_view *v)
{
	const unsigned status = statuses(e);

	if (status == ESPY_STATUS_ALL)
		return true;
	if (v->no_return)
		return status & ESPY_STATUS_UNFINISHED;
	return status & (v->ret < 0 && v->ret >= -4095 ? ESPY_STATUS_FAILED : ESPY_STATUS_SUCCESSFUL);
}

/* Tells whether the call touches a file of -P or a descriptor of --trace-fds, or neither is given. */
static bool wants_object(struct espy_engine *e, const struct espy_event *event)
{
	if (!espy_path_filter__given(e->filter) || espy_path_filter__match(e->filter, event))
		return true;
	e->off_paths += event->type == ESPY_EVENT_CALL_END;
	return false;
}

static bool meets_condition(const struct espy_engine *e, const struct espy_call_view *v)
{
	return !e->where || e->where(e->where_ctx, v);
}

static bool wants_signal(const struct espy_engine *e, unsigned sig)
{
	return sig && sig <= 64 && e->filter->signals >> (sig - 1) & 1;
}

static bool wants_task(const struct espy_engine *e, const struct espy_event *event)
{
	const struct espy_filter *f = e->filter;

	for (size_t i = 0; i < f->task_cnt; i++)
		if ((uint32_t)f->tasks[i] == event->tid || (uint32_t)f->tasks[i] == event->tgid)
			return true;
	return !f->task_cnt || !event->task;
}

/* Tells whether the filter lets the event through. */
static bool passes(struct espy_engine *e, const struct espy_event *event)
{
	switch (event->type) {
	case ESPY_EVENT_CALL_BEGIN:
		return wants_begun(e) && e->met && wants_object(e, event);
	case ESPY_EVENT_CALL_END:
		return wants_status(e, event->call) && e->met && wants_object(e, event);
	case ESPY_EVENT_SIGNAL:
	case ESPY_EVENT_STOPPED:
		return wants_signal(e, event->rec->nr);
	default:
		return true;
	}
}

static bool is_over(const struct espy_engine *e)
{
	return e->call_limit && e->sink->calls >= e->call_limit;
}

unsigned espy_engine__manners(struct espy_engine *e, struct espy_event *event, const struct espy_stream *stream)
{
	const bool ended = event->type == ESPY_EVENT_CALL_END;
	unsigned manners;

	if (!(e->events & event->type) || !e->sink || e->sink->error || e->gone || is_over(e) ||
	    !espy_engine__wants_call(e, event->call->image->abi, event->call->nr))
		return 0;
	event->withheld = wants_task(e, event) ? 0 : ESPY_WITHHELD_TASK;
	if (!e->sink->takes_withheld && (event->withheld || stream->outside))
		return 0;
	const bool passes_status = ended ? wants_status(e, event->call) : wants_begun(e);
	e->met = passes_status && meets_condition(e, event->call);
	if (!e->met)
		event->withheld |= ESPY_WITHHELD_FILTER;
	manners = e->sink->ops->manners ? e->sink->ops->manners(e->sink, event) : 0;
	if (e->met && espy_path_filter__given(e->filter))
		manners |= ESPY_MANNER_BYTES;
	return manners;
}

bool espy_engine__event(struct espy_engine *e, struct espy_event *event, const struct espy_stream *stream)
{
	const bool is_call = event->call;

	if (!(e->events & event->type) || !e->sink || e->sink->error)
		return true;
	/* A call beyond the limit was on its way when the limit was reached. */
	if (is_call && (!espy_engine__wants_call(e, event->call->image->abi, event->call->nr) || is_over(e)))
		return true;
	if (event->rec && !espy_engine__wants_record(e, event->rec))
		return true;
	event->withheld = wants_task(e, event) ? 0 : ESPY_WITHHELD_TASK;
	if (!e->sink->takes_withheld && (event->withheld || stream->outside))
		return true;
	if (!passes(e, event))
		event->withheld |= ESPY_WITHHELD_FILTER;
	if (event->withheld && !e->sink->takes_withheld)
		return true;
	e->passed += !event->withheld && !stream->outside;
	e->calls_passed += !event->withheld && !stream->outside && event->type == ESPY_EVENT_CALL_END;
	e->sink->ops->event(e->sink, event);
	return !is_call || !is_over(e);
}

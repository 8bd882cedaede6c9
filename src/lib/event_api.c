/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Answers a callback's questions about an event (espy/event.h). */
#include <errno.h>
#include <espy/espy.h>
#include "describe/image.h"
#include "event/stream_event.h"
#include "record/loss_text.h"
#include "record/mark_def.h"

unsigned espy_event_type(const struct espy_event *e)
{
	/* The types above that mask are for sinks: they never reach a callback. */
	return e ? e->type & ESPY_EVENT_ALL : 0;
}

uint64_t espy_event_time(const struct espy_event *e)
{
	return e ? e->time_ns : 0;
}

pid_t espy_event_task(const struct espy_event *e)
{
	return e ? (pid_t)e->tid : 0;
}

pid_t espy_event_process(const struct espy_event *e)
{
	return e ? (pid_t)e->tgid : 0;
}

const char *espy_event_name(const struct espy_event *e)
{
	const char *name = e && e->call ? espy_image__call_name(e->call->image, e->call->nr) : "";

	return *name ? name : NULL;
}

int espy_event_number(const struct espy_event *e)
{
	if (e && e->call)
		return (int)e->call->nr;
	return e && e->type == ESPY_EVENT_SIGNAL ? (int)e->rec->nr : -1;
}

int espy_event_result(const struct espy_event *e, int64_t *result)
{
	if (!e || !result)
		return -EINVAL;
	if (e->type != ESPY_EVENT_CALL_END)
		return -ENOENT;
	if (!e->call->has_exit || e->call->no_return)
		return -ENODATA;
	*result = e->call->ret;
	return 0;
}

int espy_event_duration(const struct espy_event *e, uint64_t *ns)
{
	if (!e || !ns)
		return -EINVAL;
	if (e->type == ESPY_EVENT_PAUSE) {
		*ns = ((const struct espy_rec_pause *)e->rec)->duration_ns;
		return 0;
	}
	if (e->type == ESPY_EVENT_PROBE) {
		const struct espy_rec_probe *p = (const struct espy_rec_probe *)e->rec;

		if (!e->mark || e->mark->place != ESPY_PROBE_RETURN)
			return -ENOENT;
		*ns = p->begin_ns && p->rec.time_ns >= p->begin_ns ? p->rec.time_ns - p->begin_ns : 0;
		return p->begin_ns ? 0 : -ENODATA;
	}
	if (e->type != ESPY_EVENT_CALL_END)
		return -ENOENT;
	if (!e->call->enter_ns || e->call->exit_ns < e->call->enter_ns)
		return -ENODATA;
	*ns = e->call->exit_ns - e->call->enter_ns;
	return 0;
}

int espy_event_status(const struct espy_event *e, int *status)
{
	if (!e || !status)
		return -EINVAL;
	if (e->type != ESPY_EVENT_EXIT)
		return -ENOENT;
	*status = (int)((const struct espy_rec_task_exit *)e->rec)->status;
	return 0;
}

pid_t espy_event_child(const struct espy_event *e)
{
	return e && e->type == ESPY_EVENT_FORK ? (pid_t)((const struct espy_rec_fork *)e->rec)->child_tid : 0;
}

int espy_event_loss(const struct espy_event *e, uint64_t *count, const char **reason)
{
	if (!e || !count)
		return -EINVAL;
	if (e->type != ESPY_EVENT_LOSS)
		return -ENOENT;
	*count = ((const struct espy_rec_lost *)e->rec)->count;
	if (reason)
		*reason = espy_loss_text(e->rec->nr);
	return 0;
}

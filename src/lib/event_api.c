/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a callback can ask of an event (espy/event.h). */
#include <errno.h>
#include <espy/espy.h>
#include "describe/image.h"
#include "event/stream_event.h"

unsigned espy_event_type(const struct espy_event *e)
{
	/* The types above that mask are for sinks: they never reach a callback. */
	return e->type & ESPY_EVENT_ALL;
}

uint64_t espy_event_time(const struct espy_event *e)
{
	return e->time_ns;
}

pid_t espy_event_task(const struct espy_event *e)
{
	return (pid_t)e->tid;
}

pid_t espy_event_process(const struct espy_event *e)
{
	return (pid_t)e->tgid;
}

const char *espy_event_name(const struct espy_event *e)
{
	const struct espy_call_view *v = e->call;

	if (!v || v->nr >= v->image->syscall_cnt || !v->image->syscalls[v->nr].name)
		return NULL;
	return espy_image__str(v->image, v->image->syscalls[v->nr].name);
}

int espy_event_number(const struct espy_event *e)
{
	if (e->call)
		return (int)e->call->nr;
	return e->type == ESPY_EVENT_SIGNAL ? (int)e->rec->nr : -1;
}

int espy_event_result(const struct espy_event *e, int64_t *result)
{
	if (e->type != ESPY_EVENT_CALL_END)
		return -ENOENT;
	if (!e->call->has_exit || e->call->no_return)
		return -ENODATA;
	*result = e->call->ret;
	return 0;
}

int espy_event_duration(const struct espy_event *e, uint64_t *ns)
{
	if (e->type != ESPY_EVENT_CALL_END)
		return -ENOENT;
	if (!e->call->enter_ns || e->call->exit_ns < e->call->enter_ns)
		return -ENODATA;
	*ns = e->call->exit_ns - e->call->enter_ns;
	return 0;
}

int espy_event_status(const struct espy_event *e, int *status)
{
	if (e->type != ESPY_EVENT_EXIT)
		return -ENOENT;
	*status = (int)((const struct espy_rec_task_exit *)e->rec)->status;
	return 0;
}

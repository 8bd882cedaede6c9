/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/callback_sink.h"

#include <errno.h>
#include <stdlib.h>

/* The most elements of an array in the text of an event. espy_event_value has all. */
#define ELEMENTS 32u

struct callback_sink {
	struct espy_sink base;
	espy_event_fn fn;
	void *ctx;
	bool values;
};

/* Asks for a call's values in full, and for the manner of the whole event's text. */
static unsigned callback_manners(struct espy_sink *s, const struct espy_event *e)
{
	return ((struct callback_sink *)s)->values && !e->withheld ? ESPY_MANNER_FULL | ESPY_MANNER_BRIEF : 0;
}

static void callback_event(struct espy_sink *s, const struct espy_event *e)
{
	struct callback_sink *c = (struct callback_sink *)s;

	s->calls += e->type == ESPY_EVENT_CALL_END;
	c->fn(c->ctx, e);
}

static int callback_close(struct espy_sink *s)
{
	free(s);
	return 0;
}

static const struct espy_sink_ops callback_ops = {
	.name = "callbacks",
	.manners = callback_manners,
	.event = callback_event,
	.close = callback_close,
};

int espy_callback_sink__new(struct espy_sink **out, espy_event_fn fn, void *ctx, bool values)
{
	struct callback_sink *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	*c = (struct callback_sink){
		.base = {
			.ops = &callback_ops,
			.events = ESPY_EVENT_ALL,
			.want = { .paths = values, .comms = values, .elem_limit = ELEMENTS },
		},
		.fn = fn,
		.ctx = ctx,
		.values = values,
	};
	*out = &c->base;
	return 0;
}

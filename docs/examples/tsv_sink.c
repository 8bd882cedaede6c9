/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sink that CONTRIBUTING.md adds: a line for each call, its task, name, result and duration with tabs between. */
#include <errno.h>
#include <stdlib.h>
#include "base/num.h"
#include "sink/line_output.h"
#include "sink/sink_kind.h"

static void tsv_event(struct espy_sink *sink, const struct espy_event *e)
{
	struct espy_output *out = sink->output;
	const struct espy_call_view *v = e->call;
	const char *name = v->nr < v->image->syscall_cnt ? espy_image__str(v->image, v->image->syscalls[v->nr].name) : "";

	espy_buf__dec(&out->buf, e->tid);
	espy_buf__putc(&out->buf, '\t');
	espy_buf__puts(&out->buf, name);
	espy_buf__putc(&out->buf, '\t');
	espy_buf__sdec(&out->buf, v->ret);
	espy_buf__putc(&out->buf, '\t');
	espy_buf__dec(&out->buf, v->exit_ns > v->enter_ns ? v->exit_ns - v->enter_ns : 0);
	espy_line_output__end_line(out);
	sink->calls++;
}

static const struct espy_sink_ops tsv_ops = {
	.name = "TSV",
	.event = tsv_event,
	.flush = espy_line_sink__flush,
	.finish = espy_line_sink__flush,
	.close = espy_line_sink__close,
};

static int tsv_make(struct espy_sink **out, const struct espy_sink_options *o, const struct espy_filter *f)
{
	struct espy_sink *s = calloc(1, sizeof(*s)); /* one with members of its own begins with a struct espy_sink */

	(void)f;
	if (!s)
		return -ENOMEM;
	*s = (struct espy_sink){ .ops = &tsv_ops, .events = ESPY_EVENT_CALL_END };
	return espy_line_sink__open(out, s, o->output);
}

const struct espy_sink_kind espy_sink_kind_tsv = {
	.name = "tsv",
	.needs = { .times = true },
	.make = tsv_make,
};

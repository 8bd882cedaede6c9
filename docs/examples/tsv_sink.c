/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sink that CONTRIBUTING.md adds: a line for each call, its task, name, result and duration with tabs between. */
#include <errno.h>
#include <stdlib.h>
#include "base/num.h"
#include "sink/line_output.h"
#include "sink/sink_kind.h"

struct tsv_sink {
	struct espy_sink base; /* first: the engine knows the sink by it */
	struct espy_output *out;
};

static void tsv_event(struct espy_sink *sink, const struct espy_event *e)
{
	struct espy_output *out = ((struct tsv_sink *)sink)->out;
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

static void tsv_flush(struct espy_sink *sink)
{
	espy_sink__fail(sink, espy_line_output__flush(((struct tsv_sink *)sink)->out));
}

static int tsv_close(struct espy_sink *sink)
{
	espy_sink__fail(sink, espy_line_output__close(((struct tsv_sink *)sink)->out));
	const int err = -sink->error;
	free(sink);
	return err;
}

static const struct espy_sink_ops tsv_ops = {
	.name = "TSV",
	.event = tsv_event,
	.flush = tsv_flush,
	.finish = tsv_flush,
	.close = tsv_close,
};

static int tsv_make(struct espy_sink **out, const struct espy_sink_options *o, const struct espy_filter *f)
{
	struct tsv_sink *s = calloc(1, sizeof(*s));
	int err;

	(void)f;
	if (!s)
		return -ENOMEM;
	s->base = (struct espy_sink){ .ops = &tsv_ops, .events = ESPY_EVENT_CALL_END };
	err = espy_line_output__given(&s->out, o->output);
	if (err) {
		free(s);
		return err;
	}
	s->base.output = s->out;
	*out = &s->base;
	return 0;
}

const struct espy_sink_kind espy_sink_kind_tsv = {
	.name = "tsv",
	.needs = { .times = true },
	.make = tsv_make,
};

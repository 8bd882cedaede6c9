/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text of an event for a callback: the line of `espy trace`, with nothing in front of it. */
#include <errno.h>
#include <stdlib.h>
#include "lib/event_values.h"
#include "lib/session_impl.h"

static bool open_lines(struct espy_event_answers *a, struct espy_session *s)
{
	if (a->line)
		return true;
	if (espy_line_output__fd(&a->line, -1))
		return false;
	a->text = (struct espy_text_options){ .size = sizeof(a->text), .string_limit = 32 };
	a->lines = (struct espy_lines){
		.o = &a->text,
		.stream = &s->pipe.stream,
		.live = espy_state__live_tasks(s->pipe.state),
		.to_file = true,
		.resolver = s->pipe.resolver,
	};
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		a->lines.text[abi].str_limit = a->text.string_limit;
	return true;
}

/* Returns whether an event of this type has a line. */
static bool put_line(struct espy_event_answers *a, const struct espy_event *e)
{
	bool begun = false;
	unsigned shown = 0;
	struct espy_line_task t = { .out = a->line, .task = e->task, .begun = &begun, .args_shown = &shown };

	switch (e->type) {
	case ESPY_EVENT_CALL_BEGIN:
		espy_lines__enter(&a->lines, &t, e);
		espy_lines__interrupt(a->line);
		return true;
	case ESPY_EVENT_CALL_END:
		espy_lines__exit(&a->lines, &t, e);
		return true;
	case ESPY_EVENT_SIGNAL:
		espy_lines__signal(&a->lines, &t, (const struct espy_rec_signal *)e->rec);
		return true;
	case ESPY_EVENT_EXIT:
		espy_lines__task_exit(&a->lines, &t, (const struct espy_rec_task_exit *)e->rec);
		return true;
	case ESPY_EVENT_MARK:
		espy_lines__mark(&a->lines, &t, e->mark, (const struct espy_rec_mark *)e->rec);
		return true;
	case ESPY_EVENT_PROBE:
		espy_lines__probe(&a->lines, &t, e->mark, (const struct espy_rec_probe *)e->rec);
		return true;
	case ESPY_EVENT_LOSS:
		espy_lines__lost(a->line, (const struct espy_rec_lost *)e->rec);
		return true;
	default:
		return false;
	}
}

int espy_event_text(const struct espy_event *e, char *text, size_t size)
{
	struct espy_event_answers *a;

	if (!e || (!text && size))
		return -EINVAL;
	a = espy_session__answers(e->session);
	if (!a || !open_lines(a, e->session))
		return -ENOMEM;
	if (e->call && !e->decoded)
		return -ENOENT;
	a->line->buf.len = a->line->line_start = 0;
	if (!put_line(a, e))
		return -ENOENT;
	if (a->line->buf.failed)
		return -ENOMEM;
	return espy_give_text(text, size, a->line->buf.data, a->line->buf.len - 1); /* without its end */
}

void espy_session__free_answers(struct espy_event_answers *a)
{
	if (!a)
		return;
	if (a->line) {
		a->line->buf.len = 0;
		espy_line_output__close(a->line);
	}
	espy_decoder__free(&a->lines.signals);
	espy_decoder__free(&a->signals);
	free(a);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text sink's own parts: text_sink.c makes the lines of calls, marks and hits, text_lives.c those of tasks and signals. */
#ifndef ESPY_SINK_TEXT_SINK_IMPL_H
#define ESPY_SINK_TEXT_SINK_IMPL_H

#include "sink/task_outputs.h"
#include "sink/text_lines.h"
#include "sink/text_sink.h"
#include "sink/text_tasks.h"

struct text_sink {
	struct espy_sink base;
	struct espy_text_options o;
	const struct espy_filter *filter;
	const struct espy_stream *stream;
	struct espy_output *out;
	struct espy_task_outputs own; /* if out is a file for each task */
	struct espy_lines lines;
	struct espy_symbolizer *symbols; /* made with the first stack that is shown */
	struct espy_text_tasks tasks;
	bool ended_shown; /* a call stack of the task that has just ended has a place */
};

/* Finds the output and the way of lines for the event's task. Returns false if there is none. */
bool espy_text_sink__line_task(struct text_sink *t, const struct espy_event *e, struct espy_line_task *lt);

/* Shows the ignored signals of a task. ip: where it was; 0: not known. */
void espy_text_lives__later(struct text_sink *t, const struct espy_line_task *lt, uint64_t ip);
/* Shows that another thread has taken the task's place. */
void espy_text_lives__superseded(struct text_sink *t, const struct espy_line_task *lt, struct espy_text_task *tt);
/* Shows the end of the first thread, now that its process has ended. */
void espy_text_lives__left(struct text_sink *t, struct espy_text_task *tt, uint64_t time_ns);
void espy_text_lives__signal(struct text_sink *t, const struct espy_event *e);
void espy_text_lives__stopped(struct text_sink *t, const struct espy_event *e);
void espy_text_lives__exec(struct text_sink *t, const struct espy_event *e);
void espy_text_lives__exit(struct text_sink *t, const struct espy_event *e);
void espy_text_lives__detach(struct text_sink *t, const struct espy_event *e);

#endif

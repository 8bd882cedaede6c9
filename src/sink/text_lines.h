/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lines of text: which line is begun, interrupted (`<unfinished ...>`), gone on with (`<... resumed>`) or written whole;
 * prefixes, columns, durations. What stands between the parentheses is the text renderer's affair.
 */
#ifndef ESPY_SINK_TEXT_LINES_H
#define ESPY_SINK_TEXT_LINES_H

#include "describe/call_view.h"
#include "sink/line_output.h"
#include "sink/sink.h"
#include "sink/text/text.h"
#include "state/resolver.h"

struct espy_mark_def;

/* What the lines of one text have in common. */
struct espy_lines {
	const struct espy_text_options *o;
	const struct espy_stream *stream;
	struct espy_text_opts text[ESPY_ABI_CNT]; /* how arguments are shown, for each ABI */
	const size_t *live; /* how many tasks are watched: more than one asks for [pid N] */
	bool to_file; /* lines have no [pid N] in front, but a column if there are several tasks */
	bool column;  /* each line begins with the number of its task */
	struct espy_resolver resolver;
	struct espy_decoder signals; /* of what signals tell: they may be shown later than they come */
	uint64_t last_time_ns;			  /* of the line before, for -r */
};

/* A task, as far as lines of it may be open. */
struct espy_line_task {
	struct espy_output *out;
	struct espy_task *task;
	bool hidden;	     /* its lines were not asked for */
	bool several; /* the line is of a time when there was more than one task */
	unsigned gone;	     /* tasks that are still counted, and are not there any more */
	unsigned depth;	     /* functions that it is in: the line is indented */
	bool *begun;	     /* the first half of its call has been written */
	unsigned *args_shown; /* arguments that the first half wrote */
};

/* Returns the first half of a call's line as text of the caller's, and writes nothing; NULL: there is no memory. */
char *espy_lines__keep(struct espy_lines *l, const struct espy_line_task *t, const struct espy_event *e);
/* Writes such a half, of a task that was let go in the call. */
void espy_lines__kept_detached(struct espy_output *o, const char *line);
/* ` <unfinished ...>` ends the open line, if there is one. */
void espy_lines__interrupt(struct espy_output *o);
/* The same by ` <pid changed to TID ...>`. */
void espy_lines__renumber(struct espy_output *o, uint32_t tid);
/* Has this task a line open? */
bool espy_lines__is_open(const struct espy_output *o, uint32_t tid);
/* The time that stands in front of its line. */
uint64_t espy_lines__call_time(const struct espy_call_view *v);
/* The manner in which a call is shown; begun: what has not been shown yet of one that has ended. */
unsigned espy_lines__manner(const struct espy_lines *l, const struct espy_call_view *v, bool begun);
/* A call that has begun and is shown at once. */
void espy_lines__enter(struct espy_lines *l, const struct espy_line_task *t, const struct espy_event *e);
/* A call that has ended: whole, or the rest of what enter began. */
void espy_lines__exit(struct espy_lines *l, const struct espy_line_task *t, const struct espy_event *e);
void espy_lines__signal(struct espy_lines *l, const struct espy_line_task *t, const struct espy_rec_signal *sig);
/* def NULL: the stream has not defined it. */
void espy_lines__mark(struct espy_lines *l, const struct espy_line_task *t, const struct espy_mark_def *def,
		      const struct espy_rec_mark *mark);
void espy_lines__probe(struct espy_lines *l, const struct espy_line_task *t, const struct espy_mark_def *def,
		       const struct espy_rec_probe *probe);
/* PROVIDER:NAME(ARGUMENTS) of a probe. */
void espy_lines__put_place(struct espy_lines *l, struct espy_buf *b, const struct espy_mark_def *def, const struct espy_rec_probe *probe);
/* A function was entered then: its line stays open, for the end of one that calls nothing else. The caller puts its place. */
void espy_lines__function(struct espy_lines *l, const struct espy_line_task *t, uint64_t time_ns);
/* Its return; same: the line that is open is of this call. */
void espy_lines__function_end(struct espy_lines *l, const struct espy_line_task *t, const struct espy_mark_def *def,
			      const struct espy_rec_probe *probe, bool same);
void espy_lines__stopped(struct espy_lines *l, const struct espy_line_task *t, const struct espy_rec *rec);
void espy_lines__task_exit(struct espy_lines *l, const struct espy_line_task *t, const struct espy_rec_task_exit *x);
void espy_lines__superseded(struct espy_lines *l, const struct espy_line_task *t, uint32_t by, uint64_t time_ns);
/* The task makes calls of another ABI from here on. */
void espy_lines__mode(const struct espy_line_task *t);
void espy_lines__lost(struct espy_output *o, const struct espy_rec_lost *lost);
/* The open line of a task that goes on without us is ended by ` <detached ...>`. */
void espy_lines__detached(struct espy_output *o, uint32_t tid);

#endif

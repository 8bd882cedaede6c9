/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From records to lines: which line is begun, interrupted (`<unfinished ...>`), gone on with
 * (`<... resumed>`) or written whole; prefixes, columns, durations. Knows sinks and tasks, asks the
 * text renderer for all between the parentheses.
 */
#ifndef ESPY_SESSION_LINES_H
#define ESPY_SESSION_LINES_H

#include "decode/decode.h"
#include "session/session.h"
#include "session/sink.h"
#include "session/tasks.h"
#include "session/zone.h"

struct espy_mark_text;
struct espy_resolve;

struct espy_lines {
	const struct espy_session_opts *o;
	struct espy_text_opts text[ESPY_ABI_CNT]; /* o->text with resolver and the sets of the ABI */
	const struct espy_image *image;		  /* x86_64: siginfo */
	bool pid_column;    /* `-f -o FILE`, or several -p: every line begins with the pid, no brackets */
	const size_t *live; /* how many tasks live: more than one asks for [pid N] */
	const struct espy_resolver *resolver;
	void (*before_result)(struct espy_resolve *r); /* called between the arguments of a call and its result */
	struct espy_resolve *resolve;
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	const struct espy_zone *zone; /* of the place where a trace was made; NULL: time of day as it is here */
	uint64_t last_time_ns;	    /* of the line before, for -r */
};

/* Prefix of a new line of task: ends another task's open line first. */
void espy_lines__begin(struct espy_lines *l, struct espy_sink *s, struct espy_task *task, uint64_t time_ns,
		       bool is_call, uint64_t ip);
/* The open line of whoever has one is ended by ` <unfinished ...>`. */
void espy_lines__interrupt(struct espy_sink *s);
/* The time that stands in front of its line. */
uint64_t espy_lines__call_time(const struct espy_call_view *v);
/* A call that has begun and is shown at once. */
void espy_lines__enter(struct espy_lines *l, struct espy_sink *s, struct espy_task *task,
		       const struct espy_call_view *v);
/* A call that has ended: whole, or the rest of what enter began. */
void espy_lines__exit(struct espy_lines *l, struct espy_sink *s, struct espy_task *task,
		      const struct espy_call_view *v);
void espy_lines__signal(struct espy_lines *l, struct espy_sink *s, struct espy_task *task,
			const struct espy_rec_signal *sig);
/* text NULL: the stream has not defined it. */
void espy_lines__mark(struct espy_lines *l, struct espy_sink *s, struct espy_task *task,
		      const struct espy_mark_text *text, const struct espy_rec_mark *mark);
void espy_lines__stopped(struct espy_lines *l, struct espy_sink *s, struct espy_task *task, const struct espy_rec *rec);
void espy_lines__task_exit(struct espy_lines *l, struct espy_sink *s, struct espy_task *task,
			   const struct espy_rec_task_exit *x);
void espy_lines__superseded(struct espy_lines *l, struct espy_sink *s, struct espy_task *task, uint32_t by,
			    uint64_t time_ns);
/* The task makes calls of another ABI from here on. */
void espy_lines__personality(struct espy_sink *s, const struct espy_task *task);
void espy_lines__lost(struct espy_sink *s, const struct espy_rec_lost *lost);
void espy_lines__detached(struct espy_sink *s, struct espy_task *task);

/* The words for a reason of loss. */
const char *espy_lost_reason_text(unsigned reason);

#endif

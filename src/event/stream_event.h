/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An event: one record of the stream, with the task that it belongs to and, if a sink or filter wants them, the values in it as
 * tokens. It exists while it is given to the engines.
 */
#ifndef ESPY_EVENT_STREAM_EVENT_H
#define ESPY_EVENT_STREAM_EVENT_H

#include <espy/event.h> /* enum espy_event_type */
#include "describe/call_view.h"
#include "event/tokens.h"

struct espy_task;
struct espy_mark_def;
struct espy_session;

/* Types of events that only sinks get, beside enum espy_event_type. */
enum {
	ESPY_EVENT_MODE = 1u << 16,    /* the task makes calls of another ABI from here on */
	ESPY_EVENT_STOPPED = 1u << 17, /* the task was stopped by a signal */
	ESPY_EVENT_STACK = 1u << 18,   /* the stack of the call that has just been told of; of no task: of one that has ended */
};

/* Why an event is not for show. */
enum {
	ESPY_WITHHELD_FILTER = 1, /* the engine's filter does not want it */
	ESPY_WITHHELD_TASK = 2,	  /* it is of a task whose events were not asked for */
};

struct espy_event {
	unsigned type;	   /* one bit of enum espy_event_type, or of the above */
	unsigned withheld; /* ESPY_WITHHELD_*: told only to sinks that take such events (sink/sink.h) */
	const struct espy_rec *rec;
	struct espy_task *task; /* NULL: it belongs to none */
	struct espy_task *other; /* FORK: the child. EXEC: the task whose number is the process's from now on; or NULL */
	uint32_t tid, tgid;	/* 0: none */
	uint64_t time_ns;	/* CLOCK_MONOTONIC; of a call that has ended: when it ended */
	const struct espy_image *image;	/* of the call's ABI; of a signal: the native one */
	const struct espy_call_view *call; /* CALL_BEGIN, CALL_END; else NULL */
	const struct espy_mark_def *mark;  /* MARK, PROBE: NULL: the stream has not defined it */
	/*
	 * CALL_END of a call that was told of when it began: how far its arguments were shown then (espy_decoder__args);
	 * 0: nothing was.
	 */
	unsigned args_shown;
	bool broken_off; /* CALL_END: the task has died in the call; the arguments end where args_shown says */
	struct espy_session *session; /* that gives it out: for what callbacks ask (lib/event_values.c); of no use to a sink */
	const char *cwd;	  /* CALL_*, for filters by path: the working directory when it began; NULL: not known */
	bool decoded;		  /* args is filled in */
	struct espy_tokens args;  /* CALL_*: arguments. SIGNAL: its siginfo. MARK: arguments */
	struct espy_tokens result; /* CALL_END; empty if the call did not return */
};

#endif

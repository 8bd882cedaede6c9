/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A sink: what becomes of events. Text, the table of -c, a trace file are sinks; each is an object behind this interface, made
 * from a struct of options of its own. A sink knows the stream that its events are of (struct espy_stream), no session, no
 * source, and no other sink.
 *
 * Life: made by its own function -> start -> (event | expect, record, marks)* -> finish -> close.
 */
#ifndef ESPY_SINK_H
#define ESPY_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <espy/espy.h>
#include "base/log.h"
#include "event/decoder.h"
#include "event/stream_event.h"
#include "record/record.h"

struct espy_state;

/* What the stream was begun with, for a later reader. */
struct espy_origin {
	const char *source; /* its name */
	bool command, wide; /* a program was started; a cgroup, the whole system */
	uint32_t pids;	    /* so many tasks or processes by number */
	unsigned follow;    /* their children, too: 1; 2: to a file for each */
	char *const *argv;  /* of the command; NULL: none */
};

/* The stream that a sink's events are of. */
struct espy_stream {
	const struct espy_image *images; /* ESPY_ABI_CNT of them; those of a trace change between records */
	const void *image_bytes[ESPY_ABI_CNT]; /* live: what they were opened from */
	size_t image_sizes[ESPY_ABI_CNT];
	struct espy_state *state;
	bool recorded; /* it comes from a trace */
	bool passive;  /* the begin of a call is told only if it hangs */
	bool outside;  /* what is at work is not within the wanted time */
	struct espy_origin origin;
	const struct espy_log *log;
};

/* More than one task was meant from the start. */
static inline bool espy_stream__several(const struct espy_stream *s)
{
	return s->origin.follow || s->origin.wide || s->origin.pids + s->origin.command > 1;
}

struct espy_sink;
/* Functions that a sink does not have are NULL, but for close. */
struct espy_sink_ops {
	const char *name;
	/* The source is open, its tasks are not watched yet. `stream` stays valid until close. 0 or -errno, which was said. */
	int (*start)(struct espy_sink *s, const struct espy_stream *stream);
	/*
	 * In which manners (event/tokens.h) does it want the values of this event of a call? 0: not at all. The event is decoded
	 * once, for all sinks. Whether the filter's paths let it through is not known yet.
	 */
	unsigned (*manners)(struct espy_sink *s, const struct espy_event *e);
	/* One of the events in s->events. */
	void (*event)(struct espy_sink *s, const struct espy_event *e);
	/*
	 * Sinks of records get each, whatever it is. expect: before it takes effect on the state, with its size, or that of the
	 * run of marks that it begins. record: after it; call is its view, NULL if it is none or could not be read. fact: the
	 * state was told something by the system, before the record at which it asked. marks: a run, in place of each.
	 */
	void (*expect)(struct espy_sink *s, const struct espy_rec *rec, size_t size);
	void (*record)(struct espy_sink *s, const struct espy_rec *rec, const struct espy_call_view *call);
	void (*fact)(struct espy_sink *s, const struct espy_rec *fact);
	void (*marks)(struct espy_sink *s, const void *marks, size_t size);
	/* How much it has written: bytes, records, files. */
	void (*written)(const struct espy_sink *s, uint64_t *bytes, uint64_t *records, unsigned *files);
	/* Nothing waits for more: what can be written is written. Often. */
	void (*flush)(struct espy_sink *s);
	/* Nothing more comes. */
	void (*finish)(struct espy_sink *s);
	/* 0 or the first -errno of writing. The sink is freed. */
	int (*close)(struct espy_sink *s);
};

struct espy_sink {
	const struct espy_sink_ops *ops;
	struct espy_want want; /* what the values are to tell besides what was captured */
	unsigned events;     /* that it makes use of: enum espy_event_type and the above */
	bool takes_withheld; /* it must know of events that it does not show */
	bool keeps_begun;    /* it keeps the beginning of a call until the status tells whether it is shown */
	struct espy_output *output; /* that it writes lines to; NULL: none */
	int error;	     /* of writing, the first one, positive: nothing more is given to it */
	uint64_t calls;	     /* that it has shown, counted, written */
	uint64_t damaged;    /* records that it could not read */
};

static inline void espy_sink__fail(struct espy_sink *s, int err)
{
	if (!s->error && err)
		s->error = err < 0 ? -err : err;
}

#endif

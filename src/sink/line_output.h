/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where lines go: standard error, a file, a command's standard input. Several sinks may write to one output; a line that one of
 * them has begun is ended before another begins.
 */
#ifndef ESPY_SINK_LINE_OUTPUT_H
#define ESPY_SINK_LINE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"

struct espy_output {
	unsigned users;	     /* the last one closes it */
	char *name;	     /* for messages; NULL: it has none */
	int fd;
	bool keep_fd;	     /* the descriptor stays the caller's */
	char *per_task;	     /* not NULL: nothing is written here; each task has a file of this name and its number */
	bool append;	     /* of per_task: files are written at their end */
	struct espy_buf buf; /* not yet written */
	size_t line_start;   /* where in buf the current line begins */
	size_t flushed_cols; /* of the current line, already written */
	const void *open;    /* the task that has begun a line and not ended it; NULL: none */
	uint32_t open_tid;   /* the task that it is of */
	const char *open_end; /* how it ends if another line comes; NULL: as that of a call that has not ended */
	pid_t command;	     /* "|command": to be waited for; 0: none */
	int error;	     /* first write error, positive errno; later output is dropped */
	bool whole_lines;    /* a line that is open is not written yet: it may have to be taken back */
	bool muted;	     /* a line that ends now is taken back */
	bool hidden;	     /* so is the line that was begun last, whenever it ends */
	struct espy_colors *colors; /* NULL: none */
	struct espy_buf painted;    /* with colours: what is being written */
	bool json_begun;     /* the object that begins an output of JSON is written */
};

/* Makes an output of a descriptor, which stays the caller's. Returns 0 or -ENOMEM. */
int espy_line_output__fd(struct espy_output **out, int fd);
/* "FILE", "|command" or "!command". 0 or -errno. */
int espy_line_output__open(struct espy_output **out, const char *name, bool append);
/* Files NAME.TASK, each opened by the first line of its task. 0 or -errno, also if none can be made in that folder. */
int espy_line_output__per_task(struct espy_output **out, const char *name, bool append);
/* Colours what is written from now on, as espy_colors__new() says. 0 or -ENOMEM. */
int espy_line_output__colors(struct espy_output *o, const char *spec);
/* Write what is there. 0 or -errno of the first failed write (said once, then again at each call). */
int espy_line_output__flush(struct espy_output *o);
/* The same when much has gathered. */
void espy_line_output__flush_much(struct espy_output *o);
/* Column of the end of the current line, from 0. */
size_t espy_line_output__column(const struct espy_output *o);
/*
 * What comes is objects of JSON: writes the one that says so, if none of the output's sinks has done so yet. A line that is hidden
 * ends here.
 */
void espy_line_output__begin_json(struct espy_output *o);
/* End the current line. */
void espy_line_output__end_line(struct espy_output *o);
/* Whole lines were put into buf directly: the current line begins behind them. */
void espy_line_output__whole_lines(struct espy_output *o);
/* One user fewer; after the last one: flush, close, wait for the command. 0 or -errno of a write. NULL is let be. */
int espy_line_output__close(struct espy_output *o);

/* Appends a line of dashes below the heads of columns. */
void espy_buf__dashes(struct espy_buf *b, const unsigned *widths, unsigned cnt);

/* ---- sinks that write lines */

struct espy_sink;
/* Gives a new sink, which *out then is, the output that its options give. 0, or -ENOMEM: the sink was freed. */
int espy_line_sink__open(struct espy_sink **out, struct espy_sink *s, struct espy_output *given);
/* As functions of a sink. close frees the sink itself: what else it has was freed before. */
void espy_line_sink__flush(struct espy_sink *s);
int espy_line_sink__close(struct espy_sink *s);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sink: where lines go. stderr, a file, a command's standard input; with -ff one file for each task. */
#ifndef ESPY_SESSION_SINK_H
#define ESPY_SESSION_SINK_H

#include <stdbool.h>
#include <sys/types.h>
#include "render/buf.h"

struct espy_task;

struct espy_sink {
	int fd;
	struct espy_buf buf;	/* not yet written */
	size_t line_start;	/* where in buf the current line begins */
	size_t flushed_cols;	/* of the current line, already written */
	struct espy_task *open; /* whose line has been begun and not ended */
	pid_t command;		/* "|command": to be waited for; 0: none */
	int error;		/* first write error, positive errno; later output is dropped */
	bool whole_lines;	/* a line that is open is not written yet: it may have to be taken back */
	bool muted;		/* a line that ends now is taken back */
	bool hidden;		/* so is the line that was begun last, whenever it ends */
};

/* stderr. */
void espy_sink__init_fd(struct espy_sink *s, int fd);
/* "FILE", "|command" or "!command". 0 or -errno. */
int espy_sink__open(struct espy_sink *s, const char *name, bool append);
/* Write what is there. 0 or -errno of the first failed write (said once, then again at each call). */
int espy_sink__flush(struct espy_sink *s);
/* Column of the end of the current line, from 0. */
size_t espy_sink__column(const struct espy_sink *s);
/* End the current line. */
void espy_sink__end_line(struct espy_sink *s);
/* Whole lines were put into buf directly: the current line begins behind them. */
void espy_sink__whole_lines(struct espy_sink *s);
/* Flush, close, wait for the command. 0 or -errno of a write. */
int espy_sink__close(struct espy_sink *s);

#endif

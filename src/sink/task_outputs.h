/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file for each task (-ff): NAME.TASK, made with its first line. For sinks whose output is such a name. */
#ifndef ESPY_SINK_TASK_OUTPUTS_H
#define ESPY_SINK_TASK_OUTPUTS_H

#include <uthash.h>
#include "sink/sink.h"

struct espy_output;

struct espy_task_output {
	uint32_t tid;
	struct espy_output *out;
	UT_hash_handle hh;
};

struct espy_task_outputs {
	struct espy_sink *sink; /* fails when a file cannot be opened or written */
	struct espy_output *base; /* has the name that the files' names begin with */
	const struct espy_stream *stream;
	struct espy_task_output *files;
};

/* The file of a task, made if it is not there; NULL: it cannot be, and the sink has failed. */
struct espy_output *espy_task_outputs__get(struct espy_task_outputs *t, uint32_t tid);
/* The same if it is there; else NULL. */
struct espy_output *espy_task_outputs__find(const struct espy_task_outputs *t, uint32_t tid);
/* Writes and closes the file of a task, if it has one. */
void espy_task_outputs__close(struct espy_task_outputs *t, uint32_t tid);
/* Writes what waits, of all files. */
void espy_task_outputs__flush(struct espy_task_outputs *t);
/* Closes all files. */
void espy_task_outputs__free(struct espy_task_outputs *t);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A trace file as a source: its records come in the order in which they were recorded. The file also has the answers that
 * the session got from the system (recording.c wrote them). So the same lines come out.
 */
#ifndef ESPY_LIB_REPLAY_H
#define ESPY_LIB_REPLAY_H

#include <espy/espy.h>
#include "source/source.h"

struct espy_trace_reader;

extern const struct espy_source_ops espy_source_replay;

/* Opens the source. reader stays the caller's; follow: the trace still grows. 0 or -ENOMEM. */
int espy_replay__open(struct espy_source **out, struct espy_trace_reader *reader, bool follow);
/* Returns a moment as CLOCK_MONOTONIC of the recording; 0: none was given, or it lies before all records. */
uint64_t espy_replay__moment(struct espy_trace_reader *reader, const struct espy_moment *when);

#endif

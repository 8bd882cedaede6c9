/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A trace file as a source: its records come in the order in which they were recorded. What the session knew besides
 * is in the file too (recording.c wrote it), so that the same lines come out.
 */
#ifndef ESPY_LIB_REPLAY_H
#define ESPY_LIB_REPLAY_H

#include <espy/espy.h>
#include "source/source.h"

struct espy_trace_reader;

extern const struct espy_source_ops espy_source_replay;

/* reader stays the caller's; follow: it still grows. 0 or -ENOMEM. */
int espy_replay__open(struct espy_source **out, struct espy_trace_reader *reader, bool follow);
/* A moment as CLOCK_MONOTONIC of the recording; 0: none was given, or it lies before all. */
uint64_t espy_replay__moment(struct espy_trace_reader *reader, const struct espy_moment *when);

#endif

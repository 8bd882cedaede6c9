/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A trace file as a source: its records come in the order in which they were recorded. What the session knew besides
 * is in the file too (recording.c wrote it), so that the same lines come out.
 */
#ifndef ESPY_SESSION_REPLAY_H
#define ESPY_SESSION_REPLAY_H

#include "session/session.h"
#include "source/source.h"

extern const struct espy_source_ops espy_source_replay;

/* show stays the caller's. 0 or -ENOMEM. */
int espy_replay__open(struct espy_source **out, const struct espy_show_opts *show);
/* A moment as CLOCK_MONOTONIC of the recording; 0: none was given, or it lies before all. */
uint64_t espy_replay__moment(const struct espy_show_opts *show, const struct espy_when *when);

#endif

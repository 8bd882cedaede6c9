/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A trace that is being written: what a session puts into the file besides the records of its source, so that a
 * session which reads it knows the same. The counterpart is replay.c.
 */
#ifndef ESPY_SESSION_RECORDING_H
#define ESPY_SESSION_RECORDING_H

#include "record/record.h"
#include "session/session.h"
#include "trace/trace.h"

struct espy_recording;

/* Says why the trace is not there: -errno. */
void espy_recording__not_created(struct espy_session *s, const char *path, int err);
/* Creates the file and writes what is known before the first record. 0 or -errno, which was said. */
int espy_recording__open(struct espy_recording **out, struct espy_session *s);
/* A record is about to be dealt with, or a run of marks that begins with it: `size` bytes. */
void espy_recording__expect(struct espy_recording *r, const struct espy_rec *rec, size_t size);
/* A record that the session has dealt with; what it asked of the system meanwhile is in the file already. */
void espy_recording__append(struct espy_recording *r, const struct espy_rec *rec);
/* The same of a run of marks. */
void espy_recording__marks(struct espy_recording *r, const void *marks, size_t size);
/* Between two polls: writes what has waited, takes the time by all clocks now and then, tells how far it has come. */
void espy_recording__tick(struct espy_recording *r);
/* 0, or the first error of writing, positive. */
int espy_recording__error(const struct espy_recording *r);
/* The end of the stream: flags and status as in struct espy_rec_end. */
void espy_recording__end(struct espy_recording *r, const struct espy_source_stats *st, unsigned flags, int status);
struct espy_trace_write_stats espy_recording__stats(const struct espy_recording *r);
uint64_t espy_recording__calls(const struct espy_recording *r);
/* Writes the rest. 0 or -errno of the first error. */
int espy_recording__close(struct espy_recording *r);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sink of a trace file: the records of the stream, and what the state was told besides, so that a session that reads it
 * knows the same.
 */
#ifndef ESPY_SINK_RECORDING_H
#define ESPY_SINK_RECORDING_H

#include "filter/call_filter.h"
#include "sink/sink.h"
#include "source/source.h"
#include "trace/trace.h"

/*
 * o: whole, and copied; its path and words are kept: valid until close. f: which calls were asked for.
 * The file is made at start. -ENOMEM.
 */
int espy_recording__new(struct espy_sink **out, const struct espy_trace_options *o, const struct espy_filter *f);
/* Says why a trace cannot be made: -errno. */
void espy_recording__not_created(const struct espy_log *log, const char *path, int err);
/* The last record: flags and status as in struct espy_rec_end. What has waited is written, so that stats are the last ones. */
void espy_recording__end(struct espy_sink *s, const struct espy_source_stats *st, unsigned flags, int status);
struct espy_trace_write_stats espy_recording__stats(const struct espy_sink *s);

#endif

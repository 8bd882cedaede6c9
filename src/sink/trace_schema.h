/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which descriptions a trace needs that is being written: those of the calls that it holds. They come into it in parts,
 * each in front of the records that need it.
 */
#ifndef ESPY_SINK_TRACE_SCHEMA_H
#define ESPY_SINK_TRACE_SCHEMA_H

#include "describe/image.h"
#include "record/record.h"
#include "trace/trace.h"

struct espy_trace_schema;

/* images: one for each ABI, which stay as they are, and their bytes. NULL: out of memory. */
struct espy_trace_schema *espy_trace_schema__new(const struct espy_image *images, const void *const *bytes,
						const size_t *sizes);
void espy_trace_schema__free(struct espy_trace_schema *d);
/* A record goes into the trace. */
void espy_trace_schema__record(struct espy_trace_schema *d, const struct espy_rec *rec);
/* A descriptor of netlink was met: what is sent and received by it is decoded by its protocol. */
void espy_trace_schema__netlink(struct espy_trace_schema *d);
/* Writes what the records since the last time need and the file with that number does not have. 0 or -errno. */
int espy_trace_schema__write(struct espy_trace_schema *d, struct espy_trace_writer *w, unsigned file);

#endif

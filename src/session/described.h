/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which descriptions a trace needs that is being written: those of the calls that it holds. They come into it in parts,
 * each in front of the records that need it.
 */
#ifndef ESPY_SESSION_DESCRIBED_H
#define ESPY_SESSION_DESCRIBED_H

#include "describe/image.h"
#include "record/record.h"
#include "trace/trace.h"

struct espy_described;

/* images: one for each ABI, which stay as they are, and their bytes. NULL: out of memory. */
struct espy_described *espy_described__new(const struct espy_image *images, const void *const *bytes,
					   const size_t *sizes);
void espy_described__free(struct espy_described *d);
/* A record goes into the trace. */
void espy_described__record(struct espy_described *d, const struct espy_rec *rec);
/* A descriptor of netlink was met: what is sent and received by it is decoded by its protocol. */
void espy_described__netlink(struct espy_described *d);
/* From now on each file begins with the calls that most programs make: what has a dictionary for them is smaller so. */
void espy_described__common(struct espy_described *d);
/* Writes what the records since the last time need and the file with that number does not have. 0 or -errno. */
int espy_described__write(struct espy_described *d, struct espy_trace_writer *w, unsigned file);

#endif

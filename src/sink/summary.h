/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sink of the table of -c and -C: counts, errors and times by call. Its text is written when nothing more comes. */
#ifndef ESPY_SINK_SUMMARY_H
#define ESPY_SINK_SUMMARY_H

#include "sink/sink.h"
#include "source/source.h"

struct espy_mark_def;

/* o: whole, and copied with its columns; its output is used by the sink as well. -ENOMEM. */
int espy_summary__new(struct espy_sink **out, const struct espy_summary_options *o);
/* Counts by call number that a source has made itself, for the ABI of img. */
void espy_summary__add(struct espy_sink *s, const struct espy_image *img, const struct espy_count *counts, size_t n);
/* Hits of a probe that a source has counted itself. def_nr: the number of the definition. */
void espy_summary__add_hits(struct espy_sink *s, const struct espy_mark_def *def, uint32_t def_nr, const struct espy_count *c);
/* Are times of the table between begin and end, not on the CPU? */
bool espy_summary__needs_wall_clock(const struct espy_summary_options *o);

#endif

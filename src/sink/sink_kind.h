/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sinks that are asked for by name (`--sink=NAME`): each is one file NAME_sink.c, which defines espy_sink_kind_NAME, and a word in
 * the list `sink_kinds` of meson.build. CONTRIBUTING.md shows one.
 */
#ifndef ESPY_SINK_KIND_H
#define ESPY_SINK_KIND_H

#include "filter/call_filter.h"
#include "sink/sink.h"

/* What a sink needs captured, as bits; what no engine of a session needs is not. */
enum {
	ESPY_SINK_NEEDS_TIMES = 1,   /* when calls began and ended */
	ESPY_SINK_NEEDS_FDS = 2,     /* the files behind descriptors */
	ESPY_SINK_NEEDS_COMMS = 4,   /* names of tasks */
	ESPY_SINK_NEEDS_VERBOSE = 8, /* structures in full */
};

struct espy_sink_kind {
	const char *name;
	unsigned needs;
	/*
	 * o: whole; its output is used by the sink as well (espy_line_output__given). f: valid until close. 0 or -errno; the engine
	 * asks for *out's events.
	 */
	int (*make)(struct espy_sink **out, const struct espy_sink_options *o, const struct espy_filter *f);
};

/* The kind of this name; NULL: there is none. */
const struct espy_sink_kind *espy_sink_kind__find(const char *name);

#endif

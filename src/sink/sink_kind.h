/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sinks that are asked for by name (`--sink=NAME`): each is one file NAME_sink.c, which defines espy_sink_kind_NAME, and a word in
 * the list `sink_kinds` of meson.build. CONTRIBUTING.md shows one.
 */
#ifndef ESPY_SINK_KIND_H
#define ESPY_SINK_KIND_H

#include "filter/call_filter.h"
#include "sink/sink.h"
#include "source/needs.h"

struct espy_sink_kind {
	const char *name;
	struct espy_needs needs; /* captured: what no engine of a session needs is not */
	/*
	 * o: whole; its output is used by the sink as well (espy_line_sink__open). f: valid until close. 0 or -errno; the engine
	 * asks for *out's events.
	 */
	int (*make)(struct espy_sink **out, const struct espy_sink_options *o, const struct espy_filter *f);
};

/* The kind of this name; NULL: there is none. */
const struct espy_sink_kind *espy_sink_kind__find(const char *name);

#endif

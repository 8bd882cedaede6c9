/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sink of JSON: each event as an object on a line of its own (docs/json.md). */
#ifndef ESPY_SINK_JSON_SINK_H
#define ESPY_SINK_JSON_SINK_H

#include "filter/call_filter.h"
#include "sink/sink.h"

/*
 * o: whole, and copied; its output is used by the sink as well. f: arguments of which calls stay numbers; valid until close.
 * -ENOMEM.
 */
int espy_json_sink__new(struct espy_sink **out, const struct espy_json_options *o, const struct espy_filter *f);

#endif

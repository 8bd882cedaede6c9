/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sink of text: events as the lines of `espy trace`. */
#ifndef ESPY_SINK_TEXT_SINK_H
#define ESPY_SINK_TEXT_SINK_H

#include "filter/call_filter.h"
#include "sink/sink.h"

/*
 * o: whole, and copied; its output is used by the sink as well. f: how arguments of each call are shown, and which descriptors
 * are dumped; valid until close. -ENOMEM.
 */
int espy_text_sink__new(struct espy_sink **out, const struct espy_text_options *o, const struct espy_filter *f);

#endif

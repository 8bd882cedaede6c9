/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sink of events that are given to a function of the library's user. */
#ifndef ESPY_SINK_CALLBACK_SINK_H
#define ESPY_SINK_CALLBACK_SINK_H

#include "sink/sink.h"

/* values: fn looks at arguments. -ENOMEM. */
int espy_callback_sink__new(struct espy_sink **out, espy_event_fn fn, void *ctx, bool values);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A recording makes no text, yet its reader asks for the files behind descriptors, the names of tasks and interfaces. So
 * each call is looked at for what its text could ask, and that is asked now.
 */
#ifndef ESPY_SINK_PREFETCH_H
#define ESPY_SINK_PREFETCH_H

#include "event/decoder.h"
#include "state/state.h"

struct espy_prefetch {
	struct espy_resolver resolver;
	struct espy_decoder decoder;
	uint8_t *interest[ESPY_ABI_CNT]; /* per call of the image: enum interest */
};

/* images: ESPY_ABI_CNT of them. *g stays where it is. 0 or -ENOMEM. */
int espy_prefetch__init(struct espy_prefetch *g, struct espy_state *s, const struct espy_image *images);
/* What the arguments of a call could ask: of one that has ended, or has begun. */
void espy_prefetch__args(struct espy_prefetch *g, const struct espy_call_view *v);
/* The same of its result, after the stream's own news of descriptors have been taken in. */
void espy_prefetch__result(struct espy_prefetch *g, const struct espy_call_view *v);
void espy_prefetch__free(struct espy_prefetch *g);

#endif

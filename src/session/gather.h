/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Gathering: a recording makes no text, yet whoever shows it later asks for the files behind descriptors, the names of
 * tasks and interfaces. So each call is looked at for what its text could ask, and that is asked now.
 */
#ifndef ESPY_SESSION_GATHER_H
#define ESPY_SESSION_GATHER_H

#include "decode/visit.h"
#include "session/resolve.h"

struct espy_gather {
	struct espy_resolve *resolve;
	uint8_t *interest[ESPY_ABI_CNT]; /* per call of the image: enum interest */
};

/* images: ESPY_ABI_CNT of them. 0 or -ENOMEM. */
int espy_gather__init(struct espy_gather *g, struct espy_resolve *r, const struct espy_image *images);
/* What the arguments of a call could ask: of one that has ended (WHOLE) or that has begun (ENTER). */
void espy_gather__args(struct espy_gather *g, const struct espy_call_view *v, enum espy_part part);
/* The same of its result, after the stream's own news of descriptors have been taken in. */
void espy_gather__result(struct espy_gather *g, const struct espy_call_view *v);
/* The name of a task that has just begun or executed a program. */
void espy_gather__task(struct espy_gather *g, uint32_t tid);
void espy_gather__free(struct espy_gather *g);

#endif

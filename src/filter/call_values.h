/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The values that a condition asks of a captured system call. */
#ifndef ESPY_FILTER_CALL_VALUES_H
#define ESPY_FILTER_CALL_VALUES_H

#include "describe/call_view.h"
#include "event/decoder.h"
#include "filter/predicate.h"

struct espy_state;
struct espy_call_values {
	const struct espy_call_view *view;
	struct espy_state *state; /* answers that the call does not hold: files behind descriptors, names of tasks; NULL: not known */
	struct espy_decoder *decoder; /* for values deeper than the arguments; NULL: not known */
	bool decoded;		      /* its arguments are those of the view */
};

/* espy_value_fn, for names of filter/call_names.h; ctx: struct espy_call_values. */
int espy_call_values__get(void *ctx, uint64_t ref, const char *name, struct espy_filter_value *out);

#endif

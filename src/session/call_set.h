/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From filter and limits to what a source is asked for: which calls, and how many bytes of each operation. */
#ifndef ESPY_SESSION_CALL_SET_H
#define ESPY_SESSION_CALL_SET_H

#include "session/filter.h"
#include "session/session.h"
#include "source/source.h"

struct espy_limits {
	uint32_t str_limit; /* -s, bytes and elements */
	bool whole_data;    /* -e read=, write= dumps: all bytes, whatever -s is */
	bool everything;    /* for a trace: what only -v shows as well */
	struct espy_payload payload;
};

/* Fills set (its ops are allocated; espy_call_set__free). 0 or -ENOMEM. */
int espy_call_set__init(struct espy_call_set *set, const struct espy_image *img, const struct espy_filter *f,
			const struct espy_limits *lim);
void espy_call_set__free(struct espy_call_set *set);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The call set of a session, from filters and limits: the calls that a source captures, and the bytes of each operation. */
#ifndef ESPY_LIB_CALL_SET_H
#define ESPY_LIB_CALL_SET_H

#include "filter/call_filter.h"
#include "source/source.h"

/* Fills set (its ops are allocated; espy_call_set__free). 0 or -ENOMEM. */
int espy_call_set__init(struct espy_call_set *set, const struct espy_image *img, const struct espy_filter *f,
			const struct espy_needs *lim);
/* Returns how many bytes of a buffer are wanted that a record cannot hold; 0: none. */
uint32_t espy_call_set__most_data(const struct espy_needs *lim);
/*
 * For a source that stops tasks, to which bytes cost little: messages that may be netlink's are read whole, and of data
 * one byte more than is shown.
 */
void espy_call_set__read_freely(struct espy_call_set *set, const struct espy_needs *lim);
void espy_call_set__free(struct espy_call_set *set);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sets of system calls as -e trace=, abbrev=, verbose=, raw= name them. */
#ifndef ESPY_FILTER_FILTER_CALLS_H
#define ESPY_FILTER_FILTER_CALLS_H

#include "filter/call_filter.h"

/*
 * Replaces *set by the set that s names; *unknown (may be NULL): numbers beyond the tables belong to it. Returns 0; -EINVAL
 * with the message in err, and *set as it was; -ENOMEM.
 */
int espy_filter_calls__parse(struct espy_syscall_set *set, bool *unknown,
			     const struct espy_image *const images[ESPY_ABI_CNT], const char *s, char *err,
			     size_t err_sz);

/* Returns the bit of a class by its name behind the first % ("file", "%stat"); 0: there is none. */
uint64_t espy_filter_class(const char *name, size_t len);

#endif

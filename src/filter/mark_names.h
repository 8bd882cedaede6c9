/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arguments of marks and probes as the names of conditions. */
#ifndef ESPY_FILTER_MARK_NAMES_H
#define ESPY_FILTER_MARK_NAMES_H

#include "filter/condition.h"

/* Of one definition. */
struct espy_mark_names {
	const char *format;
	const uint8_t *kinds;
	unsigned nargs;
};
/* As espy_names.find, with ctx a struct espy_mark_names; out->ref is the number of the argument. */
int espy_mark_names__find(void *ctx, const char *name, bool text, struct espy_name_info *out, char *why, size_t why_sz);

#endif

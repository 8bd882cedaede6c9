/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names that conditions of probes have: arguments, and pid, tid, duration. */
#ifndef ESPY_FILTER_PROBE_NAMES_H
#define ESPY_FILTER_PROBE_NAMES_H

#include "filter/mark_names.h"

/* References beside the numbers of arguments. */
enum { ESPY_PROBE_NAME_PID = 0x100, ESPY_PROBE_NAME_TID, ESPY_PROBE_NAME_DURATION };

struct espy_probe_names {
	struct espy_mark_names args;
	bool returns; /* it has a duration */
};
/* As espy_names.find. An argument of the probe's goes before a name of ours. */
int espy_probe_names__find(void *ctx, const char *name, bool text, struct espy_name_info *out, char *why, size_t why_sz);

#endif

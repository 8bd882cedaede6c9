/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arguments of marks and probes as the names of conditions. */
#ifndef ESPY_FILTER_MARK_NAMES_H
#define ESPY_FILTER_MARK_NAMES_H

#include "filter/condition.h"

struct espy_mark_def;

/* Of one definition. */
struct espy_mark_names {
	const char *format;
	const uint8_t *kinds;
	unsigned nargs;
	const struct espy_mark_def *def; /* NULL: there are no constants */
};
/* As espy_names.find, with ctx a struct espy_mark_names; out->ref is the number of the argument. */
int espy_mark_names__find(void *ctx, const char *name, bool text, struct espy_name_info *out, char *why, size_t why_sz);

/* As espy_names.constant, with the same ctx: the constants of an enumeration. Of probes, too. */
int espy_mark_names__constant(void *ctx, const struct espy_name_info *name, const char *word, uint64_t *value,
			      uint64_t *mask);

struct espy_rec;
struct espy_filter_value;
/* Gets argument `index` of a MARK or PROBE. -ENOENT: there is none; -EFAULT: it could not be read. */
int espy_mark_names__value(const struct espy_mark_def *def, const struct espy_rec *rec, unsigned index, struct espy_filter_value *out);

/* ---- names that probes have besides: pid, tid, duration */

/* References beside the numbers of arguments. */
enum { ESPY_PROBE_NAME_PID = 0x100, ESPY_PROBE_NAME_TID, ESPY_PROBE_NAME_DURATION };

struct espy_probe_names {
	struct espy_mark_names args;
	bool returns; /* it has a duration */
};
/* As espy_names.find. An argument of the probe's goes before a name of ours. */
int espy_probe_names__find(void *ctx, const char *name, bool text, struct espy_name_info *out, char *why, size_t why_sz);

#endif

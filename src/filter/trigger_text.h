/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Triggers as text (--pause-on, --snapshot-on):
 *
 *	CALL[@64|@32|@x32] [: CONDITION]
 *
 * The condition is one of filter/condition.h that the kernel can test.
 *
 *	unlinkat: path == "/etc/passwd"      openat: ret == -ENOSPC      connect: errno != 0 && pid == 1234      write
 */
#ifndef ESPY_FILTER_TRIGGER_TEXT_H
#define ESPY_FILTER_TRIGGER_TEXT_H

#include <stddef.h>
#include "record/trigger.h"
#include "source/source.h"

/*
 * Reads a trigger. sets: one per ABI; their operations say how much of a text is captured. Returns 0, or -EINVAL with a
 * message in why: the mistake, its place, and the possible words there.
 */
int espy_trigger__parse(struct espy_trigger *t, const char *text, enum espy_trigger_action action,
			const struct espy_call_set sets[ESPY_ABI_CNT], char *why, size_t why_sz);

#endif

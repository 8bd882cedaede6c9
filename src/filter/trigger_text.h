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
 * sets: one per ABI; their operations say what of a text is captured at all. 0, or -EINVAL with what is wrong, where, and
 * what is possible there in why.
 */
int espy_trigger__parse(struct espy_trigger *t, const char *text, enum espy_trigger_action action,
			const struct espy_call_set sets[ESPY_ABI_CNT], char *why, size_t why_sz);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The options about static marks: -m, --via. */
#include <errno.h>
#include <string.h>
#include "cli/trace_handlers.h"

int espy_do_mark(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	char why[256];
	size_t at;
	int err = espy_filter_mark(a->filter, use->arg, &at, why, sizeof(why));
	if (err == -EINVAL)
		return espy_cli__usage(a->cli, "invalid %s argument: '%s', at character %zu: %s", use->as, use->arg,
				       at + 1, why);
	return err;
}

int espy_do_via(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	a->via_given = true;
	if (!strcmp(use->arg, "agent"))
		a->session.marks_by = ESPY_MARKS_BY_AGENT;
	else if (!strcmp(use->arg, "kernel"))
		a->session.marks_by = ESPY_MARKS_BY_KERNEL;
	else if (!strcmp(use->arg, "preload"))
		a->session.marks_by = ESPY_MARKS_BY_PRELOAD;
	else
		return espy_cli__usage(a->cli, "invalid %s argument: '%s' (agent, preload or kernel)", use->as, use->arg);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The options about probes: -u, --probe. */
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include "cli/trace_handlers.h"

bool espy_looks_like_probe(const char *arg)
{
	const char *colon = strchr(arg, ':');

	if (!colon && !strchr(arg, '@'))
		return false;
	/* UID:GID; and users of directory services have an @ in their names. */
	if (colon && strspn(arg, "0123456789") == (size_t)(colon - arg) && strspn(colon + 1, "0123456789") == strlen(colon + 1))
		return false;
	return colon || !getpwnam(arg);
}

int espy_do_probe(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	char why[256];
	size_t at;
	int err = espy_filter_probe(a->filter, use->arg, &at, why, sizeof(why));

	if (err == -EINVAL)
		return espy_cli__usage(a->cli, "invalid %s argument: '%s', at character %zu: %s", use->as, use->arg, at + 1, why);
	return err;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The options about static marks and probes: -m, --via, -u, --probe, --functions, -K. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/trace_handlers.h"

typedef int (*rule_fn)(struct espy_filter *f, const char *rule, size_t *at, char *why, size_t why_size);

static int add_rule(struct espy_trace_args *a, const struct espy_opt_use *use, rule_fn add)
{
	char why[256];
	size_t at;
	int err = add(a->filter, use->arg, &at, why, sizeof(why));

	if (err == -EINVAL)
		return espy_cli__usage(a->cli, "invalid %s argument: '%s', at character %zu: %s", use->as, use->arg, at + 1, why);
	return err;
}

int espy_do_mark(void *ctx, const struct espy_opt_use *use)
{
	return add_rule(ctx, use, espy_filter_mark);
}

int espy_do_probe(void *ctx, const struct espy_opt_use *use)
{
	return add_rule(ctx, use, espy_filter_probe);
}

/* FUNCTIONS(ARGS): puts a probe where they begin, and one without arguments where they return. Both have that name. */
int espy_do_functions(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	const size_t place = strcspn(use->arg, "( \t");
	struct espy_opt_use returns = *use;
	char *text;
	int err;

	if (strstr(use->arg, " if ") || strstr(use->arg, "%return"))
		return espy_cli__usage(a->cli, "invalid %s argument: '%s': functions have neither a condition nor %%return (-u)", use->as, use->arg);
	a->text.functions = true;
	err = add_rule(ctx, use, espy_filter_probe);
	if (err || a->role == ESPY_ROLE_SHOW)
		return err;
	if (asprintf(&text, "%.*s%%return", (int)place, use->arg) < 0)
		return -ENOMEM;
	returns.arg = text;
	err = add_rule(ctx, &returns, espy_filter_probe);
	free(text);
	return err;
}

int espy_do_tracepoint(void *ctx, const struct espy_opt_use *use)
{
	return add_rule(ctx, use, espy_filter_tracepoint);
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

bool espy_looks_like_probe(const char *arg)
{
	const char *colon = strchr(arg, ':');

	if (!colon && !strchr(arg, '@'))
		return false;
	/* UID:GID. Names of users of directory services have an @. */
	if (colon && strspn(arg, "0123456789") == (size_t)(colon - arg) && strspn(colon + 1, "0123456789") == strlen(colon + 1))
		return false;
	return colon || !getpwnam(arg);
}

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

	static const struct {
		const char *word;
		enum espy_mark_way marks;
		enum espy_probe_way probes;
	} ways[] = {
		{ "auto", ESPY_MARKS_BY_AGENT, ESPY_PROBES_BY_AUTO },
		{ "agent", ESPY_MARKS_BY_AGENT, ESPY_PROBES_BY_AGENT },
		{ "preload", ESPY_MARKS_BY_PRELOAD, ESPY_PROBES_BY_AGENT },
		{ "kernel", ESPY_MARKS_BY_KERNEL, ESPY_PROBES_BY_KERNEL },
	};

	a->via_given = true;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(use->arg, ways[i].word)) {
			a->session.marks_by = ways[i].marks;
			a->session.probes_by = ways[i].probes;
			return 0;
		}
	return espy_cli__usage(a->cli, "invalid %s argument: '%s' (auto, agent, preload or kernel)", use->as, use->arg);
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

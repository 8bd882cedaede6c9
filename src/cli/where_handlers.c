/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Conditions on calls: --where, and the options that are short for one. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/trace_handlers.h"
#include "cli/trace_values.h"

/* Keeps a condition, an allocated text. */
static int add(struct espy_trace_args *a, char *text)
{
	return espy_words__take(&a->lists.where, text);
}

int espy_do_where(void *ctx, const struct espy_opt_use *use)
{
	return add(ctx, strdup(use->arg));
}

/* Takes NAME, or NAME* for all names that begin so. */
int espy_do_comm(void *ctx, const struct espy_opt_use *use)
{
	static const char before[] = "comm == \"";
	char *text = malloc(sizeof(before) + 2 * strlen(use->arg) + sizeof("\"")), *to;

	if (!text)
		return -ENOMEM;
	to = stpcpy(text, before);
	for (const char *c = use->arg; *c; c++) {
		if (*c == '"' || *c == '\\')
			*to++ = '\\';
		*to++ = *c;
	}
	strcpy(to, "\"");
	return add(ctx, text);
}

/* Finds a user's number by name or number. Returns false if there is no such user. */
bool espy_trace_uid(const char *arg, unsigned long *uid)
{
	const struct passwd *user;

	if (espy_value__number(arg, 0xfffffffful, uid))
		return true;
	user = getpwnam(arg);
	if (user)
		*uid = user->pw_uid;
	return user;
}

int espy_do_uid(void *ctx, const struct espy_opt_use *use)
{
	const struct espy_trace_args *a = ctx;
	unsigned long uid;
	char *text;

	if (!espy_trace_uid(use->arg, &uid))
		return espy_cli__usage(a->cli, "invalid %s argument: '%s' (no such user)", use->as, use->arg);
	return add(ctx, asprintf(&text, "uid == %lu", uid) < 0 ? NULL : text);
}

/* Takes 10ms: at least so long; <10ms: shorter. */
int espy_do_duration(void *ctx, const struct espy_opt_use *use)
{
	const char *time = use->arg + strspn(use->arg, "<>=");
	const int len = (int)(time - use->arg);
	char *text;

	return add(ctx, asprintf(&text, "duration %.*s %s", len ? len : 2, len ? use->arg : ">=", time) < 0 ? NULL : text);
}

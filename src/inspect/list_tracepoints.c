/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists tracepoints of the kernel, one line for each, as -K names it, with the names of its fields. */
#include "inspect/list_tracepoints.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "source/tracefs.h"
#include "source/tracepoint.h"

struct listed {
	int tracefs;
	unsigned cnt;
};

static int put_tracepoint(void *ctx, const char *system, const char *name)
{
	struct listed *l = ctx;
	struct espy_tracepoint t;
	const int width = 40 - (int)strlen(system);

	if (espy_tracepoint__read(&t, l->tracefs, system, name))
		return 0;
	l->cnt++;
	printf("%s:%-*s ", system, width > 1 ? width : 1, name);
	for (unsigned i = 0; i < t.field_cnt; i++)
		printf("%s%s", i ? " " : "", t.fields[i].name);
	putchar('\n');
	espy_tracepoint__free(&t);
	return 0;
}

int espy_list_tracepoints(const struct espy_cli *cli, const char *pattern)
{
	const char *colon = pattern ? strchr(pattern, ':') : NULL;
	struct listed l = { .tracefs = espy_tracefs__open() };
	char system[128] = "*";

	if (l.tracefs < 0) {
		espy_cli__say(cli, "the kernel's tracepoints cannot be read (tracefs): %s", strerror(-l.tracefs));
		return 1;
	}
	if (pattern)
		snprintf(system, sizeof(system), "%.*s", (int)(colon ? colon - pattern : (long)strlen(pattern)), pattern);
	const int err = espy_tracepoint__each(l.tracefs, system, colon ? colon + 1 : "*", put_tracepoint, &l);

	close(l.tracefs);
	if (err)
		espy_cli__say(cli, "the kernel's tracepoints cannot be read: %s", strerror(-err));
	else if (!l.cnt)
		espy_cli__say(cli, "no tracepoint matches '%s'", pattern ? pattern : "*");
	return err || !l.cnt;
}

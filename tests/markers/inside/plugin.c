// SPDX-License-Identifier: LGPL-2.1-or-later
// Loaded and unloaded by dlopens.c and probes.c.
#include <stdint.h>

#include "espy/agent.h"
#include "espy/mark.h"

void plugin_run(int n);
int plugin_is_on(void);
extern unsigned long plugin_calls;
extern const struct espy_mark_callback *plugin_callback;
unsigned long plugin_calls;

void plugin_run(int n)
{
	for (int i = 0; i < n; i++)
		MARK(plugin_event, "i=%d of=%d", i, n);
}

int plugin_is_on(void)
{
	return MARK_ENABLED(plugin_event);
}

static void on_probed(void *data, unsigned long n, const char *s)
{
	__atomic_fetch_add(&plugin_calls, 1, __ATOMIC_RELAXED);
	*(volatile double *)data = (double)n * 1.5 + s[0];
}
ESPY_MARK_CALLBACK2(probed, on_probed, unsigned long, n, const char *, s)
const struct espy_mark_callback *plugin_callback = &probed;

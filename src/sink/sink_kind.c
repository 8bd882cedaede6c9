/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/sink_kind.h"

#include <string.h>

/* sink_kinds.inc has a line for each word of the list in meson.build. */
#define ESPY_SINK_KIND(name) extern const struct espy_sink_kind espy_sink_kind_##name;
#include "sink/sink_kinds.inc"
#undef ESPY_SINK_KIND

static const struct espy_sink_kind *const kinds[] = {
#define ESPY_SINK_KIND(name) &espy_sink_kind_##name,
#include "sink/sink_kinds.inc"
};

const struct espy_sink_kind *espy_sink_kind__find(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i]->name, name))
			return kinds[i];
	return NULL;
}

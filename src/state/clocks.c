/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include "state/clocks.h"

void espy_clocks__add(struct espy_clocks *c, const struct espy_rec_clock *rec)
{
	if (c->cnt == ESPY_CLOCKS_MAX)
		memmove(c->v, c->v + 1, --c->cnt * sizeof(*c->v));
	c->v[c->cnt++] = *rec;
}

int64_t espy_clocks__realtime_offset_ns(const struct espy_clocks *c, uint64_t time_ns)
{
	if (!c->cnt)
		return c->first_offset_ns;
	const struct espy_rec_clock *at = &c->v[c->cnt - 1];

	while (at > c->v && at->rec.time_ns > time_ns)
		at--;
	return (int64_t)(at->realtime_ns - at->rec.time_ns);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From ticks to CLOCK_MONOTONIC. Between two pairs of readings that lie around a moment its time is exact to a reading
 * (some 50 ns); the rate is taken from the last two pairs, so a clock that is being adjusted is followed.
 */
#include <time.h>
#include "arch/machine_code.h"
#include "base/clock.h"
#include "source/agent/agent_source.h"

#define FIRST_GAP_NS 4000000ull
#define GAP_NS 20000000ull

/* Of a few tries the one in which the least time passed between the two readings. */
static void read_pair(uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = ~0ull;

	for (unsigned i = 0; i < 5; i++) {
		uint64_t before = espy_code_ticks(), n = espy_now_ns(), after = espy_code_ticks();

		if (after - before < best) {
			best = after - before;
			*tsc = before + (after - before) / 2;
			*ns = n;
		}
	}
}

void espy_tsc__begin(struct espy_tsc *c)
{
	*c = (struct espy_tsc){ 0 };
	read_pair(&c->tsc[1], &c->ns[1]);
}

void espy_tsc__update(struct espy_tsc *c)
{
	uint64_t tsc, ns;

	if (!c->ns_per_tick) {
		uint64_t gone = espy_now_ns() - c->ns[1];
		const struct timespec rest = { .tv_nsec = gone < FIRST_GAP_NS ? (long)(FIRST_GAP_NS - gone) : 0 };

		nanosleep(&rest, NULL);
	}
	read_pair(&tsc, &ns);
	if ((c->ns_per_tick && ns - c->ns[1] < GAP_NS) || tsc <= c->tsc[1])
		return;
	c->tsc[0] = c->tsc[1];
	c->ns[0] = c->ns[1];
	c->tsc[1] = tsc;
	c->ns[1] = ns;
	c->ns_per_tick = (double)(c->ns[1] - c->ns[0]) / (double)(c->tsc[1] - c->tsc[0]);
}

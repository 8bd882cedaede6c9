/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The step of the clock, found in the times of calls. A step fits if all times are near to a multiple of it; the longer
 * the times, the better it is known, and the worse a false one fits.
 */
#include "trace/tick.h"

#include <stdlib.h>
#include <string.h>
#include "record/record.h"

#define TIMES_MAX 1024u
#define TIMES_LEAST 64u

struct times {
	uint32_t ns[TIMES_MAX], cnt;
};

/* How far the times are from multiples of the step, in 256ths of it: noise has 64. */
static uint32_t distance(const struct times *t, uint32_t most_ns, uint64_t tick)
{
	const uint64_t inverse = (1ull << (TICK_BITS + 24)) / tick; /* steps in a nanosecond, in 2^24ths */
	uint64_t sum = 0, cnt = 0;

	for (uint32_t i = 0; i < t->cnt; i++)
		if (t->ns[i] <= most_ns) {
			const uint32_t part = (uint32_t)(t->ns[i] * inverse >> 16) & 255;

			sum += part < 128 ? part : 256 - part;
			cnt++;
		}
	return cnt >= TIMES_LEAST ? (uint32_t)(sum / cnt) : 64;
}

static void gather(struct times *t, const uint8_t *records, size_t size)
{
	for (size_t at = 0; at < size && t->cnt < TIMES_MAX;) {
		struct espy_rec rec;
		uint64_t enter;

		memcpy(&rec, records + at, sizeof(rec));
		if (rec.type == ESPY_REC_EXIT && rec.flags & ESPY_RF_ENTER_NS && rec.size >= 40) {
			memcpy(&enter, records + at + 32, sizeof(enter));
			if (rec.time_ns > enter && rec.time_ns - enter < 1u << 20)
				t->ns[t->cnt++] = (uint32_t)(rec.time_ns - enter);
		}
		at += rec.size;
	}
}

uint32_t espy_tick__find(const uint8_t *records, size_t size)
{
	struct times t = { .cnt = 0 };
	uint64_t best = 0;
	uint32_t least = 40; /* what no clock without steps reaches */

	gather(&t, records, size);
	/* short times first, of which any step that is near enough is found */
	for (uint64_t tick = TICK_LEAST; tick < TICK_MOST; tick += tick / 1024) {
		const uint32_t d = distance(&t, 1500, tick);

		if (d < least) {
			least = d;
			best = tick;
		}
	}
	/* then more of them, by the steps that they are made of */
	for (uint32_t most = 1500; best && most < 1u << 20; most *= 2) {
		uint64_t ns = 0, steps = 0;

		for (uint32_t i = 0; i < t.cnt; i++)
			if (t.ns[i] <= most) {
				ns += t.ns[i];
				steps += step_near((uint32_t)best, t.ns[i]);
			}
		if (steps)
			best = (ns << TICK_BITS) / steps;
		if (best < TICK_LEAST || best >= TICK_MOST)
			return 0;
	}
	return best && distance(&t, 20000, best) < 40 ? (uint32_t)best : 0;
}

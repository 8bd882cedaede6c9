/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Times in mixed blocks. The clock of many machines moves in steps of several nanoseconds (10 ns on some): then what is
 * between two times is a number of steps, and what remains nearly follows from them. Part of the format.
 */
#ifndef ESPY_TRACE_TICK_H
#define ESPY_TRACE_TICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A step, in 2^24ths of a nanosecond; 0: it is not known, and each nanosecond counts. */
#define TICK_BITS 24
#define TICK_LEAST (5u << TICK_BITS)
#define TICK_MOST (60u << TICK_BITS)
#define TICK_FAR (1ull << 38) /* longer times are stored as they are */

/* Where in its nanosecond a time lies, as far as known: from lo up to hi, in 2^24ths. */
struct espy_phase {
	uint32_t lo, hi;
};
#define PHASE_UNKNOWN ((struct espy_phase){ 0, 1u << TICK_BITS })

/* The step of the clock that the calls among the records tell; 0. */
uint32_t espy_tick__find(const uint8_t *records, size_t size);

/* The magnitude of a time in ns: up to 15 itself, then quarters of a power of two. */
#define MAGNITUDE_FAR 255u
#define MAGNITUDE_SAME 254u /* the time of the record before, which told something of this call */
static inline unsigned magnitude_of(uint64_t ns)
{
	const unsigned top = ns ? 63 - (unsigned)__builtin_clzll(ns) : 0;

	return ns < 16 ? (unsigned)ns : 16 + (top - 4) * 4 + (unsigned)(ns >> (top - 2) & 3);
}

/* The least time of a magnitude. */
static inline uint64_t magnitude_from(unsigned magnitude)
{
	return magnitude < 16 ? magnitude : (4ull + (magnitude & 3)) << ((magnitude - 16) / 4 + 2);
}

/* The first step that lies at or beyond so many ns. */
static inline uint64_t step_from(uint32_t tick, uint64_t ns)
{
	return tick ? ((ns << TICK_BITS) + tick - 1) / tick : ns;
}

static inline uint64_t step_near(uint32_t tick, uint64_t ns)
{
	return tick ? ((ns << TICK_BITS) + tick / 2) / tick : ns;
}

/* The time of a step, without what is below a nanosecond. */
static inline uint64_t step_ns(uint32_t tick, uint64_t step)
{
	return tick ? step * tick >> TICK_BITS : step;
}

/* The steps of a magnitude, in so many bits: upper ones, which the calls tell of, and lower ones or noise. */
struct steps {
	uint64_t first, cnt;
	unsigned bits, upper, lower;
};

/* In 65536ths, that a number below cnt is not below half; 0: it cannot be. */
static inline uint32_t chance_even(uint64_t cnt, uint64_t half)
{
	if (cnt <= half)
		return 0;
	for (; cnt >> 32; cnt >>= 1)
		half >>= 1;
	const uint32_t chance = (uint32_t)(((cnt - half) << 16) / cnt);

	return chance ? chance : 1;
}

static inline struct steps steps_of(uint32_t tick, unsigned magnitude)
{
	struct steps s = { .first = step_from(tick, magnitude_from(magnitude)) };

	s.cnt = step_from(tick, magnitude_from(magnitude + 1)) - s.first;
	s.bits = s.cnt > 1 ? 64 - (unsigned)__builtin_clzll(s.cnt - 1) : 0;
	s.upper = s.bits < 3 ? s.bits : 3;
	s.lower = s.bits <= 4 ? s.bits - s.upper : 0;
	return s;
}

/* What is known of the time that is so many steps after one with that phase. */
struct espy_landing {
	uint64_t lo, hi; /* in 2^24ths of a nanosecond, from the beginning of the nanosecond of the time before */
	uint64_t from;	 /* ns: the earliest; what is stored is the difference to it */
	unsigned context;
};

static inline struct espy_landing land(uint32_t tick, uint64_t steps, struct espy_phase phase)
{
	/* the step is known well enough for some milliseconds */
	const uint64_t at = steps * tick, off = steps * 16 + (1u << 16);
	struct espy_landing l = { .from = at >> TICK_BITS, .context = 15 };

	if (off >> TICK_BITS) {
		l.hi = UINT64_MAX;
		return l;
	}
	l.lo = at + phase.lo > off ? at + phase.lo - off : 0;
	l.hi = at + phase.hi + off;
	l.from = l.lo >> TICK_BITS;
	const uint64_t edge = (l.from + 1) << TICK_BITS;

	if (l.hi <= edge)
		l.context = 0;
	else if (l.hi <= edge + (1u << TICK_BITS))
		l.context = 1 + (unsigned)((edge - l.lo) * 8 / (l.hi - l.lo));
	else
		l.context = 14;
	return l;
}

/* It was `ns` later. */
static inline struct espy_phase phase_after(const struct espy_landing *l, uint64_t ns)
{
	const uint64_t from = ns << TICK_BITS, to = (ns + 1) << TICK_BITS;
	const uint64_t lo = l->lo > from ? l->lo : from, hi = l->hi < to ? l->hi : to;

	return lo < hi ? (struct espy_phase){ (uint32_t)(lo - from), (uint32_t)(hi - from) } : PHASE_UNKNOWN;
}

#endif

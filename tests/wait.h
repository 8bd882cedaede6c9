/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Waiting, for every test in C: the one place where a test sleeps (tests/layers.sh refuses others). A machine may be slow, so a test
 * waits for an event, for up to a minute.
 */
#ifndef ESPY_TESTS_WAIT_H
#define ESPY_TESTS_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define WAIT_LIMIT_MS 60000u

static inline uint64_t wait_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Sleeps, also when signals arrive. Only for moments of chance (a kill at any time): nothing may depend on how long it takes. */
static inline void wait_moment_us(uint64_t us)
{
	struct timespec t = { .tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000 * 1000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t))
		;
}

/* Waits until the condition holds. False: it did not within the limit. */
#define WAIT_UNTIL_MS(condition, limit_ms)                                               \
	({                                                                               \
		const uint64_t wait_end = wait_now_ms() + (limit_ms);                    \
		bool wait_holds;                                                         \
		while (!(wait_holds = (condition)) && wait_now_ms() < wait_end)          \
			wait_moment_us(500);                                             \
		wait_holds;                                                              \
	})
#define WAIT_UNTIL(condition) WAIT_UNTIL_MS(condition, WAIT_LIMIT_MS)

/* The condition holds whenever it is looked at, for that long. False as soon as it does not. */
#define STAYS_MS(condition, ms)                                                          \
	({                                                                               \
		const uint64_t stays_end = wait_now_ms() + (ms);                         \
		bool stays_holds;                                                        \
		while ((stays_holds = (condition)) && wait_now_ms() < stays_end)         \
			wait_moment_us(500);                                             \
		stays_holds;                                                             \
	})

#endif

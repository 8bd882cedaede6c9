/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clocks as one number: nanoseconds, as records hold them. */
#ifndef ESPY_RECORD_CLOCK_H
#define ESPY_RECORD_CLOCK_H

#include <stdint.h>
#include <time.h>

/* A clock of clock_gettime(2) that every kernel has: it cannot fail. */
static inline uint64_t espy_clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CLOCK_MONOTONIC: the clock of all records. */
static inline uint64_t espy_now_ns(void)
{
	return espy_clock_ns(CLOCK_MONOTONIC);
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* probes_jumped CALLS: ns for a call of a function of one instruction and a return, the least and the median of many batches. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH 200
#define BATCHES 20000

#ifdef __clang__
#define PROBED __attribute__((noinline))
#else
#define PROBED __attribute__((noipa))
#endif

long jumped_step(long a, long b);

PROBED long jumped_step(long a, long b)
{
	return a * 3 + b;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	static double ns[BATCHES];
	const long calls = argc > 1 ? atol(argv[1]) : 1000000;
	const struct timespec rest = { .tv_nsec = 1000000 };
	long batches = calls / BATCH;
	volatile long sum = 0;

	if (batches > BATCHES)
		batches = BATCHES;
	for (long i = 0; i < batches; i++) {
		const double begun = now();

		for (long k = 0; k < BATCH; k++)
			sum += jumped_step(k, i);
		ns[i] = (now() - begun) / BATCH;
		/* sleeps: the reader keeps up */
		if (i % 100 == 99)
			nanosleep(&rest, NULL);
	}
	qsort(ns, (size_t)batches, sizeof(ns[0]), ascending);
	if (batches > 0)
		printf("%.1f %.1f\n", ns[0], ns[batches / 2]);
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
// A program that does nothing but hit its mark, for marks.sh. It is not linked with the agent: whoever watches brings
// it. Use:
//
//     marks_flood mark N [MILLIONS A SECOND] | usdt N
//
// mark: two integers, as fast as it goes, or so many a second, by waiting on the clock after every 64. usdt: a probe of
// <sys/sdt.h> with two integers, for those who count hits by a trap. Prints how many million a second, the ns of one,
// and the seconds of processor time that it has taken itself.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "espy/mark.h"
#ifdef HAVE_SDT
#include <sys/sdt.h>
#endif

#define BATCH 64

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void flood(unsigned n, double ns_each)
{
	const double start = now();

	for (unsigned i = 0; i < n; i++) {
		if (ns_each > 0 && i % BATCH == 0)
			while (now() - start < i * ns_each)
				;
		MARK(flood_two, "i=%u n=%u", i, n);
	}
}

#ifdef HAVE_SDT
static volatile unsigned sink;

static void traps(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		sink = i;
		STAP_PROBE2(flood, trap, i, n);
	}
}
#endif

int main(int argc, char **argv)
{
	const unsigned n = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	const double rate = argc > 3 ? strtod(argv[3], NULL) : 0;
	struct rusage u;
	double took;

	if (n && !strcmp(argv[1], "mark")) {
		took = now();
		flood(n, rate > 0 ? 1000 / rate : 0);
		took = now() - took;
	} else if (n && !strcmp(argv[1], "usdt")) {
#ifdef HAVE_SDT
		took = now();
		traps(n);
		took = now() - took;
#else
		return 77;
#endif
	} else {
		return 2;
	}
	getrusage(RUSAGE_SELF, &u);
	printf("%.2f million/s, %.2f ns, %.6f s\n", n / took * 1e3, took / n,
	       (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
	return 0;
}

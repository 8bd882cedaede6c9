// SPDX-License-Identifier: LGPL-2.1-or-later
// The loop of bench/marks_bench.c with tracepoints of LTTng-UST, for comparison: bench/marks.sh runs both by turns.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "marks_lttng.h"

#define N 20000
#define ROUNDS 50

static volatile int sink;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	double t[3][ROUNDS];

	for (int r = 0; r < ROUNDS; r++) {
		double start = now();

		for (int i = 0; i < N; i++)
			sink = i;
		t[0][r] = (now() - start) / N;
		start = now();
		for (int i = 0; i < N; i++) {
			sink = i;
			lttng_ust_tracepoint(marks_lttng, two, i, N);
		}
		t[1][r] = (now() - start) / N;
		start = now();
		for (int i = 0; i < N; i++) {
			sink = i;
			lttng_ust_tracepoint(marks_lttng, string, i, N, "sixteen letters.");
		}
		t[2][r] = (now() - start) / N;
		usleep(1000);
	}
	for (int v = 0; v < 3; v++)
		qsort(t[v], ROUNDS, sizeof(double), by_value);
	for (int v = 1; v < 3; v++)
		printf("%-36s %6.2f ns  (quietest %6.2f)\n",
		       v == 1 ? "LTTng-UST, 2 integers" : "LTTng-UST, 2 integers and a string of 16",
		       t[v][ROUNDS / 2] - t[0][ROUNDS / 2], t[v][0] - t[0][0]);
	return 0;
}

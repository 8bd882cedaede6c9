// SPDX-License-Identifier: LGPL-2.1-or-later
// What marks cost, measured in one process that acts as its own espy: nanoseconds an event (median of rounds, and the
// quietest), throughput with a reader, and switching. The rounds of all variants are interleaved. Use: marks [ROUNDS
// [LIBRARY]], LIBRARY with marks many_...
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "espy/mark.h"
#include "../tests/markers/inside/own_espy.h"

#define N 20000

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static volatile int sink;

static const char *const s16 = "sixteen letters.";
static const char *const s64 = "sixty-four letters, digits, commas, blanks and a full stop, sure";

#define RUN(name, ...)                                                                                                 \
	__attribute__((noinline)) static void run_##name(int n)                                                        \
	{                                                                                                              \
		for (int i = 0; i < n; i++) {                                                                          \
			sink = i;                                                                                      \
			__VA_ARGS__;                                                                                   \
		}                                                                                                      \
	}
RUN(empty, )
RUN(off, MARK(off_two, "a=%d b=%d", i, n))
RUN(one, MARK(one_one, "a=%d", i))
RUN(two, MARK(one_two, "a=%d b=%d", i, n))
RUN(string, MARK(one_string, "a=%d b=%d s=%s", i, n, s16))
RUN(string64, MARK(one_string64, "a=%d b=%d s=%s", i, n, s64))
RUN(both, MARK(both_two, "a=%d b=%d", i, n))
RUN(both_string, MARK(both_string, "a=%d b=%d s=%s", i, n, s16))
RUN(filtered, MARK(filtered_two, "a=%d b=%d", i, n))
RUN(shared, MARK(shared_two, "a=%d b=%d", i, n))
RUN(shared_string, MARK(shared_string, "a=%d b=%d s=%s", i, n, s16))
RUN(shared_string64, MARK(shared_string64, "a=%d b=%d s=%s", i, n, s64))

static const struct variant {
	const char *name;
	void (*run)(int n);
} variants[] = {
	{ "no mark", run_empty },
	{ "off", run_off },
	{ "on, 1 integer", run_one },
	{ "on, 2 integers", run_two },
	{ "on, 2 integers and a string of 16", run_string },
	{ "on, 2 integers and a string of 64", run_string64 },
	{ "on, 2 integers, two sessions", run_both },
	{ "on, the same and a string of 16", run_both_string },
	{ "on, filtered out by one integer", run_filtered },
	{ "on, 2 integers, shared chunk", run_shared },
	{ "on, shared, and a string of 16", run_shared_string },
	{ "on, shared, and a string of 64", run_shared_string64 },
};
#define VARIANTS (sizeof(variants) / sizeof(*variants))

static struct control one, two, three;

static void ignore(void *ctx, const struct espy_chunk *chunk, const struct espy_mark_record *r)
{
	(void)chunk;
	*(uint64_t *)ctx += r->time;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void check(int e, const char *what)
{
	if (e >= 0)
		return;
	fprintf(stderr, "marks: %s: %s\n", what, strerror(-e));
	exit(77);
}

static void bench_events(int rounds)
{
	double *t[VARIANTS];
	uint64_t sum = 0;

	for (size_t v = 0; v < VARIANTS; v++)
		t[v] = calloc((size_t)rounds, sizeof(double));
	for (int r = 0; r < rounds; r++)
		for (size_t v = 0; v < VARIANTS; v++) {
			double start = now();

			variants[v].run(N);
			t[v][r] = (now() - start) / N;
			control_read(&one, 0, ignore, &sum);
			control_read(&two, 0, ignore, &sum);
			control_read(&three, 0, ignore, &sum);
		}
	for (size_t v = 0; v < VARIANTS; v++) {
		qsort(t[v], (size_t)rounds, sizeof(double), by_value);
		printf("%-36s %6.2f ns  (quietest %6.2f)\n", variants[v].name,
		       t[v][rounds / 2] - (v ? t[0][rounds / 2] : 0), t[v][0] - (v ? t[0][0] : 0));
	}
	for (size_t v = 0; v < VARIANTS; v++)
		free(t[v]);
	printf("lost %lu\n", (unsigned long)(control_lost(&one) + control_lost(&two) + control_lost(&three)));
}

static volatile int stop;

static void *drain(void *arg)
{
	uint64_t sum = 0;

	while (!stop)
		if (!control_read(&one, 0, ignore, &sum))
			usleep(200);
	control_read(&one, 0, ignore, &sum);
	return NULL;
}

static void bench_throughput(void)
{
	uint64_t lost = control_lost(&one), before = one.records;
	const int n = 20 * 1000 * 1000;
	pthread_t reader;
	double start;

	pthread_create(&reader, NULL, drain, NULL);
	start = now();
	run_two(n);
	start = now() - start;
	stop = 1;
	pthread_join(reader, NULL);
	printf("%-36s %6.1f million/s, lost %lu, read %lu of %d\n", "throughput, drained into nothing", n / start * 1e3,
	       (unsigned long)(control_lost(&one) - lost), (unsigned long)(one.records - before), n);
}

static void bench_switch(void)
{
	double t[200], inside[200];

	for (int i = 0; i < 200; i++) {
		double start = now();

		check(i & 1 ? control_off(&one, 9) : control_on(&one, 9, "off:*", NULL, 0), "switch");
		t[i] = (now() - start) / 1000;
		inside[i] = (double)control_slot(&one)->took_ns / 1000;
	}
	qsort(t, 200, sizeof(double), by_value);
	qsort(inside, 200, sizeof(double), by_value);
	printf("%-36s %6.1f us  (quietest %.1f); with request and answer %.1f (%.1f)\n", "switching one site",
	       inside[100], inside[0], t[100], t[0]);
}

/* All sites of a library at once. */
static void bench_switch_many(const char *library)
{
	double inside[50];
	unsigned sites = one.area->nsites;

	if (!dlopen(library, RTLD_NOW)) {
		printf("%s\n", dlerror());
		exit(1);
	}
	while (one.area->nsites == sites) // the agent looks for new libraries ten times a second
		usleep(1000);
	usleep(100000);
	for (int i = 0; i < 50; i++) {
		check(i & 1 ? control_off(&one, 10) : control_on(&one, 10, "many:*", NULL, 0), "switch");
		inside[i] = (double)control_slot(&one)->took_ns / 1000;
	}
	sites = one.area->nsites - sites;
	double first = inside[0];

	qsort(inside, 50, sizeof(double), by_value);
	printf("%-36s %6.1f us  (quietest %.1f, first %.1f)\n", "switching many sites", inside[25], inside[0], first);
	printf("%-36s %u\n", "  how many", sites);
}

int main(int argc, char **argv)
{
	struct espy_agent_open o = { .nchunks = 4096 };
	struct espy_agent_pred p = { .arg = "a", .cmp = ESPY_CMP_LT, .type = ESPY_CONST_INT, .i = -1 };

	check(control_attach(&one, getpid()), "no agent (run with LD_PRELOAD=libespy-agent.so)");
	check(control_attach(&two, getpid()), "second session");
	check(control_attach(&three, getpid()), "third session");
	check(control_open(&one, &o), "open");
	check(control_open(&two, &o), "open");
	o.flags = ESPY_AGENT_SHARE | ESPY_AGENT_SHARE_ALL;
	check(control_open(&three, &o), "open");
	check(control_on(&three, 1, "shared:*", NULL, 0), "on");
	check(control_on(&one, 1, "one:*", NULL, 0), "on");
	check(control_on(&one, 2, "both:*", NULL, 0), "on");
	check(control_on(&two, 1, "both:*", NULL, 0), "on");
	check(control_on(&one, 3, "filtered:*", &p, 1), "on");
	bench_events(argc > 1 ? atoi(argv[1]) : 200);
	bench_throughput();
	bench_switch();
	if (argc > 2)
		bench_switch_many(argv[2]);
	return 0;
}

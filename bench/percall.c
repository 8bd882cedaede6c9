/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Time of one system call, measured from inside: percall KIND COUNT [FILE [DEPTH]]. Writes nanoseconds per call (the
 * least of twenty batches, so that a busy machine does not count) to FILE, or standard output. Run natively and under a
 * tracer; the difference is what the tracer adds, its start-up left out. Each call is made behind DEPTH functions more.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define BATCHES 20

static int zero_fd, null_fd;
static char byte, three[3][8] = { "one", "two", "three" };

static void do_getppid(void)
{
	syscall(SYS_getppid);
}

static void do_read(void)
{
	syscall(SYS_read, zero_fd, &byte, 1);
}

static void do_openat(void)
{
	syscall(SYS_openat, AT_FDCWD, "/tmp/espy-nonexistent", O_RDONLY, 0);
}

static void do_fstat(void)
{
	struct stat st;

	syscall(SYS_fstat, zero_fd, &st);
}

static void do_writev(void)
{
	struct iovec v[3] = { { three[0], 3 }, { three[1], 3 }, { three[2], 5 } };

	syscall(SYS_writev, null_fd, v, 3);
}

static int ends[2];

/* Two calls, counted as such. */
static void do_socket(void)
{
	char bytes[32];

	send(ends[0], three, sizeof(three), 0);
	recv(ends[1], bytes, sizeof(bytes), 0);
}

static volatile unsigned long returned; /* calls after which a function goes on are no jumps */

static __attribute__((noinline)) void behind(void (*call)(void), unsigned depth)
{
	if (depth)
		behind(call, depth - 1);
	else
		call();
	returned++;
}

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* One call every 100 us: what a wake-up of the reader costs shows here and in no tight loop. */
static double paced(unsigned long n)
{
	double total = 0;

	for (unsigned long i = 0; i < n; i++) {
		double until = now_ns() + 100000, t;

		while (now_ns() < until)
			;
		t = now_ns();
		syscall(SYS_getppid);
		total += now_ns() - t;
	}
	return total / (double)n;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*call)(void);
		unsigned calls;
	} kinds[] = {
		{ "getppid", do_getppid, 1 }, { "read", do_read, 1 },	  { "openat", do_openat, 1 },
		{ "fstat", do_fstat, 1 },     { "writev", do_writev, 1 }, { "socket", do_socket, 2 },
	};
	const unsigned depth = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
	double best = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: percall getppid|read|openat|fstat|writev|socket|paced COUNT [FILE [DEPTH]]\n");
		return 2;
	}
	unsigned long n = strtoul(argv[2], NULL, 10) / BATCHES + 1;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	zero_fd = open("/dev/zero", O_RDONLY);
	null_fd = open("/dev/null", O_WRONLY);
	if (!strcmp(argv[1], "paced"))
		best = paced(n * BATCHES);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		if (strcmp(argv[1], kinds[k].name))
			continue;
		for (int batch = 0; batch < BATCHES; batch++) {
			double t = now_ns();

			for (unsigned long i = 0; i < n; i += kinds[k].calls)
				if (depth)
					behind(kinds[k].call, depth);
				else
					kinds[k].call();
			t = (now_ns() - t) / (double)n;
			if (!batch || t < best)
				best = t;
		}
	}
	FILE *f = argc > 3 ? fopen(argv[3], "w") : stdout;
	if (!f || !best)
		return 1;
	fprintf(f, "%.1f\n", best);
	return fclose(f) ? 1 : 0;
}

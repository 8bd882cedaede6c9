/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For programs that print their own truth: they make calls and print the lines that a tracer has to
 * show for them (-a 0, one process). Data lie against an unmapped page, so that one byte read too
 * many is a fault; registers of which the kernel takes 32 bits carry junk above them.
 *
 *      line(call(SYS_close, JUNK(99)), "close(99)");
 *
 * The lines leave the program in one write at its end and so do not stand between the calls.
 */
#ifndef ESPY_TESTS_TRUTH_H
#define ESPY_TESTS_TRUTH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A 32-bit argument with junk in the upper half of its register. */
#define JUNK(x) ((long)(0xdeadbeef00000000ul | (uint32_t)(x)))

/* The kernel's own result: negative is -errno. */
#define call(nr, ...) truth_result(syscall(nr, ##__VA_ARGS__))

static inline long truth_result(long ret)
{
	return ret == -1 ? -errno : ret;
}

/* Zeroed memory of which the first byte behind it is unmapped. */
static inline void *tail_alloc(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + page - 1) / page * page + page;
	char *p = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || munmap(p + room, page)) {
		perror("tail_alloc");
		exit(2);
	}
	/* Touched, so that the pages are there: a source that cannot fault them in reads the same. */
	memset(p, 0, room);
	return p + room - size;
}

static inline void *tail_copy(const void *data, size_t size)
{
	void *p = tail_alloc(size);

	if (size)
		memcpy(p, data, size);
	return p;
}

static inline char *tail_str(const char *s)
{
	return tail_copy(s, strlen(s) + 1);
}

/* " = 3" or " = -1 EBADF (Bad file descriptor)" and the end of the line. */
static inline void truth_end(long ret)
{
	if (ret < 0 && ret > -4096)
		/* ENOTSUPP leaves the kernel now and then, and is in no header. */
		printf(" = -1 %s (%s)\n", ret == -524 ? "ENOTSUPP" : strerrorname_np((int)-ret), strerror((int)-ret));
	else
		printf(" = %ld\n", ret);
}

/* The arguments as they have to stand there; the result is added. */
static inline __attribute__((format(printf, 2, 3))) void line(long ret, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	truth_end(ret);
}

/* A line with a result of its own kind: written out in full, without the end of the line. */
static inline __attribute__((format(printf, 1, 2))) void text(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/* An address as it is shown. */
static inline const char *ptr(const void *p)
{
	static char ring[8][24];
	static unsigned next;
	char *s = ring[next++ % 8];

	if (p)
		snprintf(s, 24, "0x%lx", (unsigned long)p);
	else
		strcpy(s, "NULL");
	return s;
}

/* What the test driver asks first: options of the trace that the lines are for. */
static inline void truth_begin(int argc, char **argv, const char *options)
{
	static char out[1 << 19];

	if (argc > 1 && !strcmp(argv[1], "--options")) {
		puts(options);
		exit(0);
	}
	setvbuf(stdout, out, _IOFBF, sizeof(out));
}

static inline __attribute__((noreturn)) void truth_skip(const char *why)
{
	printf("%s\n", why);
	exit(77);
}

#endif

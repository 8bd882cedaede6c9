/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program with functions to probe. It prints what it does, so that a test can compare. probed [fork|wait|jump|storm N] */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __clang__
#define PROBED __attribute__((noinline))
#else
#define PROBED __attribute__((noipa))
#endif

struct request {
	int id;
	const char *path;
	struct request *next;
};

long handle(struct request *r, const char *bytes, size_t len, int delta);
int factorial(int n);
void leave(jmp_buf *to);
void jumps(int depth);
void storm(long i);

long probed_data = 7;
volatile long sink;

PROBED long handle(struct request *r, const char *bytes, size_t len, int delta)
{
	sink += r->id;
	return r->id * 10 + delta + (long)len + (bytes != NULL);
}

PROBED int factorial(int n)
{
	const int rest = n > 1 ? factorial(n - 1) : 1;

	sink += n;
	return n > 1 ? n * rest : 1;
}

PROBED void leave(jmp_buf *to)
{
	sink++;
	longjmp(*to, 1);
}

PROBED void jumps(int depth)
{
	static jmp_buf back;

	for (volatile int i = 0; i < depth; i++)
		if (!setjmp(back))
			leave(&back);
}

PROBED void storm(long i)
{
	sink += i;
}

static void work(void)
{
	char path[32] = "/the/path", bytes[8] = "ab\0cd\n\xff";
	struct request second = { .id = 2, .path = path }, first = { .id = 1, .path = path, .next = &second };

	handle(&first, bytes, 7, -5);
	syscall(SYS_getppid);
	handle(&second, bytes, 3, 6);
	factorial(3);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pid_t child;

	work();
	if (!strcmp(what, "fork")) {
		child = fork();
		if (!child) {
			work();
			_exit(0);
		}
		waitpid(child, NULL, 0);
	} else if (!strcmp(what, "wait")) {
		char c;

		puts("ready");
		fflush(stdout);
		while (read(0, &c, 1) == 1)
			work();
	} else if (!strcmp(what, "jump")) {
		jumps(100); /* more than frames are kept */
		factorial(2);
	} else if (!strcmp(what, "storm")) {
		for (long i = 0; i < atol(argv[2]); i++)
			storm(i);
	}
	return 0;
}

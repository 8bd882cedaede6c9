// SPDX-License-Identifier: LGPL-2.1-or-later
/* Functions that call each other, in programs that end at once. stacked [fork | jump]: in a child, or left by longjmp first. */
#include <setjmp.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __clang__
#define FUNCTION static __attribute__((noinline))
#else
#define FUNCTION static __attribute__((noinline, noclone))
#endif
#define USED(v) __asm__ volatile("" : "+r"(v)) /* no call becomes a jump, and no call of the same value goes */

static jmp_buf back;

FUNCTION int leaf(int n)
{
	USED(n);
	syscall(SYS_getppid);
	return n + 1;
}

FUNCTION int middle(int n)
{
	int r = leaf(n * 2);

	USED(r);
	return r + 1;
}

FUNCTION int outer(int n)
{
	int r = middle(n + 1);

	USED(r);
	return r + 1;
}

/* Left without a return, with a deep part of the stack that others use then. */
FUNCTION int jumps(int n)
{
	USED(n);
	if (n)
		longjmp(back, 1);
	return n;
}

FUNCTION int deeper(int n)
{
	char room[256];
	int r;

	memset(room, n, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	r = jumps(n);
	USED(r);
	return r + room[0];
}

int main(int argc, char **argv)
{
	int r = 0;

	if (argc > 1 && !strcmp(argv[1], "fork")) {
		if (fork())
			return wait(&r) < 0;
	} else if (argc > 1 && !setjmp(back)) {
		deeper(argc);
	}
	r = outer(argc);
	USED(r);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A subject of stack.sh: stack_calls [DEPTH [FILE]] makes a call behind a known way of functions, with FILE again and
 * again until it exists. No frame is to be optimised away.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int sink;

__attribute__((noinline)) static void innermost(void)
{
	sink += (int)syscall(SYS_getpgid, 0); /* the line of the innermost frame of ours */
	sink++;
}

__attribute__((noinline)) static void deeper(int n)
{
	if (n)
		deeper(n - 1);
	else
		innermost();
	sink++;
}

__attribute__((noinline)) static void leave(void)
{
	_exit(3);
}

int main(int argc, char **argv)
{
	do
		deeper(argc > 1 ? atoi(argv[1]) : 2);
	while (argc > 2 && access(argv[2], F_OK) && !usleep(20000)); /* sleeps: in a polling loop */
	leave();
	return 0;
}

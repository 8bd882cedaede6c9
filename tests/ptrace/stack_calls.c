/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A subject of stack.sh: stack_calls [DEPTH [FILE]] makes a call behind a known way of functions, with FILE again and
 * again until it exists. With `wide` in place of DEPTH a function on the way has an array that it does not touch, with `thread` a
 * thread makes the call. No frame is to be optimised away.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* No page of the array is there when the call is made. */
__attribute__((noinline)) static void wide(void)
{
	volatile char array[40000];

	deeper(1);
	sink += sizeof(array) > 1 ? array[sizeof(array) - 1] : 0;
}

static void *in_thread(void *arg)
{
	deeper(1);
	sink++;
	return arg;
}

__attribute__((noinline)) static void leave(void)
{
	_exit(3);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1 && !strcmp(argv[1], "wide")) {
		wide();
		leave();
	}
	if (argc > 1 && !strcmp(argv[1], "thread")) {
		if (pthread_create(&thread, NULL, in_thread, NULL))
			return 1;
		pthread_join(thread, NULL);
		leave();
	}
	do
		deeper(argc > 1 ? atoi(argv[1]) : 2);
	while (argc > 2 && access(argv[2], F_OK) && !usleep(20000)); /* sleeps: in a polling loop */
	leave();
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program whose probed functions make the kernel call for it. probe_calls ROUNDS SIGNALS: calls the functions so often, and is sent
 * so many signals while it does; prints how many it has handled. probe_calls own: makes the kernel's calls by itself.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __clang__
#define PROBED __attribute__((noinline))
#else
#define PROBED __attribute__((noipa))
#endif

long returns(long i);
void long_nop(void);

static volatile long sink;
static atomic_long handled, sent;
static atomic_bool over;

PROBED long returns(long i)
{
	sink += i;
	return -i; /* as an error looks like */
}

/* From 6.18 on the kernel makes a probe of this instruction a call. */
asm(".type long_nop, @function\n"
    "long_nop: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
    "ret\n"
    ".size long_nop, . - long_nop");

static void on_signal(int sig)
{
	(void)sig;
	returns(2);
	handled++;
}

static void *send_signals(void *main_thread)
{
	while (!over)
		if (sent == handled) {
			sent++;
			pthread_kill(*(pthread_t *)main_thread, SIGUSR1);
		}
	return NULL;
}

static void on_sigill(int sig)
{
	(void)sig;
}

static void make_own(void)
{
	long ret;

	signal(SIGILL, on_sigill);
	asm volatile("mov $335, %%rax\n\tsyscall" : "=a"(ret) : : "rcx", "r11", "memory");
	ret = syscall(336);
	printf("%ld\n", ret);
}

int main(int argc, char **argv)
{
	pthread_t self = pthread_self(), sender;
	const long rounds = argc > 1 ? atol(argv[1]) : 0, signals = argc > 2 ? atol(argv[2]) : 0;

	if (argc > 1 && !strcmp(argv[1], "own")) {
		make_own();
		return 0;
	}
	signal(SIGUSR1, on_signal);
	if (signals)
		pthread_create(&sender, NULL, send_signals, &self);
	for (long i = 0; i < rounds || handled < signals; i++) {
		returns(i % 7);
		long_nop();
	}
	over = true;
	if (signals)
		pthread_join(sender, NULL);
	syscall(SYS_getppid);
	printf("%ld\n", handled);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Oracle: signals and their masks, timers. */
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static void handler(int sig, siginfo_t *si, void *ctx)
{
	(void)sig, (void)si, (void)ctx;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER }, old;
	struct timespec t = { 0, 1000 };
	/* Again and again: the first may come before pause(), which then waits for the next one. */
	struct itimerval it = { { 0, 300000 }, { 0, 300000 } };
	struct itimerspec its = { { 0, 0 }, { 0, 1000000 } };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1, .sigev_value = { .sival_int = 7 } };
	sigset_t set, all;
	siginfo_t si;
	timer_t timer;
	stack_t ss = { .ss_sp = &all, .ss_flags = SS_DISABLE }, oss;

	sigemptyset(&sa.sa_mask);
	sigaddset(&sa.sa_mask, SIGUSR2);
	sigaction(SIGUSR1, &sa, &old);
	sigaction(SIGALRM, &sa, NULL);
	sigaction(SIGUSR1, NULL, &old);
	sa.sa_handler = SIG_IGN;
	sa.sa_flags = 0;
	sigaction(SIGPIPE, &sa, NULL);
	sigaction(SIGKILL, &sa, NULL);
	raise(SIGUSR1);
	kill(getpid(), SIGUSR1);
	sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 4660 });
	sigfillset(&all);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGRTMIN + 1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigprocmask(SIG_SETMASK, &all, &set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	kill(getpid(), SIGUSR2);
	sigpending(&all);
	sigwaitinfo(&set, &si);
	sigtimedwait(&set, &si, &t);
	timer_create(CLOCK_MONOTONIC, &ev, &timer);
	timer_settime(timer, 0, &its, NULL);
	sigwaitinfo(&set, &si);
	timer_gettime(timer, &its);
	timer_getoverrun(timer);
	timer_delete(timer);
	setitimer(ITIMER_REAL, &it, NULL);
	pause();
	getitimer(ITIMER_VIRTUAL, &it);
	alarm(0);
	sigaltstack(&ss, &oss);
	sigaltstack(NULL, &oss);
	kill(99999999, 0);
	kill(getpid(), 77);
	syscall(SYS_tgkill, getpid(), getpid(), 0);
	syscall(SYS_rt_sigprocmask, 9, &set, NULL, 8L);
	return 0;
}

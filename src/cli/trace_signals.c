/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Signals that would end the tracer. A handler can reach nothing but globals: these are the only ones of the command.
 */
#include "cli/trace_command.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

static const int fatal[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
static const int job_control[] = { SIGTSTP, SIGTTOU, SIGTTIN };

static struct espy_session *volatile session;
static volatile sig_atomic_t caught, stopped;
static struct sigaction before[NSIG];
static sigset_t changed;
static sigset_t ending; /* the fatal signals that end espy */
static pthread_t reader;
static bool waiting; /* a thread waits for them */
static sigset_t mask_before;

#define WAKE SIGURG /* makes the reader's system call return; its default is to do nothing */
#define AGAIN_NS 100000000l
#define GRACE_NS 700000000l

static void on_signal(int sig)
{
	struct espy_session *s = session;

	caught = sig;
	if (s) {
		stopped = sig;
		espy_session_stop(s);
	}
}

static void on_snapshot(int sig)
{
	struct espy_session *s = session;

	(void)sig;
	if (s)
		espy_session_snapshot(s);
}

static void change(int sig, void (*handler)(int))
{
	struct sigaction sa = { .sa_handler = handler };

	sigemptyset(&sa.sa_mask);
	if (!sigismember(&changed, sig))
		sigaction(sig, NULL, &before[sig]);
	sigaddset(&changed, sig);
	sigaction(sig, &sa, NULL);
}

void espy_signals__install(unsigned interruptible)
{
	struct sigaction children;

	sigemptyset(&changed);
	sigemptyset(&ending);
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
		struct sigaction now;

		/* nohup has asked that a hang-up shall not end espy. */
		if (fatal[i] == SIGHUP && !sigaction(SIGHUP, NULL, &now) && now.sa_handler == SIG_IGN)
			continue;
		if (interruptible >= 3) {
			change(fatal[i], SIG_IGN);
		} else {
			change(fatal[i], on_signal);
			sigaddset(&ending, fatal[i]);
		}
	}
	/* If the reader of the output has gone, write fails, and espy reports that. */
	change(SIGPIPE, SIG_IGN);
	/* So it does for a file that may grow no larger (ulimit -f). */
	change(SIGXFSZ, SIG_IGN);
	/* If the parent of espy has it ignored, or without stops, it tells a source nothing of its tracees. */
	if (!sigaction(SIGCHLD, NULL, &children) && (children.sa_handler == SIG_IGN || children.sa_flags & (SA_NOCLDSTOP | SA_NOCLDWAIT)))
		change(SIGCHLD, SIG_DFL);
	for (size_t i = 0; interruptible == 4 && i < sizeof(job_control) / sizeof(job_control[0]); i++)
		change(job_control[i], SIG_IGN);
}

void espy_signals__install_snapshot(void)
{
	change(SIGUSR1, on_snapshot);
}

void espy_signals__end_with_reader(void)
{
	const struct sigaction sa = { .sa_handler = SIG_DFL };

	/* A parent that has it ignored wants to see an error. */
	if (sigismember(&changed, SIGPIPE) == 1 && before[SIGPIPE].sa_handler != SIG_IGN)
		sigaction(SIGPIPE, &sa, NULL);
}

void espy_signals__restore(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(&changed, sig) == 1)
			sigaction(sig, &before[sig], NULL);
	if (waiting)
		pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
}

static void on_wake(int sig)
{
	(void)sig;
}

void espy_signals__die_of(int sig)
{
	sigset_t set;

	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
}

/*
 * Waits for signals, in a thread of its own. The first one asks the reader to end, the second one gives it a last
 * moment. The thread wakes the reader again and again: the reader may have been about to begin a system call that
 * lasts.
 */
static void *wait_for_signals(void *arg)
{
	const struct timespec again = { .tv_nsec = AGAIN_NS }, grace = { .tv_nsec = GRACE_NS };

	(void)arg;
	for (unsigned cnt = 0;;) {
		int sig = cnt ? sigtimedwait(&ending, NULL, &again) : sigwaitinfo(&ending, NULL);

		if (sig > 0) {
			cnt++;
			on_signal(sig);
		}
		if (cnt)
			pthread_kill(reader, WAKE);
		if (sig > 0 && cnt >= 2) {
			nanosleep(&grace, NULL);
			espy_signals__die_of(sig);
		}
	}
	return NULL;
}

/* Starts the thread that takes the signals from here on, since the reader may be where no handler runs. */
static void begin_waiting(void)
{
	pthread_t thread;
	sigset_t all;

	if (waiting || sigisemptyset(&ending))
		return;
	reader = pthread_self();
	change(WAKE, on_wake);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask_before);
	waiting = !pthread_create(&thread, NULL, wait_for_signals, NULL);
	pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
	if (!waiting)
		return; /* the handlers do */
	pthread_detach(thread);
	pthread_sigmask(SIG_BLOCK, &ending, NULL);
}

void espy_signals__session(struct espy_session *s)
{
	session = s;
	if (s)
		begin_waiting();
	/* A signal has come while the session was being made. */
	if (s && caught) {
		stopped = caught;
		espy_session_stop(s);
	}
}

int espy_signals__stopped(void)
{
	return stopped;
}

int espy_signals__caught(void)
{
	return caught;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Signals that would end the tracer. A handler can be given nothing but globals; these are the only ones of the
 * command.
 */
#include "cli/trace.h"

#include <signal.h>

static const int fatal[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
static const int job_control[] = { SIGTSTP, SIGTTOU, SIGTTIN };

static struct espy_session *volatile session;
static volatile sig_atomic_t caught;
static struct sigaction before[NSIG];
static sigset_t changed;

static void on_signal(int sig)
{
	struct espy_session *s = session;

	caught = sig;
	if (s)
		espy_session__stop(s, sig);
}

static void on_snapshot(int sig)
{
	struct espy_session *s = session;

	(void)sig;
	if (s)
		espy_session__snapshot(s);
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
	sigemptyset(&changed);
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
		struct sigaction now;

		/* nohup has said that a hang-up shall not end us. */
		if (fatal[i] == SIGHUP && !sigaction(SIGHUP, NULL, &now) && now.sa_handler == SIG_IGN)
			continue;
		if (interruptible >= 3)
			change(fatal[i], SIG_IGN);
		else
			change(fatal[i], on_signal);
	}
	/* A reader that has gone away shows as an error of write, which is reported. */
	change(SIGPIPE, SIG_IGN);
	/* So does a file that may grow no larger (ulimit -f). */
	change(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; interruptible == 4 && i < sizeof(job_control) / sizeof(job_control[0]); i++)
		change(job_control[i], SIG_IGN);
}

void espy_signals__install_snapshot(void)
{
	change(SIGUSR1, on_snapshot);
}

void espy_signals__restore(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(&changed, sig) == 1)
			sigaction(sig, &before[sig], NULL);
}

void espy_signals__session(struct espy_session *s)
{
	session = s;
	/* A signal that came while the session was being made. */
	if (s && caught)
		espy_session__stop(s, caught);
}

int espy_signals__caught(void)
{
	return caught;
}

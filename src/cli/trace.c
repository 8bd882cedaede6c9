/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `espy trace`, and the whole of `strace`. */
#include "cli/commands.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/trace.h"

static void help(const struct espy_cli *cli)
{
	const char *name = cli->strace_mode ? cli->name : "espy trace";

	printf("Usage: %s [OPTIONS] [--] PROG [ARGS]\n"
	       "       %s [OPTIONS] -p PID[,PID...]\n"
	       "       %s [OPTIONS] --cgroup PATH | --all\n"
	       "Show the system calls and signals of a program, decoded, without stopping it.\n",
	       name, name, name);
	espy_opts__help(stdout, espy_trace_groups, espy_trace_group_cnt);
	fputs("\nExit status: that of PROG; if a signal killed PROG the same signal kills the tracer; 0 after -p, "
	      "--cgroup and\n"
	      "--all; 1 if tracing could not begin or the output could not be written.\n",
	      stdout);
}

/* As the command has ended, so does this process: a shell sees no difference. */
static int die_of(int sig)
{
	const struct rlimit none = { 0, 0 };
	sigset_t set;

	fflush(NULL);
	setrlimit(RLIMIT_CORE, &none); /* the core file of the command, if there is one, shall stay */
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	return 128 + sig; /* signals that do not kill by default */
}

/* What ended the tracer ends the command that it started, as it would have without a tracer in between. */
static void pass_on(const struct espy_launch *l, int sig)
{
	siginfo_t info = { 0 };
	pid_t pid = l->shared_pid ? *l->shared_pid : 0;

	/* Still a child of ours that nobody has waited for: the number cannot be another's. */
	if (!sig || pid <= 0 || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid)
		return;
	kill(pid, SIGCONT);
	kill(pid, sig);
}

int espy_trace_run(struct espy_trace_args *a)
{
	struct espy_launch launch = { 0 };
	struct espy_session *s = NULL;
	bool launched = false;
	int *go = NULL, killed_by = 0, status = 1;
	pid_t self;

	espy_signals__install(a->o.interruptible);
	if (a->record.flight_bytes)
		espy_signals__install_snapshot();
	if (a->role != ESPY_ROLE_SHOW && a->command[0]) {
		if (espy_launch__init(&launch, a))
			return 1;
		launched = true;
		a->o.command = &launch.command;
	}
	if (a->daemonize) {
		if (espy_daemonize(a->cli, &launch, a->daemonize, &self, &go))
			goto out;
		a->o.command = NULL;
		a->o.pids = &self;
		a->o.pid_cnt = 1;
	}
	int err = espy_session__open(&s, &a->o);
	if (go)
		espy_daemonize__go(go, !err);
	if (err)
		goto out;
	espy_signals__session(s);
	status = espy_session__run(s, &killed_by);
	espy_signals__session(NULL);
	espy_session__close(s);
	if (launched && !go)
		pass_on(&launch, espy_signals__caught());
	/* strace dies of what ended it, also after -p; espy has then done what it was asked for. */
	if (a->cli->strace_mode && !killed_by)
		killed_by = espy_signals__caught();
out:
	if (launched)
		espy_launch__free(&launch);
	return killed_by ? die_of(killed_by) : status;
}

static int run(struct espy_trace_args *a, int argc, char **argv, int first)
{
	(void)argc;
	a->command = argv + first;
	return espy_trace_args__check(a) ? 1 : espy_trace_run(a);
}

int espy_cmd_trace(const struct espy_cli *cli, int argc, char **argv)
{
	static const struct espy_trace_command command = {
		.role = ESPY_ROLE_TRACE,
		.groups = espy_trace_groups,
		.group_cnt = &espy_trace_group_cnt,
		.seen = espy_trace_keep_selection, /* for --record */
		.help = help,
		.run = run,
	};

	return espy_trace_command(&command, cli, argc, argv);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks for static marks: the agent's library, loading it into a process, probes of the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/small_file.h"
#include "inspect/doctor_checks.h"
#include "source/agent_control.h"
#include "source/agent_inject.h"
#include "source/source.h"

static void __attribute__((format(printf, 4, 5)))
found(struct espy_check_result *r, enum espy_finding state, const char *way, const char *fmt, ...)
{
	va_list ap;

	r->state = state;
	snprintf(r->way, sizeof(r->way), "%s", way);
	va_start(ap, fmt);
	vsnprintf(r->detail, sizeof(r->detail), fmt, ap);
	va_end(ap);
}

void espy_check_agent(struct espy_check_result *r)
{
	char path[PATH_MAX];
	int err = espy_agent__library(path, sizeof(path));

	if (err)
		found(r, ESPY_FINDING_NO, "install espy whole, or set ESPY_AGENT=/PATH/OF/libespy-agent.so",
		      "libespy-agent.so: %s", strerror(-err));
	else
		found(r, ESPY_FINDING_YES, "", "%s", path);
}

/* Loads the agent into a program of ours that does nothing, since much can forbid any part of that. */
void espy_check_inject(struct espy_check_result *r)
{
	struct espy_inject_result res = { 0 };
	char path[PATH_MAX];
	int fail[2], err = 0, status;

	if (espy_agent__library(path, sizeof(path))) {
		found(r, ESPY_FINDING_NO, "", "there is no library to load");
		return;
	}
	if (pipe2(fail, O_CLOEXEC)) {
		found(r, ESPY_FINDING_INFO, "", "cannot be tried: pipe: %s", strerror(errno));
		return;
	}
	pid_t pid = fork();

	if (!pid) {
		execlp("sleep", "sleep", "60", (char *)NULL);
		err = errno;
		if (write(fail[1], &err, sizeof(err)) < 0)
			_exit(126);
		_exit(127);
	}
	close(fail[1]);
	if (pid < 0)
		err = errno;
	else if (read(fail[0], &err, sizeof(err)) != sizeof(err))
		err = 0;
	close(fail[0]);
	if (err) {
		found(r, ESPY_FINDING_INFO, "", "cannot be tried: sleep: %s", strerror(err));
	} else {
		err = espy_inject(pid, path, &(struct espy_inject_how){ .held = false }, &res);
		if (err)
			found(r, ESPY_FINDING_NO, "start programs with -lespy-agent or LD_PRELOAD=libespy-agent.so.1",
			      "%s", res.why);
		else
			found(r, ESPY_FINDING_YES, "", "tried on a process that espy started: it was stopped for %.2f ms",
			      (double)res.paused_ns / 1e6);
	}
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
}

void espy_check_usdt(struct espy_check_result *r)
{
	char why[sizeof(r->detail)] = "";
	int err = espy_source_usdt.probe(why, sizeof(why));

	if (err)
		found(r, ESPY_FINDING_NO, "", "%s", why[0] ? why : strerror(-err));
	else if (access("/sys/bus/event_source/devices/uprobe/type", F_OK))
		found(r, ESPY_FINDING_NO, "a kernel with CONFIG_UPROBE_EVENTS=y", "the kernel has no uprobes");
	else
		found(r, ESPY_FINDING_YES, "", "--via=kernel works on marks and <sys/sdt.h>");
}

void espy_check_mark_clock(struct espy_check_result *r)
{
	char name[32];

	espy_read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", name, sizeof(name));
	if (!strcmp(name, "tsc"))
		found(r, ESPY_FINDING_YES, "", "the time stamp counter");
	else
		found(r, ESPY_FINDING_PARTLY, "", "%s: marks take the time by clock_gettime, which costs more",
		      name[0] ? name : "unknown");
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Starting the command. The child waits at a pipe until it is seized, so that it needs no signal to stop itself and
 * nothing of ours shows in its state later. Its calls before execve are not shown; the ENTER of the execve is
 * held back until the kernel says that it succeeded. A second pipe, closed by the execve, brings errno if it did not.
 */
#include "ptrace_source.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "source/command.h"

struct child {
	const struct espy_command *cmd;
	const struct espy_ptrace *p;
	const struct sock_fprog *filter; /* NULL: none */
	bool no_new_privs;
	bool filter_refused; /* set if the child says so: it is worth another try without */
	int gate, report;    /* read end; write end */
	sigset_t mask;
};

/* The steps of the child's beginning that it tells. */
enum { STEP_FILTER = 1, STEP_SETUP, STEP_EXEC };
struct failure {
	int step, err;
};

static void __attribute__((noreturn)) fail(const struct child *c, int step, int err)
{
	struct failure f = { .step = step, .err = err };
	ssize_t n = write(c->report, &f, sizeof(f));

	(void)n; /* no other place could tell it */
	_exit(127);
}

static void __attribute__((noreturn)) run_child(const struct child *c)
{
	char go;
	ssize_t n;

	do
		n = read(c->gate, &go, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(127); /* the tracer is gone */
	if (c->filter) {
		/* Before child_setup, which may give up the privilege that this takes. */
		if (c->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
			fail(c, STEP_FILTER, errno);
		if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, c->filter))
			fail(c, STEP_FILTER, errno);
	}
	sigprocmask(SIG_SETMASK, &c->mask, NULL);
	if (c->cmd->child_setup) {
		int err = c->cmd->child_setup(c->cmd->child_ctx);

		if (err)
			fail(c, STEP_SETUP, err < 0 ? -err : err);
	}
	execve(c->cmd->path, c->cmd->argv, c->cmd->envp);
	fail(c, STEP_EXEC, errno);
}

/* Makes a pipe without descriptors 0, 1 and 2, which child_setup may rearrange. */
static int safe_pipe(int fd[2])
{
	unsigned i;

	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	for (i = 0; i < 2; i++)
		if (fd[i] <= 2) {
			int up = fcntl(fd[i], F_DUPFD_CLOEXEC, 3);

			if (up < 0) {
				int err = -errno;

				close(fd[0]);
				close(fd[1]);
				return err;
			}
			close(fd[i]);
			fd[i] = up;
		}
	return 0;
}

/* Waits for a child. A signal ends the wait only if it asks the command, which may be NULL, to stop: -1 and EINTR. */
static pid_t wait_for(const struct espy_command *cmd, pid_t pid, int *status)
{
	pid_t got;

	do
		got = waitpid(pid, status, __WALL);
	while (got < 0 && (cmd ? espy_command__waits(cmd) : errno == EINTR));
	return got;
}

/* Drives the child from its first stop to the execve. Returns 0 at the exec event; -errno: it is dead; -EINTR. */
static int run_to_exec(struct espy_ptrace *p, const struct espy_command *cmd, pid_t pid)
{
	int status;

	for (;;) {
		if (wait_for(cmd, pid, &status) != pid)
			return errno == EINTR ? -EINTR : -ECHILD;
		if (!WIFSTOPPED(status))
			return -ESRCH;
		espy_ptrace__handle(p, pid, status);
		if (status >> 16 == PTRACE_EVENT_EXEC)
			return 0;
	}
}

/* Seizes the child, which sleeps at its gate, and stops it there. */
static int seize_child(struct espy_ptrace *p, pid_t pid, bool filtered)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)espy_ptrace__options(p, filtered)))
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL))
		return -errno;
	if (wait_for(NULL, pid, &status) != pid || !WIFSTOPPED(status))
		return -ESRCH;
	return 0;
}

static void kill_child(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	while (wait_for(NULL, pid, &status) == pid && WIFSTOPPED(status))
		;
}

static const char *const step_text[] = {
	[STEP_FILTER] = "the seccomp filter was refused",
	[STEP_SETUP] = "the set-up before execve failed",
	[STEP_EXEC] = NULL, /* the caller says it, from the error */
};

/* Forks the child. No handler of ours runs in it. It gets its mask back before child_setup, and closes other ends. */
static pid_t fork_child(struct child *c, int gate, int report)
{
	sigset_t block;
	pid_t pid;

	sigfillset(&block);
	pthread_sigmask(SIG_SETMASK, &block, &c->mask);
	pid = fork();
	if (!pid) {
		close(gate);
		close(report);
		run_child(c);
	}
	pthread_sigmask(SIG_SETMASK, &c->mask, NULL);
	return pid;
}

static int start(struct espy_ptrace *p, struct child *c, pid_t *out)
{
	int gate[2], report[2], err;
	struct failure f = { 0 };
	struct espy_ptask *t;
	pid_t pid;

	err = safe_pipe(gate);
	if (err)
		return err;
	err = safe_pipe(report);
	if (err)
		goto close_gate;
	c->gate = gate[0];
	c->report = report[1];
	pid = fork_child(c, gate[1], report[0]);
	if (pid < 0) {
		err = -errno;
		goto close_report;
	}
	t = espy_ptask__add(p, pid, pid);
	err = t ? seize_child(p, pid, c->filter) : -ENOMEM;
	if (err) {
		char text[256];

		espy_ptrace__explain(pid, err, text, sizeof(text));
		espy_ptrace__report(p, ESPY_REPORT_ERROR, "cannot trace the command: %s", text);
		goto kill;
	}
	t->starting = true;
	t->filtered = c->filter;
	t->stopped = true;
	if (write(gate[1], "", 1) != 1) {
		err = -errno;
		goto kill;
	}
	close(report[1]);
	report[1] = -1;
	p->command = pid;
	p->command_ended = false;
	p->leaving = false;
	espy_ptrace__resume(p, t, 0);
	err = run_to_exec(p, c->cmd, pid);
	if (!err) {
		*out = pid;
		goto close_report;
	}
	t = espy_ptask__find(p, pid);
	if (err == -EINTR)
		kill_child(pid);
	else if (read(report[0], &f, sizeof(f)) == sizeof(f))
		err = -f.err;
	p->command = 0;
	p->command_ended = false;
	if (f.step && step_text[f.step])
		espy_ptrace__report(p, f.step == STEP_FILTER ? ESPY_REPORT_NOTE : ESPY_REPORT_ERROR, "%s: %s",
				    step_text[f.step], strerror(f.err));
	c->filter_refused = f.step == STEP_FILTER;
	if (t)
		espy_ptask__remove(p, t);
	goto close_report;
kill:
	kill_child(pid);
	if (t)
		espy_ptask__remove(p, t);
close_report:
	close(report[0]);
	if (report[1] >= 0)
		close(report[1]);
close_gate:
	close(gate[0]);
	close(gate[1]);
	return err;
}

int espy_ptrace__start_command(struct espy_source *s, const struct espy_command *cmd, pid_t *pid)
{
	struct espy_ptrace *p = (struct espy_ptrace *)s;
	struct sock_filter *insns = NULL;
	struct sock_fprog filter;
	struct child c = { .cmd = cmd, .p = p };
	int err, n;

	if (espy_ptrace__filter_useful(p)) {
		insns = calloc(ESPY_FILTER_MAX, sizeof(*insns));
		n = insns ? espy_ptrace__filter_build(p, insns, ESPY_FILTER_MAX) : -ENOMEM;
		if (n > 0) {
			filter = (struct sock_fprog){ .len = (unsigned short)n, .filter = insns };
			c.filter = &filter;
			c.no_new_privs = !espy_ptrace__may_filter();
		}
	}
	err = start(p, &c, pid);
	if (err && c.filter_refused) {
		c.filter = NULL;
		err = start(p, &c, pid);
	}
	free(insns);
	return err;
}

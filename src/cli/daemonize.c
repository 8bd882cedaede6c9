/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * -D: the command takes the place of this process, so it has the parent, the number and the terminal that it would have
 * without a tracer. The tracer is a grandchild that attaches to it.
 *
 *      caller ---- waits ------------------------- execve(PROG)
 *         \-- child (ends at once) -- grandchild: attaches, lets the caller go, traces
 *
 * The caller waits without any system call, since the trace shall begin with the execve.
 */
#include "cli/trace_command.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GO_WAIT, GO_READY, GO_RUN, GO_FAILED };

/* A tracer that is killed early must not hold the command for ever. */
#define PATIENCE_S 10

static time_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts); /* without entering the kernel */
	return ts.tv_sec;
}

static void wait_for_word(int *go)
{
	const time_t end = now() + PATIENCE_S;

	/* No need to spin: the grandchild sees no call of ours before it attaches. */
	while (__atomic_load_n(go, __ATOMIC_ACQUIRE) == GO_WAIT && now() < end)
		usleep(1000);
	while (__atomic_load_n(go, __ATOMIC_ACQUIRE) == GO_READY && now() < end)
		for (int i = 0; i < 1000 && __atomic_load_n(go, __ATOMIC_ACQUIRE) == GO_READY; i++)
			;
}

static void become_command(const struct espy_cli *cli, const struct espy_launch *l, int *go)
{
	const struct espy_program *c = &l->program;

	wait_for_word(go);
	if (__atomic_load_n(go, __ATOMIC_ACQUIRE) == GO_FAILED)
		_exit(1);
	execve(c->path, c->argv, c->envp);
	espy_cli__say(cli, "exec: %s: %s", c->path, strerror(errno));
	_exit(1);
}

int espy_daemonize(const struct espy_cli *cli, const struct espy_launch *l, unsigned how, pid_t *pid, int **go)
{
	pid_t self = getpid();
	int *word = mmap(NULL, sizeof(*word), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (word == MAP_FAILED) {
		int err = -errno;

		espy_cli__say(cli, "-D: %s", strerror(-err));
		return err;
	}
	pid_t child = fork();
	if (child < 0) {
		int err = -errno;

		espy_cli__say(cli, "fork: %s", strerror(-err));
		munmap(word, sizeof(*word));
		return err;
	}
	if (child > 0) {
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
#ifdef PR_SET_PTRACER
		/* Yama lets only ancestors attach to a process, unless it agrees. */
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
		if (l->program.child_setup(l->program.child_ctx))
			_exit(1);
		become_command(cli, l, word);
	}
	pid_t grandchild = fork();
	if (grandchild) {
		if (grandchild < 0)
			__atomic_store_n(word, GO_FAILED, __ATOMIC_RELEASE);
		_exit(0);
	}
	if (how == 2)
		setpgid(0, 0);
	else if (how == 3)
		setsid();
	*pid = self;
	*go = word;
	__atomic_store_n(word, GO_READY, __ATOMIC_RELEASE);
	return 0;
}

void espy_daemonize__go(int *go, bool ok)
{
	__atomic_store_n(go, ok ? GO_RUN : GO_FAILED, __ATOMIC_RELEASE);
}

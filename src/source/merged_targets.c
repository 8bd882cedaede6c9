/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The targets of a merged source: commands start held, until the marks are on. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include "source/command.h"
#include "source/hold.h"
#include "source/merged_impl.h"
#include "source/source_report.h"
#include "source/wanted_marks.h"

/* Does the command's set-up, and then espy's own part, the last thing before execve. */
static int setup_and_hold(void *ctx)
{
	const struct espy_command *cmd = ctx;
	int err = cmd->child_setup ? cmd->child_setup(cmd->child_ctx) : 0;

	/* Where it may not be traced it starts unheld: the first marks are then missed. */
	if (!err)
		espy_hold__child();
	return err;
}

/*
 * Starts a command beside a source that traces it, so that no injection can load a library into it. The command gets
 * the library by LD_PRELOAD, calls, and waits in front of main until its marks are on.
 */
static int start_preloaded(struct merged *m, const struct espy_command *cmd, pid_t *pid)
{
	struct espy_command preloaded = *cmd;
	char call[96], *words[2] = { NULL, call };
	int err = espy_command__preload(&m->opts, m->guest->ops->inside, cmd->envp, &words[0]);

	if (err)
		return err;
	const bool calls_us = m->guest->ops->inside->call_word(m->guest->src, true, call, sizeof(call));

	preloaded.envp = espy_command__env(cmd->envp, words, 1 + calls_us);
	err = preloaded.envp ? m->lead->ops->start_command(m->lead->src, &preloaded, pid) : -ENOMEM;
	free((void *)preloaded.envp);
	free(words[0]);
	if (!err)
		m->guest->ops->inside->expect(m->guest->src, *pid);
	return err;
}

/* Adds words for the command and its children to the environment. Allocates cmd->envp and *preload. */
static int add_env(const struct merged *m, struct espy_command *cmd, char *call, size_t call_sz, char **preload)
{
	char *words[2];
	size_t cnt = 0;
	int err;

	if (!m->guest)
		return 0;
	if (m->opts.marks.rules->via == ESPY_VIA_PRELOAD) {
		err = espy_command__preload(&m->opts, m->guest->ops->inside, cmd->envp, preload);
		if (err)
			return err;
		words[cnt++] = *preload;
	}
	if (m->guest->ops->inside->call_word(m->guest->src, false, call, call_sz))
		words[cnt++] = call;
	cmd->envp = espy_command__env(cmd->envp, words, cnt);
	return cmd->envp ? 0 : -ENOMEM;
}

static int add_to_followers(struct merged *m, const struct espy_target *t)
{
	int err = 0;

	for (struct input *in = NULL; (in = follower(m, in));) {
		const int failed = in->ops->add_target(in->src, t);

		err = err ? err : failed;
	}
	return err;
}

int merged_start_command(struct espy_source *src, const struct espy_command *cmd, pid_t *pid)
{
	struct merged *m = to_merged(src);
	struct espy_command held = *cmd;
	const struct input *lead = m->lead;
	char call[96], *preload = NULL;
	int err;

	if (lead && !(lead->ops->caps & ESPY_SRC_PASSIVE)) {
		if (m->guest)
			return start_preloaded(m, cmd, pid);
		espy_source_report(&m->opts, ESPY_REPORT_ERROR, "--via kernel goes with the bpf source, not with %s",
				   lead->ops->name);
		return -EOPNOTSUPP;
	}
	held.child_setup = setup_and_hold;
	held.child_ctx = (void *)cmd;
	err = add_env(m, &held, call, sizeof(call), &preload);
	if (!err)
		err = lead ? lead->ops->start_command(lead->src, &held, pid) : espy_command__start(&held, pid);
	if (!err && !lead)
		m->command = *pid;
	if (held.envp != cmd->envp)
		free((void *)held.envp);
	free(preload);
	if (err)
		return err;
	err = espy_hold__to_entry(*pid);
	if (err == -ESRCH)
		return 0; /* it has ended already: its status tells how */
	const struct espy_target t = { .kind = ESPY_TARGET_PID, .pid = *pid, .held = !err };

	err = add_to_followers(m, &t);
	if (t.held)
		espy_hold__release(*pid);
	/* The user knows the reason. Calls are worth seeing without marks; without calls there is nothing to see. */
	if (err && !lead) {
		kill(*pid, SIGKILL);
		waitpid(*pid, NULL, 0);
		m->command = 0;
		return err;
	}
	return 0;
}

int merged_add_target(struct espy_source *src, const struct espy_target *t)
{
	struct merged *m = to_merged(src);
	/* The leader comes last, so that loading the agent is not among the calls. */
	int err = add_to_followers(m, t);

	return m->lead ? m->lead->ops->add_target(m->lead->src, t) : err;
}

int merged_remove_target(struct espy_source *src, pid_t pid)
{
	struct merged *m = to_merged(src);

	if (!pid)
		m->closing = true;
	for (struct input *in = NULL; (in = follower(m, in));)
		in->ops->remove_target(in->src, pid);
	return m->lead ? m->lead->ops->remove_target(m->lead->src, pid) : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `espy resume PID`: lets a task go on that an espy holds (trace --pause-on). */
#include "cli/commands.h"

#include <espy/espy.h>
#include <stdio.h>
#include "cli/options.h"
#include "cli/trace_values.h"

#define ESPYS 16

struct resume_args {
	const struct espy_cli *cli;
	pid_t by;
	bool help;
};

static int do_by(void *ctx, const struct espy_opt_use *use)
{
	struct resume_args *a = ctx;
	unsigned long n;

	if (!espy_value__number(use->arg, 0x7fffffff, &n) || !n)
		return espy_cli__usage(a->cli, "invalid %s argument: '%s'", use->as, use->arg);
	a->by = (pid_t)n;
	return 0;
}

static const struct espy_opt options[] = {
	{ .name = "by", .arg = ESPY_OPT_REQUIRED, .arg_name = "PID", .handle = do_by, .complete = "pid",
	  .help = "only the espy with this process number lets go; without, each espy that holds the task does" },
	ESPY_OPT_HELP(struct resume_args),
};
const struct espy_opt_group espy_resume_groups[] = { { "Options", options, sizeof(options) / sizeof(*options) } };

static bool resume(const struct resume_args *a, const char *word)
{
	struct espy_resumed answers[ESPYS];
	unsigned long pid;
	size_t cnt;

	if (!espy_value__number(word, 0x7fffffff, &pid) || !pid) {
		espy_cli__say(a->cli, "Invalid process id: '%s'", word);
		return false;
	}
	cnt = espy_ask_resume((pid_t)pid, a->by, answers, ESPYS);
	for (size_t i = 0; i < cnt && i < ESPYS; i++)
		printf("%lu runs on: espy %d has let go of %u task%s\n", pid, (int)answers[i].espy, answers[i].tasks,
		       answers[i].tasks == 1 ? "" : "s");
	if (cnt)
		return true;
	if (a->by)
		espy_cli__say(a->cli, "espy %d does not hold task %lu", (int)a->by, pid);
	else
		espy_cli__say(a->cli, "no espy that you may speak to holds task %lu (`espy trace --pause-on` does)", pid);
	return false;
}

int espy_cmd_resume(const struct espy_cli *cli, int argc, char **argv)
{
	struct resume_args a = { .cli = cli };
	int first, status = 0;

	if (espy_opts__parse(cli, espy_resume_groups, 1, &a, argc, argv, &first))
		return 1;
	if (a.help) {
		printf("Usage: espy resume [--by PID] PID...\n"
		       "Let tasks, or all held tasks of processes, run on that `espy trace --pause-on` holds.\n");
		espy_opts__help(stdout, espy_resume_groups, 1);
		return 0;
	}
	if (first >= argc) {
		espy_cli__usage(cli, "resume needs the number of a task");
		return 1;
	}
	for (int i = first; i < argc; i++)
		status |= !resume(&a, argv[i]);
	return status;
}

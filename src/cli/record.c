/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `espy record`: watches as `espy trace` does, and writes the events to a file. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/trace_handlers.h"

#define DEFAULT_TRACE "espy.trace"

static void help(const struct espy_cli *cli)
{
	(void)cli;
	fputs("Usage: espy record [OPTIONS] [--] PROG [ARGS]\n"
	      "       espy record [OPTIONS] -p PID[,PID...]\n"
	      "       espy record [OPTIONS] --cgroup PATH | --all\n"
	      "Write what a program does into a trace, without stopping it. `espy show` makes of it the text that\n"
	      "`espy trace` would have printed, here or on another machine. A trace holds the data of the program: "
	      "names,\n"
	      "arguments, environments, what it reads and writes. Keep it as you keep those.\n"
	      "\nWhat is needed most:\n"
	      "  -o TRACE       the file to write (espy.trace)\n"
	      "  --force        replace it\n"
	      "  -f             children and threads, too\n"
	      "  -p PID         processes that run already, with all their threads\n"
	      "  -e trace=SET   only these calls: openat,%network,!futex\n"
	      "  -m RULE        static marks: 'app:*'\n"
	      "  --ring SIZE    flight recorder: write only the newest, when it is asked for\n"
	      "  --rotate SIZE  files of this size, one after the other\n"
	      "  --keep N       of these the newest N\n"
	      "  --data SIZE    of what is read and written at most SIZE bytes a call, or none\n"
	      "\nExamples:\n"
	      "  espy record -f -o build.espy make\n"
	      "  espy record -o db.espy -p 1234 -e trace=%network --rotate 100M --keep 5\n"
	      "  espy record --ring 64M -f -o rare.espy --snapshot-on 'openat: ret == -EMFILE' ./server\n",
	      stdout);
	espy_opts__help(stdout, espy_record_groups, espy_record_group_cnt);
	fputs("\nExit status: that of PROG; 1 if recording could not begin or the trace could not be written.\n",
	      stdout);
}

/* Keeps a path of -P, with its links resolved here and now, not where the trace is shown. */
static int keep_real_path(struct espy_trace_args *a, const char *path)
{
	char *real = realpath(path, NULL), *word;
	int err = 0;

	if (real && strcmp(real, path))
		err = espy_words__take(&a->lists.select, asprintf(&word, "-P%s", real) < 0 ? NULL : word);
	free(real);
	return err;
}

/* Keeps a filter as the user typed it, for `espy show`. */
int espy_trace_keep_selection(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	char *word;
	int n;

	if (!espy_trace_opt_selects(use->opt) || (use->arg && espy_trace_changes_calls(use->arg)))
		return 0;
	if (use->opt->letter == 'P') {
		int err = keep_real_path(a, use->arg);

		if (err)
			return err;
	}
	unsigned long uid;

	/* On the machine that shows the trace, the name may be another user's, or unknown. */
	if (use->opt->handle == espy_do_uid && espy_trace_uid(use->arg, &uid))
		n = asprintf(&word, "%s=%lu", use->as, uid);
	else if (!use->arg)
		n = asprintf(&word, "%s", use->as);
	else
		n = asprintf(&word, use->by_letter ? "%s%s" : "%s=%s", use->as, use->arg);
	return espy_words__take(&a->lists.select, n < 0 ? NULL : word);
}

static int run(struct espy_trace_args *a, int argc, char **argv, int first)
{
	(void)argc;
	a->run.command = argv + first;
	if (!a->record.path)
		a->record.path = DEFAULT_TRACE;
	a->out.progress = isatty(STDERR_FILENO) && !(a->letters.q || a->longs.quiet);
	return espy_trace_args__check(a) ? 1 : espy_trace_run(a);
}

int espy_cmd_record(const struct espy_cli *cli, int argc, char **argv)
{
	static const struct espy_trace_command command = {
		.role = ESPY_ROLE_RECORD,
		.groups = espy_record_groups,
		.group_cnt = &espy_record_group_cnt,
		.seen = espy_trace_keep_selection,
		.help = help,
		.run = run,
	};

	return espy_trace_command(&command, cli, argc, argv);
}

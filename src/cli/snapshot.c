/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `espy snapshot PID`: makes a flight recorder (record --ring) write its records. */
#include "cli/commands.h"

#include <errno.h>
#include <espy/espy.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "cli/options.h"
#include "cli/trace_values.h"

struct snapshot_args {
	bool help;
};

static const struct espy_opt options[] = {
	ESPY_OPT_HELP(struct snapshot_args),
};
const struct espy_opt_group espy_snapshot_groups[] = { { "Options", options, sizeof(options) / sizeof(*options) } };

static bool snapshot(const struct espy_cli *cli, const char *word)
{
	char text[PATH_MAX + 128] = "";
	unsigned long pid;

	if (!espy_value__number(word, 0x7fffffff, &pid) || !pid) {
		espy_cli__say(cli, "Invalid process id: '%s'", word);
		return false;
	}
	int err = espy_ask_snapshot((pid_t)pid, text, sizeof(text));

	if (!err)
		puts(text);
	else if (err == -ESRCH)
		espy_cli__say(cli,
			      "process %lu is no flight recorder that you may speak to (`espy record --ring` is one)",
			      pid);
	else if (err == -EIO)
		espy_cli__say(cli, "espy %lu could not write a trace: %s", pid, text);
	else
		espy_cli__say(cli, "espy %lu: %s", pid, err == -EPIPE ? "it ended without an answer" : strerror(-err));
	return !err;
}

int espy_cmd_snapshot(const struct espy_cli *cli, int argc, char **argv)
{
	struct snapshot_args a = { 0 };
	int first, status = 0;

	if (espy_opts__parse(cli, espy_snapshot_groups, 1, &a, argc, argv, &first))
		return 1;
	if (a.help) {
		printf("Usage: espy snapshot PID...\n"
		       "Have flight recorders (`espy record --ring`, PID is the number of that espy) write what they "
		       "have\n"
		       "into a trace; prints the name of each trace when it is written.\n");
		espy_opts__help(stdout, espy_snapshot_groups, 1);
		return 0;
	}
	if (first >= argc) {
		espy_cli__usage(cli, "snapshot needs the process number of an `espy record --ring`");
		return 1;
	}
	for (int i = first; i < argc; i++)
		status |= !snapshot(cli, argv[i]);
	return status;
}

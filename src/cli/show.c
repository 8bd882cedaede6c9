/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `espy show`: a trace as the text that `espy trace` would have printed. */
#include "cli/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "cli/trace_command.h"

static void help(const struct espy_cli *cli)
{
	(void)cli;
	fputs("Usage: espy show [OPTIONS] TRACE\n"
	      "Show a trace (`espy record`) as the text that `espy trace` would have printed. TRACE may be - for "
	      "standard\n"
	      "input, or the name given to --rotate.\n"
	      "\nWhat is needed most:\n"
	      "  -e trace=SET   only these calls: openat,%network,!futex\n"
	      "  -p PID         only lines of this process or task\n"
	      "  --from TIME    from this time on: +2.5 is 2.5 s after the start\n"
	      "  --to TIME      up to this time\n"
	      "  --where COND   only calls of which this holds: 'duration > 10ms'\n"
	      "  -y             the files behind descriptors; -yy: sockets, too\n"
	      "  -T             how long each call took\n"
	      "  -t             the time of day; -tt: with microseconds\n"
	      "  -c             a table of counts and times in place of lines\n"
	      "  -o FILE        write to FILE, not to standard output\n"
	      "\nExamples:\n"
	      "  espy show build.espy\n"
	      "  espy show -yy -T -e trace=%file build.espy\n"
	      "  espy show --from +2.5 --to +3 --where 'ret < 0' build.espy\n",
	      stdout);
	espy_opts__help(stdout, espy_show_groups, espy_show_group_cnt);
	fputs("\nExit status: 0; 1 if the trace could not be read whole or the output not be written.\n", stdout);
}

/* Tells whether the word selects calls. The trace has the wanted calls by number, so espy skips such words. */
static bool selects_calls(const char *word)
{
	const char *expr = strncmp(word, "-e", 2) ? NULL : word + 2;

	if (!strncmp(word, "--trace=", 8))
		return true;
	return expr && (!strchr(expr, '=') || expr[0] == '/' || !strncmp(expr, "trace=", 6) || !strncmp(expr, "t=", 2));
}

/* Applies the recording's selection before the user's own: the last word counts. 0, or -errno that was said. */
static int apply_selection(const struct espy_cli *cli, struct espy_trace_args *a, const char *path, const char *select,
			   size_t size)
{
	char **words = calloc(size + 2, sizeof(*words)); /* a word has at least its NUL */
	int n = 1, first, err;

	if (!words)
		return -ENOMEM;
	words[0] = (char *)cli->opt_name;
	for (size_t at = 0; at < size; at += strnlen(select + at, size - at) + 1)
		if (!selects_calls(select + at))
			words[n++] = (char *)select + at;
	err = espy_opts__parse(cli, espy_select_groups, espy_select_group_cnt, a, n, words, &first);
	if (!err && first < n) {
		espy_cli__say(cli, "%s: '%s' is no filter", path, words[first]);
		err = -EINVAL;
	}
	if (err)
		espy_cli__say(cli, "%s: how it was selected is damaged, or of a later version", path);
	free(words);
	return err;
}

/* Tells of the parts of a trace that espy could not show. Returns whether the trace was cut off. */
static bool tell_what_lacks(const struct espy_cli *cli, const char *path, const struct espy_trace_info *t, bool whole)
{
	const bool cut = !t->finished && !t->damaged && whole;

	if (t->unknown_sections)
		espy_cli__say(cli, "%s: left out, for this version does not know their kind: %" PRIu64 " section%s", path,
			      t->unknown_sections, t->unknown_sections == 1 ? "" : "s");
	if (t->unknown_records)
		espy_cli__say(cli, "%s: left out, for this version does not know their type: %" PRIu64 " record%s", path,
			      t->unknown_records, t->unknown_records == 1 ? "" : "s");
	if (cut)
		espy_cli__say(cli, "%s: the recording did not end in order, at offset %" PRIu64 "; this is what had been written",
			      path, t->offset);
	return cut;
}

/* Shows a trace. It parses the options again, behind the selection of the trace. */
static int show_trace(const struct espy_cli *cli, struct espy_trace_args *a, int argc, char **argv, const char *path)
{
	struct espy_trace_info info = { .size = sizeof(info) };
	const bool follow = a->trace_follow;
	struct espy_trace *t;
	bool whole = false;
	int first, status = 1;

	a->role = ESPY_ROLE_SHOW;
	if (espy_trace_open(&t, path, follow, espy_trace_log, a))
		return 1;
	espy_trace_info(t, &info);
	espy_trace_args__free(a);
	if (!espy_trace_args__init(a, cli)) {
		a->role = ESPY_ROLE_SHOW;
		if (!apply_selection(cli, a, path, info.words, info.words_size) &&
		    !espy_opts__parse(cli, espy_show_groups, espy_show_group_cnt, a, argc, argv, &first)) {
			a->run.command = argv + first;
			a->session.trace = t;
			if (a->text.contexts != ESPY_CONTEXTS_NONE)
				espy_cli__say(cli, "--secontext has no effect: a trace holds no contexts of SELinux");
			/* As strace: with a file for the text there are no messages beside it. */
			if (a->out.name && info.program && !info.pids)
				a->quiet |= ESPY_QUIET_PERSONALITY;
			if (!espy_trace_args__check(a))
				status = espy_trace_run(a);
			whole = !status && !follow && !a->session.to.kind;
		}
	}
	espy_trace_info(t, &info);
	const bool cut = tell_what_lacks(cli, path, &info, whole);
	espy_trace_close(t);
	return (info.damaged || cut) && !status ? 1 : status;
}

static int run(struct espy_trace_args *a, int argc, char **argv, int first)
{
	if (first == argc) {
		espy_cli__usage(a->cli, "which trace? (`espy record` writes espy.trace if it is given no other name)");
		return 1;
	}
	if (first + 1 < argc) {
		espy_cli__usage(a->cli, "one trace at a time: '%s' is too much (options stand before its name)",
				argv[first + 1]);
		return 1;
	}
	return show_trace(a->cli, a, argc, argv, argv[first]);
}

int espy_cmd_show(const struct espy_cli *cli, int argc, char **argv)
{
	static const struct espy_trace_command command = {
		.role = ESPY_ROLE_SHOW,
		.groups = espy_show_groups,
		.group_cnt = &espy_show_group_cnt,
		.help = help,
		.run = run,
	};

	return espy_trace_command(&command, cli, argc, argv);
}

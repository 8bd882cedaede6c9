/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `espy trace`, and the whole of `strace`. */
#include "cli/commands.h"

#include "cli/trace_command.h"

static void help(const struct espy_cli *cli)
{
	const char *name = cli->strace_mode ? cli->name : "espy trace";

	printf("Usage: %s [OPTIONS] [--] PROG [ARGS]\n"
	       "       %s [OPTIONS] -p PID[,PID...]\n"
	       "       %s [OPTIONS] --cgroup PATH | --all\n"
	       "Show the system calls and signals of a program, decoded, without stopping it.\n",
	       name, name, name);
	fputs("\nWhat is needed most:\n"
	      "  -f             children and threads, too\n"
	      "  -p PID         processes that run already, with all their threads\n"
	      "  -e trace=SET   only these calls: openat,%network,!futex\n"
	      "  -P PATH        only calls that touch PATH\n"
	      "  -o FILE        write to FILE, not to standard error\n"
	      "  -s SIZE        so much of each string (32)\n"
	      "  -y             the files behind descriptors; -yy: sockets, too\n"
	      "  -T             how long each call took\n"
	      "  -t             the time of day; -tt: with microseconds\n"
	      "  -c             a table of counts and times in place of lines\n"
	      "\nExamples:\n",
	      stdout);
	printf("  %s -f -o build.txt make\n"
	       "  %s -p 1234 -T -y\n"
	       "  %s -e trace=%%file -Z ls /nowhere\n",
	       name, name, name);
	espy_opts__help(stdout, espy_trace_groups, espy_trace_group_cnt);
	fputs("\nExit status: that of PROG; if a signal killed PROG the same signal kills the tracer; 0 after -p, "
	      "--cgroup and\n"
	      "--all; 1 if tracing could not begin or the output could not be written.\n",
	      stdout);
}

static int run(struct espy_trace_args *a, int argc, char **argv, int first)
{
	a->run.command = argv + first;
	if (a->tips.how && argc == 2) { /* the user asks for nothing else */
		espy_tips__show(a);
		return 0;
	}
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

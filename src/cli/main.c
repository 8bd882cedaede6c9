/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command `espy`: finds the sub-command. A link named strace is `espy trace` with strace's command line. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "cli/commands.h"
#include "cli/trace_command.h"

static const struct subcommand {
	const char *name;
	int (*run)(const struct espy_cli *cli, int argc, char **argv);
	const struct espy_opt_group *groups;
	const size_t *group_cnt;
	const char *help;
} subcommands[] = {
	{ "trace", espy_cmd_trace, espy_trace_groups, &espy_trace_group_cnt,
	  "show what a program does, decoded, as it happens" },
	{ "record", espy_cmd_record, espy_record_groups, &espy_record_group_cnt,
	  "write what a program does into a trace, to be shown later, anywhere" },
	{ "show", espy_cmd_show, espy_show_groups, &espy_show_group_cnt,
	  "show a trace as trace would have shown it" },
	{ "info", espy_cmd_info, espy_info_groups, &(const size_t){ 1 },
	  "say what a trace holds: host, command, time, calls, losses" },
	{ "resume", espy_cmd_resume, espy_resume_groups, &(const size_t){ 1 },
	  "let a task run on that `trace --pause-on` holds" },
	{ "snapshot", espy_cmd_snapshot, espy_snapshot_groups, &(const size_t){ 1 },
	  "have a flight recorder (record --ring) write its trace" },
	{ "list", espy_cmd_list, espy_list_groups, &(const size_t){ 1 },
	  "list system calls, static marks of a program, or the hooks of descriptions" },
	{ "mark", espy_cmd_mark, espy_mark_groups, &(const size_t){ 1 },
	  "look at the static marks of a running process" },
	{ "doctor", espy_cmd_doctor, espy_doctor_groups, &(const size_t){ 1 },
	  "say what this machine allows, what not, and why" },
};

struct main_args {
	bool help, version, list_options;
};

static const struct espy_opt main_opts[] = {
	ESPY_OPT_HELP(struct main_args),
	{ .letter = 'V', .name = "version", .handle = espy_opts__set, .value = offsetof(struct main_args, version),
	  .help = "print the version and exit" },
	{ .name = "list-options", .handle = espy_opts__set, .value = offsetof(struct main_args, list_options) }, /* for shell completion */
};
const struct espy_opt_group espy_main_groups[] = { { "Options", main_opts, sizeof(main_opts) / sizeof(main_opts[0]) } };

#define SUBCOMMAND_CNT (sizeof(subcommands) / sizeof(subcommands[0]))

static const char *next_subcommand(void *ctx, size_t i)
{
	(void)ctx;
	return i < SUBCOMMAND_CNT ? subcommands[i].name : NULL;
}

static const struct subcommand *find(const struct espy_cli *cli, const char *name)
{
	for (size_t i = 0; i < SUBCOMMAND_CNT; i++)
		if (!strcmp(subcommands[i].name, name))
			return &subcommands[i];
	const char *near = espy_cli__nearest(name, next_subcommand, NULL);
	if (near)
		espy_cli__usage(cli, "unknown command '%s' (did you mean '%s'?)", name, near);
	else
		espy_cli__usage(cli, "unknown command '%s'", name);
	return NULL;
}

int espy_cmd_version(const struct espy_cli *cli, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	/* Scripts read the version of strace in this form. */
	printf("%s\nSystem calls of Linux 7.2, text as of strace 7.2.\n"
	       "Free software, LGPL-2.1-or-later (BPF programs GPL-2.0-only); there is no warranty.\n",
	       cli->strace_mode ? "strace -- version 7.2 (espy " ESPY_VERSION ")" : "espy " ESPY_VERSION);
	if (cli->strace_mode) /* so that scripts know, too, what they may ask for */
		puts("\nOptional features enabled: stack-trace=libdw stack-demangle m32-mpers mx32-mpers");
	return 0;
}

static void help(void)
{
	fputs("Usage: espy COMMAND [OPTIONS] [ARGUMENTS]\n"
	      "See what a Linux program does, without stopping it.\n"
	      "\nCommands:\n",
	      stdout);
	for (size_t i = 0; i < SUBCOMMAND_CNT; i++)
		printf("  %-14s %s\n", subcommands[i].name, subcommands[i].help);
	espy_opts__help(stdout, espy_main_groups, 1);
	fputs("\nTry 'espy COMMAND --help', espy(1) and espy-trace(1). Called through a link named strace, espy takes\n"
	      "strace's command line.\n",
	      stdout);
}

static int run_subcommand(const struct subcommand *c, const char *name, int argc, char **argv)
{
	char opt_name[64], try_help[64];
	const struct espy_cli cli = { .name = name, .opt_name = opt_name, .try_help = try_help };

	snprintf(opt_name, sizeof(opt_name), "%s %s", name, c->name);
	snprintf(try_help, sizeof(try_help), "%s %s --help", name, c->name);
	return c->run(&cli, argc, argv);
}

static int list_options(const struct espy_cli *cli, char *const *argv)
{
	const struct subcommand *c;

	if (!argv[0]) {
		for (size_t i = 0; i < SUBCOMMAND_CNT; i++)
			puts(subcommands[i].name);
		return 0;
	}
	c = find(cli, argv[0]);
	if (!c)
		return 1;
	espy_opts__list(stdout, c->groups, *c->group_cnt);
	return 0;
}

/* Returns the exit status: output that could not be written is an error, however well the rest went. */
static int finish(const char *name, int status)
{
	if ((fflush(stdout) || ferror(stdout)) && !status) {
		fprintf(stderr, "%s: writing to standard output: %s\n", name, strerror(errno));
		return 1;
	}
	return status;
}

/*
 * Opens descriptors 0, 1 and 2 that are closed. The next file would get the free number, and messages would go into
 * it. The command finds them closed, as they were. Writing to standard output still fails.
 */
static void hold_standard_fds(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", (fd == 1 ? O_RDONLY : O_RDWR) | O_CLOEXEC) < 0)
			return;
}

int main(int argc, char **argv)
{
	const char *called = argc && argv[0][0] ? argv[0] : "espy";
	const char *base = strrchr(called, '/') ? strrchr(called, '/') + 1 : called;
	struct main_args a = { 0 };
	int first;

	hold_standard_fds();
	if (!strcmp(base, "strace")) {
		char try_help[4200];

		snprintf(try_help, sizeof(try_help), "%s -h", called);
		const struct espy_cli cli = {
			.name = called, .opt_name = called, .try_help = try_help, .strace_mode = true
		};
		return finish(called, espy_cmd_trace(&cli, argc, argv));
	}
	char try_help[300];
	snprintf(try_help, sizeof(try_help), "%s --help", base);
	const struct espy_cli cli = { .name = base, .opt_name = base, .try_help = try_help };
	if (espy_opts__parse(&cli, espy_main_groups, 1, &a, argc, argv, &first))
		return 1;
	if (a.version)
		return finish(base, espy_cmd_version(&cli, 0, NULL));
	if (a.list_options)
		return finish(base, list_options(&cli, argv + first));
	/* Many users first type `espy help [COMMAND]`. */
	if (a.help || (first < argc && !strcmp(argv[first], "help"))) {
		const struct subcommand *c = NULL;

		if (!a.help && first + 1 < argc) {
			c = find(&cli, argv[first + 1]);
			if (!c)
				return 1;
		}
		if (!c) {
			help();
			return finish(base, 0);
		}
		char *words[] = { (char *)c->name, (char *)"--help", NULL };
		return finish(base, run_subcommand(c, base, 2, words));
	}
	if (first == argc) {
		espy_cli__usage(&cli, "a command is missing: trace, record, show, info, resume, snapshot, list, mark or doctor");
		return 1;
	}
	const struct subcommand *c = find(&cli, argv[first]);
	if (!c)
		return 1;
	return finish(base, run_subcommand(c, base, argc - first, argv + first));
}

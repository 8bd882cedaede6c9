/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `espy list syscalls [WHICH]`, `espy list hooks`; list_functions.c and list_markers.c have the other lists. */
#include <limits.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include "arch/abi_facts.h"
#include "cli/commands.h"
#include "inspect/list_functions.h"
#include "inspect/list_markers.h"
#include "inspect/list_reference.h"
#include "inspect/list_tracepoints.h"
#include "describe/builtin.h"
#include "describe/hooks.h"
#include "filter/filter_calls.h"

struct list_args {
	const struct espy_cli *cli;
	enum espy_abi abi;
	pid_t pid;
	bool help, markdown, variables;
};

static int do_pid(void *ctx, const struct espy_opt_use *use)
{
	struct list_args *a = ctx;
	char *end;
	long pid = strtol(use->arg, &end, 10);

	if (*end || end == use->arg || pid <= 0 || pid > INT_MAX)
		return espy_cli__usage(a->cli, "invalid %s argument: '%s' (a process number)", use->as, use->arg);
	a->pid = (pid_t)pid;
	return 0;
}

static int do_abi(void *ctx, const struct espy_opt_use *use)
{
	const int abi = espy_abi_find(use->arg, strlen(use->arg));
	struct list_args *a = ctx;

	if (abi < 0)
		return espy_cli__usage(a->cli, "invalid %s argument: '%s' (" ESPY_ABI_WORDS "; or io_uring)", use->as,
				       use->arg);
	a->abi = (enum espy_abi)abi;
	return 0;
}

static const struct espy_opt list_opts[] = {
	{ .name = "abi",
	  .arg = ESPY_OPT_REQUIRED,
	  .arg_name = "ABI",
	  .handle = do_abi,
	  .complete = "64 32 x32",
	  .help = "system calls of 64 (default), 32 (i386) or x32 programs" },
	{ .letter = 'p',
	  .name = "attach",
	  .arg = ESPY_OPT_REQUIRED,
	  .arg_name = "PID",
	  .handle = do_pid,
	  .complete = "pid",
	  .help = "markers of a process that runs, with their state" },
	{ .name = "markdown",
	  .handle = espy_opts__set,
	  .value = offsetof(struct list_args, markdown),
	  .help = "the page of all that is decoded: calls, ioctl commands, options, attributes, structs" },
	{ .letter = 'v',
	  .name = "variables",
	  .handle = espy_opts__set,
	  .value = offsetof(struct list_args, variables),
	  .help = "functions with their parameters and variables, which -u can name where they begin" },
	ESPY_OPT_HELP(struct list_args),
};
const struct espy_opt_group espy_list_groups[] = { { "Options", list_opts, sizeof(list_opts) / sizeof(list_opts[0]) } };

static void help(void)
{
	fputs("Usage: espy list [--markdown]\n"
	      "       espy list [OPTIONS] syscalls [REGEX | %CLASS]\n"
	      "       espy list [-v] functions FILE [PATTERN] | FILE:PATTERN\n"
	      "       espy list [-v] functions kernel [PATTERN]\n"
	      "       espy list tracepoints [SYSTEM | SYSTEM:NAME]\n"
	      "       espy list hooks\n"
	      "       espy list markers PROGRAM\n"
	      "       espy list -p PID markers\n"
	      "List what can be asked for: number, name, decoded or raw, and classes of each system call;\n"
	      "without a word, how much of each kind is described;\n"
	      "functions are those of a program or library that -u can probe: offset, size, place, name, line,\n"
	      "and with -v what -u can name there; those of the kernel: name and module, and with -v the parameters;\n"
	      "tracepoints are those of the kernel, for -K: name and fields;\n"
	      "hooks are the values of descriptions that are shown by code; markers are the static marks "
	      "(espy/mark.h)\n"
	      "and USDT probes of a program, or of a process and all its libraries: name, kind, state, place, "
	      "address,\n"
	      "format or arguments, who has switched it on.\n",
	      stdout);
	espy_opts__help(stdout, espy_list_groups, 1);
	fputs("\nClasses:", stdout);
	for (unsigned i = 0; i < ESPY_CLASS_CNT; i++)
		printf("%s%s", i % 9 ? " " : "\n  ", espy_class_names[i]);
	fputc('\n', stdout);
}

static void put_call(const struct espy_image *img, uint32_t nr)
{
	const struct espy_syscall *c = &img->syscalls[nr];
	const char *sep = "";

	printf("%4u  %-28s %-9s ", nr, espy_image__str(img, c->name), c->call == ESPY_NONE ? "raw" : "described");
	for (unsigned i = 0; i < ESPY_CLASS_CNT; i++)
		if (c->classes >> i & 1) {
			printf("%s%s", sep, espy_class_names[i]);
			sep = ",";
		}
	puts(sep[0] ? "" : "-");
}

static bool open_image(const struct list_args *a, struct espy_image *img)
{
	const int err = espy_builtin_image__open(img, a->abi);

	if (err)
		espy_cli__say(a->cli, "the built-in descriptions are damaged (%s): install espy again", strerror(-err));
	return !err;
}

static int list_reference(const struct list_args *a)
{
	struct espy_image img;

	if (!open_image(a, &img))
		return 1;
	if (a->markdown)
		espy_list_markdown(stdout, &img);
	else
		espy_list_counts(stdout, &img);
	return 0;
}

static int list_syscalls(const struct list_args *a, const char *which)
{
	struct espy_image img;
	uint64_t classes = 0;
	regex_t re;
	unsigned found = 0;

	if (!open_image(a, &img))
		return 1;
	if (which && which[0] == '%') {
		classes = espy_filter_class(which + 1, strlen(which + 1));
		if (!classes) {
			espy_cli__usage(a->cli, "unknown class '%s'", which);
			return 1;
		}
	} else if (which) {
		/* The word of -e trace=/REGEX works here, too. */
		int bad = regcomp(&re, which + (which[0] == '/'), REG_EXTENDED | REG_NOSUB);

		if (bad) {
			char why[128];

			regerror(bad, &re, why, sizeof(why));
			espy_cli__say(a->cli, "regcomp: %s: %s", which, why);
			return 1;
		}
	}
	for (uint32_t nr = 0; nr < img.syscall_cnt; nr++) {
		const char *name = espy_image__str(&img, img.syscalls[nr].name);

		if (!name[0] || (classes && !(img.syscalls[nr].classes & classes)) ||
		    (which && !classes && regexec(&re, name, 0, NULL, 0)))
			continue;
		put_call(&img, nr);
		found++;
	}
	if (which && !classes)
		regfree(&re);
	if (!found) {
		espy_cli__say(a->cli, "no system call matches '%s'", which ? which : "");
		return 1;
	}
	return 0;
}

static int list_hooks(void)
{
	static const struct {
		const char *kind, *name;
	} rows[] = {
#define ESPY_HOOK(id, text) { "hook", text },
#define ESPY_NOTE(id, text) { "note", text },
#include "describe/hooks.def"
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		printf("%s  %s\n", rows[i].kind, rows[i].name);
	return 0;
}

int espy_cmd_list(const struct espy_cli *cli, int argc, char **argv)
{
	struct list_args a = { .cli = cli, .abi = ESPY_ABI_NATIVE };
	int first;

	if (espy_opts__parse(cli, espy_list_groups, 1, &a, argc, argv, &first))
		return 1;
	if (a.help) {
		help();
		return 0;
	}
	const char *what = argv[first];
	if (!what && !a.pid)
		return list_reference(&a);
	if (!what || a.markdown) {
		espy_cli__usage(cli, what ? "--markdown is the page of everything: no word goes with it"
					  : "what to list is missing: -p/--attach goes with markers");
		return 1;
	}
	const char *which = argv[first + 1];
	const bool syscalls = !strcmp(what, "syscalls"), markers = !strcmp(what, "markers"), tracepoints = !strcmp(what, "tracepoints");

	if (a.variables && strcmp(what, "functions")) {
		espy_cli__usage(cli, "-v/--variables goes with functions only");
		return 1;
	}
	if (!strcmp(what, "functions")) {
		if (!which || (argv[first + 2] && argv[first + 3])) {
			espy_cli__usage(cli, which ? "too many words after 'functions FILE PATTERN'"
						   : "functions of what? FILE is missing");
			return 1;
		}
		return espy_list_functions(cli, which, argv[first + 2], a.variables);
	}

	/* Many users type `espy list markers -p PID`. */
	if (markers && which && which[0] == '-' && which[1]) {
		int more;

		if (espy_opts__parse(cli, espy_list_groups, 1, &a, argc - first, argv + first, &more))
			return 1;
		first += more - 1;
		which = argv[first + 1];
	}
	if (argv[first + (which != NULL) + 1] || (which && !syscalls && !markers && !tracepoints)) {
		espy_cli__usage(cli, "too many words after '%s'", what);
		return 1;
	}
	if (markers && !which == !a.pid) {
		espy_cli__usage(cli, which ? "PROGRAM and -p/--attach are mutually exclusive"
					   : "markers of what? PROGRAM or -p PID is missing");
		return 1;
	}
	if (!markers && a.pid) {
		espy_cli__usage(cli, "-p/--attach goes with markers only");
		return 1;
	}
	if (markers)
		return espy_list_markers(cli, which, a.pid);
	if (syscalls)
		return list_syscalls(&a, which);
	if (tracepoints)
		return espy_list_tracepoints(cli, which);
	if (!strcmp(what, "hooks"))
		return list_hooks();
	espy_cli__usage(cli, "cannot list '%s': syscalls, functions, markers, tracepoints or hooks", what);
	return 1;
}

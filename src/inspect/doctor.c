/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `espy doctor`: tells the abilities of this machine, the missing ones, why, and how to get them. Changes nothing. */
#include <string.h>
#include <unistd.h>
#include "cli/commands.h"
#include "inspect/doctor_checks.h"
#include "source/choose.h"

struct doctor_args {
	const struct espy_cli *cli;
	const struct espy_source_ops *source; /* NULL: the whole machine */
	bool help;
};

static int do_source(void *ctx, const struct espy_opt_use *use)
{
	struct doctor_args *a = ctx;

	a->source = espy_source__find(use->arg);
	return a->source ? 0 : espy_cli__usage(a->cli, "invalid %s argument: '%s' (bpf or ptrace)", use->as, use->arg);
}

static const struct espy_opt doctor_opts[] = {
	{ .name = "source",
	  .arg = ESPY_OPT_REQUIRED,
	  .arg_name = "NAME",
	  .handle = do_source,
	  .complete = "bpf ptrace",
	  .help = "say of this source alone whether it works, and why not" },
	ESPY_OPT_HELP(struct doctor_args),
};
const struct espy_opt_group espy_doctor_groups[] = { { "Options", doctor_opts,
						       sizeof(doctor_opts) / sizeof(doctor_opts[0]) } };

static void help(void)
{
	fputs("Usage: espy doctor [OPTIONS]\n"
	      "Say what of espy works on this machine for this user, what does not, why, and what would allow it.\n",
	      stdout);
	espy_opts__help(stdout, espy_doctor_groups, 1);
	fputs("\nExit status: 0 if tracing is possible by any source (--source: by this one), else 1.\n", stdout);
}

static void put(const char *name, enum espy_finding state, const char *detail, const char *way)
{
	static const char *const words[] = {
		[ESPY_FINDING_YES] = "yes",
		[ESPY_FINDING_NO] = "no",
		[ESPY_FINDING_PARTLY] = "partly",
		[ESPY_FINDING_INFO] = "-",
	};

	printf("%-28s %-7s %s\n", name, words[state], detail);
	if (way[0])
		printf("%-36s -> %s\n", "", way);
}

static void put_caps(const struct espy_source_ops *ops)
{
	static const struct {
		unsigned cap;
		const char *text;
		bool without; /* a source without this capability does so */
	} caps[] = {
		{ ESPY_SRC_PASSIVE, "stops the task at each call that is wanted", true },
		{ ESPY_SRC_SYSTEM_WIDE, "watches cgroups and the whole system (--cgroup, --all)" },
		{ ESPY_SRC_COUNT, "counts in the kernel (-c)" },
		{ ESPY_SRC_ENTER, "shows every call as it begins" },
		{ ESPY_SRC_FLIGHT, "keeps the newest in memory until it is asked for (record --ring)" },
		{ ESPY_SRC_GATES, "tests conditions in the kernel (--where)" },
		{ ESPY_SRC_TAMPER, "can change results" },
	};

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		printf("  %-26s %-7s %s\n", "", !(ops->caps & caps[i].cap) == caps[i].without ? "yes" : "no",
		       caps[i].text);
}

/* Tells of --lossless and --pause-on. A source that stops its tasks anyway needs neither. */
static void put_lossless(const struct espy_source_ops *ops)
{
	char why[256] = "";
	int err = ops->probe_lossless ? ops->probe_lossless(why, sizeof(why)) : 0;

	if (ops->probe_lossless)
		printf("  %-26s %-7s %s%s%s\n", "", err ? "no" : "yes",
		       "holds tasks without stopping them (--lossless, --pause-on)", err ? ": " : "", why);
}

static bool put_source(const struct espy_source_ops *ops, const char *indent)
{
	char why[512] = "", name[64];
	int err = ops->probe(why, sizeof(why));

	snprintf(name, sizeof(name), "%s%s", indent, ops->name);
	put(name, err ? ESPY_FINDING_NO : ESPY_FINDING_YES, err && !why[0] ? strerror(-err) : why, "");
	return !err;
}

static bool put_sources(void)
{
	bool any = false;

	fputs("\nSources of events, best first:\n", stdout);
	for (size_t i = 0; espy_sources[i]; i++) {
		bool works = put_source(espy_sources[i], "  ");

		if (works) {
			put_caps(espy_sources[i]);
			put_lossless(espy_sources[i]);
		}
		any |= works;
	}
	return any;
}

int espy_cmd_doctor(const struct espy_cli *cli, int argc, char **argv)
{
	struct doctor_args a = { .cli = cli };
	struct espy_check_result r;
	int first;

	if (espy_opts__parse(cli, espy_doctor_groups, 1, &a, argc, argv, &first))
		return 1;
	if (a.help) {
		help();
		return 0;
	}
	if (argv[first]) {
		espy_cli__usage(cli, "'%s': the doctor takes no words", argv[first]);
		return 1;
	}
	if (a.source)
		return put_source(a.source, "source ") ? 0 : 1;
	for (size_t i = 0; espy_checks[i].name; i++) {
		r = (struct espy_check_result){ .state = ESPY_FINDING_NO };
		espy_checks[i].run(&r);
		put(espy_checks[i].name, r.state, r.detail, r.way);
		/* A check may have forked: no buffered byte may be written twice. */
		fflush(stdout);
	}
	bool any = put_sources();
	printf("\n%s\n", any ? "Tracing is possible." : "Tracing is not possible here: see the lines that say no.");
	return any ? 0 : 1;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules over several options of `espy trace`: defaults, combinations that make no sense, warnings. */
#include "cli/commands.h"
#include "cli/probe_of.h"
#include "cli/trace_command.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESULT_COLUMN 40 /* where results begin */

int espy_trace_args__init(struct espy_trace_args *a, const struct espy_cli *cli)
{
	int err;

	*a = (struct espy_trace_args){
		.cli = cli,
		.session = {
			.size = sizeof(a->session),
			.log = espy_trace_log,
			.log_ctx = a,
			.hang_ms = 200,
			.engines_fixed = true,
			.raise_file_limit = true,
		},
		.text = {
			.size = sizeof(a->text),
			.string_limit = 32,
			.string_limit_given = true,
			.column = RESULT_COLUMN,
			.column_given = true,
		},
		.sink = { .size = sizeof(a->sink) },
		.tally = { .size = sizeof(a->tally) },
		.table = { .size = sizeof(a->table), .sort_by = ESPY_COL_TOTAL_TIME },
		.record = { .size = sizeof(a->record), .level = 3, .level_given = true },
		.status = ESPY_STATUS_ALL,
	};
	err = espy_filter_new(&a->filter);
	if (err)
		espy_cli__say(cli, "%s", strerror(-err));
	return err;
}

void espy_trace_args__free(struct espy_trace_args *a)
{
	espy_filter_free(a->filter);
	free(a->pids);
	free(a->lists.env_edits.v);
	free(a->lists.describe.v);
	free(a->lists.paths.v);
	espy_words__free(&a->lists.select);
	espy_words__free(&a->lists.where);
	free(a->lists.pause_on.v);
	free(a->lists.snapshot_on.v);
	free(a->lists.count_by.v);
	free(a->lists.hist.v);
	free((void *)a->tally.tallies);
}

/* Refuses a letter that counts beside its long form. */
static int both(const struct espy_trace_args *a, const char *letter, const char *name)
{
	espy_cli__say(a->cli, "%s and %s cannot be provided simultaneously", letter, name);
	return -EINVAL;
}

static int check_letters(struct espy_trace_args *a)
{
	if (a->letters.t && a->longs.time)
		return both(a, "-t", "--absolute-timestamps");
	if (a->letters.x && a->longs.hex)
		return both(a, "-x", "--strings-in-hex");
	if (a->letters.y && a->longs.fds)
		return both(a, "-y", "--decode-fds");
	if (a->letters.q && a->longs.quiet)
		return both(a, "-q", "-e quiet/--quiet");
	if (a->letters.D && a->longs.daemon)
		return both(a, "-D", "--daemonize");
	if (a->letters.f && a->longs.fork)
		return both(a, "-f", "--follow-forks");
	if (a->letters.f > 1 && a->out.separately)
		return both(a, "-ff", "--output-separately");
	if (a->letters.F && a->follow)
		espy_cli__say(a->cli, "deprecated option -F ignored");
	else if (a->letters.F)
		espy_cli__say(a->cli, "option -F is deprecated, please use -f/--follow-forks instead");
	a->follow = a->follow ? a->follow : a->letters.F;
	if (a->letters.t) {
		a->text.time = a->letters.t > 2 ? ESPY_TIME_UNIX : ESPY_TIME_OF_DAY;
		a->text.time_precision = a->letters.t > 1 ? 6 : 0;
	}
	if (a->letters.x)
		a->text.strings = a->letters.x > 1 ? ESPY_STRINGS_HEX : ESPY_STRINGS_HEX_NON_ASCII;
	if (a->letters.y)
		a->text.fds = a->letters.y > 1 ? ESPY_FD_ALL : ESPY_FD_PATH;
	if (a->letters.q)
		a->quiet |= a->letters.q > 2
				    ? ESPY_QUIET_ALL
				    : ESPY_QUIET_ATTACH | ESPY_QUIET_PERSONALITY | (a->letters.q > 1 ? ESPY_QUIET_EXIT : 0);
	if (a->letters.D)
		a->run.daemonize = a->letters.D;
	a->out.separately |= a->letters.f > 1;
	return 0;
}

static int check_targets(struct espy_trace_args *a)
{
	if (a->summary == ESPY_SUMMARY_ONLY && a->record.path)
		return espy_cli__usage(a->cli, "-c/--summary-only and --record are mutually exclusive");
	const char *wide = a->session.all ? "--all" : a->session.cgroup ? "--cgroup" : NULL;

	if (!a->run.command[0] && !a->pid_cnt && !wide)
		return espy_cli__usage(a->cli, a->cli->strace_mode ? "must have PROG [ARGS] or -p PID"
								   : "must have PROG [ARGS], -p PID, --cgroup PATH or --all");
	if (!a->run.command[0] && a->run.daemonize)
		return espy_cli__usage(a->cli, "PROG [ARGS] must be specified with -D/--daemonize");
	if (a->letters.D > 3)
		return espy_cli__usage(a->cli, "Too many -D's (%u), maximum supported -D count is 3", a->letters.D);
	if (wide && (a->run.command[0] || a->pid_cnt))
		return espy_cli__usage(a->cli, "%s and %s are mutually exclusive", wide,
				       a->run.command[0] ? "PROG [ARGS]" : "-p/--attach");
	if (a->session.all && a->session.cgroup)
		return espy_cli__usage(a->cli, "--all and --cgroup are mutually exclusive");
	for (size_t i = 0; i < a->pid_cnt; i++)
		if (a->pids[i] == getpid()) {
			if (a->cli->strace_mode) /* the words of a film, as scripts may know them */
				espy_cli__say(a->cli, "I'm sorry, I can't let you do that, Dave.");
			else
				espy_cli__say(a->cli, "-p %d: this is the tracer itself, which cannot watch itself",
					      (int)a->pids[i]);
			return -EINVAL;
		}
	if (a->session.kill_on_exit && a->pid_cnt)
		return espy_cli__usage(a->cli, "--kill-on-exit and -p/--attach are mutually exclusive options");
	if (a->run.daemonize && a->pid_cnt)
		return espy_cli__usage(a->cli, "-D/--daemonize and -p/--attach are mutually exclusive");
	return 0;
}

/* Puts --count-by and --hist into one list. */
static int gather_tallies(struct espy_trace_args *a)
{
	const size_t counts = a->lists.count_by.cnt, cnt = counts + a->lists.hist.cnt;
	struct espy_tally *v = calloc(cnt + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		v[i] = (struct espy_tally){ .kind = i < counts ? ESPY_TALLY_COUNT : ESPY_TALLY_HIST,
					    .text = i < counts ? a->lists.count_by.v[i] : a->lists.hist.v[i - counts] };
	a->tally.tallies = v;
	a->tally.tally_count = cnt;
	if (a->tally.top && !counts)
		return espy_cli__usage(a->cli, "--top must be given with --count-by");
	if ((a->text.function_depth || a->text.function_min_ns) && !a->text.functions)
		return espy_cli__usage(a->cli, "--depth and --min-time must be given with --functions");
	if (cnt && a->out.separately)
		return espy_cli__usage(a->cli, "--count-by, --hist and -ff/--output-separately are mutually exclusive");
	return 0;
}

/* Warns of options that change lines only: they do nothing for a table. */
static void warn_no_lines(const struct espy_trace_args *a)
{
	const struct {
		bool given;
		const char *what;
	} rows[] = {
		{ a->text.instruction_pointer, "-i/--instruction-pointer" },
		{ a->text.call_number, "-n/--syscall-number" },
		{ a->text.relative_time, "-r/--relative-timestamps" },
		{ a->text.time != ESPY_TIME_NONE, "-t/--absolute-timestamps" },
		{ a->text.call_time, "-T/--syscall-times" },
		{ a->text.fds != ESPY_FD_NONE, "-y/--decode-fds" },
		{ a->text.stacks, a->cli->strace_mode ? "-k/--stack-traces" : "-k/--stack-trace" },
		{ a->text.task_names, "-Y/--decode-pids" },
		{ a->text.argument_names, "-N/--arg-names" },
		{ a->text.task_always, "--always-show-pid" },
	};

	for (size_t i = 0; !espy_trace_has_lines(a) && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].given)
			espy_cli__say(a->cli, "%s has no effect with %s", rows[i].what,
				      a->summary == ESPY_SUMMARY_ONLY ? "-c/--summary-only" : "--count-by and --hist");
}

/* Refuses options of lines for a sink of objects, and gives the others to it. */
static int check_sink(struct espy_trace_args *a)
{
	static const char always[] = "each object has it", never[] = "it says how lines look";
	const struct {
		bool given;
		const char *what, *why;
	} rows[] = {
		{ a->text.column != RESULT_COLUMN, "-a/--columns", never },
		{ a->text.call_number, "-n/--syscall-number", always },
		{ a->text.argument_names, "-N/--arg-names", always },
		{ a->text.task_always, "--always-show-pid", always },
		{ a->text.time != ESPY_TIME_NONE, "-t/--absolute-timestamps", always },
		{ a->text.relative_time, "-r/--relative-timestamps", never },
		{ a->text.call_time, "-T/--syscall-times", always },
		{ a->text.strings != ESPY_STRINGS_PLAIN, "-x/--strings-in-hex", never },
		{ a->text.names != ESPY_NAMES, "-X/--const-print-style", "objects have numbers and names" },
		{ a->text.stacks, "-k/--stack-trace", "stacks are shown as text only" },
		{ a->text.contexts != ESPY_CONTEXTS_NONE, "--secontext", "contexts are shown as text only" },
		{ espy_filter_has(a->filter, ESPY_FILTER_DUMPS), "-e read= or -e write=", "dumps are text (see -s)" },
	};

	if (!a->sink.name)
		return 0;
	if (a->table.column_count)
		return espy_cli__usage(a->cli, "--%s and -U/--summary-columns are mutually exclusive: each object has all figures", a->sink.name);
	for (size_t i = 0; espy_trace_has_lines(a) && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].given)
			return espy_cli__usage(a->cli, "--%s and %s are mutually exclusive: %s", a->sink.name, rows[i].what, rows[i].why);
	a->tally.json = a->table.json = !strcmp(a->sink.name, "json");
	a->sink.string_limit = a->text.string_limit;
	a->sink.string_limit_given = true;
	a->sink.fd_details = (a->text.fds & ~ESPY_FD_PATH) != 0;
	a->sink.task_names = a->text.task_names;
	a->sink.instruction_pointer = a->text.instruction_pointer;
	return 0;
}

static int check_summary(struct espy_trace_args *a)
{
	static const char c[] = "(-c/--summary-only or -C/--summary)";

	if (a->summary == ESPY_SUMMARY_NONE) {
		if (a->table.wall_clock)
			return espy_cli__usage(a->cli, "-w/--summary-wall-clock must be given with %s", c);
		if (a->table.column_count)
			return espy_cli__usage(a->cli, "-U/--summary-columns must be given with %s", c);
		if (a->sort_given)
			espy_cli__say(a->cli, "-S/--summary-sort-by has no effect without %s", c);
		if (a->tally.tally_count)
			warn_no_lines(a);
		return 0;
	}
	if (a->out.separately)
		return espy_cli__usage(a->cli, "%s and -ff/--output-separately are mutually exclusive", c);
	/* A status is that of a line. The table has all calls, and says how many failed. */
	a->table.every_status = true;
	warn_no_lines(a);
	return 0;
}

static int check_output(struct espy_trace_args *a)
{
	bool piped = a->out.name && (a->out.name[0] == '|' || a->out.name[0] == '!');

	if (piped && a->out.separately)
		return espy_cli__usage(a->cli, "piping the output and -ff/--output-separately are mutually exclusive");
	if (a->out.name && !a->out.name[piped])
		return espy_cli__usage(a->cli, piped ? "-o '%s': a command is missing" : "-o: '%s' names no file",
				       a->out.name);
	if (!a->out.name && a->out.separately && !a->follow)
		espy_cli__say(a->cli, "--output-separately has no effect without -o/--output");
	if (!a->out.name && a->out.append)
		espy_cli__say(a->cli, "-A/--output-append-mode has no effect without -o/--output");
	if (a->out.separately && a->follow)
		a->follow = 2;
	return 0;
}

static bool is_null_device(const struct stat *st)
{
	struct stat null;

	return S_ISCHR(st->st_mode) && !stat("/dev/null", &null) && st->st_rdev == null.st_rdev;
}

/* Refuses to record into the program's own output: its text would stand in the middle of the trace for good. */
static int check_shared_output(struct espy_trace_args *a)
{
	const char *path = a->record.path;
	struct stat trace, own;

	if (!path || !a->run.command[0])
		return 0;
	if (a->session.flight_bytes || a->record.rotate_bytes)
		return 0; /* several files: standard output is refused anyway */
	if (!strcmp(path, "-"))
		return espy_cli__usage(a->cli, "the trace cannot go to standard output, where PROG writes, too: name a file, or give the trace a "
					       "descriptor of its own (-o /dev/fd/3 PROG 3>&1 >/dev/null | ...)");
	if (stat(path, &trace) || S_ISREG(trace.st_mode))
		return 0; /* it is made anew */
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (!fstat(fd, &own) && own.st_dev == trace.st_dev && own.st_ino == trace.st_ino && !is_null_device(&own))
			return espy_cli__usage(a->cli, "%s is where PROG writes, too (its standard %s): name another file", path,
					       fd == STDOUT_FILENO ? "output" : "error");
	return 0;
}

static void check_seccomp(struct espy_trace_args *a)
{
	if (!a->session.seccomp)
		return;
	if (a->pid_cnt)
		espy_cli__say(a->cli, "--seccomp-bpf is not enabled for processes attached with -p");
	if (a->session.detach_on_execve)
		espy_cli__say(a->cli, "--seccomp-bpf is not enabled because it is not compatible with -b");
	else if (!a->follow)
		espy_cli__say(a->cli, "--seccomp-bpf cannot be used without -f/--follow-forks, disabling");
	else if (a->call_limit)
		espy_cli__say(a->cli, "--seccomp-bpf is not compatible with --syscall-limit, disabling");
	else if (!a->pid_cnt && !espy_filter_has(a->filter, ESPY_FILTER_CALLS))
		espy_cli__say(a->cli, "Seccomp filter is requested but there are no syscalls to filter.  See -e trace to filter syscalls.");
	if (a->pid_cnt || !a->follow || a->call_limit || a->session.detach_on_execve)
		a->session.seccomp = false;
	/* The kernel fails the calls that a filter sends to a missing tracer: the task must not outlive espy. */
	a->session.kill_on_exit |= a->session.seccomp;
}

/* Adds the paths of -P, with their links resolved, since espy compares them with the kernel's names of open files. */
static int add_paths(struct espy_trace_args *a)
{
	for (size_t i = 0; i < a->lists.paths.cnt; i++) {
		const char *path = a->lists.paths.v[i];
		/* links of the place where a trace is shown say nothing of it */
		char *real = a->role == ESPY_ROLE_SHOW ? NULL : realpath(path, NULL);

		int err = espy_filter_path(a->filter, path);
		if (!err && real && strcmp(real, path)) {
			if (!(a->quiet & ESPY_QUIET_PATH))
				espy_cli__say(a->cli, "Requested path \"%s\" resolved into \"%s\"", path, real);
			err = espy_filter_path(a->filter, real);
		}
		free(real);
		if (err)
			return err;
	}
	return a->cli->strace_mode ? espy_filter_paths_as_written(a->filter) : 0;
}

/* Marks come alone, unless an option asks for system calls. */
static int check_marks(struct espy_trace_args *a)
{
	const bool probes = espy_filter_has(a->filter, ESPY_FILTER_PROBES);
	const bool alone = !a->probes_alone && !espy_filter_has(a->filter, ESPY_FILTER_CALLS) && !a->lists.paths.cnt;
	const bool wide = a->session.all || a->session.cgroup;
	const enum espy_mark_way by = a->session.marks_by;

	if (a->role == ESPY_ROLE_SHOW && (probes || espy_filter_has(a->filter, ESPY_FILTER_MARKS)))
		a->session.no_calls = alone;
	if (!espy_filter_has(a->filter, ESPY_FILTER_MARKS) && !probes)
		return a->via_given ? espy_cli__usage(a->cli, "--via goes with -m and -u") : 0;
	if (a->role == ESPY_ROLE_SHOW || !espy_filter_has(a->filter, ESPY_FILTER_MARKS))
		return 0;
	if (wide && by != ESPY_MARKS_BY_AGENT)
		return espy_cli__usage(a->cli, "--via is for a command or processes (-p), not for %s: there marks are seen of programs "
				       "that have an agent", a->session.all ? "--all" : "--cgroup");
	if (by == ESPY_MARKS_BY_PRELOAD && !a->run.command[0])
		return espy_cli__usage(a->cli, "--via=preload is for a command: PROG [ARGS] is missing");
	if (a->session.flight_bytes && by == ESPY_MARKS_BY_KERNEL)
		return espy_cli__usage(a->cli, "--via=kernel and a ring (--ring) are mutually exclusive");
	if (a->lists.pause_on.cnt)
		return espy_cli__usage(a->cli, "-m and --pause-on are mutually exclusive");
	a->session.no_calls = alone && !a->session.source;
	return 0;
}

/* Keeps a word for `espy show` of the trace, as if the user had typed it. */
static int keep_word(struct espy_trace_args *a, const char *text)
{
	return espy_words__take(&a->lists.select, strdup(text));
}

/* Probes come alone or with marks, unless an option asks for system calls. The source of calls has them. */
static int check_probes(struct espy_trace_args *a)
{
	char why[128];
	int err;

	if (!espy_filter_has(a->filter, ESPY_FILTER_PROBES) || espy_filter_has(a->filter, ESPY_FILTER_CALLS) || a->lists.paths.cnt ||
	    a->role == ESPY_ROLE_SHOW)
		return 0;
	a->probes_alone = true;
	err = espy_filter_select(a->filter, "trace=none", why, sizeof(why));
	/* The user has not asked for the signals of a whole system, nor for the ends of its processes. */
	if (err || (!a->session.all && !a->session.cgroup))
		return err;
	a->quiet |= ESPY_QUIET_EXIT;
	err = espy_filter_select(a->filter, "signal=none", why, sizeof(why));
	err = err ? err : keep_word(a, "-esignal=none");
	return err ? err : keep_word(a, "-equiet=exit");
}

/* -u with a word that is neither a probe nor a user: perhaps the user left out the file, and espy says the whole probe. */
static int check_user(const struct espy_trace_args *a)
{
	const char *quote = a->run.user && strpbrk(a->run.user, " ($&|<>") ? "'" : ""; /* as the shell needs it */
	char probe[PATH_MAX + 128];

	if (!a->run.user_letter || !*a->run.user || strchr(a->run.user, ':') || getpwnam(a->run.user))
		return 0;
	if (espy_probe_of(a->run.user, a->run.command ? a->run.command[0] : NULL, probe, sizeof(probe)))
		espy_cli__say(a->cli, "Cannot find user '%s'; did you mean the probe -u %s%s%s?", a->run.user, quote, probe, quote);
	else
		espy_cli__say(
			a->cli,
			"Cannot find user '%s'; a probe names a file, too: -u FILE:FUNCTION, or -u kernel:FUNCTION",
			a->run.user);
	return -ENOENT;
}

int espy_trace_args__check(struct espy_trace_args *a)
{
	int err = check_letters(a);

	err = err ? err : check_user(a);
	if (!err && a->role != ESPY_ROLE_SHOW)
		err = check_targets(a);
	if (!err)
		check_seccomp(a);
	if (!err)
		err = gather_tallies(a);
	if (!err)
		err = check_summary(a);
	if (!err)
		err = check_sink(a);
	if (!err)
		err = check_output(a);
	if (!err && a->role != ESPY_ROLE_SHOW)
		err = check_shared_output(a);
	if (!err)
		err = check_probes(a);
	if (!err)
		err = check_marks(a);
	if (err)
		return err;
	if (a->status_twice)
		espy_cli__say(a->cli,
			      "Only the last of -z/--successful-only/-Z/--failed-only options will take effect. "
			      "See status qualifier for more complex filters.");
	if (!a->session.interruptible)
		a->session.interruptible = a->out.name && a->run.command[0] && !a->run.daemonize ? 3 : 2;
	a->session.pids = a->pids;
	a->session.pid_count = a->pid_cnt;
	a->session.describe = a->lists.describe.v;
	a->session.describe_count = a->lists.describe.cnt;
	a->record.string_limit = a->text.string_limit;
	a->record.string_limit_given = true;
	a->record.words = a->lists.select.v;
	a->record.word_count = a->lists.select.cnt;
	if (a->session.explain && !a->lists.where.cnt && !a->lists.paths.cnt && !espy_filter_has(a->filter, ESPY_FILTER_CALLS))
		return espy_cli__usage(a->cli, "--explain needs something to explain: -e trace=, -P, --where, --comm, --uid or --duration");
	for (size_t i = 0; i < a->lists.where.cnt && !err; i++)
		err = espy_filter_where(a->filter, a->lists.where.v[i]);
	if (err)
		return err;
	a->session.pause_on = a->lists.pause_on.v;
	a->session.pause_on_count = a->lists.pause_on.cnt;
	a->session.snapshot_on = a->lists.snapshot_on.v;
	a->session.snapshot_on_count = a->lists.snapshot_on.cnt;
	if (a->session.snapshot_on_count && !a->session.flight_bytes)
		return espy_cli__usage(a->cli, "--snapshot-on needs --ring: without it everything is written anyway");
	if (a->session.snapshot_after_ns && !a->session.flight_bytes)
		return espy_cli__usage(a->cli, "--after needs --ring");
	if (a->record.keep && !a->record.rotate_bytes)
		return espy_cli__usage(a->cli, "--keep needs --rotate");
	if (a->record.rotate_bytes && a->session.flight_bytes)
		return espy_cli__usage(a->cli, "--rotate and --ring are mutually exclusive: a ring has one size already");
	if (a->record.rotate_bytes && !strcmp(a->record.path, "-"))
		return espy_cli__usage(a->cli, "--rotate needs the name of a file (-o): standard output is one");
	if (a->session.flight_bytes && !strcmp(a->record.path, "-"))
		return espy_cli__usage(a->cli, "--ring needs the name of a file (-o): it writes a trace each time one is wanted");
	if (a->session.flight_bytes && a->session.pause_on_count)
		return espy_cli__usage(a->cli, "--pause-on and --ring are mutually exclusive: nobody would look");
	if (a->session.overrun == ESPY_OVERRUN_HOLD && a->session.all)
		return espy_cli__usage(a->cli, "--lossless=always is not for --all: among all tasks are those that take "
					       "espy's output, and held they would take none");
	return add_paths(a);
}

int espy_trace_command(const struct espy_trace_command *c, const struct espy_cli *cli, int argc, char **argv)
{
	struct espy_trace_args *a = calloc(1, sizeof(*a));
	struct espy_cli own = *cli;
	int first, status = 1;

	if (c->seen)
		own.seen = c->seen;
	if (!a || espy_trace_args__init(a, &own)) {
		free(a);
		return 1;
	}
	a->role = c->role;
	int err = espy_opts__parse(&own, c->groups, *c->group_cnt, a, argc, argv, &first);
	if (err) {
		if (err == -ENOMEM)
			espy_cli__say(cli, "out of memory");
	} else if (a->help) {
		c->help(cli);
		status = 0;
	} else if (a->version) {
		status = espy_cmd_version(cli, 0, NULL);
	} else {
		status = c->run(a, argc, argv, first);
	}
	espy_trace_args__free(a);
	free(a);
	return status;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a command line to what the library is asked for, without starting anything. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "cli/commands.h"
#include "cli/trace_command.h"

static const struct espy_cli cli = { .name = "espy", .opt_name = "espy trace", .try_help = "espy trace --help" };
static struct espy_trace_args args;
static char said[4096];

/* trace.c refers to it; it stands in main.c. */
int espy_cmd_version(const struct espy_cli *c, int argc, char **argv)
{
	(void)c;
	(void)argc;
	(void)argv;
	return 0;
}

/* Words with blanks between. What is said on stderr is kept in `said`. */
static int run(const char *line)
{
	static char copy[512];
	char *words[64] = { "trace" };
	int n = 1, first, saved = dup(STDERR_FILENO);
	FILE *f = tmpfile();

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok(copy, " "); w && n < 63; w = strtok(NULL, " "))
		words[n++] = w;
	fflush(stderr);
	dup2(fileno(f), STDERR_FILENO);
	int err = espy_trace_args__init(&args, &cli);
	if (!err)
		err = espy_opts__parse(&cli, espy_trace_groups, espy_trace_group_cnt, &args, n, words, &first);
	if (!err) {
		args.run.command = words + first;
		err = espy_trace_args__check(&args);
		args.run.command = NULL;
	}
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(f);
	said[fread(said, 1, sizeof(said) - 1, f)] = 0;
	fclose(f);
	return err;
}

static void good(const char *line)
{
	if (run(line))
		fail_msg("%s: %s", line, said);
}

/* Refused, and the first line says so; the line to read on follows if try_help. */
static void bad(const char *line, const char *message, bool try_help)
{
	char want[512];

	snprintf(want, sizeof(want), "%s\n%s", message,
		 try_help ? "Try 'espy trace --help' for more information.\n" : "");
	assert_int_equal(run(line), -EINVAL);
	assert_string_equal(said, want);
	espy_trace_args__free(&args);
}

static void test_defaults(void **state)
{
	(void)state;
	good("true");
	assert_true(args.text.string_limit == 32 && args.text.column == 40 && args.session.hang_ms == 200);
	assert_true(args.status == ESPY_STATUS_ALL && !args.quiet && args.session.interruptible == 2 && !args.follow);
	assert_true(!args.session.source && args.summary == ESPY_SUMMARY_NONE && !args.out.name);
	assert_string_equal(said, "");
	espy_trace_args__free(&args);
}

static void test_letters(void **state)
{
	(void)state;
	good("-fvttTyyxqqs100 -a20 -o out -A -I1 -e trace=read true -x");
	assert_true(args.follow == 1 && args.text.string_limit == 100 && args.text.column == 20);
	assert_true(args.text.time == ESPY_TIME_OF_DAY && args.text.time_precision == 6 && args.text.call_time &&
		    args.text.call_time_precision == 6);
	assert_true(args.text.fds == ESPY_FD_ALL && args.text.strings == ESPY_STRINGS_HEX_NON_ASCII); /* -x behind PROG is PROG's */
	assert_int_equal(args.quiet, ESPY_QUIET_ATTACH | ESPY_QUIET_PERSONALITY | ESPY_QUIET_EXIT);
	assert_true(args.out.append && args.session.interruptible == 1 && espy_filter_has(args.filter, ESPY_FILTER_CALLS));
	assert_string_equal(args.out.name, "out");
	espy_trace_args__free(&args);
	good("-ttt -xx -y -qqq -ff -o f -N -Y -n -i -r true");
	assert_true(args.text.time == ESPY_TIME_UNIX && args.text.strings == ESPY_STRINGS_HEX && args.text.fds == ESPY_FD_PATH);
	assert_true(args.quiet == ESPY_QUIET_ALL && args.follow == 2 && args.text.argument_names && args.text.task_names);
	assert_true(args.text.call_number && args.text.instruction_pointer && args.text.relative_time && args.text.relative_precision == 6);
	assert_int_equal(args.session.interruptible, 3); /* -o FILE PROG */
	espy_trace_args__free(&args);
}

static void test_long(void **state)
{
	(void)state;
	good("--follow-forks --string-limit=7 --columns 3 --absolute-timestamps=unix,ns --relative-timestamps=ms "
	     "--syscall-times=s --decode-fds=path,socket --quiet=exit --status=failed,unfinished --source=ptrace "
	     "--hang=0 --rings=cpu "
	     "--buffer=64k --syscall-limit=9 --const-print-style=raw --always-show-pid --stats --color=never --argv0=x "
	     "true");
	assert_true(args.follow == 1 && args.text.string_limit == 7 && args.text.column == 3);
	assert_true(args.text.time == ESPY_TIME_UNIX && args.text.time_precision == 9 && args.text.relative_precision == 3);
	assert_true(args.text.call_time_precision == 0 && args.text.fds == (ESPY_FD_PATH | ESPY_FD_SOCKET) && args.quiet == ESPY_QUIET_EXIT);
	assert_int_equal(args.status, ESPY_STATUS_FAILED | ESPY_STATUS_UNFINISHED);
	assert_true(!strcmp(args.session.source, "ptrace") && args.session.hang_ms == 0 && args.session.ring_bytes == 65536 &&
		    args.session.rings == 2);
	assert_true(args.call_limit == 9 && args.text.names == ESPY_NAMES_RAW && args.text.task_always &&
		    args.stats);
	assert_string_equal(args.run.argv0, "x");
	espy_trace_args__free(&args);
	good("--summary-o --abs=format:time,precision:us --daemonize=session true");
	assert_true(args.summary == ESPY_SUMMARY_ONLY && args.text.time_precision == 6 && args.run.daemonize == 3);
	espy_trace_args__free(&args);
}

static void test_summary(void **state)
{
	(void)state;
	good("-c -w -S max_time -U calls,wall-total -O 1.5ms true");
	assert_true(args.table.wall_clock && args.table.sort_by == ESPY_COL_MAX_TIME && args.table.column_count == 3);
	assert_true(args.columns[1] == ESPY_COL_WALL_TOTAL && args.columns[2] == ESPY_COL_NAME);
	assert_true(args.table.overhead_ns == 1500000);
	espy_trace_args__free(&args);
}

static void test_pids(void **state)
{
	(void)state;
	good("-p 1 -p 2,,3 --attach=4");
	assert_true(args.session.pid_count == 4 && args.session.pids[0] == 1 && args.session.pids[3] == 4);
	espy_trace_args__free(&args);
	bad("-p abc", "espy: Invalid process id: 'abc'", false);
	bad("-p 0", "espy: Invalid process id: '0'", false);
	bad("-p -5", "espy: Invalid process id: '-5'", false);
}

static void test_expressions(void **state)
{
	(void)state;
	good("-e status=!failed -e quiet=attach,exit -e decode-fds=all -e decode-pids=comm -e signal=none true");
	assert_int_equal(args.status, ESPY_STATUS_ALL & ~ESPY_STATUS_FAILED);
	assert_true(args.quiet == (ESPY_QUIET_ATTACH | ESPY_QUIET_EXIT) && args.text.fds == ESPY_FD_ALL &&
		    args.text.task_names);
	espy_trace_args__free(&args);
	bad("-e status=foo true", "espy: invalid status 'foo'", false);
	bad("-e quiet=x true", "espy: invalid quiet 'x'", false);
	bad("-e decode-fds=x true", "espy: invalid decode-fds 'x'", false);
	bad("--trace=nosuch true", "espy: invalid system call 'nosuch'", false);
	bad("-e inject=read:error=0 true", "espy: invalid inject argument 'read:error=0': error= takes an error (ENOENT, 2), once", false);
	bad("--fault=read:retval=1 true", "espy: invalid fault argument 'read:retval=1': there is no 'retval='; there are error= and when=", false);
}

static void test_refused(void **state)
{
	static const struct {
		const char *line, *message;
	} rows[] = {
		{ "--foo", "espy trace: unrecognized option '--foo'" },
		{ "--folow-forks x",
		  "espy trace: unrecognized option '--folow-forks' (did you mean '--follow-forks'?)" },
		{ "--sumary x", "espy trace: unrecognized option '--sumary' (did you mean '--summary'?)" },
		{ "-j x", "espy trace: invalid option -- 'j'" },
		{ "-o", "espy trace: option requires an argument -- 'o'" },
		{ "--output", "espy trace: option '--output' requires an argument" },
		{ "--all=1", "espy trace: option '--all' doesn't allow an argument" },
		{ "--str=4 x",
		  "espy trace: option '--str=4' is ambiguous; possibilities: '--string-limit' '--strings-in-hex'" },
		{ "-s x true", "espy trace: invalid -s argument: 'x'" },
		{ "--columns=x true", "espy trace: invalid --columns argument: 'x'" },
		{ "-s 99999999999 true", "espy trace: invalid -s argument: '99999999999'" },
		{ "-I 9 true", "espy trace: invalid -I argument: '9'" },
		{ "--syscall-limit=0 true", "espy trace: invalid --syscall-limit argument: '0'" },
		{ "--source=x true", "espy trace: invalid --source argument: 'x' (auto, bpf or ptrace)" },
		{ "--color=x true", "espy trace: invalid --color argument: 'x'" },
		{ "-S foo -c true", "espy trace: invalid sortby: 'foo'" },
		{ "-U foo -c true", "espy trace: unknown column name: 'foo'" },
		{ "", "espy trace: must have PROG [ARGS], -p PID, --cgroup PATH or --all" },
		{ "-D -p 1", "espy trace: PROG [ARGS] must be specified with -D/--daemonize" },
		{ "-DDDD true", "espy trace: Too many -D's (4), maximum supported -D count is 3" },
		{ "-c -C true", "espy trace: -c/--summary-only and -C/--summary are mutually exclusive" },
		{ "-c -ff -o x true", "espy trace: (-c/--summary-only or -C/--summary) and -ff/--output-separately are "
				      "mutually exclusive" },
		{ "-w true",
		  "espy trace: -w/--summary-wall-clock must be given with (-c/--summary-only or -C/--summary)" },
		{ "-o |cat -ff true",
		  "espy trace: piping the output and -ff/--output-separately are mutually exclusive" },
		{ "--kill-on-exit -p 1", "espy trace: --kill-on-exit and -p/--attach are mutually exclusive options" },
		{ "--all true", "espy trace: --all and PROG [ARGS] are mutually exclusive" },
		{ "--cgroup /x -p 1", "espy trace: --cgroup and -p/--attach are mutually exclusive" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		bad(rows[i].line, rows[i].message, true);
	bad("-tt --absolute-timestamps=unix true",
	    "espy: -t and --absolute-timestamps cannot be provided simultaneously", false);
	bad("-b foo true", "espy: Syscall 'foo' for -b isn't supported", false);
}

static void test_warnings(void **state)
{
	static const struct {
		const char *line, *message;
	} rows[] = {
		{ "-c -y true", "espy: -y/--decode-fds has no effect with -c/--summary-only\n" },
		{ "-A true", "espy: -A/--output-append-mode has no effect without -o/--output\n" },
		{ "-S name true",
		  "espy: -S/--summary-sort-by has no effect without (-c/--summary-only or -C/--summary)\n" },
		{ "--seccomp-bpf true", "espy: --seccomp-bpf cannot be used without -f/--follow-forks, disabling\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		good(rows[i].line);
		assert_string_equal(said, rows[i].message);
		espy_trace_args__free(&args);
	}
	good("-f --seccomp-bpf true");
	assert_true(args.session.seccomp && args.session.kill_on_exit);
	espy_trace_args__free(&args);
}

/* Each option has a text, and no letter or name is there twice. */
static void test_table(void **state)
{
	(void)state;
	for (size_t g = 0; g < espy_trace_group_cnt; g++)
		for (size_t i = 0; i < espy_trace_groups[g].opt_cnt; i++) {
			const struct espy_opt *o = &espy_trace_groups[g].opts[i];
			unsigned letters = 0, names = 0;

			assert_non_null(o->handle);
			assert_true(o->letter || o->name);
			if (o->help && o->arg != ESPY_OPT_NONE)
				assert_non_null(o->arg_name);
			for (size_t h = 0; h < espy_trace_group_cnt; h++)
				for (size_t k = 0; k < espy_trace_groups[h].opt_cnt; k++) {
					const struct espy_opt *p = &espy_trace_groups[h].opts[k];

					letters += o->letter && o->letter == p->letter;
					names += o->name && p->name && !strcmp(o->name, p->name);
				}
			assert_true(letters <= 1 && names <= 1);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_letters),  cmocka_unit_test(test_long),
		cmocka_unit_test(test_summary),	 cmocka_unit_test(test_pids),	  cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_refused),	 cmocka_unit_test(test_warnings), cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

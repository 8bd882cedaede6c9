/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The options of `espy trace`: the table, and what each does to struct espy_trace_args. */
#include "cli/trace.h"
#include "cli/trace_values.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

int espy_words__add(struct espy_words *w, const char *s)
{
	const char **v = realloc(w->v, (w->cnt + 1) * sizeof(*v));

	if (!v)
		return -ENOMEM;
	w->v = v;
	v[w->cnt++] = s;
	return 0;
}

static int bad_arg(const struct espy_trace_args *a, const struct espy_opt_use *use)
{
	return espy_cli__usage(a->cli, "invalid %s argument: '%s'", use->as, use->arg);
}

static int number(struct espy_trace_args *a, const struct espy_opt_use *use, unsigned long min, unsigned long max,
		  unsigned *out)
{
	unsigned long n;

	if (!espy_value__number(use->arg, max, &n) || n < min)
		return bad_arg(a, use);
	*out = (unsigned)n;
	return 0;
}

static int word(struct espy_trace_args *a, const struct espy_opt_use *use, const struct espy_word *table, int *out)
{
	return espy_word__find(table, use->arg, strlen(use->arg), out) ? 0 : bad_arg(a, use);
}

/* A set given to a long option or after -e NAME=. */
static int set(struct espy_trace_args *a, const char *name, const struct espy_word *table, const char *arg, unsigned *out)
{
	char bad[128];

	if (espy_word__set(table, arg, out, bad, sizeof(bad))) {
		espy_cli__say(a->cli, "invalid %s '%s'", name, bad);
		return -EINVAL;
	}
	return 0;
}

static int not_here(struct espy_trace_args *a, const char *what, const char *hint)
{
	espy_cli__say(a->cli, "%s: this version of espy %s", what, hint);
	return -EINVAL;
}

static const char tamper_hint[] = "watches only; it cannot change system calls (inject, fault)";

static int set_decode_fds(struct espy_trace_args *a, const char *arg)
{
	unsigned bits;

	if (set(a, "decode-fds", espy_words_fds, arg, &bits))
		return -EINVAL;
	a->o.fds = bits & ESPY_FDS_MORE ? ESPY_FD_ALL : bits ? ESPY_FD_PATH : ESPY_FD_NONE;
	return 0;
}

static int set_decode_pids(struct espy_trace_args *a, const char *arg)
{
	unsigned bits;

	if (set(a, "decode-pids", espy_words_pids, arg, &bits))
		return -EINVAL;
	/* "all" means what there is; pidns by name is a wish that is not fulfilled. */
	if (strstr(arg, "pidns") && arg[0] != '!')
		return not_here(a, "decode-pids=pidns", "shows process numbers of its own pid namespace only");
	a->o.pid_comm = bits & ESPY_PIDS_COMM;
	return 0;
}

int espy_trace_qualifier(struct espy_trace_args *a, const char *expr)
{
	static const struct { const char *name; int what; } names[] = {
		{ "status", 1 }, { "quiet", 2 }, { "silent", 2 }, { "silence", 2 }, { "q", 2 },
		{ "decode-fds", 3 }, { "decode-fd", 3 }, { "decode-pids", 4 }, { "decode-pid", 4 },
		{ "inject", 5 }, { "fault", 5 }, { "kvm", 6 }, { "namespace", 7 }, { "secontext", 8 },
	};
	const char *eq = strchr(expr, '=');
	int what = 0, err = 0;

	for (size_t i = 0; eq && i < COUNT(names); i++)
		if (strlen(names[i].name) == (size_t)(eq - expr) && !strncmp(names[i].name, expr, (size_t)(eq - expr)))
			what = names[i].what;
	switch (what) {
	case 0:
		return 0;
	case 1:
		err = set(a, "status", espy_words_status, eq + 1, &a->o.status);
		break;
	case 2:
		err = set(a, "quiet", espy_words_quiet, eq + 1, &a->o.quiet);
		break;
	case 3:
		err = set_decode_fds(a, eq + 1);
		break;
	case 4:
		err = set_decode_pids(a, eq + 1);
		break;
	case 5:
		err = not_here(a, expr, tamper_hint);
		break;
	case 6:
		err = not_here(a, expr, "does not decode struct kvm_run");
		break;
	case 7:
		err = not_here(a, expr, "does not show namespaces that were entered");
		break;
	case 8:
		err = not_here(a, expr, "does not show security contexts");
		break;
	}
	return err ? err : 1;
}

static int filter(struct espy_trace_args *a, const char *expr)
{
	char err[256];
	int taken = espy_trace_qualifier(a, expr);

	if (taken)
		return taken < 0 ? taken : 0;
	if (espy_filter__parse(&a->filter, a->image_ptrs, expr, err, sizeof(err))) {
		espy_cli__say(a->cli, "%s", err);
		return -EINVAL;
	}
	return 0;
}

static int do_expr(void *ctx, const struct espy_opt_use *use)
{
	return filter(ctx, use->arg);
}

/* --trace=SET is -e trace=SET, and so on; a long name is the qualifier's name. */
static int do_qualifier(void *ctx, const struct espy_opt_use *use)
{
	char *expr = malloc(strlen(use->opt->name) + strlen(use->arg) + 2);
	int err;

	if (!expr)
		return -ENOMEM;
	sprintf(expr, "%s=%s", use->opt->name, use->arg);
	err = filter(ctx, expr);
	free(expr);
	return err;
}

static int do_successful(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	a->status_twice |= a->status_word != NULL;
	a->status_word = use->as;
	a->o.status = (unsigned)use->opt->value;
	return 0;
}

static int do_flag(void *ctx, const struct espy_opt_use *use);

/* What do_flag() sets. */
enum flag {
	F_FORK, F_SEPARATELY, F_APPEND, F_VERBOSE, F_IP, F_NR, F_COMM, F_ARG_NAMES, F_ALWAYS_PID, F_SECCOMP, F_KILL,
	F_COUNT, F_COUNT_TOO, F_WALL, F_ALL, F_STATS, F_HELP, F_VERSION, F_OLD_FORK,
};

static int do_flag(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	struct espy_session_opts *o = &a->o;

	switch ((enum flag)use->opt->value) {
	case F_OLD_FORK:
		espy_cli__say(a->cli, "option -F is deprecated, please use -f/--follow-forks instead");
		o->follow = 1;
		break;
	case F_FORK:
		a->f_cnt += use->by_letter;
		o->follow = 1;
		break;
	case F_SEPARATELY: a->output_separately = true; break;
	case F_APPEND: o->append = true; break;
	case F_VERBOSE:
		return filter(a, "abbrev=none");
	case F_IP: o->show_ip = true; break;
	case F_NR: o->show_nr = true; break;
	case F_COMM:
		a->comm_letter = o->pid_comm = true;
		break;
	case F_ARG_NAMES: o->text.arg_names = true; break;
	case F_ALWAYS_PID: o->always_pid = true; break;
	case F_SECCOMP: o->seccomp = true; break;
	case F_KILL: o->kill_on_exit = true; break;
	case F_COUNT:
	case F_COUNT_TOO: {
		enum espy_summary want = use->opt->value == F_COUNT ? ESPY_SUMMARY_ONLY : ESPY_SUMMARY_TOO;

		if (o->summary != ESPY_SUMMARY_NONE && o->summary != want)
			return espy_cli__usage(a->cli, "-c/--summary-only and -C/--summary are mutually exclusive");
		o->summary = want;
		break;
	}
	case F_WALL: o->wall_clock = true; break;
	case F_ALL: o->all = true; break;
	case F_STATS: o->stats = true; break;
	case F_HELP: a->help = true; break;
	case F_VERSION: a->version = true; break;
	}
	return 0;
}

/* Letters that count. */
static int do_letter(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	switch (use->opt->letter) {
	case 't': a->t_cnt++; break;
	case 'x': a->x_cnt++; break;
	case 'y': a->y_cnt++; break;
	case 'q': a->q_cnt++; break;
	case 'D': a->D_cnt++; break;
	}
	return 0;
}

static int do_time(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	const char *s = use->arg ? use->arg : "time";

	if (use->by_letter)
		return do_letter(ctx, use);
	a->long_time = true;
	a->o.time = ESPY_TIME_OF_DAY;
	while (*s) {
		size_t len = strcspn(s, ",");
		const char *w = s, *colon = memchr(s, ':', len);
		size_t key = colon ? (size_t)(colon - s) + 1 : 0;
		bool format = !key || !strncmp(s, "format:", key), precision = !key || !strncmp(s, "precision:", key);
		int value;

		w += key;
		if (format && espy_word__find(espy_words_time, w, len - key, &value))
			a->o.time = (enum espy_time_style)value;
		else if (precision && espy_word__find(espy_words_precision, w, len - key, &value))
			a->o.time_precision = (unsigned)value;
		else
			return bad_arg(a, use);
		s += len + (s[len] == ',');
	}
	return 0;
}

static int do_relative(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	int digits = 6;

	if (use->arg && word(a, use, espy_words_precision, &digits))
		return -EINVAL;
	a->o.relative_time = true;
	a->o.relative_precision = (unsigned)digits;
	return 0;
}

static int do_call_time(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	int digits = 6;

	if (use->arg && word(a, use, espy_words_precision, &digits))
		return -EINVAL;
	a->o.call_time = true;
	a->o.call_time_precision = (unsigned)digits;
	return 0;
}

static int do_hex(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	int value = ESPY_HEX_ALL;

	if (use->by_letter)
		return do_letter(ctx, use);
	if (use->arg && word(a, use, espy_words_hex, &value))
		return -EINVAL;
	a->long_hex = true;
	a->o.text.hex = (enum espy_hex)value;
	return 0;
}

static int do_fds(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	if (use->by_letter)
		return do_letter(ctx, use);
	a->long_fds = true;
	return set_decode_fds(a, use->arg ? use->arg : "path");
}

static int do_pids(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	a->long_pids = true;
	return set_decode_pids(a, use->arg);
}

static int do_quiet(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	if (use->by_letter)
		return do_letter(ctx, use);
	a->long_quiet = true;
	return set(a, "quiet", espy_words_quiet, use->arg ? use->arg : "attach,personality", &a->o.quiet);
}

static int do_daemonize(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	int how = 1;

	if (use->by_letter)
		return do_letter(ctx, use);
	if (use->arg && word(a, use, espy_words_daemonize, &how))
		return -EINVAL;
	a->long_daemon = true;
	a->daemonize = (unsigned)how;
	return 0;
}

static int do_xlat(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	int value;

	if (word(a, use, espy_words_xlat, &value))
		return -EINVAL;
	a->o.text.xlat = (enum espy_xlat)value;
	return 0;
}

static int do_source(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	int value;

	if (word(a, use, espy_words_source, &value))
		return -EINVAL;
	a->o.source = (enum espy_source_choice)value;
	return 0;
}

static int do_interruptible(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	int value;

	if (word(a, use, espy_words_interruptible, &value))
		return -EINVAL;
	a->o.interruptible = (unsigned)value;
	return 0;
}

static int do_color(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	int always = 1;

	if (use->arg && word(a, use, espy_words_color, &always))
		return -EINVAL;
	return always && use->arg ? not_here(a, "--color=always", "writes no colours") : 0;
}

static int do_string_limit(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	return number(a, use, 0, INT_MAX, &a->o.text.str_limit);
}

static int do_columns(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	return number(a, use, 0, INT_MAX, &a->o.text.column);
}

static int do_limit(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	return number(a, use, 1, UINT_MAX, &a->o.syscall_limit);
}

static int do_hang(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	return number(a, use, 0, INT_MAX, &a->o.hang_ms);
}

static int do_buffer(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	if (!espy_value__bytes(use->arg, &a->o.ring_bytes) || !a->o.ring_bytes)
		return bad_arg(a, use);
	return 0;
}

static int do_overhead(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	if (!espy_value__microseconds(use->arg, &a->o.overhead_us))
		return bad_arg(a, use);
	a->o.have_overhead = true;
	return 0;
}

static int do_sort(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	int value;

	a->o.sort_given = true;
	a->o.sort_none = !strcmp(use->arg, "none") || !strcmp(use->arg, "nothing");
	if (a->o.sort_none)
		return 0;
	if (!espy_word__find(espy_words_column, use->arg, strlen(use->arg), &value))
		return espy_cli__usage(a->cli, "invalid sortby: '%s'", use->arg);
	a->o.sort_by = value == ESPY_COL_TIME_PERCENT ? ESPY_COL_TOTAL_TIME : (enum espy_summary_col)value;
	return 0;
}

static int do_summary_columns(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	unsigned seen = 0;

	a->o.column_cnt = 0;
	for (const char *s = use->arg;;) {
		size_t len = strcspn(s, ",");
		int value;

		if (!espy_word__find(espy_words_column, s, len, &value))
			return espy_cli__usage(a->cli, "unknown column name: '%.*s'", (int)len, s);
		if (seen & 1u << value)
			return espy_cli__usage(a->cli, "call summary column has been provided more than once: '%.*s'"
					       " (-U option residual: '%s')", (int)len, s, s);
		seen |= 1u << value;
		a->o.columns[a->o.column_cnt++] = (enum espy_summary_col)value;
		if (!s[len])
			break;
		s += len + 1;
	}
	/* Numbers without the call they belong to say nothing. */
	if (!(seen & 1u << ESPY_COL_NAME))
		a->o.columns[a->o.column_cnt++] = ESPY_COL_NAME;
	return 0;
}

static int do_pid(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	char bad[64];
	int err = espy_value__pids(use->arg, &a->pids, &a->pid_cnt, bad, sizeof(bad));

	if (err == -EINVAL)
		espy_cli__say(a->cli, "Invalid process id: '%s'", bad);
	return err;
}

static int do_detach_on(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	if (strcmp(use->arg, "execve")) {
		espy_cli__say(a->cli, "Syscall '%s' for -b isn't supported", use->arg);
		return -EINVAL;
	}
	a->o.detach_on_execve = true;
	return 0;
}

static int do_output(void *ctx, const struct espy_opt_use *use)
{
	((struct espy_trace_args *)ctx)->o.output = use->arg;
	return 0;
}

static int do_cgroup(void *ctx, const struct espy_opt_use *use)
{
	((struct espy_trace_args *)ctx)->o.cgroup = use->arg;
	return 0;
}

static int do_user(void *ctx, const struct espy_opt_use *use)
{
	((struct espy_trace_args *)ctx)->user = use->arg;
	return 0;
}

static int do_argv0(void *ctx, const struct espy_opt_use *use)
{
	((struct espy_trace_args *)ctx)->argv0 = use->arg;
	return 0;
}

static int do_env(void *ctx, const struct espy_opt_use *use)
{
	return espy_words__add(&((struct espy_trace_args *)ctx)->env_edits, use->arg);
}

static int do_describe(void *ctx, const struct espy_opt_use *use)
{
	return espy_words__add(&((struct espy_trace_args *)ctx)->describe, use->arg);
}

static int do_path(void *ctx, const struct espy_opt_use *use)
{
	return espy_words__add(&((struct espy_trace_args *)ctx)->paths, use->arg);
}

static int do_stack(void *ctx, const struct espy_opt_use *use)
{
	return not_here(ctx, use->as, "does not unwind stacks");
}

static int do_secontext(void *ctx, const struct espy_opt_use *use)
{
	return not_here(ctx, use->as, "does not show security contexts");
}

static int do_pidns(void *ctx, const struct espy_opt_use *use)
{
	return not_here(ctx, use->as, "shows process numbers of its own pid namespace only");
}

static int do_tips(void *ctx, const struct espy_opt_use *use)
{
	return not_here(ctx, use->as, "has no tips to give; its manual page has examples");
}

#define FLAG(l, n, v, h) { .letter = l, .name = n, .handle = do_flag, .value = v, .help = h }
#define ARG(l, n, an, f, h, ...) { .letter = l, .name = n, .arg = ESPY_OPT_REQUIRED, .arg_name = an, .handle = f, .help = h, __VA_ARGS__ }
#define OPTIONAL(l, n, an, f, h, ...) { .letter = l, .name = n, .arg = ESPY_OPT_OPTIONAL, .arg_name = an, .handle = f, .help = h, __VA_ARGS__ }
#define ALIAS(n, f, v) { .name = n, .arg = ESPY_OPT_REQUIRED, .arg_name = "SET", .handle = f, .value = v }

static const struct espy_opt general[] = {
	ARG('e', NULL, "EXPR", do_expr, "a filter or a way to show: NAME=[!]SET. NAME is one of trace, signal, status, "
	    "trace-fds, abbrev, verbose, raw, read, write, quiet, decode-fds, decode-pids; without NAME= it is trace. "
	    "SET is all, none or words with commas between; ! means all but these", .complete = "expr"),
	FLAG('h', "help", F_HELP, "print this text and exit"),
	FLAG('V', "version", F_VERSION, "print the version and exit"),
	FLAG('d', "debug", F_STATS, "as --stats"),
};

static const struct espy_opt targets[] = {
	ARG('p', "attach", "PID", do_pid, "watch processes that run already: numbers with commas or blanks between; "
	    "may be repeated", .complete = "pid"),
	ARG(0, "cgroup", "PATH", do_cgroup, "watch every task of a cgroup (a directory of the cgroup v2 tree)", .complete = "dir"),
	FLAG(0, "all", F_ALL, "watch every task of the system, but not espy itself"),
	FLAG('f', "follow-forks", F_FORK, "watch children and threads that are born"),
	FLAG('F', NULL, F_OLD_FORK, NULL),
	ARG('E', "env", "VAR[=VAL]", do_env, "put VAR=VAL into the environment of the command; without = remove VAR"),
	ARG('u', "user", "USER", do_user, "run the command as USER, or as UID:GID", .complete = "user"),
	ARG(0, "argv0", "NAME", do_argv0, "NAME is the command's own name (argv[0])"),
	OPTIONAL('D', "daemonize", "HOW", do_daemonize, "the command keeps this process and its parent, the tracer runs as its "
		 "grandchild; -DD also in a process group of its own, -DDD in a session of its own "
		 "(HOW: grandchild, pgroup, session)", .complete = "grandchild pgroup session"),
	{ .name = "daemonise", .arg = ESPY_OPT_OPTIONAL, .handle = do_daemonize },
	ARG('b', "detach-on", "SYSCALL", do_detach_on, "let go of a process that calls SYSCALL; only execve is possible", .complete = "execve"),
	FLAG(0, "kill-on-exit", F_KILL, "kill the command if the tracer ends first"),
	ARG(0, "syscall-limit", "N", do_limit, "let go of everything after N calls were shown"),
	ARG('I', "interruptible", "N", do_interruptible, "what ends the tracer: 1 any signal at any time, 2 signals between "
	    "two events (default), 3 none (default with -o FILE PROG), 4 none, nor ^Z", .complete = "anywhere waiting never never_tstp"),
};

static const struct espy_opt sources[] = {
	ARG(0, "source", "NAME", do_source, "where events come from: bpf (nothing is stopped), ptrace (every call stops the "
	    "task), auto (default: bpf if it is allowed)", .complete = "auto bpf ptrace"),
	FLAG(0, "seccomp-bpf", F_SECCOMP, "ptrace source: let the kernel pass over calls that are not wanted"),
	ARG(0, "buffer", "SIZE", do_buffer, "room for events on their way, in bytes, or with k, M, G"),
	ARG(0, "hang", "MS", do_hang, "show a call as unfinished that has not returned after MS milliseconds (200); 0: never"),
	ARG(0, "describe", "FILE", do_describe, "read further descriptions of system calls; may be repeated", .complete = "file"),
	FLAG(0, "stats", F_STATS, "say at the end what the session cost and what was lost"),
};

static const struct espy_opt filters[] = {
	ARG(0, "trace", "SET", do_qualifier, "show only these calls: names, numbers, /REGEX, classes (%file, %desc, %process, "
	    "%network, %signal, %ipc, %memory, %clock, %creds, %pure, %stat, %lstat, %fstat, %%stat, %statfs, %fstatfs, %%statfs), "
	    "with ? in front if they may be unknown, with @64, @32, @x32 behind for one kind of call", .complete = "syscall"),
	ARG(0, "trace-fds", "SET", do_qualifier, "show only calls that take one of these descriptors"),
	ALIAS("trace-fd", do_qualifier, 0), ALIAS("fds", do_qualifier, 0), ALIAS("fd", do_qualifier, 0),
	ARG('P', "trace-path", "PATH", do_path, "show only calls that touch PATH; may be repeated", .complete = "file"),
	ARG(0, "signal", "SET", do_qualifier, "show only these signals", .complete = "signal"),
	ALIAS("signals", do_qualifier, 0),
	ARG(0, "status", "SET", do_qualifier, "show only calls that ended so: successful, failed, unfinished, unavailable, detached",
	    .complete = "successful failed unfinished unavailable detached"),
	{ .letter = 'z', .name = "successful-only", .handle = do_successful, .value = ESPY_STATUS_SUCCESSFUL,
	  .help = "show only calls that succeeded" },
	{ .letter = 'Z', .name = "failed-only", .handle = do_successful, .value = ESPY_STATUS_FAILED,
	  .help = "show only calls that failed" },
	{ .name = "failing-only", .handle = do_successful, .value = ESPY_STATUS_FAILED },
};

static const struct espy_opt format[] = {
	ARG('a', "columns", "COLUMN", do_columns, "the column of `=` (40)"),
	ARG('s', "string-limit", "SIZE", do_string_limit, "at most SIZE bytes of a string, elements of an array (32)"),
	FLAG('v', "no-abbrev", F_VERBOSE, "structures, environments and lists in full"),
	ARG(0, "abbrev", "SET", do_qualifier, "calls that are shown abbreviated (all)", .complete = "syscall"),
	ARG(0, "verbose", "SET", do_qualifier, "calls whose structures are decoded (all)", .complete = "syscall"),
	ARG(0, "raw", "SET", do_qualifier, "calls whose arguments are shown as numbers (none)", .complete = "syscall"),
	ARG(0, "read", "SET", do_qualifier, "dump what is read from these descriptors"),
	ALIAS("reads", do_qualifier, 0),
	ARG(0, "write", "SET", do_qualifier, "dump what is written to these descriptors"),
	ALIAS("writes", do_qualifier, 0),
	OPTIONAL('x', "strings-in-hex", "WHICH", do_hex, "strings in hexadecimal: -x those that are not ASCII, -xx all (WHICH: "
		 "none, non-ascii-chars, non-ascii, all)", .complete = "none non-ascii-chars non-ascii all"),
	ARG('X', "const-print-style", "STYLE", do_xlat, "constants as raw numbers, as names (abbrev), or both (verbose)",
	    .complete = "raw abbrev verbose"),
	OPTIONAL('y', "decode-fds", "SET", do_fds, "what descriptors are: -y paths, -yy also sockets, devices and more (SET: path, "
		 "dev, socket, pidfd, signalfd, eventfd; any of them but path gives all)",
		 .complete = "none all path dev socket pidfd signalfd eventfd"),
	ARG(0, "decode-pids", "SET", do_pids, "what process numbers are: comm", .complete = "none comm"),
	FLAG('Y', NULL, F_COMM, "as --decode-pids=comm: names of processes behind their numbers"),
	FLAG('N', "arg-names", F_ARG_NAMES, "names of arguments"),
	FLAG('n', "syscall-number", F_NR, "the number of the call"),
	FLAG('i', "instruction-pointer", F_IP, "where in the program the call was made"),
	OPTIONAL('t', "absolute-timestamps", "[FORMAT][,PRECISION]", do_time, "the time of each line: -t time of day, -tt with "
		 "microseconds, -ttt seconds since 1970 (FORMAT: none, time, unix; PRECISION: s, ms, us, ns)",
		 .complete = "none time unix s ms us ns"),
	{ .name = "timestamps", .arg = ESPY_OPT_OPTIONAL, .handle = do_time },
	OPTIONAL('r', "relative-timestamps", "PRECISION", do_relative, "the time since the line before", .complete = "s ms us ns"),
	OPTIONAL('T', "syscall-times", "PRECISION", do_call_time, "how long each call took", .complete = "s ms us ns"),
	FLAG(0, "always-show-pid", F_ALWAYS_PID, "the process number in front of every line, also if there is only one"),
	OPTIONAL(0, "color", "WHEN", do_color, "auto and never are accepted; espy writes no colours", .complete = "auto never"),
	OPTIONAL('q', "quiet", "SET", do_quiet, "fewer messages: -q no attach and personality, -qq nor exit, -qqq none (SET: attach, "
		 "exit, path-resolution, personality, thread-execve)",
		 .complete = "all none attach exit path-resolution personality thread-execve"),
	{ .name = "silent", .arg = ESPY_OPT_OPTIONAL, .handle = do_quiet },
	{ .name = "silence", .arg = ESPY_OPT_OPTIONAL, .handle = do_quiet },
};

static const struct espy_opt output[] = {
	ARG('o', "output", "FILE", do_output, "write to FILE, or into a command: '|COMMAND' or '!COMMAND'", .complete = "file"),
	FLAG('A', "output-append-mode", F_APPEND, "append to FILE"),
	FLAG(0, "output-separately", F_SEPARATELY, "a file for each process, FILE.PID (-ff: with -f)"),
};

static const struct espy_opt statistics[] = {
	FLAG('c', "summary-only", F_COUNT, "count calls, errors and time by call, print a table at the end and no lines"),
	FLAG('C', "summary", F_COUNT_TOO, "the same beside the lines"),
	ARG('O', "summary-syscall-overhead", "TIME", do_overhead, "subtract TIME from each call (microseconds, or with s, ms, us, ns)"),
	ARG('S', "summary-sort-by", "COLUMN", do_sort, "sort the table: time, min-time, max-time, avg-time, calls, errors, name, "
	    "wall-total, wall-min, wall-max, wall-avg, nothing (time)",
	    .complete = "time min-time max-time avg-time calls errors name wall-total wall-min wall-max wall-avg nothing"),
	ARG('U', "summary-columns", "COLUMNS", do_summary_columns, "columns of the table: time-percent, total-time, min-time, max-time, "
	    "avg-time, calls, errors, name, wall-total, wall-min, wall-max, wall-avg",
	    .complete = "time-percent total-time min-time max-time avg-time calls errors name wall-total wall-min wall-max wall-avg"),
	FLAG('w', "summary-wall-clock", F_WALL, "the time from entry to return of a call, instead of the time spent in the kernel"),
};

/* Known so that they can be refused in clear words. */
static const struct espy_opt refused[] = {
	ALIAS("inject", do_qualifier, 0), ALIAS("fault", do_qualifier, 0), ALIAS("kvm", do_qualifier, 0),
	ALIAS("namespace", do_qualifier, 0),
	{ .letter = 'k', .name = "stack-trace", .arg = ESPY_OPT_OPTIONAL, .handle = do_stack },
	{ .name = "stack-traces", .arg = ESPY_OPT_OPTIONAL, .handle = do_stack },
	{ .name = "stack-trace-frame-limit", .arg = ESPY_OPT_REQUIRED, .handle = do_stack },
	{ .name = "secontext", .arg = ESPY_OPT_OPTIONAL, .handle = do_secontext },
	{ .name = "pidns-translation", .handle = do_pidns },
	{ .name = "tips", .arg = ESPY_OPT_OPTIONAL, .handle = do_tips },
};

const struct espy_opt_group espy_trace_groups[] = {
	{ "General", general, COUNT(general) },
	{ "What is watched", targets, COUNT(targets) },
	{ "How it is watched", sources, COUNT(sources) },
	{ "Filters", filters, COUNT(filters) },
	{ "Form of the lines", format, COUNT(format) },
	{ "Where they go", output, COUNT(output) },
	{ "Statistics", statistics, COUNT(statistics) },
	{ "Not in this version", refused, COUNT(refused) },
};
const size_t espy_trace_group_cnt = COUNT(espy_trace_groups);

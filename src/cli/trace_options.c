/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options of `espy trace`, `espy record` and `espy show`, one row each.
 *
 * 1. A row without help is an alias or of strace alone: known, not listed.
 * 2. docs/espy-trace.1.scd names every row that has help; tests/cli/help.sh compares.
 * 3. trace_args.c has the rules over several options.
 */
#include "cli/trace_handlers.h"

#include <limits.h>
#include <stddef.h>
#include "cli/trace_values.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define AT(member) offsetof(struct espy_trace_args, member)
#define FLAG(l, n, v, h)                                                                                               \
	{                                                                                                              \
		.letter = l, .name = n, .handle = espy_do_flag, .value = v, .help = h                                  \
	}
#define SET(l, n, m, h)                                                                                                \
	{                                                                                                              \
		.letter = l, .name = n, .handle = espy_opts__set, .value = AT(m), .help = h                               \
	}
#define ARG(l, n, an, f, h, ...)                                                                                       \
	{                                                                                                              \
		.letter = l, .name = n, .arg = ESPY_OPT_REQUIRED, .arg_name = an, .handle = f, .help = h, __VA_ARGS__  \
	}
#define OPTIONAL(l, n, an, f, h, ...)                                                                                  \
	{                                                                                                              \
		.letter = l, .name = n, .arg = ESPY_OPT_OPTIONAL, .arg_name = an, .handle = f, .help = h, __VA_ARGS__  \
	}
#define ALIAS(n, f, v)                                                                                                 \
	{                                                                                                              \
		.name = n, .arg = ESPY_OPT_REQUIRED, .arg_name = "SET", .handle = f, .value = v                        \
	}

static const struct espy_range any = { 0, INT_MAX }, strings = { 0, 0x3fffffff }, some = { 1, UINT_MAX },
			       frames = { 1, 1024 };

static const struct espy_opt general[] = {
	/* -e stands first: espy_select_groups takes it alone */
	ARG('e', NULL, "EXPR", espy_do_expr,
	    "a filter or a way to show: NAME=[!]SET. NAME is one of trace, signal, status, "
	    "trace-fds, abbrev, verbose, raw, read, write, quiet, decode-fds, decode-pids; without NAME= it is trace. "
	    "SET is all, none or words with commas between; ! means all but these",
	    .complete = "expr"),
	SET('h', "help", help, "print this text and exit"),
	SET('V', "version", version, "print the version and exit"),
	SET('d', "debug", stats, "as --stats"),
	SET(0, "explain", session.explain, "say what the kernel tests of -e trace=, -P and conditions (--where), and what espy tests"),
};

static const struct espy_opt targets[] = {
	ARG('p', "attach", "PID", espy_do_pid,
	    "watch processes that run already: numbers with commas or blanks between; "
	    "may be repeated",
	    .complete = "pid"),
	ARG(0, "cgroup", "PATH", espy_opts__text, "watch every task of a cgroup (a directory of the cgroup v2 tree)",
	    .complete = "dir", .value = AT(session.cgroup)),
	SET(0, "all", session.all, "watch every task of the system, but not espy itself"),
	FLAG('f', "follow-forks", F_FORK, "watch children and threads that are born"),
	FLAG('F', NULL, F_OLD_FORK, NULL),
	ARG('E', "env", "VAR[=VAL]", espy_do_env,
	    "put VAR=VAL into the environment of the command; without = remove VAR"),
	ARG('u', "user", "USER", espy_do_user,
	    "run the command as USER, or as UID:GID. Of -u, what looks like a probe is one: see --probe", .complete = "user"),
	ARG(0, "argv0", "NAME", espy_opts__text, "NAME is the command's own name (argv[0])", .value = AT(run.argv0)),
	OPTIONAL('D', "daemonize", "HOW", espy_do_daemonize,
		 "the command keeps this process and its parent, the tracer runs as its "
		 "grandchild; -DD also in a process group of its own, -DDD in a session of its own "
		 "(HOW: grandchild, pgroup, session)",
		 .complete = "grandchild pgroup session"),
	{ .name = "daemonise", .arg = ESPY_OPT_OPTIONAL, .handle = espy_do_daemonize },
	ARG('b', "detach-on", "SYSCALL", espy_do_detach_on,
	    "let go of a process that calls SYSCALL; only execve is possible", .complete = "execve"),
	SET(0, "kill-on-exit", session.kill_on_exit, "kill the command if the tracer ends first"),
	ARG(0, "syscall-limit", "N", espy_do_number, "let go of everything after N calls were shown", .value = AT(call_limit), .with = &some),
	ARG('I', "interruptible", "N", espy_do_word,
	    "what ends the tracer: 1 any signal at any time, 2 signals between "
	    "two events (default), 3 none (default with -o FILE PROG), 4 none, nor ^Z",
	    .complete = "anywhere waiting never never_tstp", .value = AT(session.interruptible), .with = espy_words_interruptible),
};

static const struct espy_opt sources[] = {
	ARG(0, "source", "NAME", espy_do_source,
	    "the source of events: bpf (stops no task), ptrace (every call stops the "
	    "task), auto (default: bpf if it is allowed)",
	    .complete = "auto bpf ptrace"),
	ARG(0, "inject", "RULE", espy_do_qualifier,
	    "change calls, by the source ptrace: CALLS and any of :error=E :retval=N :syscall=CALL :signal=SIG "
	    ":delay_enter=TIME :delay_exit=TIME :poke_enter=@argN=HEX :poke_exit=@argN=HEX "
	    ":when=FIRST[..LAST][+[STEP]]"),
	ARG(0, "fault", "RULE", espy_do_qualifier, "let calls fail: CALLS[:error=E][:when=...]; without error: ENOSYS"),
	SET(0, "io-uring", session.io_uring,
	    "show the operations that programs submit through the rings of io_uring, too, as NAME@io_uring(...); bpf "
	    "source"),
	SET(0, "seccomp-bpf", session.seccomp, "ptrace source: let the kernel pass over calls that are not wanted"),
	ARG(0, "buffer", "SIZE", espy_do_bytes, "room for events on their way, in bytes, or with k, M, G",
	    .value = AT(session.ring_bytes)),
	ARG(0, "rings", "HOW", espy_do_word,
	    "bpf source: one buffer for all processors, one for each of them (cpu), or auto (cpu from five "
	    "processors on)",
	    .complete = "auto one cpu", .value = AT(session.rings), .with = espy_words_rings),
	ARG(0, "lossless", "WHEN", espy_do_word,
	    "espy holds a task that outruns it until there is room, so that nothing is lost: auto (default: a command "
	    "that espy starts, never what runs already), always (-p and --cgroup, too; an error where the kernel "
	    "cannot), never",
	    .complete = "auto always never", .value = AT(session.overrun), .with = espy_words_lossless),
	ARG(0, "max-hold", "TIME", espy_do_max_hold,
	    "the longest time for which espy holds a task for lack of room: seconds, or with ms (10ms; with "
	    "--lossless=always 10)"),
	ARG(0, "pause-on", "CALL[: CONDITION]", espy_do_list,
	    "hold a task after such a call, until Enter, `espy resume PID` or the end of espy: 'unlinkat: path == "
	    "\"/etc/passwd\"', 'connect: errno != 0 && pid == 1234'; may be repeated",
	    .value = AT(lists.pause_on)),
	ARG(0, "hang", "MS", espy_do_number,
	    "show a call as unfinished that has not returned after MS milliseconds (200); 0: never",
	    .value = AT(session.hang_ms), .with = &any),
	ARG(0, "describe", "FILE", espy_do_list, "read further descriptions of system calls; may be repeated",
	    .complete = "file", .value = AT(lists.describe)),
	SET(0, "stats", stats, "at the end say what the session cost, and which events were lost"),
};

static const struct espy_opt marks[] = {
	ARG('m', "mark", "RULE", espy_do_mark,
	    "show these static marks: names with * and ?, commas between, and perhaps a condition: "
	    "'app:*', 'app:req_* if size > 4096 && path ^= \"/tmp\"', 'db:query(str arg0)' for an address of a string; may be repeated. Without -e trace= marks alone are shown"),
	ARG(0, "via", "HOW", espy_do_via,
	    "how marks and probes (-u) are seen: agent (a library in the program, loaded if it is not there), preload (the same, given "
	    "by LD_PRELOAD to the command and all that it starts), kernel (by probes of the kernel; of marks USDT notes), auto "
	    "(default: marks by the agent, probes by the kernel where there are no marks)",
	    .complete = "auto agent preload kernel"),
};

#define FUNCTION_LIMITS                                                                                                                    \
	ARG(0, "depth", "N", espy_do_number, "of --functions only those that are at most N deep in each other",                            \
	    .value = AT(text.function_depth), .with = &some),                                                                              \
	ARG(0, "min-time", "TIME", espy_do_span,                                                                                           \
	    "of --functions only those that took at least TIME (microseconds, or with s, ms, us, ns), or in which something else happens", \
	    .value = AT(text.function_min_ns))

static const struct espy_opt shown_probes[] = {
	ARG('u', "probe", "PROBE", espy_do_probe,
	    "show these probes of the trace: FILE:SYMBOL with * and ?, and perhaps a condition: 'zsh:zfree if len > 48'; may be repeated"),
	ARG(0, "functions", "FUNCTIONS", espy_do_functions,
	    "show these functions of the trace, with their calls in each other as a tree: FILE:FUNCTION with * and ?; may be repeated"),
	FUNCTION_LIMITS,
	ARG('K', "tracepoint", "TRACEPOINT", espy_do_tracepoint,
	    "show these tracepoints of the kernel that the trace has: SYSTEM:NAME with * and ?, and perhaps a condition; may be repeated"),
};

static const struct espy_opt probes[] = {
	ARG(0, "probe", "PROBE", espy_do_probe,
	    "also -u PROBE: show when this place in a program, a library or the kernel is passed, in every process "
	    "that is watched: "
	    "'zsh:zfree(ptr=%di)', 'libc:malloc%return(size=$arg1:u, =$retval) if size > 4096', 'app:handle(req->id, "
	    "*req)', 'app:file.c:120', 'app:0x1234', 'kernel:vfs_read(file->f_flags, count)'; espy-probes(7). May be "
	    "repeated. Without -e trace= no calls are shown"),
	ARG(0, "functions", "FUNCTIONS", espy_do_functions,
	    "show these functions as a tree: when each begins and returns, with what it calls in between: 'app:*', "
	    "'app:handle(id=%di:d)'; calls and marks stand where they are made. May be repeated"),
	FUNCTION_LIMITS,
	ARG('K', "tracepoint", "TRACEPOINT", espy_do_tracepoint,
	    "show when a watched task passes these tracepoints of the kernel, with their fields: SYSTEM:NAME with * "
	    "and ?, and perhaps a "
	    "condition: 'sched:sched_switch', 'block:*', 'sched:sched_switch if prev_prio < 100'; `espy list "
	    "tracepoints` has them. May be "
	    "repeated. Without -e trace= no calls are shown"),
};

static const struct espy_opt filters[] = {
	ARG(0, "trace", "SET", espy_do_qualifier,
	    "show only these calls: names, numbers, /REGEX, classes (%file, %desc, %process, "
	    "%network, %signal, %ipc, %memory, %clock, %creds, %pure, %stat, %lstat, %fstat, %%stat, %statfs, "
	    "%fstatfs, %%statfs), "
	    "with ? in front if they may be unknown, with @64, @32, @x32 behind for one kind of call",
	    .complete = "syscall"),
	ARG(0, "trace-fds", "SET", espy_do_qualifier, "show only calls that take one of these descriptors"),
	ALIAS("trace-fd", espy_do_qualifier, 0),
	ALIAS("fds", espy_do_qualifier, 0),
	ALIAS("fd", espy_do_qualifier, 0),
	ARG('P', "trace-path", "PATH", espy_do_list, "show only calls that touch PATH; may be repeated",
	    .complete = "file", .value = AT(lists.paths)),
	ARG(0, "where", "CONDITION", espy_do_where,
	    "show only calls that meet a condition (espy-where(7)): 'ret < 0 && path ^= \"/etc/\"', 'flags has O_CREAT', "
	    "'duration > 10ms || name in {\"read\", \"write\"}'; if repeated, all must hold"),
	ARG(0, "comm", "NAME", espy_do_comm, "only calls of tasks with this name; NAME* is all that begin so"),
	ARG(0, "uid", "USER", espy_do_uid, "only calls of tasks of this effective user, by name or number", .complete = "user"),
	ARG(0, "duration", "TIME", espy_do_duration, "only calls that took at least TIME (10ms, 1.5s, 200us); <TIME: less"),
	ARG(0, "signal", "SET", espy_do_qualifier, "show only these signals", .complete = "signal"),
	ALIAS("signals", espy_do_qualifier, 0),
	ARG(0, "status", "SET", espy_do_qualifier,
	    "show only calls that ended so: successful, failed, unfinished, unavailable, detached",
	    .complete = "successful failed unfinished unavailable detached"),
	{ .letter = 'z',
	  .name = "successful-only",
	  .handle = espy_do_successful,
	  .value = ESPY_STATUS_SUCCESSFUL,
	  .help = "show only calls that succeeded" },
	{ .letter = 'Z',
	  .name = "failed-only",
	  .handle = espy_do_successful,
	  .value = ESPY_STATUS_FAILED,
	  .help = "show only calls that failed" },
	{ .name = "failing-only", .handle = espy_do_successful, .value = ESPY_STATUS_FAILED },
};

static const struct espy_opt format[] = {
	FLAG(0, "json", F_JSON,
	     "an object of JSON for each event in place of lines, with structures in full; see docs/json.md"),
	ARG(0, "sink", "NAME", espy_do_sink, "the sink that writes the events: text, json (as --json)",
	    .complete = "text json"),
	ARG('a', "columns", "COLUMN", espy_do_number, "the column of `=` (40)", .value = AT(text.column), .with = &any),
	ARG('s', "string-limit", "SIZE", espy_do_number, "at most SIZE bytes of a string, elements of an array (32)",
	    .value = AT(text.string_limit), .with = &strings),
	FLAG('v', "no-abbrev", F_VERBOSE, "structures, environments and lists in full"),
	ARG(0, "abbrev", "SET", espy_do_qualifier, "calls that are shown abbreviated (all)", .complete = "syscall"),
	ARG(0, "verbose", "SET", espy_do_qualifier, "calls whose structures are decoded (all)", .complete = "syscall"),
	ARG(0, "raw", "SET", espy_do_qualifier, "calls whose arguments are shown as numbers (none)",
	    .complete = "syscall"),
	ARG(0, "read", "SET", espy_do_qualifier, "dump the bytes that are read from these descriptors"),
	ALIAS("reads", espy_do_qualifier, 0),
	ARG(0, "write", "SET", espy_do_qualifier, "dump the bytes that are written to these descriptors"),
	ALIAS("writes", espy_do_qualifier, 0),
	OPTIONAL('x', "strings-in-hex", "WHICH", espy_do_hex,
		 "strings in hexadecimal: -x those that are not ASCII, -xx all (WHICH: "
		 "none, non-ascii-chars, non-ascii, all)",
		 .complete = "none non-ascii-chars non-ascii all"),
	ARG('X', "const-print-style", "STYLE", espy_do_word,
	    "constants as raw numbers, as names (abbrev), or both (verbose)", .complete = "raw abbrev verbose",
	    .value = AT(text.names), .with = espy_words_xlat),
	OPTIONAL('y', "decode-fds", "SET", espy_do_fds,
		 "the files behind descriptors: -y paths, -yy also sockets, devices and more (SET: path, "
		 "dev, socket, pidfd, signalfd, eventfd; any of them but path gives all)",
		 .complete = "none all path dev socket pidfd signalfd eventfd"),
	ARG(0, "decode-pids", "SET", espy_do_pids,
	    "more about process numbers: comm (names), pidns (espy's number of a process in another pid namespace)",
	    .complete = "none comm pidns all"),
	ARG(0, "namespace", "WHICH", espy_do_qualifier,
	    "the namespaces behind results of calls that have made or entered some (new)", .complete = "new"),
	ARG(0, "kvm", "WHICH", espy_do_qualifier, "why KVM_RUN of a virtual CPU has returned, behind its result (vcpu)",
	    .complete = "vcpu"),
	OPTIONAL(0, "secontext", "SET", espy_do_secontext,
		 "types of SELinux, of tasks, descriptors and paths (SET: full, the whole contexts; mismatch, also what the "
		 "policy has for the file if that is another one)",
		 .complete = "full mismatch"),
	FLAG('Y', NULL, F_COMM, "as --decode-pids=comm: names of processes behind their numbers"),
	SET('N', "arg-names", text.argument_names, "names of arguments"),
	SET('n', "syscall-number", text.call_number, "the number of the call"),
	SET('i', "instruction-pointer", text.instruction_pointer, "the place in the program of each call"),
	OPTIONAL('t', "absolute-timestamps", "[FORMAT][,PRECISION]", espy_do_time,
		 "the time of each line: -t time of day, -tt with "
		 "microseconds, -ttt seconds since 1970 (FORMAT: none, time, unix; PRECISION: s, ms, us, ns)",
		 .complete = "none time unix s ms us ns"),
	{ .name = "timestamps", .arg = ESPY_OPT_OPTIONAL, .handle = espy_do_time },
	OPTIONAL('r', "relative-timestamps", "PRECISION", espy_do_shown_time, "the time since the line before",
		 .complete = "s ms us ns"),
	OPTIONAL('T', "syscall-times", "PRECISION", espy_do_shown_time, "how long each call took",
		 .complete = "s ms us ns"),
	OPTIONAL('k', "stack-trace", "WHAT", espy_do_stack,
		 "the call stack behind each call and each hit of a probe (WHAT: symbol; source, as -kk: with lines of "
		 "source)",
		 .complete = "symbol source"),
	{ .name = "stack-traces", .arg = ESPY_OPT_OPTIONAL, .handle = espy_do_stack },
	ARG(0, "stack-trace-frame-limit", "N", espy_do_number, "at most N frames of a stack (256)",
	    .value = AT(session.stack_frames), .with = &frames),
	SET(0, "always-show-pid", text.task_always,
	    "the process number in front of every line, also if there is only one"),
	OPTIONAL(0, "color", "WHEN", espy_do_color,
		 "colour lines of text: auto (default: on a terminal, unless NO_COLOR is set), always, never; "
		 "STRACE_COLORS says how",
		 .complete = "auto always never"),
	OPTIONAL('q', "quiet", "SET", espy_do_quiet,
		 "fewer messages: -q no attach and personality, -qq nor exit, -qqq none (SET: attach, "
		 "exit, path-resolution, personality, thread-execve)",
		 .complete = "all none attach exit path-resolution personality thread-execve"),
	{ .name = "silent", .arg = ESPY_OPT_OPTIONAL, .handle = espy_do_quiet },
	{ .name = "silence", .arg = ESPY_OPT_OPTIONAL, .handle = espy_do_quiet },
};

static const struct espy_opt output[] = {
	ARG('o', "output", "FILE", espy_opts__text, "write to FILE, or into a command: '|COMMAND' or '!COMMAND'",
	    .complete = "file", .value = AT(out.name)),
	SET('A', "output-append-mode", out.append, "append to FILE"),
	SET(0, "output-separately", out.separately, "a file for each process, FILE.PID (-ff: with -f)"),
};

static const struct espy_opt tee[] = {
	ARG(0, "record", "TRACE", espy_opts__text, "write a trace besides, for `espy show`", .value = AT(record.path), .complete = "file"),
	SET(0, "force", record.replace, "replace TRACE if it exists"),
};

static const struct espy_opt recording[] = {
	ARG('o', "output", "TRACE", espy_opts__text, "the trace to write (espy.trace); -: standard output",
	    .value = AT(record.path), .complete = "file"),
	SET(0, "force", record.replace, "replace the trace if it exists"),
	ARG(0, "compress", "LEVEL", espy_do_compress, "of zstd, 1 (fast) to 19 (small), or none (3)",
	    .complete = "none 1 3 9 19"),
	ARG(0, "rotate", "SIZE", espy_do_bytes, "begin another file after SIZE bytes: TRACE.0, TRACE.1, ...",
	    .value = AT(record.rotate_bytes)),
	ARG(0, "keep", "N", espy_do_number, "with --rotate: keep the newest N files", .value = AT(record.keep),
	    .with = &some),
	ARG(0, "ring", "SIZE", espy_do_bytes,
	    "flight recorder: keep the newest records in SIZE bytes of memory and write nothing until SIGUSR1, "
	    "`espy snapshot`, a --snapshot-on, or the end",
	    .value = AT(session.flight_bytes)),
	ARG(0, "snapshot-on", "CALL[: CONDITION]", espy_do_list,
	    "with --ring: write a trace after such a call: 'openat: ret == -ENOSPC'; as --pause-on, may be repeated",
	    .value = AT(lists.snapshot_on)),
	ARG(0, "after", "TIME", espy_do_after,
	    "with --ring: write the trace TIME after it was asked for (seconds, or with ms)"),
	ARG(0, "data", "SIZE", espy_do_data,
	    "keep at most SIZE bytes a call, or none, of data that is read, written, sent and received",
	    .complete = "none"),
	ARG('s', "string-limit", "SIZE", espy_do_number, "keep at most SIZE bytes of a string (32)",
	    .value = AT(text.string_limit), .with = &strings),
	SET('i', "instruction-pointer", text.instruction_pointer,
	    "keep the place in the program of each call, for `espy show -i`"),
	SET('k', "stack-trace", text.stacks,
	    "keep the call stack of each call and each hit of a probe, for `espy show -k`"),
	ARG(0, "stack-trace-frame-limit", "N", espy_do_number, "keep at most N frames of a stack (256)",
	    .value = AT(session.stack_frames), .with = &frames),
	ALIAS("read", espy_do_qualifier, 0),
	ALIAS("write", espy_do_qualifier, 0),
	OPTIONAL('q', "quiet", "SET", espy_do_quiet, "no last line, no messages about tasks that come",
		 .complete = "all none attach exit path-resolution personality thread-execve"),
};

static const struct espy_opt replay[] = {
	ARG(0, "from", "TIME", espy_do_moment,
	    "begin at TIME: +SECONDS after the start, HH:MM[:SS[.FRACTION]], or @SECONDS since 1970",
	    .value = AT(session.from)),
	ARG(0, "to", "TIME", espy_do_moment, "end after TIME", .value = AT(session.to)),
	ARG('p', "pid", "PID", espy_do_show_pid, "only lines of these processes or tasks; may be repeated"),
	SET('F', "follow", trace_follow, "at the end wait for more, while the trace is being written"),
	FLAG('f', NULL, F_FORK, "-ff: with -o, a file for each process"),
	SET(0, "stats", stats, "at the end say what the trace holds"),
};

static const struct espy_opt statistics[] = {
	FLAG('c', "summary-only", F_COUNT,
	     "count calls, errors and time by call, and hits by mark (-m) or probe (-u), print tables at the end and "
	     "no lines"),
	FLAG('C', "summary", F_COUNT_TOO, "the same beside the lines"),
	ARG(0, "count-by", "[EVENTS:] VALUE", espy_do_list,
	    "count how often each value came, print a table at the end and no lines: 'openat: path', 'errno', 'comm', with -m or -u "
	    "'shop:order_done: id'; EVENTS are calls as for -e trace=, a mark or a probe; without, all that are selected. May be repeated",
	    .value = AT(lists.count_by)),
	ARG(0, "hist", "[EVENTS:] VALUE", espy_do_list,
	    "the same of numbers, by powers of two: 'read: ret', 'openat: duration', 'libc:malloc: size'", .value = AT(lists.hist)),
	ARG(0, "top", "N", espy_do_number, "with --count-by: the N most frequent values (20)", .value = AT(tally.top), .with = &some),
	ARG('O', "summary-syscall-overhead", "TIME", espy_do_span,
	    "subtract TIME from each call (microseconds, or with s, ms, us, ns)", .value = AT(table.overhead_ns)),
	ARG('S', "summary-sort-by", "COLUMN", espy_do_sort,
	    "sort the table: time, min-time, max-time, avg-time, calls, errors, name, "
	    "wall-total, wall-min, wall-max, wall-avg, nothing (time)",
	    .complete =
		    "time min-time max-time avg-time calls errors name wall-total wall-min wall-max wall-avg nothing"),
	ARG('U', "summary-columns", "COLUMNS", espy_do_summary_columns,
	    "columns of the table: time-percent, total-time, min-time, max-time, "
	    "avg-time, calls, errors, name, wall-total, wall-min, wall-max, wall-avg",
	    .complete = "time-percent total-time min-time max-time avg-time calls errors name wall-total wall-min "
			"wall-max wall-avg"),
	SET('w', "summary-wall-clock", table.wall_clock,
	     "the time from entry to return of a call, instead of that spent on a processor"),
};

/* Options of strace that have no help here. */
static const struct espy_opt without_help[] = {
	{ .name = "pidns-translation", .handle = espy_opts__set, .value = AT(text.task_numbers) },
	{ .name = "tips", .arg = ESPY_OPT_OPTIONAL, .handle = espy_do_tips },
};

const struct espy_opt_group espy_trace_groups[] = {
	{ "General", general, COUNT(general) },
	{ "What is watched", targets, COUNT(targets) },
	{ "How it is watched", sources, COUNT(sources) },
	{ "Static marks", marks, COUNT(marks) },
	{ "Probes", probes, COUNT(probes) },
	{ "Filters", filters, COUNT(filters) },
	{ "Form of the lines", format, COUNT(format) },
	{ "Where they go", output, COUNT(output) },
	{ "A trace besides", tee, COUNT(tee) },
	{ "Statistics", statistics, COUNT(statistics) },
	{ "Of strace alone", without_help, COUNT(without_help) },
};
const size_t espy_trace_group_cnt = COUNT(espy_trace_groups);

const struct espy_opt_group espy_record_groups[] = {
	{ "General", general, COUNT(general) },		  { "What is watched", targets, COUNT(targets) },
	{ "How it is watched", sources, COUNT(sources) }, { "Static marks", marks, COUNT(marks) },
	{ "Probes", probes, COUNT(probes) },
	{ "Filters", filters, COUNT(filters) },
	{ "The trace", recording, COUNT(recording) },
};
const size_t espy_record_group_cnt = COUNT(espy_record_groups);

const struct espy_opt_group espy_show_groups[] = {
	{ "General", general, COUNT(general) },
	{ "Which part of the trace", replay, COUNT(replay) },
	{ "Probes", shown_probes, COUNT(shown_probes) },
	{ "Static marks", marks, 1 }, /* only the first: the other options do not select marks */
	{ "Filters", filters, COUNT(filters) },
	{ "Form of the lines", format, COUNT(format) },
	{ "Where they go", output, COUNT(output) },
	{ "Statistics", statistics, COUNT(statistics) },
	{ "Of strace alone", without_help, COUNT(without_help) },
};
const size_t espy_show_group_cnt = COUNT(espy_show_groups);

/*
 * Options that a trace may give for its own selection. The trace is foreign: no such option writes, runs or opens
 * anything.
 */
const struct espy_opt_group espy_select_groups[] = {
	{ "General", general, 1 },
	{ "Filters", filters, COUNT(filters) },
};
const size_t espy_select_group_cnt = COUNT(espy_select_groups);

bool espy_trace_opt_selects(const struct espy_opt *opt)
{
	return opt->letter == 'e' || (opt >= filters && opt < filters + COUNT(filters));
}

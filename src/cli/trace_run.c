/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes a session and its engines from the command line, and an exit status from the session's end. */
#include "cli/trace_command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/small_file.h"
#include "cli/inherited_children.h"
#include "cli/output_readers.h"

#define POLL_MS 100
#define PROGRESS_EVERY_MS 500
#define STACK_FRAMES 256 /* unless the user says another number */
#define READER_NICE (-10)
#define HELD_MOST 1024	 /* tasks to tell of at a time */

/* A held task that espy has told of. */
struct held {
	pid_t task;
	uint64_t since_ns;
};

struct run {
	struct espy_trace_args *a;
	struct espy_session *s;
	struct espy_engine *trace; /* NULL: no trace is written */
	uint64_t begun_ms, progress_ms;
	bool progress_shown;
	int terminal; /* -1: none */
	struct held told[HELD_MOST], now[HELD_MOST];
	size_t told_cnt, now_cnt;
};

static uint64_t now_ms(void)
{
	return espy_now_ns() / 1000000;
}

/* ---- messages of the library */

static bool is_spared(const struct espy_trace_args *a, enum espy_log_topic topic)
{
	const bool quiet = a->quiet & ESPY_QUIET_ATTACH;

	switch (topic) {
	case ESPY_TOPIC_TASKS: /* of a trace it is no news when tasks came */
		return quiet || a->role != ESPY_ROLE_TRACE;
	case ESPY_TOPIC_SOURCE:
		return quiet || a->cli->strace_mode;
	case ESPY_TOPIC_TRACE:
		return quiet || a->role != ESPY_ROLE_RECORD;
	case ESPY_TOPIC_END:
		return a->quiet & ESPY_QUIET_EXIT;
	case ESPY_TOPIC_STATS:
		return !a->stats;
	default:
		return false;
	}
}

/* How a message of the library begins, behind which strace has nothing but the file and the reason. */
static const char writing[] = "writing to ";

/* Scripts know strace's words: its call for attaching, whatever the source is, and no name of the command's file. */
static void say_as_strace(const struct espy_trace_args *a, const char *text)
{
	const char *pid = strchr(text, '('), *why = strrchr(text, ':');

	if (!strncmp(text, writing, sizeof(writing) - 1))
		espy_cli__say(a->cli, "%.*s", (int)strcspn(text + sizeof(writing) - 1, ";"),
			      text + sizeof(writing) - 1);
	else if (!strncmp(text, "attach: ", 8) && pid)
		espy_cli__say(a->cli, "attach: ptrace(PTRACE_SEIZE, %s", pid + 1);
	else
		espy_cli__say(a->cli, "exec%s", why ? why : text);
}

void espy_trace_log(void *ctx, enum espy_log_level level, enum espy_log_topic topic, const char *text)
{
	const struct espy_trace_args *a = ctx;

	(void)level;
	if (is_spared(a, topic))
		return;
	if (topic == ESPY_TOPIC_DESCRIBE) /* FILE:LINE:COLUMN: ... */
		fprintf(stderr, "%s\n", text);
	else if (a->cli->strace_mode && (topic == ESPY_TOPIC_TARGET || !strncmp(text, writing, sizeof(writing) - 1)))
		say_as_strace(a, text);
	else
		espy_cli__say(a->cli, "%s", text);
}

/* ---- engines */

/* Tells whether lines are coloured. Without the user's word they are on a terminal that knows colours. */
static bool wants_colors(const struct espy_trace_args *a, int fd)
{
	const char *term = getenv("TERM");

	if (a->sink.name || a->out.color != ESPY_COLOR_AUTO)
		return !a->sink.name && a->out.color == ESPY_COLOR_ALWAYS;
	return fd >= 0 && isatty(fd) && !getenv("NO_COLOR") && term && *term && strcmp(term, "dumb") &&
	       strcmp(term, "unknown");
}

static int color_output(const struct espy_trace_args *a, int fd, struct espy_output *out)
{
	return wants_colors(a, fd) ? espy_output_colors(out, getenv("STRACE_COLORS")) : 0;
}

static int open_output(const struct espy_trace_args *a, struct espy_output **out)
{
	int err;

	*out = NULL;
	/* The text of a trace is data, so it goes to standard output. */
	if (!a->out.name) {
		const int fd = a->role == ESPY_ROLE_SHOW ? STDOUT_FILENO : STDERR_FILENO;

		err = espy_output_fd(out, fd);
		return err ? err : color_output(a, fd, *out);
	}
	err = a->follow > 1 ? espy_output_per_task(out, a->out.name, a->out.append)
			    : espy_output_open(out, a->out.name, a->out.append);
	if (err == -ENAMETOOLONG && a->follow > 1) /* which of its names is too long, only a task would tell */
		espy_cli__say(a->cli, "%s: %s", a->out.name, strerror(-err));
	else if (err)
		espy_cli__say(a->cli, "Can't fopen '%s': %s", a->out.name, strerror(-err));
	return err ? err : color_output(a, -1, *out);
}

/* Adds the engines. The table comes before the text, so that a limit of calls holds for both. */
static int add_engines(struct run *r)
{
	struct espy_trace_args *a = r->a;
	const bool events = espy_trace_has_lines(a);
	struct espy_engine_options o = {
		.size = sizeof(o), .filter = a->filter, .call_limit = events ? a->call_limit : 0, .ends_session = true
	};
	struct espy_output *out;
	int err = espy_filter_status(a->filter, a->status);

	err = err ? err : open_output(a, &out);
	if (err)
		return err;
	a->text.output = a->sink.output = a->table.output = a->tally.output = out;
	a->table.columns = a->columns;
	if (a->summary != ESPY_SUMMARY_NONE) {
		o.summary = &a->table;
		err = espy_engine_add(r->s, &o, NULL);
		o.summary = NULL;
	}
	if (!err && a->tally.tally_count) {
		o.tally = &a->tally;
		err = espy_engine_add(r->s, &o, NULL);
		o.tally = NULL;
	}
	if (!err && events) {
		o.text = a->sink.name ? NULL : &a->text;
		o.sink = a->sink.name ? &a->sink : NULL;
		err = espy_engine_add(r->s, &o, NULL);
		if (err == -ENOENT)
			espy_cli__usage(a->cli, "--sink=%s: there is no sink of this name; text and json are", a->sink.name);
		o.text = NULL;
		o.sink = NULL;
	}
	if (!err && a->record.path) {
		o.trace = &a->record;
		o.call_limit = 0;
		err = espy_engine_add(r->s, &o, &r->trace);
	}
	const int closed = espy_output_close(out);
	return err ? err : closed;
}

/* ---- while it runs */

static void show_progress(struct run *r)
{
	struct espy_session_stats st = { .size = sizeof(st) };
	struct espy_engine_stats e = { .size = sizeof(e) };
	const uint64_t now = now_ms(), sec = (now - r->begun_ms) / 1000;
	uint64_t lost = 0;
	char line[160];

	if (!r->a->out.progress || !r->trace || now - r->progress_ms < PROGRESS_EVERY_MS)
		return;
	r->progress_ms = now;
	espy_session_stats(r->s, &st);
	espy_engine_stats(r->trace, &e);
	for (unsigned i = 0; i < ESPY_LOSS_REASONS; i++)
		lost += st.lost[i];
	int n = snprintf(line, sizeof(line),
			 "\r%" PRIu64 ":%02" PRIu64 "  %" PRIu64 " call%s  %.1f MB  %" PRIu64 " lost  %" PRIu64
			 " paused \033[K",
			 sec / 60, sec % 60, e.calls, e.calls == 1 ? "" : "s", (double)e.file_bytes / 1e6, lost, st.pauses);
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return; /* no user looks */
	r->progress_shown = true;
}

static bool was_told(const struct run *r, const struct espy_held *h)
{
	for (size_t i = 0; i < r->told_cnt; i++)
		if (r->told[i].task == h->task && r->told[i].since_ns == h->since_ns)
			return true;
	return false;
}

/* Tells whether espy may read from the terminal. */
static bool in_foreground(const struct run *r)
{
	return r->terminal >= 0 && tcgetpgrp(r->terminal) == getpgrp();
}

static int tell_held(void *ctx, const struct espy_held *h)
{
	struct run *r = ctx;
	char name[32];

	if (!was_told(r, h)) {
		espy_read_comm(h->task, name, sizeof(name));
		espy_cli__say(r->a->cli,
			      "task %d (%s) is held after %s; it runs on at %s`espy resume %d` or the end of espy; "
			      "`gdb -p %d` takes it over where it stands",
			      (int)h->task, name, h->call[0] ? h->call : "a call", in_foreground(r) ? "Enter, " : "",
			      (int)h->task, (int)h->process);
	}
	if (r->now_cnt < HELD_MOST)
		r->now[r->now_cnt++] = (struct held){ .task = h->task, .since_ns = h->since_ns };
	return 0;
}

/* Lets all held tasks go at Enter. While no task is held, or espy is in the background, the program reads. */
static void look_at_terminal(struct run *r)
{
	struct pollfd p = { .fd = r->terminal, .events = POLLIN };
	char line[256];

	if (!in_foreground(r) || poll(&p, 1, 0) <= 0)
		return;
	if (read(r->terminal, line, sizeof(line)) > 0)
		espy_resume(r->s, 0);
}

/* Tells of each newly held task. Enter lets all of them go on. */
static void look_at_held(struct run *r)
{
	if (!r->a->session.pause_on_count)
		return;
	r->now_cnt = 0;
	espy_session_held(r->s, tell_held, r);
	memcpy(r->told, r->now, r->now_cnt * sizeof(r->now[0]));
	r->told_cnt = r->now_cnt;
	if (r->told_cnt)
		look_at_terminal(r);
}

/*
 * Takes the status of children that have ended: of the command, for which a watched process may wait, and of those that
 * espy does not know of. strace tells of these.
 */
static void reap_children(const struct run *r)
{
	const pid_t command = espy_session_program(r->s);
	pid_t pid;
	int status;

	/* the question may wait for a command that is about to end */
	if (espy_inherited_children__is_zombie(command))
		espy_session_program_status(r->s, &status);
	while ((pid = espy_inherited_children__reap(command)) > 0)
		if (r->a->cli->strace_mode && !(r->a->quiet & ESPY_QUIET_EXIT))
			espy_cli__say(r->a->cli, "Exit of unknown pid %d ignored", pid);
}

/*
 * Gives up standard input and output, which the command has by now: as strace does, so that a pipe ends when the
 * command closes its end. Lines go to standard error or to a file of their own.
 */
static void leave_standard_files(const struct run *r)
{
	const int null =
		r->a->cli->strace_mode && espy_session_program(r->s) > 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;

	if (null < 0)
		return;
	fflush(stdout);
	for (int fd = STDIN_FILENO; fd <= STDOUT_FILENO; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
}

static int loop(struct run *r)
{
	bool left = false;
	int n;

	r->begun_ms = now_ms();
	do {
		n = espy_session_dispatch(r->s, POLL_MS);
		if (!left)
			leave_standard_files(r);
		left = true;
		reap_children(r);
		look_at_held(r);
		show_progress(r);
	} while (n >= 0 || n == -EINTR);
	if (r->progress_shown && write(STDERR_FILENO, "\r\033[K", 4) < 0)
		r->progress_shown = false;
	return espy_session_finish(r->s);
}

/* ---- the exit status */

/* Returns the status of the command, or of the signal that ended espy. *killed_by: the signal by which to end. */
static int status_of(struct run *r, int err, int *killed_by)
{
	const struct espy_trace_args *a = r->a;
	const bool command = espy_session_program(r->s) > 0;
	const int stopped = espy_signals__stopped();
	int status = 0;

	if (stopped) {
		*killed_by = command ? stopped : 0;
		return command ? 128 + stopped : 0;
	}
	/* strace runs on when it cannot write: its status is the command's. */
	if (err && !(a->cli->strace_mode && command))
		return 1;
	if (!command || espy_session_program_status(r->s, &status))
		return 0;
	if (WIFSIGNALED(status)) {
		*killed_by = WTERMSIG(status);
		return 128 + WTERMSIG(status);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* Ends this process by the signal that has ended the command, so that a shell sees no difference. */
static int die_of(int sig)
{
	const struct rlimit none = { 0, 0 };

	fflush(NULL);
	setrlimit(RLIMIT_CORE, &none); /* the core file of the command, if there is one, shall stay */
	espy_signals__die_of(sig);
	return 128 + sig; /* signals that do not kill by default */
}

/* Sends the signal that ended the tracer to the command that it started, as if no tracer were in between. */
static void pass_on(const struct espy_launch *l, int sig)
{
	siginfo_t info = { 0 };
	pid_t pid = l->shared_pid ? *l->shared_pid : 0;

	/* No thread has waited for this child yet, so its number cannot be another process's. */
	if (!sig || pid <= 0 || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid)
		return;
	kill(pid, SIGCONT);
	kill(pid, sig);
}

/* ---- */

/* Leaves the readers of espy's output out of --all, and says so: they would write because espy writes. */
static void leave_readers_out(struct espy_trace_args *a)
{
	char names[512] = "", name[32];
	size_t cnt, len = 0;

	if (!a->session.all || (a->out.name && a->role == ESPY_ROLE_TRACE))
		return;
	/* A recording writes its progress there. */
	cnt = espy_output_readers(STDERR_FILENO, a->out.readers);
	a->session.without = a->out.readers;
	a->session.without_count = cnt;
	for (size_t i = 0; i < cnt && len < sizeof(names); i++) {
		espy_read_comm(a->out.readers[i], name, sizeof(name));
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s (%d)", i ? ", " : "", name, (int)a->out.readers[i]);
	}
	if (cnt && !(a->quiet & ESPY_QUIET_ATTACH))
		espy_cli__say(a->cli, "not watched, since %s what espy writes: %s", cnt == 1 ? "it carries" : "they carry", names);
}

static int open_session(struct run *r)
{
	struct espy_trace_args *a = r->a;
	int err;

	a->session.follow = a->follow;
	/* strace takes one thread unless -f is given. */
	a->session.single_task = a->cli->strace_mode;
	a->session.instruction_pointer = a->text.instruction_pointer;
	if (!a->text.stacks)
		a->session.stack_frames = 0;
	else if (!a->session.stack_frames)
		a->session.stack_frames = STACK_FRAMES;
	/* strace knows any stack, however deep. Only the passive source sees a whole system, and probes. */
	if (a->session.stack_frames && a->cli->strace_mode && !a->session.source && !a->session.all &&
	    !a->session.cgroup && !espy_filter_has(a->filter, ESPY_FILTER_PROBES))
		a->session.source = "ptrace";
	a->text.quiet = a->quiet;
	a->sink.hang_ms = a->cli->strace_mode ? 0 : a->session.hang_ms;
	leave_readers_out(a);
	err = espy_session_open(&r->s, &a->session);
	if (!err)
		err = add_engines(r);
	if (err == -ENOMEM)
		espy_cli__say(a->cli, "out of memory");
	if (err)
		return err;
	/* The command may be long about its execve. */
	espy_signals__session(r->s);
	return espy_session_start(r->s);
}

/*
 * Raises the priority of the reader: it must get the CPU before the writers do, or events are lost. It leaves a
 * priority that the user has chosen (nice). The command has started by now and keeps its own.
 */
static void hurry(const struct espy_trace_args *a)
{
	errno = 0;
	if (a->role != ESPY_ROLE_SHOW && !getpriority(PRIO_PROCESS, 0) && !errno)
		setpriority(PRIO_PROCESS, 0, READER_NICE);
}

static int run_session(struct run *r, int *go, int *killed_by)
{
	int err = open_session(r), status = 1;

	if (go)
		espy_daemonize__go(go, !err);
	if (!err) {
		r->terminal = r->a->session.pause_on_count && isatty(STDIN_FILENO) ?
				      open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) :
				      -1;
		hurry(r->a);
		err = loop(r);
		espy_signals__session(NULL);
		status = status_of(r, err, killed_by);
		if (r->terminal >= 0)
			close(r->terminal);
	} else {
		espy_signals__session(NULL);
		*killed_by = espy_signals__stopped();
	}
	espy_session_close(r->s);
	return status;
}

int espy_trace_run(struct espy_trace_args *a)
{
	struct run *r = calloc(1, sizeof(*r));
	struct espy_launch launch = { 0 };
	bool launched = false;
	int *go = NULL, killed_by = 0, status = 1;
	pid_t self;

	if (!r)
		return 1;
	r->a = a;
	if (a->role != ESPY_ROLE_SHOW && a->run.command[0]) {
		if (espy_launch__init(&launch, a))
			goto out;
		launched = true;
		a->session.program = &launch.program;
		/* As strace: with a file for the text there are no messages beside it. */
		if (a->out.name && !a->pid_cnt)
			a->quiet |= ESPY_QUIET_ATTACH | ESPY_QUIET_PERSONALITY;
	}
	/* Not earlier: finding the command's file may last where no handler runs, and nothing needs an end yet. */
	espy_signals__install(a->session.interruptible);
	if (a->role == ESPY_ROLE_SHOW && !a->out.name)
		espy_signals__end_with_reader();
	if (a->session.flight_bytes)
		espy_signals__install_snapshot();
	if (a->run.daemonize) {
		if (espy_daemonize(a->cli, &launch, a->run.daemonize, &self, &go))
			goto out;
		a->session.program = NULL;
		a->session.pids = &self;
		a->session.pid_count = 1;
	}
	status = run_session(r, go, &killed_by);
	if (launched && !go)
		pass_on(&launch, espy_signals__caught());
	/* strace dies of the signal that ended it, also after -p. espy then has done its work. */
	if (a->cli->strace_mode && !killed_by)
		killed_by = espy_signals__caught();
out:
	if (launched)
		espy_launch__free(&launch);
	free(r);
	espy_tips__show(a);
	return killed_by ? die_of(killed_by) : status;
}

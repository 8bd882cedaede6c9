/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session from open to close; what a record does is in dispatch.c. */
#include "session/impl.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "describe/builtin.h"
#include "source/choose.h"

/* How long one poll waits when nothing comes: the grain of the hang display and of a stop request. */
#define POLL_MS 100

uint64_t espy_session__clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void espy_session__say(struct espy_session *s, const char *fmt, ...)
{
	char line[1024];
	int len = snprintf(line, sizeof(line), "%s: ", s->o.progname);
	va_list ap;

	/* Lines that go to the same terminal come first. */
	if (s->sink.fd >= 0)
		espy_sink__flush(&s->sink);
	va_start(ap, fmt);
	len += vsnprintf(line + len, sizeof(line) - (size_t)len, fmt, ap);
	va_end(ap);
	if ((size_t)len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	line[len++] = '\n';
	if (write(STDERR_FILENO, line, (size_t)len) < 0)
		return; /* nobody is left to be told */
}

static void on_report(void *ctx, enum espy_report_level level, const char *text)
{
	struct espy_session *s = ctx;

	if (level == ESPY_REPORT_ERROR)
		s->reported = true;
	espy_session__say(s, "%s", text);
}

/* A source needs some descriptors of its own; the command shall have the limit that the user gave. */
#define ENOUGH_FILES 256

static void raise_file_limit(struct espy_session *s)
{
	struct rlimit more;

	if (getrlimit(RLIMIT_NOFILE, &s->user_files) < 0 || s->user_files.rlim_cur >= ENOUGH_FILES)
		return;
	more.rlim_cur = ENOUGH_FILES;
	more.rlim_max = s->user_files.rlim_max > ENOUGH_FILES ? s->user_files.rlim_max : ENOUGH_FILES;
	if (setrlimit(RLIMIT_NOFILE, &more) < 0) { /* beyond the hard limit only with CAP_SYS_RESOURCE */
		more.rlim_max = s->user_files.rlim_max;
		more.rlim_cur = more.rlim_max < ENOUGH_FILES ? more.rlim_max : ENOUGH_FILES;
		if (setrlimit(RLIMIT_NOFILE, &more) < 0)
			return;
	}
	s->files_raised = true;
}

/* In the child, just before its execve. */
static int child_setup(void *ctx)
{
	const struct espy_session *s = ctx;

	if (s->files_raised && setrlimit(RLIMIT_NOFILE, &s->user_files) < 0)
		return -errno;
	return s->o.command->child_setup ? s->o.command->child_setup(s->o.command->child_ctx) : 0;
}

static void on_diagnostic(void *ctx, const char *text)
{
	(void)ctx;
	fprintf(stderr, "%s\n", text);
}

static int open_images(struct espy_session *s)
{
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		size_t size, bad;
		const void *data = espy_builtin_image((enum espy_abi)abi, &size);

		if (s->o.describe_file_cnt) {
			int err = espy_describe_with_files((enum espy_abi)abi, s->o.describe_files,
							   s->o.describe_file_cnt, on_diagnostic, s,
							   &s->own_images[abi], &size);

			if (err) {
				if (err != -EINVAL) /* else the diagnostics have said all */
					espy_session__say(s, "--describe: %s", strerror(-err));
				return err;
			}
			data = s->own_images[abi];
		}
		int err = espy_image__open(&s->images[abi], data, size, &bad);
		if (err) {
			espy_session__say(s, "descriptions for ABI %u are damaged at offset %zu", abi, bad);
			return err;
		}
	}
	return 0;
}

static int open_call_sets(struct espy_session *s)
{
	const struct espy_limits lim = {
		.str_limit = s->o.text.str_limit,
		.whole_data = s->o.filter->read.given || s->o.filter->write.given,
	};

	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		int err = espy_call_set__init(&s->sets[abi], &s->images[abi], s->o.filter, &lim);

		if (err)
			return err;
		for (uint32_t nr = 0; s->follow_fds && nr < s->images[abi].syscall_cnt; nr++)
			if (espy_resolve__needs_call(
				    espy_image__str(&s->images[abi], s->images[abi].syscalls[nr].name)))
				s->sets[abi].wanted[nr / 64] |= 1ull << (nr % 64);
	}
	return 0;
}

/* What only a source that stops the task can serve. */
static const char *needs_stopping_source(const struct espy_session_opts *o)
{
	if (o->seccomp)
		return "--seccomp-bpf";
	if (o->detach_on_execve)
		return "--detach-on=execve";
	if (o->kill_on_exit)
		return "--kill-on-exit";
	return NULL;
}

/* -w, or a column of wall clock time. Without them a source that counts gives the time on the CPU, as strace -c does.
 */
static bool shows_wall_clock(const struct espy_session_opts *o)
{
	for (unsigned i = 0; i < o->column_cnt; i++)
		if (o->columns[i] >= ESPY_COL_WALL_TOTAL)
			return true;
	return o->wall_clock;
}

static int open_source(struct espy_session *s)
{
	const struct espy_session_opts *o = &s->o;
	char why[512] = "";
	const char *stopping = needs_stopping_source(o);
	const char *asked = o->source == ESPY_SOURCE_BPF ? "bpf" : o->source == ESPY_SOURCE_PTRACE ? "ptrace" : NULL;

	if (!asked && stopping && !o->all && !o->cgroup)
		asked = "ptrace";
	if (asked && !strcmp(asked, "bpf") && stopping) {
		espy_session__say(s, "%s needs a source that stops the task: use --source=ptrace", stopping);
		return -EINVAL;
	}
	int err = espy_source__choose(&s->src_ops, asked, o->all || o->cgroup ? ESPY_SRC_SYSTEM_WIDE : 0, why,
				      sizeof(why));
	if (err) {
		espy_session__say(s, "%s", why);
		return err;
	}
	if (why[0] && !o->strace_mode && !(o->quiet & ESPY_QUIET_ATTACH))
		espy_session__say(s, "%s", why);

	const bool counts = o->summary == ESPY_SUMMARY_ONLY && s->src_ops->counts && o->status == ESPY_STATUS_ALL &&
			    !o->filter->path_cnt && !o->filter->fds.given && !o->syscall_limit;
	const struct espy_source_opts so = {
		.size = sizeof(so),
		.report = on_report,
		.report_ctx = s,
		.follow = o->follow > 0,
		.need_time = o->time != ESPY_TIME_NONE || o->relative_time || o->call_time ||
			     (o->summary != ESPY_SUMMARY_NONE && !counts),
		.need_enter_ns = o->time != ESPY_TIME_NONE || o->relative_time || o->call_time ||
				 (o->summary != ESPY_SUMMARY_NONE && (!counts || shows_wall_clock(o))),
		.need_ip = o->show_ip,
		.need_signals = true,
		.count_only = counts,
		.need_fdnames = s->follow_fds,
		.use_seccomp = o->seccomp,
		.enter_records = true,
		.ring_bytes = o->ring_bytes,
		.hang_ms = o->hang_ms,
		.interruptible = o->interruptible,
		.kill_on_exit = o->kill_on_exit,
	};
	s->counted_by_source = counts;
	err = s->src_ops->open(&s->src, &so);
	if (err) {
		espy_session__say(s, "Can't open the source %s: %s", s->src_ops->name, strerror(-err));
		return err;
	}
	for (unsigned abi = 0; abi < ESPY_ABI_CNT && !err; abi++)
		err = s->src_ops->set_calls(s->src, (enum espy_abi)abi, &s->sets[abi]);
	return err;
}

unsigned espy_session__seed(struct espy_session *s, pid_t pid, bool all_threads)
{
	char path[64];
	unsigned n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);

		if (!tid || (!all_threads && tid != (uint32_t)pid))
			continue;
		struct espy_task *task = espy_tasks__get(&s->tasks, tid, (uint32_t)pid);

		if (task)
			task->announced = true;
		n++;
	}
	if (d)
		closedir(d);
	return n;
}

static int add_pid(struct espy_session *s, pid_t pid)
{
	/* A process is what a person means by its number; strace takes one thread unless -f is given. */
	const bool all_threads = s->o.follow > 0 || !s->o.strace_mode;
	const struct espy_target t = { .kind = ESPY_TARGET_PID, .pid = pid, .single_task = !all_threads };
	int err = s->src_ops->add_target(s->src, &t);

	if (err) {
		espy_session__say(s, "attach: %s(%d): %s", s->src_ops->name, pid, strerror(-err));
		return err;
	}
	unsigned n = espy_session__seed(s, pid, all_threads);
	if (s->follow_fds)
		espy_resolve__seed(&s->resolve, (uint32_t)pid);
	if (!(s->o.quiet & ESPY_QUIET_ATTACH)) {
		if (n > 1)
			espy_session__say(s, "Process %d attached with %u threads", pid, n);
		else
			espy_session__say(s, "Process %d attached", pid);
	}
	return 0;
}

static int add_targets(struct espy_session *s)
{
	const struct espy_session_opts *o = &s->o;
	unsigned good = 0;
	int err = 0;

	for (size_t i = 0; i < o->pid_cnt; i++) {
		int e = add_pid(s, o->pids[i]);

		if (e)
			err = e;
		else
			good++;
	}
	/* As with strace, one target that is gone does not hinder the others. */
	if (err && !good)
		return err;
	if (o->cgroup) {
		const struct espy_target t = { .kind = ESPY_TARGET_CGROUP, .path = o->cgroup };

		err = s->src_ops->add_target(s->src, &t);
		if (err) {
			espy_session__say(s, "cgroup '%s': %s (a directory of the cgroup v2 tree is expected)",
					  o->cgroup, strerror(-err));
			return err;
		}
	}
	if (o->all) {
		const struct espy_target t = { .kind = ESPY_TARGET_ALL };

		err = s->src_ops->add_target(s->src, &t);
		if (err) {
			espy_session__say(s, "--all: %s", strerror(-err));
			return err;
		}
	}
	if (!o->command)
		return 0;
	struct espy_command command = *o->command;
	command.child_setup = child_setup;
	command.child_ctx = s;
	s->reported = false;
	err = s->src_ops->start_command(s->src, &command, &s->command_pid);
	if (err) {
		if (!s->reported) /* else the source could not begin, and has said why: the program is not to blame */
			espy_session__say(s, "exec: %s: %s", o->command->path, strerror(-err));
		return err;
	}
	struct espy_task *task = espy_tasks__get(&s->tasks, (uint32_t)s->command_pid, (uint32_t)s->command_pid);
	if (task)
		task->announced = true;
	if (s->follow_fds)
		espy_resolve__inherit(&s->resolve, (uint32_t)s->command_pid);
	return 0;
}

int espy_session__open(struct espy_session **out, const struct espy_session_opts *o)
{
	struct espy_session *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->o = *o;
	if (o->output && o->command && !o->pid_cnt) /* as strace: who asked for a file wants no messages beside it */
		s->o.quiet |= ESPY_QUIET_ATTACH | ESPY_QUIET_PERSONALITY;
	s->follow_fds = o->fds != ESPY_FD_NONE || o->filter->path_cnt;
	espy_sink__init_fd(&s->sink, STDERR_FILENO);
	err = open_images(s);
	if (!err)
		err = open_call_sets(s);
	if (err)
		goto fail;
	s->per_task_sinks = o->output && o->follow > 1;
	if (o->output && !s->per_task_sinks) {
		err = espy_sink__open(&s->sink, o->output, o->append);
		if (err) {
			espy_session__say(s, "Can't open '%s': %s", o->output, strerror(-err));
			goto fail;
		}
	}
	if (o->summary != ESPY_SUMMARY_NONE) {
		s->summary = espy_summary__new(o);
		if (!s->summary) {
			err = -ENOMEM;
			goto fail;
		}
	}
	espy_resolve__init(&s->resolve, &s->tasks, s->images, o->fds != ESPY_FD_NONE, o->fds == ESPY_FD_ALL,
			   o->pid_comm);
	s->lines = (struct espy_lines){
		.o = &s->o,
		.image = &s->images[ESPY_ABI_X86_64],
		.pid_column = o->output && o->follow < 2 &&
			      (o->follow || o->all || o->cgroup || o->pid_cnt + !!o->command > 1),
		.live = &s->tasks.live,
		.resolver = &s->resolve.resolver,
		.before_result = espy_resolve__before_result,
		.resolve = &s->resolve,
		.realtime_offset_ns = (int64_t)(espy_session__clock_ns(CLOCK_REALTIME) - espy_session__clock_ns(CLOCK_MONOTONIC)),
	};
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		struct espy_text_opts *t = &s->lines.text[abi];

		*t = o->text;
		t->resolver = &s->resolve.resolver;
		t->abbrev = o->filter->abbrev.bits[abi];
		t->verbose = o->filter->verbose.bits[abi];
		t->raw = o->filter->raw.bits[abi];
	}
	raise_file_limit(s);
	err = open_source(s);
	if (!err)
		err = add_targets(s);
	if (err)
		goto fail;
	*out = s;
	return 0;
fail:
	if (err == -ENOMEM)
		espy_session__say(s, "out of memory");
	espy_session__close(s);
	return err;
}

void espy_session__stop(struct espy_session *s, int sig)
{
	s->stop_signal = sig;
	s->stopping = 1;
}

/* A call that stays open on the screen for long is marked, so that it can be told from one that is just being written.
 */
static void mark_hanging(struct espy_session *s)
{
	if (!s->sink.open || s->o.strace_mode || !s->o.hang_ms)
		return;
	if (espy_session__clock_ns(CLOCK_MONOTONIC) - s->open_since_ns >= (uint64_t)s->o.hang_ms * 1000000u)
		espy_lines__interrupt(&s->sink);
}

static void flush(struct espy_session *s)
{
	if (!s->per_task_sinks) {
		espy_sink__flush(&s->sink);
		if (s->sink.error && !s->write_error)
			s->write_error = s->sink.error;
		return;
	}
	struct espy_task *task, *next;
	HASH_ITER(hh, s->tasks.by_tid, task, next)
	{
		if (!task->sink)
			continue;
		espy_sink__flush(task->sink);
		if (task->sink->error && !s->write_error)
			s->write_error = task->sink->error;
	}
}

/* Let go of every task; what was on its way is still shown. */
static void detach_all(struct espy_session *s)
{
	struct espy_task *task, *next;

	s->src_ops->remove_target(s->src, 0);
	if (!s->write_error) {
		int saved = s->stopping;

		s->stopping = 0;
		while (s->src_ops->poll(s->src, espy_session__record, s, 0) > 0)
			;
		s->stopping = saved;
	}
	HASH_ITER(hh, s->tasks.by_tid, task, next)
	{
		struct espy_sink *sink = s->per_task_sinks ? task->sink : &s->sink;

		if (sink)
			espy_lines__detached(sink, task);
	}
	flush(s);
	for (size_t i = 0; i < s->o.pid_cnt && !(s->o.quiet & ESPY_QUIET_ATTACH); i++)
		if (espy_tasks__find(&s->tasks, (uint32_t)s->o.pids[i]))
			espy_session__say(s, "Process %d detached", s->o.pids[i]);
}

/* --detach-on=execve: the task has a new image and goes on without us. */
static void detach_one(struct espy_session *s)
{
	struct espy_task *task = espy_tasks__find(&s->tasks, s->detach_tid);

	s->src_ops->remove_target(s->src, (pid_t)s->detach_tid);
	s->detach_tid = 0;
	if (!task)
		return;
	struct espy_sink *sink = s->per_task_sinks ? task->sink : &s->sink;
	if (sink)
		espy_lines__detached(sink, task);
	if (!(s->o.quiet & ESPY_QUIET_ATTACH))
		espy_session__say(s, "Process %u detached", task->tid);
	espy_session__drop_task(s, task);
}

static void show_end(struct espy_session *s)
{
	struct espy_source_stats st = { 0 };
	uint64_t lost = 0;

	if (s->summary) {
		for (unsigned abi = 0; abi < ESPY_ABI_CNT && s->counted_by_source; abi++)
			espy_summary__source_counts(s->summary, &s->images[abi], s->src_ops, s->src);
		espy_summary__print(s->summary, &s->sink.buf);
		espy_sink__whole_lines(&s->sink);
		flush(s);
	}
	s->src_ops->stats(s->src, &st);
	for (unsigned i = 0; i < ESPY_LOST_REASONS; i++) {
		lost += st.lost[i];
		if (st.lost[i])
			espy_session__say(s, "%" PRIu64 " event%s lost: %s", st.lost[i], st.lost[i] == 1 ? "" : "s",
					  espy_lost_reason_text(i));
	}
	if (st.lost[ESPY_LOST_RING_FULL])
		espy_session__say(s, "a larger --buffer, a narrower -e trace= or -o FILE lets espy keep up");
	if (s->o.stats)
		espy_session__say(s,
				  "source %s: %" PRIu64 " records, %" PRIu64 " bytes, %" PRIu64 " lost, %" PRIu64
				  " items read again at exit, %" PRIu64 " tasks seen, %" PRIu64
				  " hanging calls shown, %" PRIu64 " wake-ups, %" PRIu64 " calls without description",
				  s->src_ops->name, st.records, st.bytes, lost, st.reread, st.tasks, st.hangs,
				  st.wakeups, s->undescribed);
}

int espy_session__run(struct espy_session *s, int *killed_by)
{
	int status = 0;

	*killed_by = 0;
	for (int n = 0; !s->stopping && !s->write_error;) {
		n = s->src_ops->poll(s->src, espy_session__record, s, POLL_MS);
		if (s->detach_tid)
			detach_one(s);
		mark_hanging(s);
		flush(s);
		if (n < 0 && n != -EINTR)
			break;
	}
	if (s->stopping || s->write_error)
		detach_all(s);
	if (s->write_error) {
		espy_session__say(s, "writing to %s: %s; tracing ends here, the program runs on",
				  s->o.output ? s->o.output : "stderr", strerror(s->write_error));
	}
	show_end(s);
	/* The command runs on after a full disk or the call limit: its status is still ours to pass on. */
	if (s->command_pid && !s->stop_signal) {
		while (s->src_ops->command_status(s->src, &status) == -EAGAIN && !s->stop_signal)
			s->src_ops->poll(s->src, espy_session__record, s, POLL_MS);
	}
	if (s->stop_signal) {
		*killed_by = s->command_pid ? s->stop_signal : 0;
		return s->command_pid ? 128 + s->stop_signal : 0;
	}
	if (s->write_error)
		return 1;
	if (WIFSIGNALED(status)) {
		*killed_by = WTERMSIG(status);
		return 128 + WTERMSIG(status);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

void espy_session__close(struct espy_session *s)
{
	if (!s)
		return;
	if (s->src)
		s->src_ops->close(s->src);
	espy_sink__close(&s->sink);
	espy_tasks__free(&s->tasks);
	espy_resolve__free(&s->resolve);
	if (s->summary)
		espy_summary__free(s->summary);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		espy_call_set__free(&s->sets[abi]);
		free(s->own_images[abi]);
	}
	free(s);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a session is opened: descriptions, filter, output, then the source or the trace, then the targets. */
#include "session/impl.h"

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "describe/builtin.h"
#include "describe/prune.h"
#include "record/clock.h"
#include "session/flight.h"
#include "session/recording.h"
#include "session/replay.h"
#include "source/agent/control.h"
#include "source/choose.h"
#include "source/marks.h"
#include "source/mux.h"

static void on_report(void *ctx, enum espy_report_level level, const char *text)
{
	struct espy_session *s = ctx;

	if (level == ESPY_REPORT_ERROR)
		s->reported = true;
	espy_session__say(s, "%s", text);
}

/* A source needs some descriptors of its own; the command shall have the limit that the user gave. */
#define ENOUGH_FILES 256
#define ENOUGH_FILES_MARKS 16384 /* one for each process with an agent */

static void raise_file_limit(struct espy_session *s)
{
	const rlim_t enough = s->o.marks ? ENOUGH_FILES_MARKS : ENOUGH_FILES;
	struct rlimit more;

	if (getrlimit(RLIMIT_NOFILE, &s->user_files) < 0 || s->user_files.rlim_cur >= enough)
		return;
	more.rlim_cur = enough;
	more.rlim_max = s->user_files.rlim_max > enough ? s->user_files.rlim_max : enough;
	if (setrlimit(RLIMIT_NOFILE, &more) < 0) { /* beyond the hard limit only with CAP_SYS_RESOURCE */
		more.rlim_max = s->user_files.rlim_max;
		more.rlim_cur = more.rlim_max < enough ? more.rlim_max : enough;
		if (setrlimit(RLIMIT_NOFILE, &more) < 0)
			return;
	}
	s->files_raised = true;
}

struct start {
	const struct espy_session *s;
	uint64_t *exec_ns; /* shared with the child; NULL if there was no memory for it */
};

/* In the child, just before its execve. */
static int child_setup(void *ctx)
{
	const struct start *start = ctx;
	const struct espy_session *s = start->s;

	if (s->files_raised && setrlimit(RLIMIT_NOFILE, &s->user_files) < 0)
		return -errno;
	int err = s->o.command->child_setup ? s->o.command->child_setup(s->o.command->child_ctx) : 0;
	if (!err && start->exec_ns)
		*start->exec_ns = espy_now_ns();
	return err;
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
		s->own_image_sizes[abi] = size;
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
		.payload = s->o.payload,
		.everything = s->o.record, /* whoever shows the trace may want it in full */
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

static unsigned needed_caps(const struct espy_session_opts *o)
{
	return (o->all || o->cgroup ? ESPY_SRC_SYSTEM_WIDE : 0) |
	       (o->record && o->record->flight_bytes ? ESPY_SRC_FLIGHT : 0);
}

/* Marks come from a source of their own; beside one of system calls, or alone. */
static int open_marks(struct espy_session *s, const struct espy_source_opts *so)
{
	const bool kernel = s->o.marks->via == ESPY_VIA_KERNEL;
	int err = espy_mux__open(&s->src, s->o.marks_only ? NULL : s->src_ops,
				 kernel ? &espy_source_usdt : &espy_source_agent, so);

	if (!err)
		s->src_ops = s->src->ops;
	return err;
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
	int err = o->marks_only ? 0 : espy_source__choose(&s->src_ops, asked, needed_caps(o), why, sizeof(why));
	if (err) {
		espy_session__say(s, "%s", why);
		return err;
	}
	if (o->pause_on_cnt && !s->src_ops->held) {
		espy_session__say(s, "--pause-on needs the source bpf%s%s", why[0] ? "; " : "", why);
		return -EOPNOTSUPP;
	}
	if (why[0] && !o->strace_mode && !(o->quiet & ESPY_QUIET_ATTACH))
		espy_session__say(s, "%s", why);

	const bool counts = o->summary == ESPY_SUMMARY_ONLY && !o->marks && s->src_ops->counts &&
			    o->status == ESPY_STATUS_ALL && !o->filter->path_cnt && !o->filter->fds.given &&
			    !o->syscall_limit && !s->trigger_cnt;
	const struct espy_source_opts so = {
		.size = sizeof(so),
		.report = on_report,
		.report_ctx = s,
		.follow = o->follow > 0,
		.need_time = o->record || o->time != ESPY_TIME_NONE || o->relative_time || o->call_time ||
			     (o->summary != ESPY_SUMMARY_NONE && !counts),
		.need_enter_ns = o->record || o->time != ESPY_TIME_NONE || o->relative_time || o->call_time ||
				 (o->summary != ESPY_SUMMARY_NONE && (!counts || shows_wall_clock(o))),
		.need_ip = o->show_ip,
		.need_signals = true,
		.count_only = counts,
		.need_fdnames = s->follow_fds,
		.need_fd_details = o->record || o->fds == ESPY_FD_ALL,
		.use_seccomp = o->seccomp,
		.enter_records = true,
		.ring_bytes = o->ring_bytes,
		.rings = o->rings,
		.triggers = s->triggers,
		.trigger_cnt = s->trigger_cnt,
		.lossless = espy_hold__lossless(s),
		.hang_ms = o->hang_ms,
		.interruptible = o->interruptible,
		.kill_on_exit = o->kill_on_exit,
		.flight_bytes = o->record ? o->record->flight_bytes : 0,
		.marks = o->marks,
		.marks_fn = espy_session__marks,
	};
	s->counted_by_source = counts;
	err = o->marks ? open_marks(s, &so) : s->src_ops->open(&s->src, &so);
	if (err) {
		espy_session__say(s, "Can't open the source %s: %s", s->src_ops ? s->src_ops->name : "of marks",
				  strerror(-err));
		return err;
	}
	for (unsigned abi = 0; abi < ESPY_ABI_CNT && !err; abi++)
		err = s->src_ops->set_calls(s->src, (enum espy_abi)abi, &s->sets[abi]);
	return err;
}

/* A record of tasks that were there before the stream: goes the way of all records. */
static void attached(struct espy_session *s, uint32_t tid, uint32_t tgid, unsigned flags, uint64_t time_ns)
{
	const struct espy_rec_attached a = { .rec = { .size = sizeof(a),
						      .type = ESPY_REC_ATTACHED,
						      .flags = (uint8_t)flags,
						      .tid = tid,
						      .tgid = tgid,
						      .time_ns = time_ns } };

	espy_session__record(s, &a.rec);
}

unsigned espy_session__seed(struct espy_session *s, pid_t pid, bool all_threads)
{
	char path[64];
	unsigned n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);

		if (!tid || (!all_threads && tid != (uint32_t)pid) || espy_agent__is_helper(dirfd(d), e->d_name))
			continue;
		attached(s, tid, (uint32_t)pid, 0, espy_now_ns());
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
	int err;

	s->reported = false;
	err = s->src_ops->add_target(s->src, &t);
	if (err) {
		if (!s->o.marks || !s->reported) /* else the source has said more */
			espy_session__say(s, "attach: %s(%d): %s", s->src_ops->name, pid, strerror(-err));
		return err;
	}
	unsigned n = espy_session__seed(s, pid, all_threads);
	if (s->follow_fds)
		espy_resolve__seed(&s->resolve, (uint32_t)pid);
	if (espy_session__tells_tasks(s)) {
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
	void *page = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct start start = { .s = s, .exec_ns = page == MAP_FAILED ? NULL : page };
	struct espy_command command = *o->command;
	command.child_setup = child_setup;
	command.child_ctx = &start;
	s->reported = false;
	err = s->src_ops->start_command(s->src, &command, &s->command_pid);
	/* It has run for a while when this is known here: a trace begins with its first call, not behind it. */
	const uint64_t exec_ns = start.exec_ns && *start.exec_ns ? *start.exec_ns : espy_now_ns();
	if (start.exec_ns)
		munmap(page, sizeof(uint64_t));
	if (err) {
		if (!s->reported) /* else the source could not begin, and has said why: the program is not to blame */
			espy_session__say(s, "exec: %s: %s", o->command->path, strerror(-err));
		return err;
	}
	attached(s, (uint32_t)s->command_pid, (uint32_t)s->command_pid, ESPY_ATTACHED_COMMAND, exec_ns);
	if (s->follow_fds)
		espy_resolve__inherit(&s->resolve, (uint32_t)s->command_pid);
	return 0;
}

/* Parts of the descriptions of one ABI that count at a time: those of two files of a set. */
#define PARTS_MAX 32

/*
 * The descriptions with which the trace was made, as far as they have come; those of this version stand in for what
 * they do not say. Numbers of calls mean the same in all of them. 0, or -errno that was said.
 */
static int open_trace_image(struct espy_session *s, enum espy_abi abi)
{
	struct espy_image parts[PARTS_MAX + 1], joined;
	const struct espy_image *list[PARTS_MAX + 1];
	size_t size = 0, bad = 0;
	const void *data;
	unsigned cnt = 0;
	void *bytes;
	int err = 0;

	s->image_changes[abi] = espy_trace_reader__section_changes(s->show->reader);
	for (; cnt < PARTS_MAX && !err; cnt += !err) {
		if (espy_trace_reader__older_section(s->show->reader, ESPY_SECTION_IMAGE, abi, cnt, &data, &size))
			break;
		list[cnt] = &parts[cnt];
		err = espy_image__open(&parts[cnt], data, size, &bad);
		if (!err && parts[cnt].abi != abi)
			err = -EBADMSG;
	}
	if (err) {
		espy_session__say(s, "%s: its descriptions for ABI %u are damaged at offset %zu", s->show->path, abi, bad);
		return err;
	}
	data = espy_builtin_image(abi, &size);
	list[cnt] = &parts[cnt];
	err = espy_image__open(&parts[cnt], data, size, NULL);
	if (!err)
		err = espy_image__join(list, cnt + 1, &joined, &bytes);
	if (err) {
		espy_session__say(s, "%s: its descriptions for ABI %u: %s", s->show->path, abi, strerror(-err));
		return err;
	}
	free(s->own_images[abi]);
	s->own_images[abi] = bytes;
	s->images[abi] = joined;
	return 0;
}

static int open_trace_images(struct espy_session *s)
{
	int err = 0;

	for (unsigned abi = 0; abi < ESPY_ABI_CNT && !err; abi++)
		err = open_trace_image(s, (enum espy_abi)abi);
	return err;
}

void espy_session__need_image(struct espy_session *s, const struct espy_rec *call)
{
	const enum espy_abi abi = espy_rec_abi(call);
	const struct espy_image *img = &s->images[abi];

	/* They come in parts, before the calls that they describe. */
	if (s->image_changes[abi] != espy_trace_reader__section_changes(s->show->reader) && open_trace_image(s, abi))
		return;
	if (call->nr < img->syscall_cnt && !(img->syscalls[call->nr].flags & ESPY_SYSCALL_STAND_IN))
		return;
	if (!s->image_lacks[abi] && call->nr < img->syscall_cnt)
		espy_session__say(s, "%s: not all descriptions for ABI %u are there: those of this version are used",
				  s->show->path, abi);
	s->image_lacks[abi] = true; /* said once */
}

static int32_t utc_offset(void *ctx, int64_t sec)
{
	const struct espy_session *s = (const struct espy_session *)((const char *)ctx -
								     offsetof(struct espy_session, resolve));

	return espy_zone__offset(&s->zone, sec);
}

static void open_trace_zone(struct espy_session *s)
{
	struct espy_trace_reader *r = s->show->reader;
	const struct espy_zone_change always = {
		.offset_s = (int32_t)espy_trace_reader__meta_number(r, "start.utc_offset_s", 0)
	};
	size_t size = 0;
	const void *bytes = espy_trace_reader__meta(r, "zone", &size);

	espy_zone__from_bytes(&s->zone, bytes, bytes ? size : 0);
	if (!s->zone.cnt)
		espy_zone__from_bytes(&s->zone, &always, sizeof(always));
	s->lines.zone = &s->zone;
	s->resolve.resolver.utc_offset = utc_offset;
}

/* For tasks and descriptors that a trace tells of; a million of each fit. */
#define TRACE_TABLES_BYTES ((size_t)512 << 20)

/* What the session that recorded knew of itself. */
static void open_trace_targets(struct espy_session *s)
{
	struct espy_trace_reader *r = s->show->reader;
	unsigned follow = (unsigned)espy_trace_reader__meta_number(r, "target.follow", 1);
	char name[32];

	s->targets = (struct espy_targets){
		.command = espy_trace_reader__meta_number(r, "target.command", 0),
		.wide = espy_trace_reader__meta_number(r, "target.wide", 0),
		.pids = (uint32_t)espy_trace_reader__meta_number(r, "target.pids", 0),
	};
	if (s->o.follow < 2)
		s->o.follow = follow ? 1 : 0;
	s->passive = espy_trace_reader__meta_number(r, "source.passive", 1);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		size_t size = 0;

		snprintf(name, sizeof(name), "calls.%u", abi);
		const void *bits = espy_trace_reader__meta(r, name, &size);
		memset(s->recorded[abi], 0xff, sizeof(s->recorded[abi]));
		if (bits)
			memcpy(s->recorded[abi], bits, size < sizeof(s->recorded[abi]) ? size : sizeof(s->recorded[abi]));
	}
	s->from_ns = espy_replay__moment(s->show, &s->show->from);
	s->to_ns = espy_replay__moment(s->show, &s->show->to);
	s->outside = s->from_ns;
	s->sink.whole_lines = true;
	open_trace_zone(s);
	/* until a record of clocks says it better */
	s->lines.realtime_offset_ns = (int64_t)(espy_trace_reader__meta_number(r, "start.realtime_ns", 0) -
						espy_trace_reader__meta_number(r, "start.monotonic_ns", 0));
	s->resolve.live = false;
	s->budget.max = TRACE_TABLES_BYTES;
	s->tasks.budget = s->resolve.fds.budget = &s->budget;
}

static void open_lines(struct espy_session *s)
{
	const struct espy_session_opts *o = &s->o;

	s->lines = (struct espy_lines){
		.o = &s->o,
		.image = &s->images[ESPY_ABI_X86_64],
		.live = &s->tasks.live,
		.resolver = &s->resolve.resolver,
		.before_result = espy_resolve__before_result,
		.resolve = &s->resolve,
		.realtime_offset_ns = (int64_t)(espy_clock_ns(CLOCK_REALTIME) - espy_now_ns()),
	};
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		struct espy_text_opts *t = &s->lines.text[abi];

		*t = o->text;
		t->resolver = &s->resolve.resolver;
		t->abbrev = o->filter->abbrev.bits[abi];
		t->verbose = o->filter->verbose.bits[abi];
		t->raw = o->filter->raw.bits[abi];
	}
}

static int open_input(struct espy_session *s)
{
	int err;

	if (s->show) {
		s->src_ops = &espy_source_replay;
		err = espy_replay__open(&s->src, s->show);
		if (!err && s->from_ns)
			err = espy_trace_reader__seek(s->show->reader, s->from_ns);
		return err;
	}
	raise_file_limit(s);
	err = open_source(s);
	if (!err && s->o.pause_on_cnt)
		err = espy_hold__open(&s->hold, s);
	if (!err && s->gathers)
		err = espy_gather__init(&s->gather, &s->resolve, s->images);
	if (err)
		return err;
	s->passive = s->src_ops->caps & ESPY_SRC_PASSIVE;
	/* After the source, whose name stands in it, and before the first task is watched. */
	if (s->o.record)
		err = s->o.record->flight_bytes ? espy_flight__open(s) : espy_recording__open(&s->recording, s);
	return err ? err : add_targets(s);
}

static int open_output(struct espy_session *s)
{
	const struct espy_session_opts *o = &s->o;
	int err;

	s->per_task_sinks = o->output && o->follow > 1;
	if (o->output && !s->per_task_sinks) {
		err = espy_sink__open(&s->sink, o->output, o->append);
		if (err) {
			espy_session__say(s, "Can't open '%s': %s", o->output, strerror(-err));
			return err;
		}
		s->sink.whole_lines = s->show;
	}
	if (o->summary != ESPY_SUMMARY_NONE) {
		s->summary = espy_summary__new(o);
		if (!s->summary)
			return -ENOMEM;
	}
	return 0;
}

int espy_session__open(struct espy_session **out, const struct espy_session_opts *o)
{
	struct espy_session *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->o = *o;
	s->show = o->show;
	s->targets = (struct espy_targets){
		.command = o->command, .wide = o->all || o->cgroup, .pids = (uint32_t)o->pid_cnt
	};
	s->gathers = o->record && !o->record->lines_too;
	s->no_lines = s->gathers || o->summary == ESPY_SUMMARY_ONLY;
	s->follow_fds = s->show || o->record || o->fds != ESPY_FD_NONE || o->filter->path_cnt;
	/* What a trace prints goes to standard output, as data does. */
	espy_sink__init_fd(&s->sink, s->show ? STDOUT_FILENO : STDERR_FILENO);
	err = s->show ? open_trace_images(s) : open_images(s);
	if (err)
		goto fail;
	espy_resolve__init(&s->resolve, &s->tasks, s->images, o->fds != ESPY_FD_NONE, o->fds == ESPY_FD_ALL,
			   o->pid_comm);
	open_lines(s);
	if (s->show)
		open_trace_targets(s);
	/* As strace: who asked for a file wants no messages beside it. */
	if (o->output && s->targets.command && !s->targets.pids)
		s->o.quiet |= ESPY_QUIET_ATTACH | ESPY_QUIET_PERSONALITY;
	if (s->show) /* when tasks came is not news any more */
		s->o.quiet |= ESPY_QUIET_ATTACH;
	s->lines.pid_column = o->output && s->o.follow < 2 &&
			      (s->o.follow || s->targets.wide || s->targets.pids + s->targets.command > 1);
	err = open_call_sets(s);
	if (!err)
		err = espy_hold__triggers(s);
	if (!err)
		err = open_output(s);
	if (!err)
		err = open_input(s);
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

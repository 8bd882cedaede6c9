/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session that runs and ends; how it is opened is in open.c, what a record does in dispatch.c. */
#include "session/impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "record/clock.h"
#include "session/flight.h"
#include "session/marks.h"
#include "session/recording.h"

/* How long one poll waits when nothing comes: the grain of the hang display and of a stop request. */
#define POLL_MS 100

int32_t espy_session__utc_offset(void)
{
	time_t now = time(NULL);
	struct tm tm;

	return localtime_r(&now, &tm) ? (int32_t)tm.tm_gmtoff : 0;
}

/* x86-64 has a counter that programs may read; where markers carry it, a trace tells how it runs against the clocks. */
static uint64_t time_stamp_counter(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

void espy_session__clock(struct espy_session *s)
{
	const struct espy_rec_clock c = {
		.rec = { .size = sizeof(c), .type = ESPY_REC_CLOCK, .time_ns = espy_now_ns() },
		.realtime_ns = espy_clock_ns(CLOCK_REALTIME),
		.tsc = time_stamp_counter(),
		.utc_offset_s = espy_session__utc_offset(),
	};

	espy_session__record(s, &c.rec);
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

void espy_session__stop(struct espy_session *s, int sig)
{
	s->stop_signal = sig;
	s->stopping = 1;
}

void espy_session__snapshot(struct espy_session *s)
{
	s->snapshot_wanted = 1;
}

void espy_session__mark_hanging(struct espy_session *s, uint64_t now_ns)
{
	if (!s->sink.open || s->passive || s->o.strace_mode || !s->o.hang_ms)
		return;
	if (now_ns >= s->open_since_ns + (uint64_t)s->o.hang_ms * 1000000u)
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
	s->src_ops->remove_target(s->src, 0);
	if (!s->write_error && !s->show) {
		int saved = s->stopping;

		s->stopping = 0;
		while (s->src_ops->poll(s->src, espy_session__record, s, 0) > 0)
			;
		s->stopping = saved;
	}
	if (!s->show)
		espy_session__show_detached(s);
	flush(s);
	for (size_t i = 0; i < s->o.pid_cnt && espy_session__tells_tasks(s); i++)
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
	if (espy_session__tells_tasks(s))
		espy_session__say(s, "Process %u detached", task->tid);
	espy_session__drop_task(s, task);
}

static const char *output_name(const struct espy_session *s)
{
	if (s->trace_error)
		return s->o.record->path;
	return s->o.output ? s->o.output : s->show ? "standard output" : "stderr";
}

/* What a trace holds and could not be shown as it was. */
static void say_what_lacks(struct espy_session *s)
{
	if (s->damaged_records > 1)
		espy_session__say(s, "%" PRIu64 " records are damaged and were left out", s->damaged_records);
	for (size_t i = 0; s->show && s->o.marks && s->marks && i < s->o.marks->cnt; i++) {
		const unsigned n = espy_marks_seen__skipped(s->marks, i);

		if (n)
			espy_session__say(s,
					  "%u mark%s of '%s' cannot be asked the condition (no such argument, or of "
					  "another type) and %s not shown",
					  n, n == 1 ? "" : "s", s->o.marks->v[i].pattern, n == 1 ? "is" : "are");
	}
	if (s->budget.refused)
		espy_session__say(s,
				  "%s claims more tasks and descriptors than are kept (%zu MB): names may be missing, "
				  "and lines of tasks",
				  s->show->path, s->budget.max >> 20);
}

/* The most that espy itself has had in memory, its buffers included; 0: not known. */
static unsigned long most_memory_kb(void)
{
	unsigned long kb = 0;
	char line[128];
	FILE *f = fopen("/proc/self/status", "re");

	while (f && !kb && fgets(line, sizeof(line), f))
		sscanf(line, "VmHWM: %lu", &kb);
	if (f)
		fclose(f);
	return kb;
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
	say_what_lacks(s);
	if (s->marks && !(s->o.quiet & ESPY_QUIET_EXIT) && !s->show)
		espy_session__show_marks(s);
	s->src_ops->stats(s->src, &st);
	if (s->targets.wide && s->o.marks && !s->show && !(s->o.quiet & ESPY_QUIET_EXIT))
		espy_session__say(s, "%" PRIu64 " process%s with an agent, marks of %" PRIu64, st.agents,
				  st.agents == 1 ? "" : "es", st.marked);
	for (unsigned i = 0; i < ESPY_LOST_REASONS; i++) {
		lost += st.lost[i];
		if (st.lost[i])
			espy_session__say(s, "%" PRIu64 " event%s lost: %s", st.lost[i], st.lost[i] == 1 ? "" : "s",
					  espy_lost_reason_text(i));
	}
	if (st.lost[ESPY_LOST_RING_FULL])
		espy_session__say(s, "a larger --buffer, a narrower -e trace= or -o FILE lets espy keep up");
	espy_hold__tell_pauses(s, &st);
	if (s->o.stats)
		espy_session__say(s,
				  "source %s: %" PRIu64 " records, %" PRIu64 " bytes, %" PRIu64 " lost, %" PRIu64
				  " items read again at exit, %" PRIu64 " tasks seen, %" PRIu64
				  " hanging calls shown, %" PRIu64 " wake-ups, %" PRIu64
				  " calls without description, %lu MB of memory at most",
				  s->src_ops->name, st.records, st.bytes, lost, st.reread, st.tasks, st.hangs,
				  st.wakeups, s->undescribed, (most_memory_kb() + 1023) / 1024);
}

static bool is_flight(const struct espy_session *s)
{
	return s->o.record && s->o.record->flight_bytes;
}

static void tick_recording(struct espy_session *s)
{
	espy_recording__tick(s->recording);
	if (espy_recording__error(s->recording) && !s->write_error) {
		s->write_error = espy_recording__error(s->recording);
		s->trace_error = true;
	}
}

/* The trace is whole from here on; the last line says what it holds. 0, or an error that was said. */
static int end_recording(struct espy_session *s, int status, bool detached)
{
	struct espy_recording *r = s->recording;
	struct espy_trace_write_stats file;
	struct espy_source_stats st = { 0 };
	unsigned flags = detached ? ESPY_END_DETACHED : 0;
	uint64_t lost = 0;

	if (s->command_pid && !s->stop_signal)
		flags |= ESPY_END_COMMAND;
	s->src_ops->stats(s->src, &st);
	espy_recording__end(r, &st, flags, status);
	const uint64_t calls = espy_recording__calls(r);
	file = espy_recording__stats(r);
	s->recording = NULL;
	s->resolve.note = NULL;
	int err = espy_recording__close(r);
	if (err) {
		if (!s->trace_error)
			espy_session__say(s, "writing to %s: %s", s->o.record->path, strerror(-err));
		return err;
	}
	for (unsigned i = 0; i < ESPY_LOST_REASONS; i++)
		lost += st.lost[i];
	if (s->gathers && !(s->o.quiet & ESPY_QUIET_ATTACH))
		espy_session__say(s,
				  "%s: %" PRIu64 " calls, %" PRIu64 " records, %.1f MB in %u file%s, %" PRIu64
				  " lost, %" PRIu64 " pause%s",
				  s->o.record->path, calls, file.records, (double)file.file_bytes / 1e6, file.files,
				  file.files == 1 ? "" : "s", lost, st.pauses, st.pauses == 1 ? "" : "s");
	return 0;
}

int espy_session__run(struct espy_session *s, int *killed_by)
{
	int status = 0;

	*killed_by = 0;
	if (is_flight(s))
		espy_flight__run(s);
	for (int n = 0; !is_flight(s) && !s->stopping && !s->write_error;) {
		n = s->src_ops->poll(s->src, espy_session__record, s, POLL_MS);
		if (s->detach_tid)
			detach_one(s);
		if (!s->show && s->sink.open)
			espy_session__mark_hanging(s, espy_now_ns());
		flush(s);
		if (s->hold)
			espy_hold__look(s->hold);
		if (s->recording)
			tick_recording(s);
		if (n < 0 && n != -EINTR)
			break;
	}
	const bool detached = s->stopping || s->write_error;
	if (detached)
		detach_all(s);
	if (s->show)
		espy_session__show_unfinished(s);
	flush(s);
	if (s->write_error && !is_flight(s)) { /* which has said which trace could not be written */
		espy_session__say(s, "writing to %s: %s; tracing ends here%s", output_name(s), strerror(s->write_error),
				  s->show ? "" : ", the program runs on");
	}
	show_end(s);
	/* The command runs on after a full disk or the call limit: its status is still ours to pass on. */
	if (s->command_pid && !s->stop_signal) {
		while (s->src_ops->command_status(s->src, &status) == -EAGAIN && !s->stop_signal)
			s->src_ops->poll(s->src, espy_session__record, s, POLL_MS);
	}
	if (s->recording && end_recording(s, status, detached) && !s->write_error)
		s->write_error = EIO;
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
	if (s->recording)
		espy_recording__close(s->recording);
	espy_gather__free(&s->gather);
	espy_hold__close(s->hold);
	if (s->src)
		s->src_ops->close(s->src);
	espy_sink__close(&s->sink);
	espy_tasks__free(&s->tasks);
	espy_resolve__free(&s->resolve);
	espy_marks_seen__free(s->marks);
	if (s->summary)
		espy_summary__free(s->summary);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		espy_call_set__free(&s->sets[abi]);
		free(s->own_images[abi]);
	}
	free(s);
}

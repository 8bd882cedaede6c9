/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tells at the end of a session of its losses, holds and marks, and gives figures on request. */
#include "lib/session_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/amount.h"
#include "base/small_file.h"
#include "lib/held_tasks.h"
#include "record/loss_text.h"
#include "sink/recording.h"
#include "sink/text/text_mark.h"
#include "state/marks_seen.h"

_Static_assert(ESPY_LOST_REASONS <= ESPY_LOSS_REASONS, "");

static void say_skipped_marks(struct espy_session *s)
{
	for (unsigned k = 0; k < s->engines.cnt; k++) {
		const struct espy_engine *e = s->engines.v[k];
		const struct espy_mark_rules *rules = &e->filter->marks;

		for (size_t i = 0; e->mark_filter && i < rules->cnt; i++) {
			const unsigned n = espy_def_filter__skipped(e->mark_filter, i);

			if (n)
				espy_session__say(s, ESPY_TOPIC_GENERAL,
						  "%u mark%s of '%s' cannot be asked the condition (no such argument, or of "
						  "another type) and %s not shown",
						  n, n == 1 ? "" : "s", rules->v[i].agent.pattern, n == 1 ? "is" : "are");
		}
	}
}

/* Tells of the parts of a trace that could not be shown as they were. */
static void say_what_lacks(struct espy_session *s)
{
	const struct espy_budget *budget = espy_state__budget(s->pipe.state);

	for (unsigned i = 0; i < s->engines.cnt; i++)
		s->run.damaged += s->engines.v[i]->sink ? s->engines.v[i]->sink->damaged : 0;
	if (s->run.damaged > 1)
		espy_session__say(s, ESPY_TOPIC_GENERAL, "%" PRIu64 " records are damaged and were left out", s->run.damaged);
	say_skipped_marks(s);
	if (budget && budget->refused)
		espy_session__say(s, ESPY_TOPIC_GENERAL,
				  "%s claims more tasks and descriptors than are kept (%zu MB): names may be missing, "
				  "and lines of tasks",
				  s->trace->path, budget->max >> 20);
}

/* Returns the most memory that this process has had, buffers included; 0: not known. */
static unsigned long most_memory_kb(void)
{
	const long kb = espy_status_field(0, "VmHWM");

	return kb > 0 ? (unsigned long)kb : 0;
}

#define SHOWN_MARKS 10

static void say_marks(struct espy_session *s)
{
	struct espy_marks_count counts[SHOWN_MARKS];
	size_t all, probes, cnt = espy_marks_seen__counts(espy_state__marks_seen(s->pipe.state), counts, SHOWN_MARKS, &all, &probes);

	for (size_t i = 0; i < cnt; i++) {
		const uint64_t ns = counts[i].last_ns - counts[i].first_ns;
		struct espy_buf b = { 0 };

		espy_mark_text__put_full_name(&b, counts[i].text);
		espy_buf__putc(&b, 0);
		/* Of a single event there is no rate. */
		if (counts[i].events > 1 && ns)
			espy_session__say(s, ESPY_TOPIC_END, "%s: %" PRIu64 " events, %.0f per second",
					  b.failed ? "?" : b.data, counts[i].events,
					  (double)(counts[i].events - 1) * 1e9 / (double)ns);
		else
			espy_session__say(s, ESPY_TOPIC_END, "%s: %" PRIu64 " event%s", b.failed ? "?" : b.data,
					  counts[i].events, espy_amount__s(counts[i].events));
		espy_buf__free(&b);
	}
	if (all > cnt)
		espy_session__say(s, ESPY_TOPIC_END, "and %zu other %s%s", all - cnt,
				  probes == all ? "probe" : probes ? "place" : "mark", espy_amount__s(all - cnt));
}

/* Tells how many calls were left out because they touch none of the paths of -P. */
static void say_off_paths(struct espy_session *s, const struct espy_source_stats *st)
{
	uint64_t here = 0;
	bool any = false;

	for (unsigned i = 0; i < s->engines.cnt; i++) {
		here += s->engines.v[i]->off_paths;
		any |= s->engines.v[i]->filter->path_cnt || s->engines.v[i]->filter->fds.given;
	}
	if (any && st->tests_paths)
		espy_session__say(s, ESPY_TOPIC_STATS,
				  "paths: the kernel left out %" PRIu64 " call%s, and espy %" PRIu64 " of those that came", st->off_paths,
				  espy_amount__s(st->off_paths), here);
	else if (any)
		espy_session__say(s, ESPY_TOPIC_STATS, "paths: espy left out %" PRIu64 " of the calls that came", here);
}

void espy_session__report_end(struct espy_session *s)
{
	struct espy_source_stats st = { 0 };
	uint64_t lost = 0;

	say_what_lacks(s);
	if (espy_state__marks_seen(s->pipe.state) && !s->trace)
		say_marks(s);
	s->src_ops->stats(s->src, &st);
	if (s->pipe.stream.origin.wide && s->marks.cnt && !s->trace)
		espy_session__say(s, ESPY_TOPIC_END, "%" PRIu64 " process%s with an agent, marks of %" PRIu64, st.agents,
				  st.agents == 1 ? "" : "es", st.marked);
	for (unsigned i = 0; i < ESPY_LOST_REASONS; i++) {
		lost += st.lost[i];
		if (st.lost[i])
			espy_session__say(s, ESPY_TOPIC_LOSS, "%" PRIu64 " event%s lost: %s", st.lost[i],
					  espy_amount__s(st.lost[i]), espy_loss_text(i));
	}
	if (st.lost[ESPY_LOST_RING_FULL])
		espy_session__say(s, ESPY_TOPIC_LOSS,
				  "a larger --buffer, a narrower -e trace= or -o FILE lets espy keep up");
	espy_hold__tell_pauses(s, &st);
	espy_session__say(s, ESPY_TOPIC_STATS,
			  "source %s: %" PRIu64 " records, %" PRIu64 " bytes, %" PRIu64 " lost, %" PRIu64
			  " items read again at exit, %" PRIu64 " tasks seen, %" PRIu64 " hanging calls shown, %" PRIu64
			  " wake-ups, %" PRIu64 " calls without description, rings of %" PRIu64
			  " KB, %lu MB of memory at most",
			  s->src_ops->name, st.records, st.bytes, lost, st.reread, st.tasks, st.hangs, st.wakeups,
			  s->run.undescribed, st.ring_bytes >> 10, (most_memory_kb() + 1023) / 1024);
	if (*st.tracepoints)
		espy_session__say(s, ESPY_TOPIC_STATS, "source %s: %s", s->src_ops->name, st.tracepoints);
	say_off_paths(s, &st);
}

static void end_trace(struct espy_session *s, struct espy_engine *e, unsigned flags, int status)
{
	struct espy_source_stats st = { 0 };
	struct espy_sink *sink = e->sink;
	char size[ESPY_AMOUNT_SIZE], kept[48] = "";
	uint64_t lost = 0;

	s->src_ops->stats(s->src, &st);
	espy_recording__end(sink, &st, flags, status);
	const struct espy_trace_write_stats file = espy_recording__stats(sink);
	const uint64_t calls = sink->calls;
	e->sink = NULL;
	const int err = sink->ops->close(sink);
	if (err) {
		if (s->run.failed != e->name)
			espy_session__error(s, "writing to %s: %s", e->name, strerror(-err));
		if (!s->run.error)
			s->run.error = EIO;
		return;
	}
	for (unsigned i = 0; i < ESPY_LOST_REASONS; i++)
		lost += st.lost[i];
	if (e->trace.keep && file.files > e->trace.keep)
		snprintf(kept, sizeof(kept), " (the newest %u are kept)", e->trace.keep);
	espy_session__say(s, ESPY_TOPIC_TRACE,
			  "%s: %" PRIu64 " call%s, %" PRIu64 " record%s, %s in %u file%s%s, %" PRIu64 " lost, %" PRIu64 " pause%s",
			  e->name, calls, espy_amount__s(calls), file.records, espy_amount__s(file.records),
			  espy_amount__bytes(size, file.file_bytes), file.files, espy_amount__s(file.files), kept, lost, st.pauses,
			  espy_amount__s(st.pauses));
}

void espy_session__end_traces(struct espy_session *s, int status)
{
	unsigned flags = s->run.detached ? ESPY_END_DETACHED : 0;

	if (s->targets.command_pid && !s->run.stop_asked)
		flags |= ESPY_END_COMMAND;
	for (unsigned i = 0; i < s->engines.cnt; i++)
		if (s->engines.v[i]->trace.path && s->engines.v[i]->sink)
			end_trace(s, s->engines.v[i], flags, status);
	espy_session__note_sinks(s);
}

int espy_session_stats(struct espy_session *s, struct espy_session_stats *stats)
{
	struct espy_session_stats st = { .size = sizeof(st) };
	struct espy_source_stats src = { 0 };

	if (!s)
		return -EINVAL;
	if (s->src)
		s->src_ops->stats(s->src, &src);
	st.records = src.records;
	st.bytes = src.bytes;
	memcpy(st.lost, src.lost, sizeof(src.lost));
	st.tasks = src.tasks;
	st.pauses = src.pauses;
	st.paused_ns = src.paused_ns;
	st.longest_pause_ns = src.longest_pause_ns;
	st.overwritten = src.overwritten;
	st.undescribed = s->run.undescribed;
	st.damaged = s->run.damaged;
	st.hangs = src.hangs;
	return espy_options__give(stats, &st, sizeof(st));
}

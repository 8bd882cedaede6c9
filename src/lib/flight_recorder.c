/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/flight_recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/amount.h"
#include "base/clock.h"
#include "lib/control_socket.h"
#include "lib/session_impl.h"
#include "sink/recording.h"

#define PREFIX "flight"
#define ASKERS 16

/* Processes that wait for a trace (`espy snapshot`). */
struct askers {
	struct espy_control *control; /* NULL: no other process can ask */
	int fd[ASKERS];
	unsigned cnt;
};

struct espy_flight {
	struct askers askers;
	const char *why; /* a snapshot is due */
	uint64_t due_ns; /* 0: none is */
	uint64_t triggers;
	unsigned snapshots; /* number of the last trace */
	bool failed;	    /* a trace could not be written */
};

/* Takes requests for a snapshot. Returns whether one has come. A process that asks meanwhile gets the same trace. */
static bool listen_to(struct askers *a)
{
	char text[ESPY_CONTROL_TEXT];
	bool asked = false;

	while (a->cnt < ASKERS) {
		const int fd = espy_control__accept(a->control, text);

		if (fd < 0)
			break;
		if (strcmp(text, "snapshot")) {
			close(fd);
			continue;
		}
		a->fd[a->cnt++] = fd;
		asked = true;
	}
	return asked;
}

/* Answers all requests. err: the error of writing, negative; 0: the trace is at path. */
static void answer(struct askers *a, int err, const char *path)
{
	char text[ESPY_CONTROL_TEXT], *whole = err ? NULL : realpath(path, NULL);

	if (err)
		snprintf(text, sizeof(text), "failed %s: %s", path, strerror(-err));
	else
		snprintf(text, sizeof(text), "written %s", whole ? whole : path);
	free(whole);
	for (unsigned i = 0; i < a->cnt; i++)
		espy_control__answer(a->fd[i], text);
	a->cnt = 0;
}

/* Tells whether a file is in the way. A FIFO or a device is not: espy writes to it. */
static bool is_taken(const struct espy_trace_options *o, const char *name)
{
	struct stat st;

	if (o->replace || !strcmp(name, "-") || lstat(name, &st))
		return false;
	return stat(name, &st) || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
}

/* Returns the engine that writes a trace at each snapshot; NULL: there is none. */
static struct espy_engine *tracing(const struct espy_session *s)
{
	for (unsigned i = 0; i < s->engines.cnt; i++)
		if (s->engines.v[i]->trace.path && !s->engines.v[i]->gone)
			return s->engines.v[i];
	return NULL;
}

/*
 * Returns the name of the next trace: the given one, then FILE.2, FILE.3, ... It steps over files of an earlier
 * recorder: the moment that the user waited for does not come again.
 */
static char *trace_name(struct espy_flight *f, const struct espy_trace_options *o)
{
	char *name = NULL;

	do {
		free(name);
		if (++f->snapshots == 1)
			name = strdup(o->path);
		else if (asprintf(&name, "%s.%u", o->path, f->snapshots) < 0)
			name = NULL;
	} while (name && is_taken(o, name));
	return name;
}

/* Tries now whether a trace can be written later. 0, or -errno that was said. */
static int check_place(struct espy_session *s, const struct espy_trace_options *o)
{
	const char *slash = strrchr(o->path, '/');
	struct stat st;
	int err = 0;

	if (!strcmp(o->path, "-"))
		return 0;
	char *dir = slash ? strndup(o->path, (size_t)(slash - o->path) + 1) : strdup(".");
	if (!dir)
		return -ENOMEM;
	if (is_taken(o, o->path))
		err = -EEXIST;
	else if (!*o->path)
		err = -ENOENT;
	else if (!stat(o->path, &st) && !S_ISREG(st.st_mode))
		err = S_ISDIR(st.st_mode) ? -EISDIR : 0;
	else if (access(dir, W_OK | X_OK))
		err = -errno;
	if (err)
		espy_recording__not_created(&s->log, o->path, err);
	free(dir);
	return err;
}

int espy_flight__open(struct espy_session *s)
{
	struct espy_engine *e = tracing(s);
	int err = e ? check_place(s, &e->trace) : 0;

	if (err)
		return err;
	s->flight = calloc(1, sizeof(*s->flight));
	if (!s->flight)
		return -ENOMEM;
	s->flight->askers.control = espy_control__listen(s, PREFIX, "snapshot");
	return 0;
}

/*
 * Writes from when on the trace is whole. Each processor keeps its own newest records, so a busy one goes back less
 * far. Before that moment the trace has only records of the other processors.
 */
static const char *since_when(const struct espy_session *s, const struct espy_source_stats *st, char *text, size_t size)
{
	const uint64_t real_ns = st->whole_since_ns + (uint64_t)espy_state__realtime_offset_ns(s->pipe.state, st->whole_since_ns);
	const time_t sec = (time_t)(real_ns / 1000000000u);
	char hms[16];
	struct tm tm;

	text[0] = '\0';
	if (st->whole_since_ns && localtime_r(&sec, &tm) && strftime(hms, sizeof(hms), "%T", &tm))
		snprintf(text, size, ", whole since %s.%06" PRIu64, hms, real_ns % 1000000000u / 1000);
	return text;
}

static int begin_trace(struct espy_session *s, struct espy_engine *e, const char *name)
{
	struct espy_trace_options o = e->trace;

	o.path = name;
	int err = espy_recording__new(&e->sink, &o, e->filter);
	if (!err)
		err = e->sink->ops->start(e->sink, &s->pipe.stream);
	s->run.clock_ns = 0;
	return err;
}

static int end_trace(struct espy_engine *e)
{
	struct espy_sink *sink = e->sink;

	e->sink = NULL;
	return sink ? sink->ops->close(sink) : 0;
}

/* Gives the records of the rings to the engines. 0, or -errno that was said. why: in words, for the message. */
static int take(struct espy_session *s, const char *why)
{
	struct espy_engine *e = tracing(s);
	struct espy_source_stats st = { 0 };
	struct espy_trace_write_stats file = { 0 };
	char *name = e ? trace_name(s->flight, &e->trace) : NULL, since[64], bytes[ESPY_AMOUNT_SIZE];
	uint64_t calls = 0;
	int n = 0;

	if (e && !name)
		return -ENOMEM;
	espy_state__reset(s->pipe.state); /* each trace begins from nothing */
	int err = e ? begin_trace(s, e, name) : 0;
	if (!err) {
		n = s->src_ops->snapshot(s->src, espy_session__record, s);
		s->src_ops->stats(s->src, &st);
	}
	if (e && !err) {
		espy_recording__end(e->sink, &st, 0, 0);
		file = espy_recording__stats(e->sink);
		calls = e->sink->calls;
	}
	if (e) {
		const int closed = end_trace(e);

		if (!err && (closed || n < 0)) {
			err = closed ? closed : n;
			espy_session__error(s, "writing to %s: %s", name, strerror(-err));
		} else if (!err) {
			espy_session__say(s, ESPY_TOPIC_TRACE,
					  "%s: %s: %" PRIu64 " call%s, %" PRIu64 " record%s, %s; %" PRIu64
					  " older ones were overwritten%s",
					  name, why, calls, espy_amount__s(calls), file.records, espy_amount__s(file.records),
					  espy_amount__bytes(bytes, file.file_bytes), st.overwritten,
					  since_when(s, &st, since, sizeof(since)));
		}
	}
	answer(&s->flight->askers, err, name ? name : "");
	free(name);
	s->flight->failed |= err != 0;
	return err;
}

void espy_flight__look(struct espy_session *s)
{
	struct espy_flight *f = s->flight;
	struct espy_source_stats st = { 0 };
	const uint64_t now = espy_now_ns();

	s->src_ops->stats(s->src, &st);
	if (listen_to(&f->askers))
		s->run.snapshot_asked = 1;
	if (!f->due_ns && (s->run.snapshot_asked || st.triggers > f->triggers)) {
		f->why = s->run.snapshot_asked ? "asked for" : "triggered";
		f->due_ns = now + s->o.snapshot_after_ns;
	}
	s->run.snapshot_asked = 0;
	f->triggers = st.triggers;
	if (f->due_ns && now >= f->due_ns) {
		take(s, f->why);
		f->due_ns = 0;
	}
}

void espy_flight__end(struct espy_session *s)
{
	/*
	 * A session that stops takes no records, so this one does not stop while it writes them. A second request to
	 * stop ends the writing.
	 */
	const bool asked = s->run.stop_asked, stopping = s->run.stopping;

	s->run.stop_asked = 0;
	s->run.stopping = false;
	take(s, asked || stopping ? "stopped" : "the end");
	if (asked)
		s->run.stop_asked = 1;
	s->run.stopping |= stopping;
	if (s->flight->failed && !s->run.error)
		s->run.error = EIO;
}

void espy_flight__close(struct espy_session *s)
{
	if (!s->flight)
		return;
	answer(&s->flight->askers, -ECANCELED, "");
	espy_control__close(s->flight->askers.control);
	free(s->flight);
}

/* ---- the other side */

struct wanted {
	pid_t espy;
	bool found;
	int err;
	char *text;
};

static void ask(void *ctx, const char *dir, const char *file, pid_t espy)
{
	struct wanted *w = ctx;

	if (espy != w->espy || w->found)
		return;
	w->err = espy_control__ask(dir, file, 0, "snapshot", w->text);
	w->found = w->err != -ECONNREFUSED;
}

int espy_ask_snapshot(pid_t espy, char *text, size_t size)
{
	static const char written[] = "written ", failed[] = "failed ";
	char answer[ESPY_CONTROL_TEXT] = "";
	struct wanted w = { .espy = espy, .text = answer };

	espy_control__each(PREFIX, ask, &w);
	if (!w.found || w.err)
		return w.found ? w.err : -ESRCH;
	const bool good = !strncmp(answer, written, sizeof(written) - 1);
	const size_t skip = good ? sizeof(written) - 1 : strncmp(answer, failed, sizeof(failed) - 1) ? 0 : sizeof(failed) - 1;

	if (size)
		snprintf(text, size, "%s", answer + skip);
	return good ? 0 : -EIO;
}

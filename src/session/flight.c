/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/flight.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "record/clock.h"
#include "session/control.h"
#include "session/impl.h"
#include "session/marks.h"
#include "session/recording.h"

#define POLL_MS 100
#define PREFIX "flight"
#define ASKERS 16

/* Those who wait for a trace (`espy snapshot`). */
struct askers {
	int sock; /* negative: nobody can ask */
	struct sockaddr_un addr;
	int fd[ASKERS];
	unsigned cnt;
};

/* A request stands until the trace is written; whoever comes meanwhile gets the same one. */
static bool listen_to(struct askers *a)
{
	char text[ESPY_CONTROL_TEXT];
	bool asked = false;

	while (a->sock >= 0 && a->cnt < ASKERS) {
		const int fd = espy_control__accept(a->sock, text);

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

/* err: of writing, negative; else the trace is at path. */
static void answer(struct askers *a, int err, const char *path)
{
	char text[ESPY_CONTROL_TEXT], *whole = err ? NULL : realpath(path, NULL);

	if (err)
		snprintf(text, sizeof(text), "failed %s: %s", path, strerror(-err));
	else
		snprintf(text, sizeof(text), "written %s", whole ? whole : path);
	free(whole);
	for (unsigned i = 0; i < a->cnt; i++) {
		espy_control__answer(a->fd[i], text);
		close(a->fd[i]);
	}
	a->cnt = 0;
}

/* Is a file in the way? A FIFO and a device are written to. */
static bool is_taken(const struct espy_record_opts *o, const char *name)
{
	struct stat st;

	if (o->force || !strcmp(name, "-") || lstat(name, &st))
		return false;
	return stat(name, &st) || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
}

/*
 * The first trace has the name that was given; those after it FILE.2, FILE.3, ... What an earlier recorder has left
 * there is stepped over: the moment that was waited for does not come again.
 */
static char *trace_name(struct espy_session *s)
{
	const struct espy_record_opts *o = s->o.record;
	char *name = NULL;

	do {
		free(name);
		if (++s->snapshots == 1)
			name = strdup(o->path);
		else if (asprintf(&name, "%s.%u", o->path, s->snapshots) < 0)
			name = NULL;
	} while (name && is_taken(o, name));
	return name;
}

int espy_flight__open(struct espy_session *s)
{
	const struct espy_record_opts *o = s->o.record;
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
		espy_recording__not_created(s, o->path, err);
	free(dir);
	return err;
}

/* Each trace begins from nothing: what the tables knew belongs to the one before. */
static int forget_everything(struct espy_session *s)
{
	const struct espy_session_opts *o = &s->o;

	espy_tasks__free(&s->tasks);
	s->tasks = (struct espy_tasks){ 0 };
	espy_marks_seen__free(s->marks);
	s->marks = NULL;
	espy_gather__free(&s->gather);
	espy_resolve__free(&s->resolve);
	espy_resolve__init(&s->resolve, &s->tasks, s->images, o->fds != ESPY_FD_NONE, o->fds == ESPY_FD_ALL,
			   o->pid_comm);
	return espy_gather__init(&s->gather, &s->resolve, s->images);
}

/*
 * Each processor keeps its own newest records, so one that was busy goes back less far than the others. Before that
 * moment the trace has what the others did.
 */
static const char *since_when(const struct espy_session *s, const struct espy_source_stats *st, char *text, size_t size)
{
	const uint64_t real_ns = st->whole_since_ns + (uint64_t)s->lines.realtime_offset_ns;
	const time_t sec = (time_t)(real_ns / 1000000000u);
	char hms[16];
	struct tm tm;

	text[0] = '\0';
	if (st->whole_since_ns && localtime_r(&sec, &tm) && strftime(hms, sizeof(hms), "%T", &tm))
		snprintf(text, size, ", whole since %s.%06" PRIu64, hms, real_ns % 1000000000u / 1000);
	return text;
}

/* 0, or -errno that was said. why: in words, for the message. */
static int write_trace(struct espy_session *s, struct askers *askers, const char *why)
{
	struct espy_record_opts o = *s->o.record;
	const struct espy_record_opts *const own = s->o.record;
	struct espy_source_stats st = { 0 };
	char *name = trace_name(s), since[64];

	if (!name)
		return -ENOMEM;
	o.path = name;
	s->o.record = &o;
	int err = forget_everything(s);
	if (err)
		espy_session__say(s, "%s: %s", name, strerror(-err));
	else
		err = espy_recording__open(&s->recording, s);
	if (err)
		goto out;
	int n = s->src_ops->snapshot(s->src, espy_session__record, s);
	s->src_ops->stats(s->src, &st);
	espy_recording__end(s->recording, &st, 0, 0);
	const struct espy_trace_write_stats file = espy_recording__stats(s->recording);
	const uint64_t calls = espy_recording__calls(s->recording);
	struct espy_recording *r = s->recording;
	s->recording = NULL;
	s->resolve.note = NULL;
	err = espy_recording__close(r);
	if (!err && n < 0)
		err = n;
	if (err)
		espy_session__say(s, "writing to %s: %s", name, strerror(-err));
	else if (!(s->o.quiet & ESPY_QUIET_ATTACH))
		espy_session__say(s, "%s: %s: %" PRIu64 " calls, %" PRIu64 " records, %.1f MB; %" PRIu64
				     " older ones were overwritten%s", name, why, calls, file.records,
				  (double)file.file_bytes / 1e6, st.overwritten, since_when(s, &st, since, sizeof(since)));
out:
	answer(askers, err, name);
	s->o.record = own;
	free(name);
	return err;
}

void espy_flight__run(struct espy_session *s)
{
	struct espy_source_stats st = { 0 };
	const char *why = NULL;
	uint64_t due_ns = 0, triggers = 0;
	struct askers askers = { .cnt = 0 };

	askers.sock = espy_control__listen(PREFIX, &askers.addr);
	if (askers.sock < 0)
		espy_session__say(s, "`espy snapshot` cannot reach this espy (a socket in %s: %s)", espy_control__where(),
				  strerror(-askers.sock));
	while (!s->stopping) {
		int n = s->src_ops->poll(s->src, espy_session__record, s, POLL_MS);
		const uint64_t now = espy_now_ns();

		s->src_ops->stats(s->src, &st);
		if (listen_to(&askers))
			s->snapshot_wanted = 1;
		if (!due_ns && (s->snapshot_wanted || st.triggers > triggers)) {
			why = s->snapshot_wanted ? "asked for" : "triggered";
			due_ns = now + s->o.record->after_ns;
		}
		s->snapshot_wanted = 0;
		triggers = st.triggers;
		if (n < 0 && n != -EINTR)
			break;
		if (due_ns && now >= due_ns) {
			if (write_trace(s, &askers, why))
				s->write_error = EIO;
			due_ns = 0;
		}
	}
	/*
	 * What led to the end is what a flight recorder is for. Records are not taken from a session that stops, so it
	 * does not while they are written; a second wish to stop ends the writing.
	 */
	const int stopped = s->stopping;
	s->stopping = 0;
	if (write_trace(s, &askers, stopped ? "stopped" : "the end"))
		s->write_error = EIO;
	if (stopped)
		s->stopping = stopped;
	if (askers.sock >= 0) {
		unlink(askers.addr.sun_path);
		close(askers.sock);
	}
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

int espy_flight__ask(pid_t espy, char text[ESPY_CONTROL_TEXT])
{
	static const char written[] = "written ", failed[] = "failed ";
	struct wanted w = { .espy = espy, .text = text };

	espy_control__each(PREFIX, ask, &w);
	if (!w.found || w.err)
		return w.found ? w.err : -ESRCH;
	const bool good = !strncmp(text, written, sizeof(written) - 1);
	const size_t skip = good ? sizeof(written) - 1 : strncmp(text, failed, sizeof(failed) - 1) ? 0 : sizeof(failed) - 1;

	memmove(text, text + skip, strlen(text + skip) + 1);
	return good ? 0 : -EIO;
}

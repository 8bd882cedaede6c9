/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The contents of a trace: its own facts, and the numbers of its records of each kind, without its text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "base/json.h"
#include "lib/replay.h"
#include "lib/session_impl.h"
#include "record/loss_text.h"
#include "trace/trace.h"
#include "trace/trace_format.h"

const char *espy_lost_text(unsigned reason)
{
	return espy_loss_text(reason);
}

static const char *text_of(struct espy_trace_reader *r, const char *name)
{
	size_t size;
	const char *text = espy_trace_reader__meta(r, name, &size);

	return text ? text : ""; /* a NUL follows it in memory */
}

static void take_head(struct espy_trace_reader *r, struct espy_trace_contents *c)
{
	c->espy_version = text_of(r, "espy.version");
	c->host = text_of(r, "host.name");
	c->kernel = text_of(r, "host.kernel");
	c->machine = text_of(r, "host.machine");
	c->source = text_of(r, "source.name");
	c->cpus = (unsigned)espy_trace_reader__meta_number(r, "host.cpus", 0);
	c->passive = espy_trace_reader__meta_number(r, "source.passive", 0);
	c->command = espy_trace_reader__meta(r, "command", &c->command_size);
	if (!c->command)
		c->command_size = 0;
	c->start_unix_ns = espy_trace_reader__meta_number(r, "start.realtime_ns", 0);
	c->utc_offset_s = (int32_t)espy_trace_reader__meta_number(r, "start.utc_offset_s", 0);
}

struct counting {
	struct espy_trace_contents *c;
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC; first_ns 0: no time was met yet */
};

static int count(void *ctx, const struct espy_rec *rec)
{
	struct counting *n = ctx;

	switch (rec->type) {
	case ESPY_REC_EXIT:
		n->c->calls++;
		break;
	case ESPY_REC_SIGNAL:
		n->c->signals++;
		break;
	case ESPY_REC_MARK:
		n->c->marks++;
		break;
	case ESPY_REC_LOST:
		if (rec->nr == ESPY_LOST_OVERWRITTEN)
			n->c->overwritten += ((const struct espy_rec_lost *)rec)->count;
		break;
	case ESPY_REC_END:
		n->c->program_ended = rec->flags & ESPY_END_COMMAND;
		n->c->program_status = n->c->program_ended ? (int)((const struct espy_rec_end *)rec)->status : 0;
		n->c->detached = rec->flags & ESPY_END_DETACHED;
		break;
	}
	espy_times__widen(&n->first_ns, &n->last_ns, rec->time_ns, rec->time_ns);
	return 0;
}

int espy_trace_contents(struct espy_trace *t, struct espy_trace_contents *contents)
{
	struct espy_trace_contents c = { .size = sizeof(c) };
	struct counting n = { .c = &c };
	struct espy_source_stats st = { 0 };
	struct espy_trace_read_stats read;
	struct espy_source *src;

	if (!t || !contents)
		return -EINVAL;
	take_head(t->reader, &c);
	n.first_ns = espy_trace_reader__meta_number(t->reader, "start.monotonic_ns", 0);
	int err = espy_replay__open(&src, t->reader, false);

	if (err)
		return err;
	do
		err = src->ops->poll(src, count, &n, 0);
	while (err >= 0);
	src->ops->stats(src, &st);
	src->ops->close(src);
	if (err != -ESRCH)
		return err;
	espy_trace_reader__stats(t->reader, &read);
	c.duration_ns = n.last_ns > n.first_ns ? n.last_ns - n.first_ns : 0;
	c.records = st.records;
	c.tasks = st.tasks;
	memcpy(c.lost, st.lost, sizeof(st.lost));
	c.pauses = st.pauses;
	c.paused_ns = st.paused_ns;
	c.longest_pause_ns = st.longest_pause_ns;
	c.files = read.files;
	c.file_bytes = read.file_bytes ? read.file_bytes : read.offset; /* a stream has no size, but an end */
	return espy_options__give(contents, &c, sizeof(c));
}

/* ---- as JSON */

static void put_bool(struct espy_json *j, const char *key, bool x)
{
	espy_json__key(j, key);
	espy_json__bool(j, x);
}

/* Puts foreign text. */
static void put_text(struct espy_json *j, const char *key, const char *text)
{
	espy_json__key(j, key);
	espy_json__bytes(j, text, strlen(text));
}

static void put_words(struct espy_json *j, const char *key, const char *words, size_t size)
{
	espy_json__key(j, key);
	espy_json__open(j, '[');
	for (size_t at = 0; at < size; at += strnlen(words + at, size - at) + 1)
		espy_json__bytes(j, words + at, strnlen(words + at, size - at));
	espy_json__close(j, ']');
}

/* {"exit":N}, {"signal":N}, or null while it ran. */
static void put_program_end(struct espy_json *j, const struct espy_trace_contents *c)
{
	const int status = c->program_status;

	espy_json__key(j, "program_end");
	if (!c->program_ended) {
		espy_json__null(j);
		return;
	}
	espy_json__open(j, '{');
	if (WIFSIGNALED(status))
		espy_json__key_u64(j, "signal", (unsigned)WTERMSIG(status));
	else
		espy_json__key_u64(j, "exit", (unsigned)WEXITSTATUS(status));
	espy_json__close(j, '}');
}

static void put_losses(struct espy_json *j, const struct espy_trace_contents *c)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < ESPY_LOSS_REASONS; i++)
		all += c->lost[i];
	espy_json__key_u64(j, "lost", all);
	espy_json__key(j, "lost_by_reason");
	espy_json__open(j, '[');
	for (unsigned i = 0; i < ESPY_LOSS_REASONS; i++)
		if (c->lost[i]) {
			espy_json__open(j, '{');
			put_text(j, "reason", espy_lost_text(i));
			espy_json__key_u64(j, "count", c->lost[i]);
			espy_json__close(j, '}');
		}
	espy_json__close(j, ']');
	espy_json__key_u64(j, "overwritten", c->overwritten);
}

static void put_head(struct espy_json *j, const struct espy_trace_info *i, const struct espy_trace_contents *c)
{
	put_text(j, "espy_version", c->espy_version);
	put_text(j, "host", c->host);
	put_text(j, "kernel", c->kernel);
	put_text(j, "machine", c->machine);
	espy_json__key_u64(j, "cpus", c->cpus);
	put_text(j, "source", c->source);
	put_bool(j, "passive", c->passive);
	put_bool(j, "program", i->program);
	put_words(j, "command", c->command, c->command_size);
	espy_json__key_u64(j, "pids", i->pids);
	put_bool(j, "wide", i->wide);
	put_bool(j, "follow", i->follow);
	put_words(j, "selected", i->words, i->words_size);
	espy_json__key_u64(j, "start_unix_ns", c->start_unix_ns);
	espy_json__key(j, "utc_offset_s");
	espy_json__i64(j, c->utc_offset_s);
}

int espy_trace_contents_json(struct espy_trace *t, const struct espy_trace_contents *contents, char **json)
{
	struct espy_trace_info i = { .size = sizeof(i) };
	struct espy_trace_contents own;
	struct espy_buf b = { 0 };
	struct espy_json j = { .b = &b };
	int err = json ? espy_trace_info(t, &i) : -EINVAL;

	err = err ? err : espy_options__take(&own, sizeof(own), contents);
	if (err)
		return err;
	espy_json__open(&j, '{');
	put_text(&j, "trace", t->path);
	put_head(&j, &i, &own);
	espy_json__key_u64(&j, "duration_ns", own.duration_ns);
	put_bool(&j, "finished", i.finished);
	put_program_end(&j, &own);
	put_bool(&j, "detached", own.detached);
	espy_json__key_u64(&j, "calls", own.calls);
	espy_json__key_u64(&j, "signals", own.signals);
	espy_json__key_u64(&j, "marks", own.marks);
	espy_json__key_u64(&j, "tasks", own.tasks);
	espy_json__key_u64(&j, "records", own.records);
	put_losses(&j, &own);
	espy_json__key_u64(&j, "holds", own.pauses);
	espy_json__key_u64(&j, "held_ns", own.paused_ns);
	espy_json__key_u64(&j, "longest_hold_ns", own.longest_pause_ns);
	espy_json__key_u64(&j, "files", own.files);
	espy_json__key_u64(&j, "file_bytes", own.file_bytes);
	espy_json__key_u64(&j, "damaged", i.damaged);
	espy_json__key_u64(&j, "unknown_sections", i.unknown_sections);
	espy_json__key_u64(&j, "unknown_records", i.unknown_records);
	espy_json__close(&j, '}');
	*json = espy_buf__string(&b);
	return *json ? 0 : -ENOMEM;
}

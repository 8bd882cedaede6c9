/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A trace file in place of a source: opens it, and chooses the part that is shown. */
#include "lib/session_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/replay.h"
#include "trace/trace.h"

static void open_trace_zone(struct espy_session *s)
{
	struct espy_zone *zone = espy_state__zone(s->pipe.state);
	struct espy_trace_reader *r = s->trace->reader;
	const struct espy_zone_change always = {
		.offset_s = (int32_t)espy_trace_reader__meta_number(r, "start.utc_offset_s", 0)
	};
	size_t size = 0;
	const void *bytes = espy_trace_reader__meta(r, "zone", &size);

	espy_zone__from_bytes(zone, bytes, bytes ? size : 0);
	if (!zone->cnt)
		espy_zone__from_bytes(zone, &always, sizeof(always));
}

/* Takes from the trace its targets and the calls that it holds, and opens the window that is shown. */
void espy_session__open_window(struct espy_session *s)
{
	struct espy_trace_reader *r = s->trace->reader;
	unsigned follow = (unsigned)espy_trace_reader__meta_number(r, "target.follow", 1);
	char name[32];

	s->pipe.stream.origin = (struct espy_origin){
		.command = espy_trace_reader__meta_number(r, "target.command", 0),
		.wide = espy_trace_reader__meta_number(r, "target.wide", 0),
		.pids = (uint32_t)espy_trace_reader__meta_number(r, "target.pids", 0),
	};
	s->pipe.stream.origin.follow = follow ? 1 : 0;
	s->pipe.stream.passive = espy_trace_reader__meta_number(r, "source.passive", 1);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		size_t size = 0;

		snprintf(name, sizeof(name), "calls.%u", abi);
		const void *bits = espy_trace_reader__meta(r, name, &size);
		memset(s->window.recorded[abi], 0xff, sizeof(s->window.recorded[abi]));
		if (bits)
			memcpy(s->window.recorded[abi], bits, size < sizeof(s->window.recorded[abi]) ? size : sizeof(s->window.recorded[abi]));
	}
	s->window.from_ns = espy_replay__moment(r, &s->o.from);
	s->window.to_ns = espy_replay__moment(r, &s->o.to);
	s->pipe.stream.outside = s->window.from_ns;
	open_trace_zone(s);
	/* until a record of clocks says it better */
	espy_state__set_realtime_offset(s->pipe.state,
					(int64_t)(espy_trace_reader__meta_number(r, "start.realtime_ns", 0) -
						  espy_trace_reader__meta_number(r, "start.monotonic_ns", 0)));
}

int espy_session__open_trace(struct espy_session *s)
{
	int err = espy_replay__open(&s->src, s->trace->reader, s->trace->follow);

	s->src_ops = &espy_source_replay;
	if (!err && s->window.from_ns)
		err = espy_trace_reader__seek(s->trace->reader, s->window.from_ns);
	return err;
}

/* ---- the handle */

static void on_damage(void *ctx, const struct espy_trace_damage *d)
{
	struct espy_trace *t = ctx;

	t->damaged++;
	espy_log__say(&t->log, ESPY_LOG_ERROR, ESPY_TOPIC_DAMAGE,
		      "%s: damaged at offset %" PRIu64 ": %s (%" PRIu64 " bytes left out)", t->path, d->offset, d->what,
		      d->skipped);
}

static void on_log(void *ctx, int level, int topic, const char *text)
{
	struct espy_trace *t = ctx;

	if (t->log_fn)
		t->log_fn(t->log_ctx, (enum espy_log_level)level, (enum espy_log_topic)topic, text);
}

int espy_trace_open(struct espy_trace **out, const char *path, bool follow, espy_log_fn log, void *log_ctx)
{
	struct espy_trace *t = out && path ? calloc(1, sizeof(*t)) : NULL;
	char why[256] = "";

	if (!out || !path)
		return -EINVAL;
	if (t)
		t->path = strdup(path);
	if (!t || !t->path) {
		free(t);
		return -ENOMEM;
	}
	t->users = 1;
	t->follow = follow;
	t->log_fn = log;
	t->log_ctx = log_ctx;
	t->log = (struct espy_log){ .fn = on_log, .ctx = t };
	const struct espy_trace_read_opts o = { .damage = on_damage, .damage_ctx = t, .follow = follow };
	int err = espy_trace_reader__open(&t->reader, path, &o, why, sizeof(why));
	if (err) {
		espy_log__say(&t->log, ESPY_LOG_ERROR, ESPY_TOPIC_GENERAL, "%s: %s", path, why[0] ? why : strerror(-err));
		free(t->path);
		free(t);
		return err;
	}
	*out = t;
	return 0;
}

int espy_session__take_trace(struct espy_session *s, struct espy_trace *t)
{
	if (t->taken)
		return -EBUSY;
	t->taken = true;
	t->users++;
	s->trace = t;
	return 0;
}

void espy_trace_close(struct espy_trace *t)
{
	if (!t || --t->users)
		return;
	espy_trace_reader__close(t->reader);
	free(t->path);
	free(t);
}

int espy_trace_info(struct espy_trace *t, struct espy_trace_info *info)
{
	struct espy_trace_info i = { .size = sizeof(i) };
	struct espy_trace_read_stats st;

	if (!t)
		return -EINVAL;
	espy_trace_reader__stats(t->reader, &st);
	i.words = espy_trace_reader__meta(t->reader, "select", &i.words_size);
	if (!i.words)
		i.words_size = 0;
	i.program = espy_trace_reader__meta_number(t->reader, "target.command", 0);
	i.wide = espy_trace_reader__meta_number(t->reader, "target.wide", 0);
	i.pids = (unsigned)espy_trace_reader__meta_number(t->reader, "target.pids", 0);
	i.follow = espy_trace_reader__meta_number(t->reader, "target.follow", 1);
	i.finished = st.finished;
	i.offset = st.offset;
	i.records = st.records;
	i.damaged = t->damaged;
	i.unknown_sections = st.unknown_sections;
	i.unknown_records = st.unknown_records;
	return espy_options__give(info, &i, sizeof(i));
}

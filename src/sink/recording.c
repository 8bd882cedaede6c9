/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "base/clock.h"
#include "sink/trace_schema.h"
#include "state/maps.h"
#include "state/state.h"
#include "state/zone.h"

struct espy_recording {
	struct espy_sink base;
	const struct espy_stream *stream;
	struct espy_trace_options o;
	const struct espy_filter *filter;
	struct espy_trace_writer *w;
	struct espy_maps *maps;
	struct espy_trace_schema *schema;
	uint64_t begun_ns;
	bool begun, ended; /* ended: by espy_recording__end */
};

static struct espy_recording *to_recording(struct espy_sink *s)
{
	return (struct espy_recording *)s;
}

static void put(struct espy_recording *r, const struct espy_rec *rec)
{
	espy_trace_schema__record(r->schema, rec);
	espy_sink__fail(&r->base, espy_trace_writer__record(r->w, rec));
}

static int put_fact(void *ctx, const struct espy_rec *rec)
{
	put(ctx, rec);
	return 0;
}

static int meta_words(struct espy_trace_meta *m, const char *name, const char *const *words, size_t cnt)
{
	struct espy_buf b = { 0 };

	for (size_t i = 0; i < cnt; i++)
		espy_buf__put(&b, words[i], strlen(words[i]) + 1);
	int err = espy_trace_meta__add(m, name, b.data, b.len);
	espy_buf__free(&b);
	return err;
}

static size_t count_words(char *const *words)
{
	size_t n = 0;

	while (words[n])
		n++;
	return n;
}

static int put_meta(struct espy_recording *r, uint64_t realtime_ns)
{
	const struct espy_origin *from = &r->stream->origin;
	struct espy_trace_meta *m = espy_trace_meta__new();
	struct utsname u = { 0 };
	struct espy_zone zone;
	char name[32];
	int err = 0;

	if (!m)
		return -ENOMEM;
	uname(&u);
	err |= espy_trace_meta__add_text(m, "espy.version", ESPY_VERSION);
	err |= espy_trace_meta__add_text(m, "host.name", u.nodename);
	err |= espy_trace_meta__add_text(m, "host.kernel", u.release);
	err |= espy_trace_meta__add_text(m, "host.build", u.version);
	err |= espy_trace_meta__add_text(m, "host.machine", u.machine);
	err |= espy_trace_meta__add_number(m, "host.cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	err |= espy_trace_meta__add_text(m, "source.name", from->source);
	err |= espy_trace_meta__add_number(m, "source.passive", r->stream->passive);
	err |= espy_trace_meta__add_number(m, "target.command", from->command);
	err |= espy_trace_meta__add_number(m, "target.pids", from->pids);
	err |= espy_trace_meta__add_number(m, "target.wide", from->wide);
	err |= espy_trace_meta__add_number(m, "target.follow", from->follow);
	if (from->argv)
		err |= meta_words(m, "command", (const char *const *)from->argv, count_words(from->argv));
	err |= espy_trace_meta__add_number(m, "payload.strings", r->o.string_limit);
	err |= espy_trace_meta__add_number(m, "payload.data",
					   r->o.limit_data ? r->o.data_limit : r->o.string_limit);
	err |= espy_trace_meta__add_number(m, "payload.env", !r->o.no_environment);
	err |= espy_trace_meta__add_number(m, "start.monotonic_ns", r->begun_ns);
	err |= espy_trace_meta__add_number(m, "start.realtime_ns", realtime_ns);
	err |= espy_trace_meta__add_number(m, "start.utc_offset_s", (uint32_t)espy_utc_offset());
	espy_zone__here(&zone);
	err |= espy_trace_meta__add(m, "zone", zone.change, zone.cnt * sizeof(zone.change[0]));
	err |= meta_words(m, "select", r->o.words, r->o.word_count);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		/* The user's choice. The source sends more calls, for the tables of descriptors. */
		snprintf(name, sizeof(name), "calls.%u", abi);
		err |= espy_trace_meta__add(m, name, r->filter->trace.bits[abi], sizeof(r->filter->trace.bits[abi]));
	}
	if (!err) {
		size_t size;
		const void *bytes = espy_trace_meta__bytes(m, &size);

		err = espy_trace_writer__section(r->w, ESPY_SECTION_META, 0, bytes, size);
	} else {
		err = -ENOMEM;
	}
	espy_trace_meta__free(m);
	return err;
}

/* Puts the state in front of a file that begins in the middle of the stream. */
static int put_state(void *ctx, struct espy_trace_writer *w)
{
	struct espy_recording *r = ctx;

	(void)w; /* our own */
	espy_state__dump(r->stream->state, put_fact, r);
	return -r->base.error;
}

static int put_descriptions(void *ctx, struct espy_trace_writer *w, unsigned file)
{
	struct espy_recording *r = ctx;

	if (espy_state__had_netlink(r->stream->state))
		espy_trace_schema__netlink(r->schema);
	return espy_trace_schema__write(r->schema, w, file);
}

void espy_recording__not_created(const struct espy_log *log, const char *path, int err)
{
	struct stat st;

	if ((err == -EEXIST || err == -EISDIR) && !stat(path, &st) && S_ISDIR(st.st_mode))
		espy_log__say(log, ESPY_LOG_ERROR, ESPY_TOPIC_GENERAL, "%s is a directory: -o takes the name of a file", path);
	else if (err == -EEXIST)
		espy_log__say(log, ESPY_LOG_ERROR, ESPY_TOPIC_GENERAL, "%s exists: --force replaces it", path);
	else
		espy_log__say(log, ESPY_LOG_ERROR, ESPY_TOPIC_GENERAL, "Can't create the trace '%s': %s", path,
			      strerror(-err));
}

static int recording_start(struct espy_sink *s, const struct espy_stream *stream)
{
	struct espy_recording *r = to_recording(s);
	const struct espy_trace_write_opts wo = {
		.path = r->o.path,
		.force = r->o.replace,
		.level = r->o.level,
		.rotate_bytes = r->o.rotate_bytes,
		.keep = r->o.keep,
		.state = put_state,
		.state_ctx = r,
		.describe = put_descriptions,
	};

	r->stream = stream;
	r->begun_ns = espy_now_ns();
	r->maps = espy_maps__new(put_fact, r);
	/* Descriptions of all ABIs. They come into the trace with the calls that need them. */
	r->schema = espy_trace_schema__new(stream->images, stream->image_bytes, stream->image_sizes);
	int err = r->maps && r->schema ? espy_trace_writer__open(&r->w, &wo) : -ENOMEM;
	if (err)
		espy_recording__not_created(stream->log, r->o.path, err);
	return err;
}

/* Begins the trace with the first event, not while the session makes ready for it. */
static int begin(struct espy_recording *r, uint64_t first_ns)
{
	const uint64_t now = espy_now_ns();

	r->begun = true;
	r->begun_ns = first_ns && first_ns < now ? first_ns : now;
	return put_meta(r, espy_clock_ns(CLOCK_REALTIME) - (now - r->begun_ns));
}

/* Room for the facts from one record, except a new image with many libraries. */
#define FACTS_BYTES (32u << 10)

static void recording_expect(struct espy_sink *s, const struct espy_rec *rec, size_t size)
{
	struct espy_recording *r = to_recording(s);
	int err = r->begun ? 0 : begin(r, rec->time_ns);

	if (!err)
		err = espy_trace_writer__reserve(r->w, size + FACTS_BYTES);
	espy_sink__fail(s, err);
}

static void recording_record(struct espy_sink *s, const struct espy_rec *rec, const struct espy_call_view *call)
{
	struct espy_recording *r = to_recording(s);

	if (rec->type == ESPY_REC_PAD)
		return;
	if (rec->type == ESPY_REC_EXIT) {
		s->calls++;
		if (call)
			espy_maps__call(r->maps, call, r->stream->state);
	} else if (rec->type == ESPY_REC_ATTACHED || rec->type == ESPY_REC_EXEC) {
		espy_maps__process(r->maps, rec->tgid, rec->time_ns);
	}
	put(r, rec);
}

static void recording_fact(struct espy_sink *s, const struct espy_rec *fact)
{
	put(to_recording(s), fact);
}

static void recording_marks(struct espy_sink *s, const void *marks, size_t size)
{
	espy_sink__fail(s, espy_trace_writer__records(to_recording(s)->w, marks, size));
}

static void recording_flush(struct espy_sink *s)
{
	espy_sink__fail(s, espy_trace_writer__tick(to_recording(s)->w, espy_now_ns()));
}

struct espy_trace_write_stats espy_recording__stats(const struct espy_sink *s)
{
	struct espy_trace_write_stats st = { 0 };
	const struct espy_recording *r = (const struct espy_recording *)s;

	if (r->w)
		espy_trace_writer__stats(r->w, &st);
	return st;
}

void espy_recording__end(struct espy_sink *s, const struct espy_source_stats *st, unsigned flags, int status)
{
	struct espy_recording *r = to_recording(s);
	struct espy_rec_end end = {
		.rec = { .size = sizeof(end), .type = ESPY_REC_END, .flags = (uint8_t)flags, .time_ns = espy_now_ns() },
		.status = (uint32_t)status,
		.records = st->records,
		.pauses = st->pauses,
		.paused_ns = st->paused_ns,
		.longest_pause_ns = st->longest_pause_ns,
	};

	for (unsigned i = 0; i < ESPY_LOST_REASONS; i++)
		end.lost += st->lost[i];
	r->ended = true;
	put(r, &end.rec);
	espy_sink__fail(s, espy_trace_writer__flush(r->w));
}

/* Removes the file of a session that watched nothing, as its program is not there: it would hinder the next attempt. */
static void remove_unused(const struct espy_trace_options *o)
{
	char *name = NULL;
	struct stat st;

	if (asprintf(&name, o->rotate_bytes ? "%s.0" : "%s", o->path) < 0)
		return;
	if (strcmp(o->path, "-") && !lstat(name, &st) && S_ISREG(st.st_mode))
		unlink(name);
	free(name);
}

static void recording_written(const struct espy_sink *s, uint64_t *bytes, uint64_t *records, unsigned *files)
{
	const struct espy_trace_write_stats st = espy_recording__stats(s);

	*bytes = st.file_bytes;
	*records = st.records;
	*files = st.files;
}

static int recording_close(struct espy_sink *s)
{
	struct espy_recording *r = to_recording(s);
	int err = r->w ? espy_trace_writer__close(r->w) : 0;

	if (r->w && !r->begun && !r->ended)
		remove_unused(&r->o);
	if (s->error)
		err = -s->error;
	espy_maps__free(r->maps);
	espy_trace_schema__free(r->schema);
	free(r);
	return err;
}

static const struct espy_sink_ops recording_ops = {
	.name = "trace",
	.start = recording_start,
	.expect = recording_expect,
	.record = recording_record,
	.fact = recording_fact,
	.marks = recording_marks,
	.written = recording_written,
	.flush = recording_flush,
	.close = recording_close,
};

int espy_recording__new(struct espy_sink **out, const struct espy_trace_options *o, const struct espy_filter *f)
{
	struct espy_recording *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->base.ops = &recording_ops;
	r->o = *o;
	if (!o->level_given)
		r->o.level = 3;
	if (!o->string_limit_given)
		r->o.string_limit = 32;
	r->filter = f;
	*out = &r->base;
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "describe/builtin.h"
#include "record/clock.h"
#include "session/described.h"
#include "session/impl.h"
#include "session/maps.h"
#include "session/marks.h"
#include "session/resolve_impl.h"

/* Clocks drift apart by some microseconds in that time. */
#define CLOCK_EVERY_NS UINT64_C(10000000000)
#define PROGRESS_EVERY_NS 500000000u

struct espy_recording {
	struct espy_session *s;
	const struct espy_record_opts *o;
	struct espy_trace_writer *w;
	struct espy_maps *maps;
	struct espy_described *described;
	uint64_t calls;
	struct espy_rec_clock last_clock; /* what times were told by; size 0: none yet */
	uint64_t begun_ns, clock_ns, progress_ns;
	bool progress_shown, ended; /* ended: by espy_recording__end */
	bool begun;
	int error; /* of writing, positive; the first one */
};

static void put(struct espy_recording *r, const struct espy_rec *rec)
{
	espy_described__record(r->described, rec);
	int err = espy_trace_writer__record(r->w, rec);

	if (err && !r->error)
		r->error = -err;
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
	const struct espy_session *s = r->s;
	const struct espy_session_opts *o = &s->o;
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
	err |= espy_trace_meta__add_text(m, "source.name", s->src_ops->name);
	err |= espy_trace_meta__add_number(m, "source.passive", s->passive);
	err |= espy_trace_meta__add_number(m, "target.command", s->targets.command);
	err |= espy_trace_meta__add_number(m, "target.pids", s->targets.pids);
	err |= espy_trace_meta__add_number(m, "target.wide", s->targets.wide);
	err |= espy_trace_meta__add_number(m, "target.follow", o->follow);
	if (o->command)
		err |= meta_words(m, "command", (const char *const *)o->command->argv, count_words(o->command->argv));
	err |= espy_trace_meta__add_number(m, "payload.strings", o->text.str_limit);
	err |= espy_trace_meta__add_number(m, "payload.data",
					   o->payload.limit_data ? o->payload.data_bytes : o->text.str_limit);
	err |= espy_trace_meta__add_number(m, "payload.env", !o->payload.no_env);
	err |= espy_trace_meta__add_number(m, "start.monotonic_ns", r->begun_ns);
	err |= espy_trace_meta__add_number(m, "start.realtime_ns", realtime_ns);
	err |= espy_trace_meta__add_number(m, "start.utc_offset_s", (uint32_t)espy_session__utc_offset());
	espy_zone__here(&zone);
	err |= espy_trace_meta__add(m, "zone", zone.change, zone.cnt * sizeof(zone.change[0]));
	err |= meta_words(m, "select", r->o->select, r->o->select_cnt);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		/* What was asked for: the source sends more, for the tables of descriptors. */
		snprintf(name, sizeof(name), "calls.%u", abi);
		err |= espy_trace_meta__add(m, name, o->filter->trace.bits[abi], sizeof(o->filter->trace.bits[abi]));
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

static uint8_t abi_flags(enum espy_abi abi)
{
	return abi == ESPY_ABI_I386 ? ESPY_RF_ABI_I386 : abi == ESPY_ABI_X32 ? ESPY_RF_ABI_X32 : 0;
}

/* A file that begins in the middle of the stream tells what went before, as far as it still matters. */
static int put_state(void *ctx, struct espy_trace_writer *w)
{
	struct espy_recording *r = ctx;
	struct espy_task *task, *next;

	(void)w; /* our own */
	if (r->last_clock.rec.size)
		put(r, &r->last_clock.rec);
	HASH_ITER(hh, r->s->tasks.by_tid, task, next)
	{
		const struct espy_rec_attached a = { .rec = { .size = sizeof(a),
							      .type = ESPY_REC_ATTACHED,
							      .flags = ESPY_ATTACHED_LONG_AGO | abi_flags(task->abi),
							      .nr = (uint16_t)task->last_nr,
							      .tid = task->tid,
							      .tgid = task->tgid,
							      .time_ns = r->s->resolve.now_ns } };

		if (task->detached)
			continue;
		put(r, &a.rec);
	}
	espy_resolve__dump(&r->s->resolve, put_fact, r);
	if (r->s->marks)
		espy_marks_seen__each(r->s->marks, put_fact, r);
	/* Behind the facts: a call that has begun may be shown at once. */
	HASH_ITER(hh, r->s->tasks.by_tid, task, next)
	if (!task->detached && task->in_call)
		put(r, task->enter);
	espy_resolve__dump_news(&r->s->resolve, put_fact, r);
	return r->error ? -r->error : 0;
}

static int put_descriptions(void *ctx, struct espy_trace_writer *w, unsigned file)
{
	struct espy_recording *r = ctx;

	if (r->s->resolve.netlink)
		espy_described__netlink(r->described);
	return espy_described__write(r->described, w, file);
}

/* Of all ABIs; they come into the trace with the calls that need them. */
static struct espy_described *open_described(const struct espy_session *s)
{
	const void *bytes[ESPY_ABI_CNT];
	size_t sizes[ESPY_ABI_CNT];

	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		sizes[abi] = s->own_image_sizes[abi];
		bytes[abi] = s->own_images[abi];
		if (!bytes[abi])
			bytes[abi] = espy_builtin_image((enum espy_abi)abi, &sizes[abi]);
	}
	return espy_described__new(s->images, bytes, sizes);
}

void espy_recording__not_created(struct espy_session *s, const char *path, int err)
{
	espy_session__say(s, err == -EEXIST ? "%s exists: --force replaces it" : "Can't create the trace '%s': %s", path,
			  strerror(-err));
}

int espy_recording__open(struct espy_recording **out, struct espy_session *s)
{
	const struct espy_record_opts *o = s->o.record;
	struct espy_recording *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->s = s;
	r->o = o;
	r->begun_ns = espy_now_ns();
	r->maps = espy_maps__new(put_fact, r);
	r->described = open_described(s);
	const struct espy_trace_write_opts wo = {
		.size = sizeof(wo),
		.path = o->path,
		.force = o->force,
		.level = o->level,
		.rotate_bytes = o->rotate_bytes,
		.keep = o->keep,
		.state = put_state,
		.state_ctx = r,
		.describe = put_descriptions,
		.marks = s->o.marks != NULL,
	};
	if (r->described && o->level >= ESPY_TRACE_CAREFUL_LEVEL && !s->own_images[ESPY_ABI_X86_64])
		espy_described__common(r->described);
	int err = r->maps && r->described ? espy_trace_writer__open(&r->w, &wo) : -ENOMEM;
	if (err) {
		espy_recording__not_created(s, o->path, err);
		if (r->w)
			espy_trace_writer__close(r->w);
		espy_maps__free(r->maps);
		espy_described__free(r->described);
		free(r);
		return err;
	}
	s->resolve.note = put_fact;
	s->resolve.note_ctx = r;
	*out = r;
	return 0;
}

/* A trace begins when the first thing happens, not when everything is being made ready for it. */
static int begin(struct espy_recording *r, uint64_t first_ns)
{
	const uint64_t now = espy_now_ns();

	r->begun = true;
	r->begun_ns = first_ns && first_ns < now ? first_ns : now;
	int err = put_meta(r, espy_clock_ns(CLOCK_REALTIME) - (now - r->begun_ns));

	espy_session__clock(r->s);
	return err;
}

/* Facts that are learned from one record, a new image with many libraries aside. */
#define FACTS_BYTES (32u << 10)

void espy_recording__expect(struct espy_recording *r, const struct espy_rec *rec, size_t size)
{
	int err = r->begun ? 0 : begin(r, rec->time_ns);

	if (!err)
		err = espy_trace_writer__reserve(r->w, size + FACTS_BYTES);
	if (err && !r->error)
		r->error = -err;
}

void espy_recording__append(struct espy_recording *r, const struct espy_rec *rec)
{
	if (rec->type == ESPY_REC_PAD)
		return;
	if (rec->type == ESPY_REC_CLOCK)
		memcpy(&r->last_clock, rec, sizeof(r->last_clock));
	if (rec->type == ESPY_REC_EXIT) {
		r->calls++;
		if (r->s->view.tid == rec->tid && r->s->view.nr == rec->nr) /* else it could not be read */
			espy_maps__call(r->maps, &r->s->view, &r->s->resolve);
	} else if (rec->type == ESPY_REC_ATTACHED || rec->type == ESPY_REC_EXEC) {
		espy_maps__process(r->maps, rec->tgid, rec->time_ns);
	}
	put(r, rec);
}

void espy_recording__marks(struct espy_recording *r, const void *marks, size_t size)
{
	int err = espy_trace_writer__records(r->w, marks, size);

	if (err && !r->error)
		r->error = -err;
}

static void show_progress(struct espy_recording *r, uint64_t now)
{
	const struct espy_trace_write_stats st = espy_recording__stats(r);
	const uint64_t sec = (now - r->begun_ns) / 1000000000u;
	struct espy_source_stats src = { 0 };
	uint64_t lost = 0;
	char line[160];

	r->s->src_ops->stats(r->s->src, &src);
	for (unsigned i = 0; i < ESPY_LOST_REASONS; i++)
		lost += src.lost[i];
	int n = snprintf(line, sizeof(line),
			 "\r%" PRIu64 ":%02" PRIu64 "  %" PRIu64 " calls  %.1f MB  %" PRIu64 " lost  %" PRIu64
			 " paused \033[K",
			 sec / 60, sec % 60, r->calls, (double)st.file_bytes / 1e6, lost, src.pauses);
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return; /* nobody looks */
	r->progress_shown = true;
}

void espy_recording__tick(struct espy_recording *r)
{
	const uint64_t now = espy_now_ns();

	if (now - r->clock_ns >= CLOCK_EVERY_NS) {
		r->clock_ns = now;
		espy_session__clock(r->s);
	}
	int err = espy_trace_writer__tick(r->w, now);
	if (err && !r->error)
		r->error = -err;
	if (r->o->progress && now - r->progress_ns >= PROGRESS_EVERY_NS) {
		r->progress_ns = now;
		show_progress(r, now);
	}
}

int espy_recording__error(const struct espy_recording *r)
{
	return r->error;
}

struct espy_trace_write_stats espy_recording__stats(const struct espy_recording *r)
{
	struct espy_trace_write_stats st;

	espy_trace_writer__stats(r->w, &st);
	return st;
}

void espy_recording__end(struct espy_recording *r, const struct espy_source_stats *st, unsigned flags, int status)
{
	struct espy_rec_end end = {
		.rec = { .size = sizeof(end),
			 .type = ESPY_REC_END,
			 .flags = (uint8_t)flags,
			 .time_ns = espy_now_ns() },
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
	int err = espy_trace_writer__flush(r->w); /* so that its figures are the last ones */
	if (err && !r->error)
		r->error = -err;
	if (r->progress_shown && write(STDERR_FILENO, "\r\033[K", 4) < 0)
		r->progress_shown = false;
}

uint64_t espy_recording__calls(const struct espy_recording *r)
{
	return r->calls;
}

/* Nothing was watched: a program or process that is not there. A file would be in the way of the next attempt. */
static void remove_unused(const struct espy_record_opts *o)
{
	char *name = NULL;
	struct stat st;

	if (asprintf(&name, o->rotate_bytes ? "%s.0" : "%s", o->path) < 0)
		return;
	if (strcmp(o->path, "-") && !lstat(name, &st) && S_ISREG(st.st_mode))
		unlink(name);
	free(name);
}

int espy_recording__close(struct espy_recording *r)
{
	int err = espy_trace_writer__close(r->w);

	if (!r->begun && !r->ended)
		remove_unused(r->o);

	if (r->error)
		err = -r->error;
	espy_maps__free(r->maps);
	espy_described__free(r->described);
	free(r);
	return err;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/replay.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include "source/pauses.h"
#include "trace/trace.h"

#define DAY_NS UINT64_C(86400000000000)
/* Records between two looks at whether the session was asked to end. */
#define BATCH 4096

struct replay {
	struct espy_source base;
	struct espy_trace_reader *reader;
	bool follow;
	struct espy_source_stats stats;
	struct espy_pauses pauses;
};

int espy_replay__open(struct espy_source **out, struct espy_trace_reader *reader, bool follow)
{
	struct replay *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->base.ops = &espy_source_replay;
	r->reader = reader;
	r->follow = follow;
	*out = &r->base;
	return 0;
}

static void count(struct replay *r, const struct espy_rec *rec)
{
	r->stats.records++;
	r->stats.bytes += rec->size;
	switch (rec->type) {
	case ESPY_REC_LOST:
		if (rec->nr < ESPY_LOST_REASONS)
			r->stats.lost[rec->nr] += ((const struct espy_rec_lost *)rec)->count;
		break;
	case ESPY_REC_ATTACHED:
	case ESPY_REC_FORK:
		r->stats.tasks++;
		break;
	case ESPY_REC_PAUSE:
		espy_pauses__count(&r->pauses, &r->stats, (const struct espy_rec_pause *)rec);
		break;
	}
}

static int replay_poll(struct espy_source *s, espy_record_fn fn, void *ctx, int timeout_ms)
{
	struct replay *r = (struct replay *)s;
	const struct espy_rec *rec;

	for (int n = 0; n < BATCH; n++) {
		int got = espy_trace_reader__next(r->reader, &rec);

		if (got < 0)
			return got;
		if (!got && !r->follow)
			return n ? n : -ESRCH;
		if (!got) {
			struct espy_trace_read_stats st;

			espy_trace_reader__stats(r->reader, &st);
			if (st.finished)
				return n ? n : -ESRCH;
			return n ? n : poll(NULL, 0, timeout_ms) < 0 ? -EINTR : 0;
		}
		count(r, rec);
		int end = fn(ctx, rec);
		if (end)
			return end;
	}
	return BATCH;
}

static void replay_stats(struct espy_source *s, struct espy_source_stats *st)
{
	*st = ((struct replay *)s)->stats;
	espy_pauses__tell(&((struct replay *)s)->pauses, st);
}

static void replay_close(struct espy_source *s)
{
	espy_pauses__free(&((struct replay *)s)->pauses);
	free(s);
}

static int replay_remove(struct espy_source *s, pid_t pid)
{
	(void)s;
	(void)pid;
	return 0;
}

const struct espy_source_ops espy_source_replay = {
	.name = "trace file",
	.poll = replay_poll,
	.stats = replay_stats,
	.remove_target = replay_remove,
	.close = replay_close,
};

uint64_t espy_replay__moment(struct espy_trace_reader *r, const struct espy_moment *when)
{
	const uint64_t mono = espy_trace_reader__meta_number(r, "start.monotonic_ns", 0);
	const uint64_t real = espy_trace_reader__meta_number(r, "start.realtime_ns", 0);
	const int64_t offset_ns =
		(int32_t)espy_trace_reader__meta_number(r, "start.utc_offset_s", 0) * INT64_C(1000000000);
	uint64_t unix_ns = when->ns;

	switch (when->kind) {
	case ESPY_MOMENT_NONE:
		return 0;
	case ESPY_MOMENT_SINCE_START:
		return mono + when->ns;
	case ESPY_MOMENT_OF_DAY: {
		/* The first such time of day at or after the start. */
		uint64_t local = real + (uint64_t)offset_ns, midnight = local - local % DAY_NS;

		unix_ns = midnight + when->ns - (uint64_t)offset_ns;
		/* A little before the start is meant as such, not as tomorrow. */
		if (unix_ns + DAY_NS / 2 < real)
			unix_ns += DAY_NS;
		break;
	}
	case ESPY_MOMENT_UNIX:
		break;
	}
	return unix_ns <= real ? 1 : mono + (unix_ns - real);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session begins: descriptions, conditions, call sets and state are made, the source is opened, targets are watched. */
#include "lib/session_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "describe/builtin.h"
#include "lib/flight_recorder.h"
#include "lib/held_tasks.h"

/* The bytes of a mark's string that are copied, at least and at most. */
#define MARK_STRINGS_LEAST 256u
#define MARK_STRINGS_MOST 65536u
/* For tasks and descriptors that a trace tells of; a million of each fit. */
#define TRACE_TABLES_BYTES ((size_t)512 << 20)

static void open_stream(struct espy_session *s)
{
	s->pipe.stream = (struct espy_stream){
		.images = s->pipe.images,
		.recorded = s->trace,
		.origin = {
			.command = s->targets.command.path,
			.wide = s->o.all || s->o.cgroup,
			.pids = (uint32_t)s->o.pid_count,
			.follow = s->o.follow,
			.argv = s->targets.command.path ? s->targets.command.argv : NULL,
		},
		.log = &s->log,
	};
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		s->pipe.stream.image_bytes[abi] = s->descriptions.own[abi];
		s->pipe.stream.image_sizes[abi] = s->descriptions.own_size[abi];
		if (!s->descriptions.own[abi])
			s->pipe.stream.image_bytes[abi] = espy_builtin_image((enum espy_abi)abi, &s->pipe.stream.image_sizes[abi]);
	}
}

static int open_state(struct espy_session *s)
{
	const struct espy_state_opts so = {
		.lookups = s->trace ? &espy_lookups_trace : &espy_lookups_live,
		.follow_fds = s->follow_fds,
		.names = s->needs.comms,
		.ask_once = s->pipe.gathers,
		.max_bytes = s->trace ? TRACE_TABLES_BYTES : 0,
		.slot_sz = sizeof(struct espy_task_notes),
	};
	int err = espy_state__new(&s->pipe.state, &so);

	if (err)
		return err;
	s->pipe.stream.state = s->pipe.state;
	espy_state__set_realtime_offset(s->pipe.state, (int64_t)(espy_clock_ns(CLOCK_REALTIME) - espy_now_ns()));
	if (s->trace)
		espy_session__open_window(s);
	s->pipe.resolver = espy_state__resolver(s->pipe.state);
	s->pipe.decoder.resolver = &s->pipe.resolver;
	espy_session__note_sinks(s);
	return 0;
}

/* Gathers the rules of all engines. The filters own their parts, and stay. */
static int open_marks(struct espy_session *s)
{
	for (unsigned i = 0; i < s->engines.cnt; i++) {
		struct espy_engine *e = s->engines.v[i];
		const struct espy_mark_rules *own = &e->filter->marks;
		struct espy_mark_rule *v;
		unsigned k = 0;

		while (k < i && s->engines.v[k]->filter != e->filter)
			k++;
		if (k < i || !own->cnt)
			continue;
		v = reallocarray(s->marks.v, s->marks.cnt + own->cnt, sizeof(*v));
		if (!v)
			return -ENOMEM;
		memcpy(v + s->marks.cnt, own->v, own->cnt * sizeof(*v));
		s->marks.v = v;
		s->marks.cnt += own->cnt;
		if (e->needs.str_limit > s->marks.string_max)
			s->marks.string_max = e->needs.str_limit < MARK_STRINGS_MOST ? e->needs.str_limit : MARK_STRINGS_MOST;
	}
	if (s->marks.string_max < MARK_STRINGS_LEAST)
		s->marks.string_max = MARK_STRINGS_LEAST;
	s->marks.via = (enum espy_marks_via)s->o.marks_by;
	return 0;
}

/* Keeps each filter once. The source uses the filters until it is closed, and their engines may go before. */
static int keep_filters(struct espy_session *s)
{
	s->filters = calloc(s->engines.cnt + 1, sizeof(*s->filters));
	if (!s->filters)
		return -ENOMEM;
	for (unsigned i = 0, cnt = 0; i < s->engines.cnt; i++) {
		struct espy_filter *f = s->engines.v[i]->filter;
		unsigned k = 0;

		while (k < cnt && s->filters[k] != f)
			k++;
		if (k < cnt)
			continue;
		s->filters[cnt++] = f;
		__atomic_fetch_add(&f->users, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

/* Tells whether any call is wanted, now or later. The text of probes and marks alone names no descriptor. */
static bool wants_calls(const struct espy_session *s)
{
	if (!s->o.engines_fixed)
		return true;
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		if (s->sets[abi].all_wanted)
			return true;
		for (unsigned w = 0; w < ESPY_MAX_SYSCALLS / 64; w++)
			if (s->sets[abi].wanted[w])
				return true;
	}
	return false;
}

static bool follows_fds(const struct espy_session *s)
{
	bool paths = false;

	for (unsigned i = 0; i < s->engines.cnt; i++)
		paths |= s->engines.v[i]->filter->path_cnt != 0;
	return s->trace || (wants_calls(s) && (s->needs.fds || paths));
}

static int start_engines(struct espy_session *s)
{
	int err = 0;

	for (unsigned i = 0; i < s->engines.cnt && !err; i++)
		err = espy_session__start_engine(s, s->engines.v[i]);
	return err;
}

static int open_input(struct espy_session *s)
{
	int err;

	if (s->trace) {
		err = espy_session__set_gates(s);
		err = err ? err : espy_session__open_trace(s);
		return err ? err : start_engines(s);
	}
	if (s->o.raise_file_limit)
		espy_session__raise_file_limit(s);
	err = espy_session__open_source(s);
	if (!err && (s->o.pause_on_count || s->o.can_pause))
		espy_resume__open(s);
	if (err)
		return err;
	s->pipe.stream.passive = s->src_ops->caps & ESPY_SRC_PASSIVE;
	s->pipe.stream.origin.source = s->src_ops->name;
	/* The source is open, because a trace has its name. No task is watched yet. */
	err = start_engines(s);
	if (!err && s->o.flight_bytes)
		err = espy_flight__open(s);
	return err ? err : espy_session__add_targets(s);
}

static int start(struct espy_session *s)
{
	int err = espy_session__open_images(s);

	s->first_filter = s->engines.cnt ? s->engines.v[0]->filter : NULL;
	for (unsigned i = 0; i < s->engines.cnt; i++)
		s->o.io_uring |= s->engines.v[i]->filter->io_uring && !s->trace;
	if (!err)
		err = espy_session__open_where(s);
	if (!err)
		err = espy_session__open_call_sets(s);
	if (!err)
		err = open_marks(s);
	if (!err)
		err = keep_filters(s);
	if (!err && !s->trace)
		err = espy_session__open_probes(s);
	if (err)
		return err;
	s->follow_fds |= follows_fds(s);
	open_stream(s);
	err = open_state(s);
	if (!err)
		err = espy_hold__triggers(s);
	if (!err)
		err = open_input(s);
	if (!err)
		s->run.phase = PHASE_RUNS;
	return err;
}

int espy_session__start_once(struct espy_session *s)
{
	if (s->run.phase != PHASE_NEW)
		return s->run.phase == PHASE_RUNS ? 0 : -ESRCH;
	s->run.starter = pthread_self();
	int err = start(s);
	if (err == -ENOMEM)
		espy_session__error(s, "out of memory");
	if (err)
		s->run.phase = PHASE_FINISHED;
	return err;
}

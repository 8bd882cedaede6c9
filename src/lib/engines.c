/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The engines of a session. Only the reader (the thread in run or dispatch) touches them while it reads; other threads hand it
 * a request and wait, and it serves them between two records. While no thread reads, the thread that holds the lock may touch them.
 */
#include "lib/session_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/array.h"
#include "filter/path_filter.h"
#include "state/marks_seen.h"

/* Lives on the stack of the thread that waits for it. */
struct engine_request {
	struct engine_request *next;
	int (*fn)(struct espy_session *s, void *arg);
	void *arg;
	int result;
	bool done;
};

int espy_session__open_engines(struct espy_session *s)
{
	struct session_engines *e = &s->engines;

	e->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (e->wake.fd < 0)
		return -errno;
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->changed, NULL);
	return 0;
}

/* ---- the right to touch them */

static bool is_reader(struct session_engines *e)
{
	return e->reading && pthread_equal(e->reader, pthread_self());
}

static void serve(struct espy_session *s)
{
	struct session_engines *e = &s->engines;

	while (e->requests) {
		struct engine_request *r = e->requests;

		e->requests = r->next;
		/* Removing an engine calls back: others may ask meanwhile. */
		pthread_mutex_unlock(&e->lock);
		const int result = r->fn(s, r->arg);
		pthread_mutex_lock(&e->lock);
		r->result = result;
		r->done = true;
	}
	atomic_store_explicit(&e->wake.asked, false, memory_order_relaxed);
	pthread_cond_broadcast(&e->changed);
}

void espy_session__serve_requests(struct espy_session *s)
{
	struct session_engines *e = &s->engines;
	uint64_t n;

	if (!atomic_load_explicit(&e->wake.asked, memory_order_acquire) || e->depth)
		return;
	pthread_mutex_lock(&e->lock);
	while (read(e->wake.fd, &n, sizeof(n)) > 0)
		;
	serve(s);
	pthread_mutex_unlock(&e->lock);
}

int espy_session__enter(struct espy_session *s)
{
	struct session_engines *e = &s->engines;
	int err = 0;

	pthread_mutex_lock(&e->lock);
	while (e->reading && e->brief)
		pthread_cond_wait(&e->changed, &e->lock);
	if (e->reading) {
		err = -EBUSY;
	} else if (s->src && s->src_ops->caps & ESPY_SRC_ONE_THREAD && !pthread_equal(s->run.starter, pthread_self())) {
		err = -EPERM;
	} else {
		e->reading = true;
		e->reader = pthread_self();
	}
	pthread_mutex_unlock(&e->lock);
	return err;
}

void espy_session__leave(struct espy_session *s)
{
	struct session_engines *e = &s->engines;

	pthread_mutex_lock(&e->lock);
	serve(s);
	e->reading = e->brief = false;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

void espy_session__wake(struct espy_session *s)
{
	const int saved = errno;
	const uint64_t one = 1;

	atomic_store_explicit(&s->engines.wake.asked, true, memory_order_release);
	if (write(s->engines.wake.fd, &one, sizeof(one)) < 0)
		errno = saved; /* it is readable already */
}

/* Runs fn where the engines may be touched. Returns its result. */
static int at_the_reader(struct espy_session *s, int (*fn)(struct espy_session *s, void *arg), void *arg)
{
	struct session_engines *e = &s->engines;
	struct engine_request r = { .fn = fn, .arg = arg }, **last = &e->requests;

	pthread_mutex_lock(&e->lock);
	if (is_reader(e)) {
		pthread_mutex_unlock(&e->lock);
		return fn(s, arg);
	}
	if (!e->reading) {
		/* No other thread can begin to read while this one is the reader. */
		e->reading = e->brief = true;
		e->reader = pthread_self();
		pthread_mutex_unlock(&e->lock);
		r.result = fn(s, arg);
		espy_session__leave(s);
		return r.result;
	}
	while (*last)
		last = &(*last)->next;
	*last = &r;
	espy_session__wake(s);
	while (!r.done)
		pthread_cond_wait(&e->changed, &e->lock);
	pthread_mutex_unlock(&e->lock);
	return r.result;
}

/* ---- the session as its engines need it */

static int note_fact(void *ctx, const struct espy_rec *rec)
{
	struct espy_session *s = ctx;

	for (unsigned i = 0; i < s->engines.cnt; i++) {
		struct espy_sink *sink = s->engines.v[i]->sink;

		if (sink && sink->ops->fact && !s->engines.v[i]->gone)
			sink->ops->fact(sink, rec);
	}
	return 0;
}

/* Collects the details of values that any engine wants to know, for the decoder. */
static void collect_wants(struct espy_session *s)
{
	struct espy_want all = { .paths = false };

	for (unsigned i = 0; i < s->engines.cnt; i++) {
		const struct espy_engine *e = s->engines.v[i];
		const struct espy_want none = { .paths = false }, *w = e->sink ? &e->sink->want : &none;

		if (e->gone)
			continue;
		all.paths |= w->paths || espy_path_filter__given(e->filter);
		all.details |= w->details;
		all.comms |= w->comms;
		all.pids |= w->pids;
		all.vcpus |= w->vcpus;
		all.contexts |= w->contexts;
		all.expected |= w->expected;
		all.dates |= w->dates;
		if (w->elem_limit > all.elem_limit)
			all.elem_limit = w->elem_limit;
	}
	s->pipe.decoder.want = all;
}

void espy_session__note_sinks(struct espy_session *s)
{
	unsigned records = 0, lines = 0;

	for (unsigned i = 0; i < s->engines.cnt; i++) {
		const struct espy_engine *e = s->engines.v[i];

		if (e->gone)
			continue;
		records += e->trace.path != NULL;
		lines += e->lines;
	}
	s->engines.record_sinks = records;
	s->pipe.gathers = records && !lines;
	if (s->pipe.gathers && s->pipe.state && !s->pipe.prefetch.resolver.ctx && espy_prefetch__init(&s->pipe.prefetch, s->pipe.state, s->pipe.images))
		s->pipe.gathers = false;
	collect_wants(s);
	if (s->pipe.state)
		espy_state__keep_facts(s->pipe.state, records ? note_fact : NULL, s);
}

/* Tells whether engines that name no mark and no probe show all of a trace: not if only marks are shown (no_calls). */
static bool shows_all(const struct espy_session *s)
{
	return s->trace && !s->o.no_calls;
}

/* Makes the filter for marks that the source delivers and this engine does not want. 0, or -errno. */
static int open_mark_filter(struct espy_session *s, struct espy_engine *e)
{
	const struct espy_mark_rules *own = &e->filter->marks;
	bool needed = s->trace || s->marks.via == ESPY_VIA_KERNEL || own->cnt != s->marks.cnt;
	struct espy_marks_seen *seen = s->pipe.state ? espy_state__marks_seen(s->pipe.state) : NULL;

	for (size_t i = 0; i < own->cnt; i++)
		needed |= own->v[i].rest;
	espy_def_filter__free(e->mark_filter);
	e->mark_filter = NULL;
	e->no_marks = !own->cnt && !shows_all(s);
	if (!needed || !own->cnt)
		return 0;
	e->mark_filter = espy_def_filter__of_marks(own);
	if (!e->mark_filter)
		return -ENOMEM;
	return seen ? espy_marks_seen__each(seen, espy_def_filter__define, e->mark_filter) : 0;
}

/* As open_mark_filter, of probes. The session resolves places when it starts, so a later engine brings no new ones. */
static int open_probe_filter(struct espy_session *s, struct espy_engine *e)
{
	const struct espy_probe_rules *own = &e->filter->probes;
	struct espy_marks_seen *seen = s->pipe.state ? espy_state__marks_seen(s->pipe.state) : NULL;

	espy_def_filter__free(e->probe_filter);
	e->probe_filter = NULL;
	e->no_probes = !own->cnt && !shows_all(s);
	if (!own->cnt)
		return 0;
	if (!s->trace && !espy_session__has_probes_of(s, own))
		return -EOPNOTSUPP;
	e->probe_filter = espy_def_filter__of_probes(own, s->trace ? NULL : espy_session__probes(s));
	if (!e->probe_filter)
		return -ENOMEM;
	return seen ? espy_marks_seen__each(seen, espy_def_filter__define, e->probe_filter) : 0;
}

int espy_session__start_engine(struct espy_session *s, struct espy_engine *e)
{
	int err;

	memcpy(e->calls, e->filter->trace.bits, sizeof(e->calls)); /* a condition may have made the filter's set smaller */
	err = espy_session__open_own_where(s, e);
	if (!err)
		err = open_mark_filter(s, e);
	if (!err)
		err = open_probe_filter(s, e);
	if (!err && e->sink && e->sink->ops->start)
		err = e->sink->ops->start(e->sink, &s->pipe.stream);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT && s->trace; abi++)
		for (unsigned w = 0; w < ESPY_MAX_SYSCALLS / 64; w++)
			e->calls[abi][w] &= s->window.recorded[abi][w];
	if (!err)
		espy_session__note_sinks(s);
	return err;
}

/* ---- events */

/* Frees the engines that were removed meanwhile. Their errors of writing are lost. */
static void sweep(struct espy_session *s)
{
	struct session_engines *e = &s->engines;
	unsigned kept = 0;

	e->any_gone = false;
	for (unsigned i = 0; i < e->cnt; i++) {
		struct espy_engine *en = e->v[i];

		if (!en->gone) {
			e->v[kept++] = en;
			continue;
		}
		if (s->counted.engine == en)
			s->counted.engine = NULL;
		if (s->run.failed == en->name)
			s->run.failed = espy_kept__string(&s->kept, en->name);
		espy_engine__free(en);
	}
	e->cnt = kept;
	espy_session__want_calls(s);
	espy_session__note_sinks(s);
}

void espy_session__event(struct espy_session *s, struct espy_event *event)
{
	struct session_engines *e = &s->engines;
	const unsigned cnt = e->cnt; /* an engine that a callback adds begins with the next event */
	bool limit = false;

	e->depth++;
	e->serial++;
	for (unsigned i = 0; i < cnt; i++) {
		struct espy_engine *en = e->v[i];

		if (!en->gone && !espy_engine__event(en, event, &s->pipe.stream))
			limit |= en->ends_session;
	}
	if (limit && !s->run.stopping) {
		espy_session__say(s, ESPY_TOPIC_GENERAL, "System call limit has been reached, detaching tracees");
		s->run.stopping = true;
	}
	if (!--e->depth && e->any_gone)
		sweep(s);
}

/* ---- adding, changing, removing */

/* Refuses rules that change calls in a later filter: a source takes them only when it opens. 0, or -EOPNOTSUPP that was said. */
static int check_later(struct espy_session *s, const struct espy_filter *f)
{
	for (unsigned i = 0; s->filters && s->filters[i]; i++)
		if (s->filters[i] == f)
			return 0;
	if (!f->tamper_cnt)
		return 0;
	espy_session__error(s, "inject: the session has begun; calls are changed by rules that were there before");
	return -EOPNOTSUPP;
}

static int add(struct espy_session *s, void *arg)
{
	struct session_engines *e = &s->engines;
	struct espy_engine *en = arg;

	if (!espy_array__grow(e->v, e->cnt, e->room))
		return -ENOMEM;
	en->session = s;
	if (s->run.phase == PHASE_RUNS) {
		int err = s->o.engines_fixed ? -EOPNOTSUPP : check_later(s, en->filter);

		err = err ? err : espy_session__start_engine(s, en);
		if (err)
			return err;
	} else if (s->run.phase != PHASE_NEW) {
		return -ESRCH;
	}
	e->v[e->cnt++] = en;
	espy_session__want_calls(s);
	espy_session__note_sinks(s);
	if (s->run.phase == PHASE_RUNS && en->trace.path)
		s->run.clock_ns = 0; /* a trace needs to know the time from its beginning on */
	return 0;
}

int espy_engine_add(struct espy_session *s, const struct espy_engine_options *options, struct espy_engine **out)
{
	struct espy_engine_options o;
	struct espy_engine *e;
	int err = s ? espy_options__take(&o, sizeof(o), options) : -EINVAL;

	if (!err && o.events & ~(unsigned)ESPY_EVENT_ALL)
		err = -EINVAL;
	if (!err)
		err = espy_engine__new(&e, &o, s->o.flight_bytes, &s->log);
	if (err)
		return err;
	err = at_the_reader(s, add, e);
	if (err) {
		e->removed = NULL; /* it was never there */
		espy_engine__free(e);
		return err;
	}
	if (out)
		*out = e;
	return 0;
}

static int take_out(struct espy_session *s, void *arg)
{
	struct espy_engine *en = arg;

	if (en->gone)
		return -EALREADY;
	en->gone = true;
	s->engines.any_gone = true;
	if (!s->engines.depth)
		sweep(s);
	return 0;
}

int espy_engine_remove(struct espy_engine *engine)
{
	return engine ? at_the_reader(engine->session, take_out, engine) : -EINVAL;
}

struct mask_change {
	struct espy_engine *engine;
	unsigned events;
};

static int change_mask(struct espy_session *s, void *arg)
{
	const struct mask_change *c = arg;

	c->engine->events = c->events;
	espy_session__want_calls(s);
	return 0;
}

int espy_engine_set_events(struct espy_engine *engine, unsigned events)
{
	struct mask_change c = { .engine = engine, .events = events };

	if (!engine || !events || events & ~(unsigned)ESPY_EVENT_ALL)
		return -EINVAL;
	if (engine->sink)
		c.events &= engine->sink->events;
	return at_the_reader(engine->session, change_mask, &c);
}

struct filter_change {
	struct espy_engine *engine;
	struct espy_filter *filter;
};

static bool asks_for_more(const struct espy_session *s, const struct espy_filter *f)
{
	/* The source does not send calls that met none of the earlier conditions. */
	if (s->condition.gate_cnt)
		return true;
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		for (unsigned w = 0; w < ESPY_MAX_SYSCALLS / 64; w++)
			if (f->trace.bits[abi][w] & ~s->sets[abi].wanted[w])
				return true;
	return f->marks.cnt && !s->marks.cnt;
}

static int change_filter(struct espy_session *s, void *arg)
{
	const struct filter_change *c = arg;

	if (s->run.phase == PHASE_RUNS && s->o.engines_fixed && c->filter != c->engine->filter && asks_for_more(s, c->filter))
		return -EOPNOTSUPP;
	if (s->run.phase == PHASE_RUNS && check_later(s, c->filter))
		return -EOPNOTSUPP;
	espy_engine__set_filter(c->engine, c->filter);
	if (s->run.phase != PHASE_RUNS)
		return 0;
	int err = espy_session__open_own_where(s, c->engine);
	espy_session__want_calls(s);
	err = err ? err : open_mark_filter(s, c->engine);
	return err ? err : open_probe_filter(s, c->engine);
}

int espy_engine_set_filter(struct espy_engine *engine, const struct espy_filter *filter)
{
	struct filter_change c = { .engine = engine, .filter = (struct espy_filter *)filter };

	if (!engine || !filter || engine->lines || engine->trace.path) /* their sinks keep parts of the filter */
		return -EINVAL;
	return at_the_reader(engine->session, change_filter, &c);
}

struct stats_question {
	const struct espy_engine *engine;
	struct espy_engine_stats st;
};

static int get_stats(struct espy_session *s, void *arg)
{
	struct stats_question *q = arg;
	const struct espy_engine *e = q->engine;

	(void)s;
	q->st.events = e->passed;
	q->st.calls = e->sink && e->trace.path ? e->sink->calls : e->calls_passed;
	q->st.error = e->sink ? -e->sink->error : 0;
	if (e->sink && e->sink->ops->written)
		e->sink->ops->written(e->sink, &q->st.file_bytes, &q->st.records, &q->st.files);
	return 0;
}

int espy_engine_stats(struct espy_engine *engine, struct espy_engine_stats *stats)
{
	struct stats_question q = { .engine = engine, .st.size = sizeof(q.st) };

	if (!engine || !stats)
		return -EINVAL;
	at_the_reader(engine->session, get_stats, &q);
	return espy_options__give(stats, &q.st, sizeof(q.st));
}

void espy_session__close_engines(struct espy_session *s)
{
	struct session_engines *e = &s->engines;

	while (e->cnt)
		espy_engine__free(e->v[--e->cnt]);
	free(e->v);
	if (e->wake.fd < 0)
		return;
	close(e->wake.fd);
	pthread_mutex_destroy(&e->lock);
	pthread_cond_destroy(&e->changed);
}

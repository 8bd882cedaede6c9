/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --where: the condition of the session on its calls, and the part of it that the source tests. */
#include "lib/session_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sink/tally.h"

#define TALLY_STRINGS 4095u /* bytes of texts by which events are counted */

static int open_where(struct espy_session *s, const struct espy_filter *f, struct espy_where **out,
		      struct espy_syscall_set *calls)
{
	struct espy_condition_error e = { .at = 0 };
	size_t which = 0;
	int err = espy_where__new(out, (const char *const *)f->where, f->where_cnt, s->pipe.images, &which, &e);

	if (!err)
		err = espy_where__restrict(*out, calls, &which, &e);
	if (err == -EINVAL)
		espy_session__error(s, "--where '%s', column %zu: %s", f->where[which], e.at + 1, e.text);
	return err;
}

/* Returns the condition of an engine's filter; NULL: it has none. */
static struct espy_where *where_of(const struct espy_session *s, const struct espy_engine *e)
{
	return e->filter == s->first_filter ? s->condition.where : e->own_where;
}

/* Notes the facts that the session must follow or ask for, so that an engine's condition can be tested. */
static void note_asks(struct espy_session *s, const struct espy_engine *e)
{
	struct espy_where *w = where_of(s, e);
	struct espy_syscall_set calls;
	unsigned asks;

	if (!w)
		return;
	memcpy(calls.bits, e->calls, sizeof(calls.bits));
	asks = espy_where__asks(w, &calls);
	s->follow_fds |= asks & ESPY_WHERE_FD_PATHS;
	s->condition.times |= asks & ESPY_WHERE_DURATION;
}

/* Chooses the calls that the engine's tallies count, and the data that they need. 0, or -errno that was said. */
static int choose_tally(struct espy_session *s, struct espy_engine *e)
{
	const struct espy_filter *f = e->filter;
	const bool hits = f->marks.cnt || f->probes.cnt || (s->trace && !s->o.no_calls);
	struct espy_tally_error wrong = { .text = NULL };
	struct espy_syscall_set calls;
	unsigned asks;
	int err;

	if (!e->tally)
		return 0;
	memcpy(calls.bits, e->calls, sizeof(calls.bits));
	err = espy_tally__choose(e->tally, s->pipe.images, &calls, hits, &asks, &wrong);
	espy_engine__say_tally(&s->log, &wrong);
	if (err)
		return err;
	memcpy(e->calls, calls.bits, sizeof(e->calls));
	e->events |= e->tally->events & ESPY_EVENT_CALL_BEGIN;
	s->follow_fds |= asks & ESPY_TALLY_FD_PATHS;
	e->needs.verbose = asks & ESPY_TALLY_DATA;
	e->needs.no_env = e->needs.limit_data = !e->needs.verbose;
	e->needs.str_limit = e->needs.verbose ? TALLY_STRINGS : 0;
	e->needs.no_data = !asks && !f->where_cnt && !f->path_cnt && !f->fds.given;
	return 0;
}

int espy_session__open_where(struct espy_session *s)
{
	struct espy_filter *f = s->first_filter;
	int err = 0;

	if (f && f->where_cnt)
		err = open_where(s, f, &s->condition.where, &f->trace);
	for (unsigned i = 0; i < s->engines.cnt && !err; i++) {
		struct espy_engine *e = s->engines.v[i];

		if (e->filter == f) {
			memcpy(e->calls, f->trace.bits, sizeof(e->calls));
			err = choose_tally(s, e);
		} else {
			err = espy_session__open_own_where(s, e);
		}
		if (!err)
			note_asks(s, e);
	}
	return err;
}

static bool own_where(void *engine, const struct espy_call_view *v)
{
	const struct espy_engine *e = engine;

	if (!v->has_exit && !espy_where__knows_at_entry(e->own_where, (enum espy_abi)v->image->abi, v->nr))
		return false;
	return espy_where__holds(e->own_where, v, false, e->session->pipe.state);
}

int espy_session__open_own_where(struct espy_session *s, struct espy_engine *e)
{
	struct espy_syscall_set calls = e->filter->trace;
	int err;

	espy_where__free(e->own_where);
	e->own_where = NULL;
	e->where = NULL;
	if (e->filter == s->first_filter) {
		e->where = s->condition.where ? espy_session__where : NULL;
		e->where_ctx = s;
	} else if (e->filter->where_cnt) {
		err = open_where(s, e->filter, &e->own_where, &calls);
		if (err)
			return err;
		memcpy(e->calls, calls.bits, sizeof(e->calls));
		e->where = own_where;
		e->where_ctx = e;
	}
	return choose_tally(s, e);
}

/* Returns the number of a gate with these tests, from 1 on; 0: there is no room. */
static uint8_t gate_number(struct espy_session *s, const struct espy_trigger *t)
{
	for (size_t i = 0; i < s->condition.gate_cnt; i++)
		if (!memcmp(&s->condition.gates[i], t, sizeof(*t)))
			return (uint8_t)(i + 1);
	if (s->condition.gate_cnt == ESPY_GATE_MAX)
		return 0;
	s->condition.gates[s->condition.gate_cnt] = *t;
	return (uint8_t)++s->condition.gate_cnt;
}

/*
 * Appends the tests of `more` to t, at each place where t ends with `end`. ESPY_TRIGGER_FAILS: one of the two must hold;
 * ESPY_TRIGGER_HOLDS: both. Returns false if there is no room: t has no meaning then.
 */
static bool append(struct espy_trigger *t, const struct espy_trigger *more, uint8_t end)
{
	const uint32_t base = t->test_cnt;

	if (base + more->test_cnt > ESPY_TRIGGER_TESTS)
		return false;
	for (uint32_t i = 0; i < base; i++) {
		t->tests[i].yes = t->tests[i].yes == end ? (uint8_t)base : t->tests[i].yes;
		t->tests[i].no = t->tests[i].no == end ? (uint8_t)base : t->tests[i].no;
	}
	for (uint32_t i = 0; i < more->test_cnt; i++) {
		struct espy_trigger_test *test = &t->tests[base + i];

		*test = more->tests[i];
		test->yes = test->yes < ESPY_TRIGGER_TESTS ? (uint8_t)(test->yes + base) : test->yes;
		test->no = test->no < ESPY_TRIGGER_TESTS ? (uint8_t)(test->no + base) : test->no;
	}
	t->test_cnt += more->test_cnt;
	return true;
}

/* Makes the gates of one condition. Returns false if all of its calls may be wanted. */
static bool parts_of(struct espy_where *w, enum espy_abi abi, uint32_t nr, struct espy_trigger *early, struct espy_trigger *late)
{
	*early = *late = (struct espy_trigger){ .action = ESPY_TRIGGER_KEEP };
	return espy_where__kernel_part(w, abi, nr, early, late) && early->test_cnt + late->test_cnt;
}

/*
 * Makes the gates of several conditions, of which one must hold. early: the early part of one holds; late: both parts of
 * one do. It leaves out a gate without room, and the source sends more than is wanted. Returns as parts_of.
 */
static bool either_of(struct espy_where *const *w, unsigned cnt, enum espy_abi abi, uint32_t nr, struct espy_trigger *early,
		      struct espy_trigger *late)
{
	bool early_fits = true, late_fits = true, has_late = false;
	struct espy_trigger first, second;

	*early = *late = (struct espy_trigger){ .action = ESPY_TRIGGER_KEEP };
	for (unsigned i = 0; i < cnt; i++) {
		if (!parts_of(w[i], abi, nr, &first, &second))
			return false;
		early_fits = early_fits && first.test_cnt && append(early, &first, ESPY_TRIGGER_FAILS);
		has_late |= second.test_cnt != 0;
		late_fits = late_fits && append(&first, &second, ESPY_TRIGGER_HOLDS) && append(late, &first, ESPY_TRIGGER_FAILS);
	}
	if (!early_fits)
		*early = (struct espy_trigger){ .test_cnt = 0 };
	if (!late_fits || !has_late)
		*late = (struct espy_trigger){ .test_cnt = 0 };
	return true;
}

static bool same_conditions(const struct espy_filter *a, const struct espy_filter *b)
{
	bool same = a->where_cnt == b->where_cnt;

	for (size_t i = 0; same && i < a->where_cnt; i++)
		same = !strcmp(a->where[i], b->where[i]);
	return same;
}

static bool engine_wants(const struct espy_engine *e, enum espy_abi abi, uint32_t nr)
{
	return !e->gone && (e->events & (ESPY_EVENT_CALL_BEGIN | ESPY_EVENT_CALL_END) || e->trace.path) &&
	       e->calls[abi][nr / 64] >> (nr % 64) & 1;
}

/* Tells whether an engine before this one wants the call by the same condition. */
static bool is_repeated(const struct espy_session *s, unsigned at, enum espy_abi abi, uint32_t nr)
{
	for (unsigned i = 0; i < at; i++)
		if (engine_wants(s->engines.v[i], abi, nr) && same_conditions(s->engines.v[i]->filter, s->engines.v[at]->filter))
			return true;
	return false;
}

/*
 * Writes the conditions by which engines want a call, each once, to w, which has room for one of each engine. Returns
 * their number; 0: no engine wants the call, or an engine wants it without a condition.
 */
static unsigned conditions_of(const struct espy_session *s, enum espy_abi abi, uint32_t nr, struct espy_where **w)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < s->engines.cnt; i++) {
		const struct espy_engine *e = s->engines.v[i];

		if (!engine_wants(e, abi, nr))
			continue;
		if (!where_of(s, e))
			return 0;
		if (!is_repeated(s, i, abi, nr))
			w[cnt++] = where_of(s, e);
	}
	return cnt;
}

/* Sets both gates of a call, or none: if the source tests only one part, the session tests the whole condition. */
static void set_gate(struct espy_session *s, enum espy_abi abi, uint32_t nr, struct espy_where **w)
{
	struct espy_call_gate *g = &s->condition.call_gates[abi][nr];
	const unsigned cnt = conditions_of(s, abi, nr, w);
	struct espy_trigger early, late;

	if (!cnt || !(cnt == 1 ? parts_of(w[0], abi, nr, &early, &late) : either_of(w, cnt, abi, nr, &early, &late)))
		return;
	if (early.test_cnt)
		g->early = gate_number(s, &early);
	if (late.test_cnt)
		g->late = gate_number(s, &late);
	if ((early.test_cnt && !g->early) || (late.test_cnt && !g->late))
		*g = (struct espy_call_gate){ 0 };
}

static void explain(struct espy_session *s, bool kernel)
{
	struct espy_syscall_set calls = s->first_filter->trace;
	struct espy_buf b = { 0 };

	if (!s->o.io_uring)
		memset(calls.bits[ESPY_ABI_IO_URING], 0, sizeof(calls.bits[ESPY_ABI_IO_URING]));
	espy_where__explain(s->condition.where, &calls, kernel, &b);
	for (size_t at = 0; at < b.len;) {
		const char *end = memchr(b.data + at, '\n', b.len - at);
		const size_t len = end ? (size_t)(end - b.data) - at : b.len - at;

		espy_session__say(s, ESPY_TOPIC_GENERAL, "%.*s", (int)len, b.data + at);
		at += len + 1;
	}
	espy_buf__free(&b);
}

int espy_session__set_gates(struct espy_session *s)
{
	const bool kernel = s->src_ops && s->src_ops->caps & ESPY_SRC_GATES;
	bool any = false;

	if (s->condition.where && s->o.explain)
		explain(s, kernel);
	for (unsigned i = 0; i < s->engines.cnt; i++) {
		any |= where_of(s, s->engines.v[i]) != NULL;
		s->condition.several |= s->engines.v[i]->filter != s->first_filter;
	}
	/* A later engine may want calls that these do not. */
	if (!any || !kernel || !s->o.engines_fixed)
		return 0;
	struct espy_where **w = calloc(s->engines.cnt, sizeof(struct espy_where *));

	s->condition.gates = calloc(ESPY_GATE_MAX, sizeof(*s->condition.gates));
	s->condition.call_gates = calloc(ESPY_ABI_CNT, sizeof(*s->condition.call_gates));
	if (!w || !s->condition.gates || !s->condition.call_gates) {
		free(w);
		return -ENOMEM;
	}
	/* The programs of io_uring test none. */
	for (unsigned abi = 0; abi < ESPY_ABI_IO_URING; abi++) {
		for (uint32_t nr = 0; nr < s->pipe.images[abi].syscall_cnt && nr < ESPY_MAX_SYSCALLS; nr++) {
			/* Calls that the tables of descriptors need come whatever the condition says. */
			if (!(s->follow_fds && espy_state__needs_call(&s->pipe.images[abi], nr)))
				set_gate(s, (enum espy_abi)abi, nr, w);
		}
		s->sets[abi].gates = s->condition.call_gates[abi];
	}
	free(w);
	return 0;
}

bool espy_session__where(void *session, const struct espy_call_view *v)
{
	struct espy_session *s = session;
	const enum espy_abi abi = (enum espy_abi)v->image->abi;
	const struct espy_call_gate *g =
		s->condition.call_gates && v->nr < ESPY_MAX_SYSCALLS ? &s->condition.call_gates[abi][v->nr] : NULL;

	if (!s->condition.where)
		return true;
	if (!v->has_exit && !espy_where__knows_at_entry(s->condition.where, abi, v->nr))
		return false;
	/* A recording must hold the facts that the kernel knew, so the session asks for all of them again. */
	const bool tested = g && (g->early || g->late) && !s->condition.several && !s->engines.record_sinks;

	return espy_where__holds(s->condition.where, v, tested, s->pipe.state);
}

void espy_session__close_where(struct espy_session *s)
{
	espy_where__free(s->condition.where);
	free(s->condition.gates);
	free(s->condition.call_gates);
}

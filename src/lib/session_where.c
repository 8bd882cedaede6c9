/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --where: the condition of the session on its calls, and what of it the source tests. */
#include "lib/session_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int open_where(struct espy_session *s, const struct espy_filter *f, struct espy_where **out,
		      struct espy_syscall_set *calls)
{
	struct espy_condition_error e = { .at = 0 };
	size_t which = 0;
	int err = espy_where__new(out, (const char *const *)f->where, f->where_cnt, s->images, &which, &e);

	if (!err)
		err = espy_where__restrict(*out, calls, &which, &e);
	if (err == -EINVAL)
		espy_session__error(s, "--where '%s', column %zu: %s", f->where[which], e.at + 1, e.text);
	return err;
}

int espy_session__open_where(struct espy_session *s)
{
	struct espy_filter *f = s->first_filter;
	unsigned asks;
	int err;

	if (!f || !f->where_cnt)
		return 0;
	err = open_where(s, f, &s->condition.where, &f->trace);
	if (err)
		return err;
	asks = espy_where__asks(s->condition.where, &f->trace);
	s->follow_fds |= asks & ESPY_WHERE_FD_PATHS;
	s->condition.times = asks & ESPY_WHERE_DURATION;
	return 0;
}

static bool own_where(void *engine, const struct espy_call_view *v)
{
	const struct espy_engine *e = engine;

	if (!v->has_exit && !espy_where__knows_at_entry(e->own_where, (enum espy_abi)v->image->abi, v->nr))
		return false;
	return espy_where__holds(e->own_where, v, false, e->session->state);
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
		return 0;
	}
	if (!e->filter->where_cnt)
		return 0;
	err = open_where(s, e->filter, &e->own_where, &calls);
	if (!err) {
		memcpy(e->calls, calls.bits, sizeof(e->calls));
		e->where = own_where;
		e->where_ctx = e;
	}
	return err;
}

/* The number of a gate with these tests, from 1 on; 0: there is no room. */
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

/* Both gates of a call, or none: what the source does not test must be tested here as a whole. */
static void set_gate(struct espy_session *s, enum espy_abi abi, uint32_t nr)
{
	struct espy_trigger early = { .action = ESPY_TRIGGER_KEEP }, late = early;
	struct espy_call_gate *g = &s->condition.call_gates[abi][nr];

	if (!espy_where__kernel_part(s->condition.where, abi, nr, &early, &late))
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
	struct espy_buf b = { 0 };

	espy_where__explain(s->condition.where, &s->first_filter->trace, kernel, &b);
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

	if (!s->condition.where)
		return 0;
	if (s->o.explain)
		explain(s, kernel);
	/* An engine with another filter is to get what this one does not want. */
	for (unsigned i = 0; i < s->engines.cnt; i++)
		if (s->engines.v[i]->filter != s->first_filter || !s->o.engines_fixed)
			return 0;
	if (!kernel)
		return 0;
	s->condition.gates = calloc(ESPY_GATE_MAX, sizeof(*s->condition.gates));
	s->condition.call_gates = calloc(ESPY_ABI_CNT, sizeof(*s->condition.call_gates));
	if (!s->condition.gates || !s->condition.call_gates)
		return -ENOMEM;
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		for (uint32_t nr = 0; nr < s->images[abi].syscall_cnt && nr < ESPY_MAX_SYSCALLS; nr++) {
			/* What the tables of descriptors need comes whatever the condition says. */
			if (espy_syscall_set__has(&s->first_filter->trace, (enum espy_abi)abi, nr) &&
			    !(s->follow_fds && espy_state__needs_call(&s->images[abi], nr)))
				set_gate(s, (enum espy_abi)abi, nr);
		}
		s->sets[abi].gates = s->condition.call_gates[abi];
	}
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
	/* Who shows a recording must know what the kernel knew: so all is asked here once more. */
	return espy_where__holds(s->condition.where, v, g && (g->early || g->late) && !s->engines.record_sinks, s->state);
}

void espy_session__close_where(struct espy_session *s)
{
	espy_where__free(s->condition.where);
	free(s->condition.gates);
	free(s->condition.call_gates);
}

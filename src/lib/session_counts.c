/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the source counts in place of sending it: all calls by their numbers (-c), or the tallies of --count-by and --hist. */
#include <stdlib.h>
#include "lib/session_impl.h"
#include "record/mark_def.h"
#include "sink/summary.h"
#include "sink/tally.h"

static bool wants_calls(const struct espy_engine *e)
{
	if (e->unknown_calls)
		return true;
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		for (size_t i = 0; i < sizeof(e->calls[abi]) / sizeof(e->calls[abi][0]); i++)
			if (e->calls[abi][i])
				return true;
	return false;
}

/* Reads the definitions of all places. Returns false if there is no memory, or a condition that espy must test itself. */
static bool read_places(struct espy_session *s, const struct espy_probes *p)
{
	struct session_counted *c = &s->counted;

	c->defs = calloc(p->place_cnt, sizeof(*c->defs));
	for (size_t i = 0; c->defs && i < p->place_cnt; i++) {
		if (!p->places[i].rule->tested || espy_mark_def__make_probe(&c->defs[i], p->places[i].def))
			return false;
		c->place_cnt++;
	}
	return c->defs;
}

/* Translates the tallies for a source that has only probes to count. */
static bool lower_hits(struct espy_session *s, struct espy_engine *e)
{
	struct session_counted *c = &s->counted;

	c->specs = calloc(c->tally_cnt * c->place_cnt, sizeof(*c->specs));
	for (size_t i = 0; c->specs && i < c->tally_cnt; i++)
		if (!espy_tally__lower_hits(e->tally, i, (const struct espy_mark_def *const *)c->defs, c->place_cnt,
					    c->specs + i * c->place_cnt, &c->tallies[i]))
			return false;
	return c->specs;
}

static bool lower_calls(struct espy_session *s, struct espy_engine *e)
{
	for (size_t i = 0; i < s->counted.tally_cnt; i++)
		if (!espy_tally__lower(e->tally, i, e->filter->trace_given, &s->counted.tallies[i]))
			return false;
	return true;
}

/* Translates the tallies of an engine for the source. Returns false if the source cannot count all of them. */
static bool lower_tallies(struct espy_session *s, struct espy_engine *e)
{
	struct session_counted *c = &s->counted;

	c->tally_cnt = espy_tally__cnt(e->tally);
	if (!s->src_ops->tallies || c->tally_cnt > ESPY_SOURCE_TALLIES)
		return false;
	c->tallies = calloc(c->tally_cnt, sizeof(*c->tallies));
	return c->tallies && (s->probes ? lower_hits(s, e) : lower_calls(s, e));
}

/* The engine must be the only one, with a table of all calls or tallies, and nothing that only espy can test. */
void espy_session__choose_counting(struct espy_session *s)
{
	struct espy_engine *e = s->engines.cnt == 1 ? s->engines.v[0] : NULL;

	if (!e || !(e->needs.counts || e->tally) || !s->o.engines_fixed || !s->src_ops || !s->src_ops->counts)
		return;
	if (s->marks.cnt || espy_session__has_agent_probes(s) || (e->filter->status != ESPY_STATUS_ALL && !e->every_status) ||
	    e->filter->path_cnt || e->filter->fds.given || e->filter->task_cnt || e->call_limit || s->trigger_cnt ||
	    s->condition.where)
		return;
	/* Hits are counted only where there is nothing else to count. */
	const bool hits = !s->probes || (s->src_ops->hits && !wants_calls(e) && read_places(s, espy_session__probes(s)));

	if (hits && (!e->tally || (!s->o.io_uring && lower_tallies(s, e))))
		s->counted.engine = e;
	else
		espy_session__free_counting(s);
}

static void add_tallied(void *ctx, const struct espy_tallied *t)
{
	const struct session_counted *c = &((const struct espy_session *)ctx)->counted;

	if (!c->specs || t->is_slot || t->place < c->place_cnt)
		espy_tally__add(c->engine->sink, t, c->specs && !t->is_slot ? c->defs[t->place] : NULL);
}

static void add_hits(struct espy_session *s)
{
	const struct session_counted *c = &s->counted;
	struct espy_count *counts = calloc(c->place_cnt, sizeof(*counts));

	if (counts && !s->src_ops->hits(s->src, counts, c->place_cnt))
		for (size_t i = 0; i < c->place_cnt; i++)
			espy_summary__add_hits(c->engine->sink, c->defs[i], (uint32_t)(ESPY_PROBE_FIRST_DEF + i), &counts[i]);
	free(counts);
}

static void add_calls(struct espy_session *s)
{
	struct espy_count *counts = calloc(ESPY_MAX_SYSCALLS, sizeof(*counts));

	for (unsigned abi = 0; abi < ESPY_ABI_CNT && counts; abi++) {
		memset(counts, 0, ESPY_MAX_SYSCALLS * sizeof(*counts));
		if (!s->src_ops->counts(s->src, (enum espy_abi)abi, counts, ESPY_MAX_SYSCALLS))
			espy_summary__add(s->counted.engine->sink, &s->pipe.images[abi], counts, ESPY_MAX_SYSCALLS);
	}
	free(counts);
}

void espy_session__add_counts(struct espy_session *s)
{
	if (s->counted.tally_cnt)
		s->src_ops->tallies(s->src, add_tallied, s);
	else if (s->counted.defs)
		add_hits(s);
	else
		add_calls(s);
}

void espy_session__free_counting(struct espy_session *s)
{
	struct session_counted *c = &s->counted;

	for (size_t i = 0; i < c->place_cnt; i++)
		espy_mark_def__free(c->defs[i]);
	free(c->defs);
	free(c->specs);
	free(c->tallies);
	*c = (struct session_counted){ .engine = NULL };
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Probes of a session: the rules of its engines, and the places that they are resolved to when it starts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "filter/probe_select.h"
#include "lib/session_impl.h"

/* A probe copies so many bytes of a text at least. */
#define STRINGS_LEAST 256u

static void say(void *session, bool error, const char *text)
{
	struct espy_session *s = session;

	if (error)
		espy_session__error(s, "%s", text);
	else
		espy_session__say(s, ESPY_TOPIC_GENERAL, "%s", text);
}

/* Lowers the condition of a rule. Resolving a tracepoint calls it, since only then its arguments are known. */
static int lower(struct espy_probe_rule *rule, char *why, size_t why_sz)
{
	struct espy_condition_error e = { .at = 0 };
	const int err = espy_probe_lower(rule, &e);

	if (err)
		snprintf(why, why_sz, "%s", e.text);
	return err;
}

static int gather(struct espy_session *s, struct espy_probe_rule **rules, size_t *cnt)
{
	for (unsigned i = 0; s->filters[i]; i++) {
		struct espy_probe_rules *own = &s->filters[i]->probes;

		for (size_t r = 0; r < own->cnt; r++) {
			char why[256];
			/* The arguments of these are known at their places. */
			const bool later =
				own->v[r].where == ESPY_PROBE_AT_TRACEPOINT || espy_probe_rule__has_names(&own->v[r]);
			int err = later ? 0 : lower(&own->v[r], why, sizeof(why));

			if (err) {
				espy_session__error(s, "the condition of a probe: %s", why);
				return err;
			}
			rules[(*cnt)++] = &own->v[r];
		}
	}
	return 0;
}

/*
 * Tells whether the agent gets places. It is in targets that are named one by one; the stack of a hit is the kernel's
 * to copy. Unless the user has asked for it, it gets them only where it is loaded for marks anyway, and each hit is
 * wanted.
 */
static bool agent_gets_places(const struct espy_session *s)
{
	const struct espy_session_options *o = &s->o;
	bool counts = false;

	if (o->probes_by == ESPY_PROBES_BY_KERNEL || o->all || o->cgroup || o->stack_frames)
		return false;
	for (unsigned i = 0; i < s->engines.cnt; i++)
		counts |= s->engines.v[i]->needs.counts || s->engines.v[i]->tally;
	return o->probes_by == ESPY_PROBES_BY_AGENT || (s->marks.cnt && s->marks.via != ESPY_VIA_KERNEL && !counts);
}

static int check_way(struct espy_session *s)
{
	if (s->o.probes_by != ESPY_PROBES_BY_AGENT || agent_gets_places(s))
		return 0;
	if (s->o.stack_frames) {
		espy_session__say(s, ESPY_TOPIC_GENERAL,
				  "probes go through the kernel, since it copies the stacks of -k");
		return 0;
	}
	espy_session__error(s, "--via agent is for a command or processes (-p): other processes have no agent");
	return -EINVAL;
}

int espy_session__open_probes(struct espy_session *s)
{
	struct espy_probe_targets targets = {
		.pids = s->o.pids,
		.pid_cnt = s->o.pid_count,
		.command = s->targets.command.path,
		.string_max = STRINGS_LEAST,
		.by_agent = agent_gets_places(s),
		.say_kernel = s->o.probes_by == ESPY_PROBES_BY_AGENT,
		.say = say,
		.lower = lower,
		.ctx = s,
	};
	struct espy_probe_rule **rules;
	size_t cnt = 0;
	int err;

	for (unsigned i = 0; i < s->engines.cnt; i++) {
		cnt += s->engines.v[i]->filter->probes.cnt;
		if (s->engines.v[i]->needs.str_limit > targets.string_max)
			targets.string_max = s->engines.v[i]->needs.str_limit;
	}
	if (!cnt)
		return 0;
	err = check_way(s);
	if (err)
		return err;
	rules = calloc(cnt, sizeof(*rules));
	if (!rules)
		return -ENOMEM;
	cnt = 0;
	err = gather(s, rules, &cnt);
	err = err ? err : espy_probe_places__open(&s->probes, rules, cnt, &targets);
	free(rules);
	return err;
}

const struct espy_probes *espy_session__probes(const struct espy_session *s)
{
	return s->probes ? espy_probe_places__get(s->probes) : NULL;
}

bool espy_session__has_probes_of(const struct espy_session *s, const struct espy_probe_rules *rules)
{
	const struct espy_probes *p = espy_session__probes(s);

	for (size_t i = 0; p && i < p->place_cnt; i++)
		if (p->places[i].rule >= rules->v && p->places[i].rule < rules->v + rules->cnt)
			return true;
	return false;
}

bool espy_session__has_agent_probes(const struct espy_session *s)
{
	return s->probes && espy_probes__any_by_agent(espy_probe_places__get(s->probes));
}

bool espy_session__has_kernel_probes(const struct espy_session *s)
{
	return s->probes && !espy_probes__all_by_agent(espy_probe_places__get(s->probes));
}

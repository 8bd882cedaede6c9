/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Probes by the agent: plans and places go to each process, and hits come back as records of the stream. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include "base/small_file.h"
#include "record/mark_values.h"
#include "source/agent/agent_source.h"
#include "symbols/jump_place.h"

#define PLACES_ONCE                                                                                                    \
	((sizeof(((struct espy_agent_slot *)0)->payload) - sizeof(struct espy_agent_places)) /                         \
	 sizeof(struct espy_agent_place))
#define SECCOMP_FILTER 2 /* "Seccomp:" in /proc/PID/status */

int espy_agent_probes__open(struct espy_agent_source *s)
{
	const struct espy_probes *probes = s->opts.probes;

	for (size_t i = 0; probes && i < probes->place_cnt; i++)
		s->probe_cnt += probes->places[i].jump != NULL;
	if (!s->probe_cnt)
		return 0;
	s->probes_told = calloc(1, probes->place_cnt);
	return s->probes_told ? 0 : -ENOMEM;
}

/* ---- to the agent */

static struct espy_agent_place to_agent(const struct espy_probe_place *place, uint32_t id, uint32_t plan)
{
	const struct espy_jump_place *j = place->jump;
	struct espy_agent_place p = {
		.addr = j->addr,
		.id = id,
		.plan = plan,
		.taken = j->copy.taken,
		.copy_len = j->copy.len,
		.gap_cnt = j->copy.gap_cnt,
		.hop_cnt = j->hop_cnt,
		.pushed = j->pushed,
		.flags = (uint8_t)((j->copy.ends ? ESPY_PLACE_ENDS : 0) | (j->copy.calls ? ESPY_PLACE_CALLS : 0) |
				   (place->kind == ESPY_PROBE_RETURN ? ESPY_PLACE_RETURNS : 0)),
	};

	if (!j->hop_cnt && j->known) {
		p.kept = j->kept;
		p.written = j->written;
		p.known = j->known;
		p.starts = j->starts;
	}
	memcpy(p.code, j->code, sizeof(j->code));
	memcpy(p.copy, j->copy.bytes, sizeof(j->copy.bytes));
	memcpy(p.gaps, j->copy.gaps, j->copy.gap_cnt * sizeof(p.gaps[0]));
	memcpy(p.hops, j->hops, j->hop_cnt * sizeof(p.hops[0]));
	return p;
}

/* Gives the agent the plans that its places have. numbers: what it calls them. */
static int give_plans(struct espy_agent_source *s, struct espy_agent_process *p, uint32_t *numbers)
{
	const struct espy_probes *probes = s->opts.probes;
	uint8_t *given = calloc(1, probes->plan_cnt + 1);
	int number = given ? 0 : -ENOMEM;

	for (size_t i = 0; i < probes->place_cnt && number >= 0; i++) {
		const uint32_t plan = probes->places[i].plan;

		if (!probes->places[i].jump || given[plan])
			continue;
		memcpy(&espy_agent__slot(&p->link)->payload.plan, &probes->plans[plan], sizeof(probes->plans[plan]));
		number = espy_agent__ask(&p->link, ESPY_AGENT_PLAN);
		given[plan] = 1;
		numbers[plan] = (uint32_t)number;
	}
	free(given);
	return number < 0 ? number : 0;
}

/* Sends the agent's places from number i on that lie in one file, as many as one request holds. Returns where the next
 * ones begin. */
static size_t write_places(const struct espy_probes *probes, size_t i, const uint32_t *numbers,
			   struct espy_agent_slot *slot)
{
	struct espy_agent_places head = { 0 };
	const int fd = probes->places[i].fd;

	for (; i < probes->place_cnt && head.cnt < PLACES_ONCE; i++) {
		const struct espy_probe_place *place = &probes->places[i];

		if (!place->jump)
			continue;
		if (place->fd != fd)
			break;
		const struct espy_agent_place p =
			to_agent(place, (uint32_t)(ESPY_PROBE_FIRST_DEF + i), numbers[place->plan]);

		memcpy(slot->payload.bytes + sizeof(head) + head.cnt++ * sizeof(p), &p, sizeof(p));
		head.dev = makedev(place->def->dev_major, place->def->dev_minor);
		head.ino = place->def->inode;
		head.build_id_sz = place->def->build_id_sz;
		memcpy(head.build_id, place->def->build_id, sizeof(head.build_id));
	}
	while (i < probes->place_cnt && !probes->places[i].jump)
		i++;
	head.more = i < probes->place_cnt;
	memcpy(&slot->payload.places, &head, sizeof(head));
	return i;
}

static int give_places(struct espy_agent_source *s, struct espy_agent_process *p, const uint32_t *numbers)
{
	const struct espy_probes *probes = s->opts.probes;
	size_t i = 0;
	int err = 0;

	while (i < probes->place_cnt && !probes->places[i].jump)
		i++;
	while (i < probes->place_cnt && err >= 0) {
		i = write_places(probes, i, numbers, espy_agent__slot(&p->link));
		err = espy_agent__ask(&p->link, ESPY_AGENT_PROBE);
	}
	return err < 0 ? err : 0;
}

/* ---- what it could not do */

static const char *const reasons[ESPY_PROBE_NO_CNT] = {
	[ESPY_PROBE_FOREIGN] =
		"something else than the file's code stands there (a breakpoint, or a probe of another tool)",
	[ESPY_PROBE_DENIED] = "the program's code may not be written",
	[ESPY_PROBE_NO_HOP] = "other probes have taken the padding near it",
	[ESPY_PROBE_NO_MEMORY] = "there is no free memory near it, or where a jump can go",
	[ESPY_PROBE_SHADOWED] = "the program has a shadow stack (CET)",
	[ESPY_PROBE_USED] = "the agent uses this function itself",
};

static void name_of(const struct espy_agent_source *s, uint32_t id, char *name, size_t size)
{
	const uint32_t i = id - ESPY_PROBE_FIRST_DEF;
	const struct espy_rec_probe_def *def = i < s->opts.probes->place_cnt ? s->opts.probes->places[i].def : NULL;
	const char *provider = def ? (const char *)(def + 1) + def->nargs : "";

	snprintf(name, size, "%s%s%s", provider, def ? ":" : "", def ? provider + def->provider_sz : "");
}

static void report(struct espy_agent_source *s, const struct espy_agent_process *p, const struct espy_agent_probed *r)
{
	char name[256];

	for (unsigned i = 0; i < ESPY_PROBE_NO_CNT; i++) {
		if (!r->no[i] || !reasons[i])
			continue;
		name_of(s, r->first_id[i], name, sizeof(name));
		if (r->no[i] == 1)
			espy_agent_source__report(s, ESPY_REPORT_WARN,
						  "process %d: %s is not probed: %s (--via kernel may do it)",
						  (int)p->pid, name, reasons[i]);
		else
			espy_agent_source__report(
				s, ESPY_REPORT_WARN,
				"process %d: %u places are not probed, among them %s: %s (--via kernel may do it)",
				(int)p->pid, r->no[i], name, reasons[i]);
	}
	if (r->no[ESPY_PROBE_NO_OBJECT] && !r->on) {
		name_of(s, r->first_id[ESPY_PROBE_NO_OBJECT], name, sizeof(name));
		espy_agent_source__report(s, ESPY_REPORT_NOTE,
					  "process %d has not loaded the file of %s now: hits come when it does",
					  (int)p->pid, name);
	}
}

/* A filter may end a thread for the call by which the agent reads the program's memory. */
static bool has_filter(pid_t pid)
{
	return espy_status_field(pid, "Seccomp") == SECCOMP_FILTER;
}

int espy_agent_process__probes_on(struct espy_agent_source *s, struct espy_agent_process *p)
{
	struct espy_agent_info info;
	struct espy_agent_probed reply;
	uint32_t *numbers;
	int err;

	if (!s->probe_cnt || p->link.places >= s->probe_cnt)
		return 0;
	espy_agent__info(&p->link, &info);
	if (~info.features & (ESPY_AGENT_CAN_PROBE | ESPY_AGENT_CAN_BORROW | ESPY_AGENT_CAN_MIX)) {
		espy_agent_source__report(
			s, ESPY_REPORT_ERROR,
			"process %d: its agent is of an older version, which has no such probes: --via kernel",
			(int)p->pid);
		return -ENOTSUP;
	}
	if (has_filter(p->pid)) {
		espy_agent_source__report(
			s, ESPY_REPORT_ERROR,
			"process %d has a seccomp filter, which might end it for what a probe does: --via kernel",
			(int)p->pid);
		return -EPERM;
	}
	numbers = calloc(s->opts.probes->plan_cnt + 1, sizeof(*numbers));
	err = numbers ? give_plans(s, p, numbers) : -ENOMEM;
	err = err ? err : give_places(s, p, numbers);
	free(numbers);
	if (err) {
		if (err != -ESRCH)
			espy_agent_source__report(s, ESPY_REPORT_ERROR,
						  "process %d: its agent did not take the probes: %s", (int)p->pid,
						  strerror(-err));
		return err;
	}
	memcpy(&reply, &espy_agent__slot(&p->link)->probed, sizeof(reply));
	report(s, p, &reply);
	return 0;
}

/* ---- from the agent */

const struct espy_rec_probe_def *espy_agent_probe__take(const struct espy_agent_source *s, uint32_t def,
							struct espy_rec_mark *rec, uint32_t len, uint64_t *begin)
{
	const uint32_t i = def - ESPY_PROBE_FIRST_DEF;
	const struct espy_probe_place *place = i < s->opts.probes->place_cnt ? &s->opts.probes->places[i] : NULL;
	struct espy_rec_probe *hit = (void *)rec;
	uint64_t head[2] = { 0 };

	if (!place || !place->jump)
		return NULL;
	const uint32_t head_sz = place->kind == ESPY_PROBE_RETURN ? sizeof(head) : sizeof(head[0]);
	const uint8_t *kinds = (const uint8_t *)(place->def + 1);

	if (len < head_sz)
		return NULL;
	memcpy(head, rec + 1, head_sz);
	len -= head_sz;
	memmove(hit + 1, (const uint8_t *)(rec + 1) + head_sz, len);
	if (!espy_mark_values__check(hit + 1, len, kinds, place->def->nargs))
		return NULL;
	hit->rec.type = ESPY_REC_PROBE;
	hit->rec.size = (uint32_t)sizeof(*hit) + len;
	hit->rec.nr = (uint16_t)head[0];
	hit->def = def;
	hit->len = len;
	*begin = head[1];
	return place->def;
}

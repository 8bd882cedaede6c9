// SPDX-License-Identifier: LGPL-2.1-or-later
// Places of probes: what the sessions ask for, and what becomes of it. All of it under agent.lock.
#include "probe_inside.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include "arch/borrow.h"
#include "arch/displace.h"

#define ARCH_SHSTK_STATUS 0x5005 // of arch_prctl; bit 0 of the answer: the thread has a shadow stack

// One session's place in one object.
struct want {
	uint32_t next; // of the same jump; ~0: none
	uint32_t session, place;
};

static uint8_t any; // a session has or had places: there is something to look after

// ---- requests

static int check_source(const struct espy_probe_fetch *f)
{
	switch (f->src) {
	case ESPY_PROBE_REG:
		return f->reg >= ESPY_REG_CNT || f->reg == ESPY_REG_ORIG_AX || f->reg == ESPY_REG_CS || f->reg == ESPY_REG_SS;
	case ESPY_PROBE_ENTRY_ARG:
		return f->reg >= ESPY_PROBE_SAVED;
	case ESPY_PROBE_COMM:
		return f->what == ESPY_PROBE_NUMBER || f->way_cnt;
	default:
		return f->src != ESPY_PROBE_CONST;
	}
}

static int check_fetch(const struct espy_probe_fetch *f)
{
	if (check_source(f) || f->way_cnt > ESPY_PROBE_WAY_MAX || f->what > ESPY_PROBE_BYTES || f->max > ESPY_PROBE_STRING_MAX)
		return -EINVAL;
	if (f->what == ESPY_PROBE_NUMBER && f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8)
		return -EINVAL;
	return 0;
}

// 0, or -EINVAL. Nothing of a plan is checked again where it is hit.
static int check_plan(const struct espy_probe_plan *plan)
{
	if (plan->fetch_cnt > ESPY_MARK_MAX_ARGS || plan->arg_cnt > plan->fetch_cnt ||
	    plan->test_cnt > ESPY_PROBE_TESTS)
		return -EINVAL;
	for (uint32_t i = 0; i < plan->fetch_cnt; i++) {
		const struct espy_probe_fetch *f = &plan->fetches[i];

		if (check_fetch(f))
			return -EINVAL;
		if (i < plan->arg_cnt && f->what != ESPY_PROBE_NUMBER && !plan->memory)
			return -EINVAL;
	}
	for (uint32_t i = 0; i < plan->test_cnt; i++)
		if (plan->tests[i].text_len > ESPY_PROBE_TEXT_MAX)
			return -EINVAL;
	return espy_agent_plan__room(plan) > ESPY_AGENT_PROBE_ROOM ? -EINVAL : 0;
}

static struct probe_set *set_of(uint32_t session)
{
	struct session *s = &agent.sessions[session];
	struct probe_set *set;

	if (s->probes)
		return s->probes;
	set = mem_alloc(sizeof(*set));
	if (!set)
		return NULL;
	set->plans = mem_map(ESPY_AGENT_PLANS * sizeof(*set->plans));
	set->places = mem_map(ESPY_AGENT_PLACES * sizeof(*set->places));
	s->probes = set;
	return set;
}

int probe_plan(uint32_t session, const struct espy_agent_slot *slot)
{
	struct probe_set *set = set_of(session);
	struct espy_probe_plan *plan;

	if (!set || !set->plans)
		return -ENOMEM;
	if (set->nplans == ESPY_AGENT_PLANS)
		return -ENOSPC;
	plan = mem_alloc(sizeof(*plan));
	if (!plan)
		return -ENOMEM;
	__builtin_memcpy(plan, (const void *)&slot->payload.plan, sizeof(*plan));
	if (check_plan(plan)) {
		mem_free(plan, sizeof(*plan));
		return -EINVAL;
	}
	set->plans[set->nplans] = plan;
	return (int)set->nplans++;
}

// Does the plan fetch what only a return has?
static int is_of_return(const struct espy_probe_plan *plan)
{
	for (uint32_t i = 0; i < plan->fetch_cnt; i++)
		if (plan->fetches[i].src == ESPY_PROBE_ENTRY_ARG)
			return 1;
	return 0;
}

static int check_place(const struct probe_set *set, const struct espy_agent_place *p)
{
	const uint32_t least = p->known ? p->written : p->hop_cnt ? ESPY_SHORT_JUMP_SZ : ESPY_JUMP_SZ;
	const uint32_t kept = p->known ? p->kept : 0;

	if (p->id < ESPY_PROBE_FIRST_DEF || p->plan >= set->nplans || p->taken < least ||
	    p->taken > ESPY_DISPLACED_MAX || ((p->addr + kept) & 7) + (least - kept) > 8 ||
	    p->copy_len > ESPY_COPY_MAX || p->gap_cnt > ESPY_COPY_GAPS || p->hop_cnt > ESPY_HOPS ||
	    (p->known && (kept >= p->written || p->written > p->taken || p->written > p->known || p->hop_cnt ||
			  p->known > ESPY_BORROW_KNOWN)))
		return -EINVAL;
	if (!(p->flags & ESPY_PLACE_RETURNS) && is_of_return(set->plans[p->plan]))
		return -EINVAL;
	for (uint32_t i = 0; i < p->gap_cnt; i++)
		if (p->gaps[i].at + 4u > p->copy_len || p->gaps[i].end > p->copy_len || p->gaps[i].what > ESPY_GAP_HIGH)
			return -EINVAL;
	return 0;
}

static int same_file(const struct probe_file *f, const struct espy_agent_places *asked)
{
	return f->dev == asked->dev && f->ino == asked->ino && f->build_id_sz == asked->build_id_sz &&
	       !__builtin_memcmp(f->build_id, asked->build_id, sizeof(f->build_id));
}

// Number of the file; ~0: no memory.
static uint32_t file_of(struct probe_set *set, const struct espy_agent_places *asked)
{
	for (uint32_t i = 0; i < set->nfiles; i++)
		if (same_file(&set->files[i], asked))
			return i;
	if (set->nfiles == set->files_cap) {
		const uint32_t cap = set->files_cap ? 2 * set->files_cap : 8;
		struct probe_file *files = mem_alloc(cap * sizeof(*files));

		if (!files)
			return ~0u;
		__builtin_memcpy(files, set->files, set->nfiles * sizeof(*files));
		mem_free(set->files, set->files_cap * sizeof(*files));
		set->files = files;
		set->files_cap = cap;
	}
	set->files[set->nfiles] =
		(struct probe_file){ .dev = asked->dev, .ino = asked->ino, .build_id_sz = asked->build_id_sz };
	__builtin_memcpy(set->files[set->nfiles].build_id, asked->build_id, sizeof(asked->build_id));
	return set->nfiles++;
}

static void reply(const struct probe_set *set, struct espy_agent_probed *to)
{
	struct espy_agent_probed r = { .places = set->nplaces };

	for (uint32_t i = 0; i < set->nplaces; i++) {
		const struct probe_place *p = &set->places[i];

		r.on += p->state == JUMP_ON;
		if (p->state < ESPY_PROBE_NO_CNT && !r.no[p->state]++)
			r.first_id[p->state] = p->p.id;
	}
	*to = r;
}

int probe_places(uint32_t session, struct espy_agent_slot *slot)
{
	struct probe_set *set = set_of(session);
	struct espy_agent_places asked;
	struct espy_agent_place p;
	uint32_t file;

	if (!set || !set->places)
		return -ENOMEM;
	__builtin_memcpy(&asked, (const void *)&slot->payload.places, sizeof(asked));
	if (sizeof(asked) + asked.cnt * sizeof(p) > sizeof(slot->payload) || asked.build_id_sz > sizeof(asked.build_id))
		return -EINVAL;
	if (asked.cnt > ESPY_AGENT_PLACES - set->nplaces)
		return -ENOSPC;
	file = file_of(set, &asked);
	if (file == ~0u)
		return -ENOMEM;
	for (uint32_t i = 0; i < asked.cnt; i++) {
		__builtin_memcpy(&p, (const void *)&slot->payload.places.v[i], sizeof(p));
		if (check_place(set, &p))
			return -EINVAL;
		set->places[set->nplaces++] =
			(struct probe_place){ .p = p, .file = file, .state = ESPY_PROBE_NO_OBJECT };
	}
	any = 1;
	slot->nplaces = set->nplaces;
	if (asked.more)
		return (int)set->nplaces;
	probe_apply(1);
	reply(set, &slot->probed);
	return (int)set->nplaces;
}

uint32_t probe_count(uint32_t session)
{
	return agent.sessions[session].probes ? agent.sessions[session].probes->nplaces : 0;
}

void probe_forget(uint32_t session)
{
	struct probe_set *set = agent.sessions[session].probes;

	if (!set)
		return;
	agent.sessions[session].probes = NULL;
	probe_apply(1);
	for (uint32_t i = 0; i < set->nplans; i++)
		mem_retire(set->plans[i], sizeof(*set->plans[i]), 0);
	if (set->plans)
		munmap(set->plans, ESPY_AGENT_PLANS * sizeof(*set->plans));
	if (set->places)
		munmap(set->places, ESPY_AGENT_PLACES * sizeof(*set->places));
	mem_free(set->files, set->files_cap * sizeof(*set->files));
	mem_free(set, sizeof(*set));
}

// ---- what is wanted

// nargs: words of a record of numbers, its head among them
static const struct hooks *hooks_of(uint32_t session, uint32_t id, uint32_t nargs)
{
	static const struct arg words[PROBE_HEAD_MAX + ESPY_MARK_MAX_ARGS] = {
		{ .word = 0 },	{ .word = 1 },	{ .word = 2 },	{ .word = 3 },	{ .word = 4 },	{ .word = 5 },
		{ .word = 6 },	{ .word = 7 },	{ .word = 8 },	{ .word = 9 },	{ .word = 10 }, { .word = 11 },
		{ .word = 12 }, { .word = 13 }, { .word = 14 }, { .word = 15 }, { .word = 16 },	{ .word = 17 },
	};
	const struct ring *ring = agent.sessions[session].ring;
	struct hooks *h = mem_alloc(sizeof(*h) + 2 * sizeof(h->wanted[0]));

	if (!h)
		return NULL;
	h->def = id;
	h->nargs = (uint8_t)nargs;
	h->flat_sz = (uint32_t)sizeof(struct espy_mark_record) + 8u * h->nargs;
	h->args_layout = LAYOUT_WORDS;
	h->layout = agent.clock == ESPY_AGENT_CLOCK_TSC ? LAYOUT_WORDS : LAYOUT_ANY;
	h->args = words;
	h->nwanted = 1;
	h->wanted[0] = (struct wanted){
		.ring = ring,
		.data = ring->data,
		.string_max = ring->string_max,
		.head_mask = ring->chunk_sz - 1,
		.room = ring->limit - h->flat_sz,
		.cur_off = (uint32_t)(offsetof(struct thread, cur) + ring->slot * sizeof(uint64_t)),
	};
	return h;
}

static int is_fast(const struct espy_probe_plan *plan, uint32_t pushed)
{
	if (plan->test_cnt || plan->fetch_cnt != plan->arg_cnt || plan->arg_cnt > PROBE_FAST_ARGS)
		return 0;
	for (uint32_t i = 0; i < plan->arg_cnt; i++) {
		const struct espy_probe_fetch *f = &plan->fetches[i];

		if (f->src != ESPY_PROBE_REG || f->way_cnt || f->what != ESPY_PROBE_NUMBER || f->size != 8 ||
		    (f->reg == ESPY_REG_SP && pushed))
			return 0;
	}
	return 1;
}

void consumers_retire(const struct consumers *c)
{
	for (uint32_t i = 0; c && i < c->n; i++)
		mem_retire((void *)c->v[i].hooks, sizeof(struct hooks) + 2 * sizeof(struct wanted), 0);
	if (c)
		mem_retire((void *)c, sizeof(*c) + c->n * sizeof(c->v[0]), 0);
}

static const struct consumers *consumers_of(const struct jump *j, const struct want *wants)
{
	struct consumers *c;
	uint32_t n = 0;

	for (uint32_t w = j->first; w != ~0u; w = wants[w].next)
		n++;
	if (!n)
		return NULL;
	c = mem_alloc(sizeof(*c) + n * sizeof(c->v[0]));
	if (!c)
		return NULL;
	for (uint32_t w = j->first; w != ~0u; w = wants[w].next) {
		const struct probe_set *set = agent.sessions[wants[w].session].probes;
		const struct espy_agent_place *p = &set->places[wants[w].place].p;
		const struct espy_probe_plan *plan = set->plans[p->plan];
		struct consumer *to = &c->v[c->n];

		to->plan = plan;
		to->pushed = p->flags & ESPY_PLACE_RETURNS ? 0 : p->pushed;
		to->returns = p->flags & ESPY_PLACE_RETURNS ? 1 : 0;
		to->fast = (uint8_t)is_fast(plan, p->pushed);
		to->hooks = hooks_of(wants[w].session, p->id, PROBE_HEAD(to->returns) + plan->arg_cnt);
		c->n += to->hooks != NULL;
		c->returns += to->hooks && to->returns;
		c->keeps += to->hooks && is_of_return(plan);
	}
	return c;
}

// Why the agent will not put a jump there, whatever stands there; 0: it may.
static int refused(const struct probe_object *o, const struct jump *j, const struct want *wants)
{
	int needs_addresses = j->plan.flags & ESPY_PLACE_CALLS; // puts return addresses on the stack
	uint64_t features = 0;

	for (uint32_t w = j->first; w != ~0u; w = wants[w].next)
		needs_addresses |= agent.sessions[wants[w].session].probes->places[wants[w].place].p.flags & ESPY_PLACE_RETURNS;
	if (o->is_own || (agent.clock != ESPY_AGENT_CLOCK_TSC &&
			  j->addr - (uint64_t)&clock_gettime < 256)) // event_monotonic() calls it
		return ESPY_PROBE_USED;
	if (needs_addresses && !sys(SYS_arch_prctl, ARCH_SHSTK_STATUS, (long)&features, 0, 0, 0, 0) &&
	    features & 1)
		return ESPY_PROBE_SHADOWED;
	return 0;
}

static void note_wants(struct want *wants, uint32_t most)
{
	uint32_t n = 0;

	for (struct probe_object *o = probe_objects; o; o = o->next)
		for (struct jump *j = o->jumps; j; j = j->next)
			j->first = ~0u;
	for (uint32_t s = 0; s < ESPY_AGENT_SESSIONS; s++) {
		const struct probe_set *set = agent.sessions[s].probes;

		for (uint32_t i = 0; set && agent.sessions[s].open && i < set->nplaces; i++)
			for (struct probe_object *o = probe_objects; o; o = o->next) {
				const struct probe_file *f = &set->files[set->places[i].file];
				struct jump *j;

				if (n == most || !probe_is_file(f, o))
					continue;
				j = probe_jump(o, &set->places[i].p);
				if (!j)
					continue;
				wants[n] = (struct want){ .next = j->first, .session = s, .place = i };
				j->first = n++;
			}
	}
}

static void publish(struct probe_object *o, const struct want *wants)
{
	for (struct jump *j = o->jumps; j; j = j->next) {
		const struct consumers *old = j->now, *c = NULL;
		int no = 0;

		if (j->first != ~0u) {
			no = refused(o, j, wants);
			no = no ? no : jump_prepare(o, j);
			c = no ? NULL : consumers_of(j, wants);
			if (no && j->state != JUMP_ON)
				j->state = (uint8_t)no;
		}
		__atomic_store_n(&j->now, c, __ATOMIC_RELEASE);
		consumers_retire(old);
		j->dirty = c ? j->state != JUMP_ON : j->state == JUMP_ON || j->state == ESPY_PROBE_FOREIGN;
	}
	jumps_prepared(o);
}

// ---- switching

static void sort(struct jump **v, uint32_t n)
{
	for (uint32_t gap = n / 2; gap; gap /= 2)
		for (uint32_t i = gap; i < n; i++)
			for (uint32_t k = i; k >= gap && v[k - gap]->addr > v[k]->addr; k -= gap) {
				struct jump *t = v[k];

				v[k] = v[k - gap];
				v[k - gap] = t;
			}
}

struct switching {
	uint32_t changed;
	int moved; // objects have come or gone since they were looked at
};

static int switch_one(struct dl_phdr_info *info, size_t size, void *data)
{
	struct switching *sw = data;
	struct probe_object *o = probe_objects;
	struct jump **v;
	uint32_t n = 0;

	if (probe_moved(info)) {
		sw->moved = 1;
		return 1;
	}
	while (o && !probe_is_object(o, info))
		o = o->next;
	for (struct jump *j = o ? o->jumps : NULL; j; j = j->next)
		n += j->dirty;
	if (!n)
		return 0;
	v = mem_alloc(n * sizeof(*v));
	if (!v)
		return 0;
	n = 0;
	for (struct jump *j = o->jumps; j; j = j->next)
		if (j->dirty)
			v[n++] = j;
	sort(v, n);
	sw->changed += jumps_switch(o, v, n);
	mem_free(v, n * sizeof(*v));
	return 0;
}

static uint32_t count_places(void)
{
	uint32_t n = 0, objects = 1;

	for (const struct probe_object *o = probe_objects; o; o = o->next)
		objects++;
	for (uint32_t s = 0; s < ESPY_AGENT_SESSIONS; s++)
		n += probe_count(s);
	return n * objects;
}

static void tell_states(void)
{
	for (uint32_t s = 0; s < ESPY_AGENT_SESSIONS; s++) {
		struct probe_set *set = agent.sessions[s].probes;

		for (uint32_t i = 0; set && i < set->nplaces; i++) {
			set->places[i].state = ESPY_PROBE_NO_OBJECT;
			for (struct probe_object *o = probe_objects; o; o = o->next)
				if (probe_is_file(&set->files[set->places[i].file], o))
					set->places[i].state = probe_jump(o, &set->places[i].p)->state;
		}
	}
}

void probe_apply(int force)
{
	struct switching sw = { .moved = 1 };

	if (any && !live->confined)
		__atomic_store_n(&live->confined, (uint32_t)probe_is_confined(), __ATOMIC_RELAXED);
	for (int tries = 0; any && sw.moved && tries < 100; tries++, force = 1) {
		struct want *wants;
		uint32_t most;

		if (!probe_scan(force))
			return;
		most = count_places();
		wants = mem_alloc(most * sizeof(*wants) + 1);
		if (!wants)
			return;
		note_wants(wants, most);
		for (struct probe_object *o = probe_objects; o; o = o->next)
			publish(o, wants);
		mem_free(wants, most * sizeof(*wants) + 1);
		sw = (struct switching){ 0 };
		dl_iterate_phdr(switch_one, &sw);
	}
	tell_states();
}

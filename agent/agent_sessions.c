// SPDX-License-Identifier: LGPL-2.1-or-later
// Sessions: their holders, rings, rules and requests. espy writes a slot, so the agent copies a request once and checks
// the copy.
#include "inside.h"
#include "record/mark_format.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_MAX (1ull << 30)
#define OPEN_FLAGS                                                                                                     \
	(ESPY_AGENT_FOLLOW | ESPY_AGENT_SHARE | ESPY_AGENT_SHARE_ALL | ESPY_AGENT_LAZY | ESPY_AGENT_CALL |             \
	 ESPY_AGENT_NEWEST)

static struct espy_agent_slot *slot_at(uint32_t i)
{
	return (void *)((uint8_t *)agent.area + ESPY_AGENT_SLOT_OFF + i * ESPY_AGENT_SLOT_SZ);
}

// ---- rings ----

static void ring_free(struct ring *ring)
{
	if (!ring)
		return;
	// espy has its own mapping; it needs the descriptor only to find the memfd
	sys(SYS_close, ring->fd, 0, 0, 0, 0, 0);
	mem_retire(ring->shared, ring->map_sz, 1);
	mem_retire(ring, sizeof(*ring), 0);
}

static int is_power_of_two(uint32_t v)
{
	return v && !(v & (v - 1));
}

// The limits of an OPEN, defaults filled in: 0, or -EINVAL.
static int check_open(struct espy_agent_open *o)
{
	if (!o->chunk_sz)
		o->chunk_sz = 16384;
	if (!o->nchunks)
		o->nchunks = 512;
	if (!o->string_max)
		o->string_max = 256;
	if (!is_power_of_two(o->chunk_sz) || o->chunk_sz < 4096 || o->chunk_sz > 1u << 20 || o->nchunks < 16 ||
	    o->nchunks > 65536 || (o->flags & ~(__u32)OPEN_FLAGS) ||
	    ((o->flags & ESPY_AGENT_SHARE_ALL) && !(o->flags & ESPY_AGENT_SHARE)) ||
	    ((o->flags & ESPY_AGENT_SHARE) && (o->flags & ESPY_AGENT_NEWEST)))
		return -EINVAL;
	o->nchunks = (o->nchunks + 63) & ~63u;
	if ((uint64_t)o->chunk_sz * o->nchunks > RING_MAX)
		return -EINVAL;
	if (o->string_max > 4096)
		o->string_max = 4096;
	if (o->string_max > o->chunk_sz / 8)
		o->string_max = o->chunk_sz / 8;
	return 0;
}

// A quarter of the pool for each kind of chunk that is not full yet, so that a quarter at least is under way to the
// reader.
static void set_sharing(struct ring *ring, uint32_t flags)
{
	uint32_t quarter = ESPY_AGENT_OWN_CHUNKS(ring->nchunks);

	ring->own_max = ~0u;
	if (!(flags & ESPY_AGENT_SHARE))
		return;
	ring->own_max = flags & ESPY_AGENT_SHARE_ALL ? 0 : quarter;
	ring->ncpus = agent.ncpus <= quarter ? agent.ncpus : 0;
	ring->nclaims = quarter < CLAIMS ? quarter : CLAIMS;
}

// All pages are made present now, unless that is not wanted: a first touch on the event path costs a page fault.
static int ring_make(struct ring **made, const struct espy_agent_open *o, uint32_t slot)
{
	uint32_t words = o->nchunks / 64, data_off = ESPY_RING_FREE_OFF + ((words * 8 + 4095) & ~4095u);
	uint64_t size = data_off + (uint64_t)o->chunk_sz * o->nchunks;
	struct ring *ring = mem_alloc(sizeof(*ring));
	struct espy_ring *shared;
	int fd;

	if (!ring)
		return -ENOMEM;
	shared = mem_share(ESPY_RING_MEMFD, size, o->flags & ESPY_AGENT_LAZY ? 0 : MAP_POPULATE, &fd);
	if (!shared) {
		mem_free(ring, sizeof(*ring));
		return fd;
	}
	*ring = (struct ring){ .data = (uint8_t *)shared + data_off,
			       .free = (uint64_t *)((uint8_t *)shared + ESPY_RING_FREE_OFF),
			       .shared = shared,
			       .chunk_sz = o->chunk_sz,
			       .chunk_shift = (uint32_t)__builtin_ctz(o->chunk_sz),
			       .nchunks = o->nchunks,
			       .limit = o->chunk_sz - ESPY_CHUNK_HEAD - 8,
			       .nwords = words,
			       .string_max = o->string_max,
			       .slot = slot,
			       .map_sz = size,
			       .fd = fd };
	set_sharing(ring, o->flags);
	if (o->flags & ESPY_AGENT_NEWEST)
		ring->hand = &ring->hand_at;
	shared->abi = ESPY_AGENT_ABI;
	shared->chunk_sz = o->chunk_sz;
	shared->nchunks = o->nchunks;
	shared->data_off = data_off;
	shared->tag = o->tag;
	for (uint32_t i = 0; i < words; i++)
		ring->free[i] = ~0ull;
	__atomic_store_n(&shared->magic, ESPY_RING_MAGIC, __ATOMIC_RELEASE);
	*made = ring;
	return 0;
}

static void show_ring(uint32_t i)
{
	const struct session *s = &agent.sessions[i];
	struct espy_agent_slot *slot = slot_at(i);

	slot->opened = (struct espy_agent_opened){ .ring_fd = (__u32)s->ring->fd,
						   .chunk_sz = s->ring->chunk_sz,
						   .nchunks = s->ring->nchunks,
						   .string_max = s->ring->string_max,
						   .ring_sz = s->ring->map_sz,
						   .tag = s->tag };
	slot->tag = s->tag;
}

// ---- rules ----

static int compare_text(const char *a, const char *b, size_t n)
{
	return __builtin_memcmp(a, b, n);
}

// Returns the number of the argument that a predicate names, by the format or as argN; -1: there is none.
static int find_arg(const struct def *d, const char *name)
{
	size_t len = 0;

	while (len < 31 && name[len])
		len++;
	for (unsigned int i = 0; i < d->format.nargs; i++)
		if (d->format.args[i].name_len == len && len &&
		    !compare_text(agent.text + d->format_off + d->format.args[i].name_off, name, len))
			return (int)i;
	return espy_mark_arg_number(name, len, d->format.nargs);
}

// Makes a predicate that holds for every value (>= 0, unsigned), or for none (< 0).
static int say_always(struct pred *to, int always)
{
	to->type = ESPY_CONST_UINT;
	to->cmp = always ? ESPY_CMP_GE : ESPY_CMP_LT;
	to->u = 0;
	return 0;
}

// A number constant in the form that the event path compares: doubles with doubles, else by the argument's signedness.
static int resolve_number(struct pred *to, const struct espy_agent_pred *asked, unsigned int kind)
{
	struct espy_agent_pred whole = *asked, *from = &whole;
	int is_signed = kind == ESPY_MARK_I8 || kind == ESPY_MARK_I16 || kind == ESPY_MARK_I32 || kind == ESPY_MARK_I64;

	to->type = from->type;
	to->u = from->u;
	if (kind == ESPY_MARK_DOUBLE) {
		if (from->cmp == ESPY_CMP_AND)
			return -EINVAL;
		if (from->type == ESPY_CONST_INT)
			to->d = (double)from->i;
		else if (from->type == ESPY_CONST_UINT)
			to->d = (double)from->u;
		to->type = ESPY_CONST_DOUBLE;
		return to->d != to->d ? -EINVAL : 0;
	}
	if (from->type == ESPY_CONST_DOUBLE) {
		int all = from->cmp == ESPY_CMP_AND || from->d != from->d ? -2 : espy_mark_whole(from);

		if (all == -2)
			return -EINVAL;
		if (all)
			return say_always(to, all > 0);
		to->cmp = from->cmp;
		to->u = from->u;
	}
	if (from->cmp == ESPY_CMP_AND || from->type != (is_signed ? ESPY_CONST_UINT : ESPY_CONST_INT)) {
		to->type = is_signed ? ESPY_CONST_INT : ESPY_CONST_UINT;
		return 0;
	}
	// signed against a constant above all of them, unsigned against one below: the result is the same for every
	// value
	if (is_signed ? from->u > INT64_MAX : from->i < 0) {
		static const uint8_t less[] = { [ESPY_CMP_EQ] = 0, [ESPY_CMP_NE] = 1, [ESPY_CMP_LT] = 1,
						[ESPY_CMP_LE] = 1, [ESPY_CMP_GT] = 0, [ESPY_CMP_GE] = 0 };
		int always = less[from->cmp];

		if (!is_signed && from->cmp >= ESPY_CMP_LT)
			always = !always;
		return say_always(to, always);
	}
	to->type = is_signed ? ESPY_CONST_INT : ESPY_CONST_UINT;
	return 0;
}

int rule_preds_resolve(struct rule_preds *to, const struct rule *rule, const struct def *d)
{
	to->npreds = rule->npreds;
	for (uint32_t i = 0; i < rule->npreds; i++) {
		const struct espy_agent_pred *from = &rule->preds[i];
		struct pred *p = &to->preds[i];
		int arg = find_arg(d, from->arg);
		unsigned int kind;

		if (arg < 0)
			return -EINVAL;
		kind = d->format.args[arg].kind;
		*p = (struct pred){ .arg = (uint8_t)arg, .cmp = from->cmp, .type = from->type, .kind = (uint8_t)kind };
		if (kind == ESPY_MARK_STRING || kind == ESPY_MARK_BYTES) {
			if (from->type != ESPY_CONST_STRING ||
			    (from->cmp != ESPY_CMP_EQ && from->cmp != ESPY_CMP_NE && from->cmp != ESPY_CMP_PREFIX))
				return -EINVAL;
			p->str_len = from->str_len;
			__builtin_memcpy(p->str, from->str, sizeof(p->str));
		} else if (from->type == ESPY_CONST_STRING || from->cmp == ESPY_CMP_PREFIX ||
			   resolve_number(p, from, kind)) {
			return -EINVAL;
		}
	}
	return 0;
}

// 0, or -EINVAL
static int check_rule(struct rule *to, const struct espy_agent_rule *from)
{
	size_t len = 0;

	while (len < sizeof(from->pattern) && from->pattern[len])
		len++;
	if (!from->id || !len || len == sizeof(from->pattern) || from->npreds > ESPY_AGENT_PREDS)
		return -EINVAL;
	for (uint32_t i = 0; i < from->npreds; i++) {
		const struct espy_agent_pred *p = &from->preds[i];

		if (p->cmp < ESPY_CMP_EQ || p->cmp > ESPY_CMP_PREFIX || p->type < ESPY_CONST_INT ||
		    p->type > ESPY_CONST_STRING || p->str_len > sizeof(p->str) || p->arg[sizeof(p->arg) - 1])
			return -EINVAL;
	}
	to->id = from->id;
	to->npreds = from->npreds;
	__builtin_memcpy(to->pattern, from->pattern, sizeof(to->pattern));
	__builtin_memcpy(to->preds, from->preds, sizeof(to->preds));
	return 0;
}

// Marks the defs that match a rule as changed, and counts them.
static void touch(const char *pattern, struct espy_agent_ruled *ruled, const struct rule *rule)
{
	struct rule_preds preds;

	for (uint32_t i = 0; i < agent.ndefs; i++) {
		struct def *d = &agent.defs[i];

		if (!espy_mark_match(pattern, agent.text + d->name_off, d->name_len))
			continue;
		d->changed = 1;
		if (!ruled)
			continue;
		if (d->what == ESPY_MARK_EVENT && rule->npreds && rule_preds_resolve(&preds, rule, d))
			ruled->skipped++;
		else
			ruled->matched++;
	}
}

static struct rule *find_rule(struct session *s, uint32_t id)
{
	for (uint32_t i = 0; i < s->nrules; i++)
		if (s->rules[i].id == id)
			return &s->rules[i];
	return NULL;
}

// ---- requests ----

static void end_session(uint32_t i, unsigned int state)
{
	struct session *s = &agent.sessions[i];

	if (!s->open)
		return;
	s->open = 0;
	for (uint32_t r = 0; r < s->nrules; r++)
		touch(s->rules[r].pattern, NULL, NULL);
	s->nrules = 0;
	defs_apply();
	probe_forget(i);
	slot_at(i)->nrules = slot_at(i)->nplaces = 0;
	slot_at(i)->state = state;
}

// Frees the ring of a session, and its places in the threads. No thread is inside with it any more.
static void forget_ring(uint32_t i)
{
	struct session *s = &agent.sessions[i];

	for (uint32_t t = 0; t < THREADS; t++) {
		struct thread *thread = &live->threads[t];

		if (!thread->tid)
			continue;
		chunk_disown(thread, s->ring);
		thread->lost[i] = 0;
	}
	share_forget(s->ring);
	ring_free(s->ring);
	s->ring = NULL;
	mem_grace_end(s->leaving);
	s->leaving = NULL;
}

// The same for a closed session, if no thread is inside by now. Among a thousand busy threads, one that was interrupted
// inside may come back after seconds only.
static int try_to_forget(uint32_t i)
{
	struct session *s = &agent.sessions[i];

	if (!s->leaving)
		s->leaving = mem_grace_begin();
	if (!s->leaving || !mem_grace_over(s->leaving))
		return 0;
	forget_ring(i);
	return 1;
}

static int open_session(uint32_t i, const struct espy_agent_slot *slot)
{
	struct session *s = &agent.sessions[i];
	struct espy_agent_open o;
	int e;

	__builtin_memcpy(&o, (const void *)&slot->payload.open, sizeof(o));
	end_session(i, ESPY_SLOT_FREE);
	e = check_open(&o);
	if (!e && s->ring && !try_to_forget(i)) {
		e = mem_grace(0, 1000);
		if (!e)
			forget_ring(i);
	}
	if (!e)
		e = ring_make(&s->ring, &o, i);
	if (e)
		return e;
	s->asked = o;
	s->flags = o.flags;
	s->tag = o.tag;
	s->inherited = 0;
	s->open = 1;
	show_ring(i);
	slot_at(i)->state = ESPY_SLOT_OPEN;
	return 0;
}

static int hold_session(uint32_t i)
{
	if (!agent.sessions[i].open || !agent.sessions[i].inherited)
		return -ENOENT;
	agent.sessions[i].inherited = 0;
	slot_at(i)->state = ESPY_SLOT_OPEN;
	return 0;
}

static int rule_on(uint32_t i, struct espy_agent_slot *slot)
{
	struct session *s = &agent.sessions[i];
	struct espy_agent_rule asked;
	struct espy_agent_ruled ruled = { 0 };
	struct rule *r, rule;

	if (!s->open)
		return -ENOENT;
	__builtin_memcpy(&asked, (const void *)&slot->payload.rule, sizeof(asked));
	if (check_rule(&rule, &asked))
		return -EINVAL;
	r = find_rule(s, rule.id);
	if (!r && s->nrules == ESPY_AGENT_RULES)
		return -ENOSPC;
	if (r)
		touch(r->pattern, NULL, NULL);
	else
		r = &s->rules[s->nrules++];
	*r = rule;
	sites_scan(0);
	touch(rule.pattern, &ruled, &rule);
	ruled.refused = agent.refused;
	defs_apply();
	ruled.refused = agent.refused - ruled.refused;
	for (uint32_t d = 0; d < agent.ndefs; d++)
		if (espy_mark_match(rule.pattern, agent.text + agent.defs[d].name_off, agent.defs[d].name_len))
			ruled.sites_on += agent.defs[d].sites_on;
	slot->ruled = ruled;
	slot->nrules = s->nrules;
	return (int)ruled.matched;
}

static int rule_off(uint32_t i, struct espy_agent_slot *slot)
{
	struct session *s = &agent.sessions[i];
	uint32_t id = __atomic_load_n(&slot->payload.rule.id, __ATOMIC_RELAXED), n = 0;

	if (!s->open)
		return -ENOENT;
	for (uint32_t r = 0; r < s->nrules;) {
		if (id && s->rules[r].id != id) {
			r++;
			continue;
		}
		touch(s->rules[r].pattern, NULL, NULL);
		s->rules[r] = s->rules[--s->nrules];
		n++;
	}
	defs_apply();
	slot->nrules = s->nrules;
	return (int)n;
}

static int request(uint32_t i, struct espy_agent_slot *slot)
{
	switch (__atomic_load_n(&slot->op, __ATOMIC_RELAXED)) {
	case ESPY_AGENT_OPEN:
		return open_session(i, slot);
	case ESPY_AGENT_ON:
		return rule_on(i, slot);
	case ESPY_AGENT_OFF:
		return rule_off(i, slot);
	case ESPY_AGENT_CLOSE:
		if (!agent.sessions[i].open)
			return -ENOENT;
		end_session(i, ESPY_SLOT_CLOSED);
		return 0;
	case ESPY_AGENT_SCAN:
		if (sites_scan(1))
			defs_apply();
		probe_apply(1);
		return (int)sites_objects();
	case ESPY_AGENT_HOLD:
		return hold_session(i);
	case ESPY_AGENT_PLAN:
		return agent.sessions[i].open ? probe_plan(i, slot) : -ENOENT;
	case ESPY_AGENT_PROBE:
		return agent.sessions[i].open ? probe_places(i, slot) : -ENOENT;
	default:
		return -ENOSYS;
	}
}

void session_requests(void)
{
	for (uint32_t i = 0; i < ESPY_AGENT_SESSIONS; i++) {
		struct espy_agent_slot *slot = slot_at(i);
		uint32_t asked = __atomic_load_n(&slot->asked, __ATOMIC_ACQUIRE);
		uint64_t start;

		if (asked == slot->done)
			continue;
		start = now_ns();
		slot->result = request(i, slot);
		slot->took_ns = now_ns() - start;
		__atomic_store_n(&slot->done, asked, __ATOMIC_RELEASE);
		sys(SYS_futex, (long)&slot->done, FUTEX_WAKE, 1 << 30, 0, 0, 0);
	}
}

// ---- whose ----

// Does anybody hold the lock of this slot?
static int is_held(uint32_t i)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = i, .l_len = 1 };

	// if it cannot be asked, it counts as held: a session is not ended because the program has forbidden fcntl
	return sys(SYS_fcntl, agent.area_fd, F_OFD_GETLK, (long)&lock, 0, 0, 0) || lock.l_type != F_UNLCK;
}

unsigned int session_check(void)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < ESPY_AGENT_SESSIONS; i++) {
		struct session *s = &agent.sessions[i];

		if (s->open && !is_held(i) && (!s->inherited || now_ns() > s->deadline_ns))
			end_session(i, ESPY_SLOT_FREE);
		// without its holder no reader will ask for the rest of the ring
		if (!s->open && s->ring && !is_held(i) && try_to_forget(i))
			slot_at(i)->state = ESPY_SLOT_FREE;
		n += s->open || s->ring;
	}
	return n;
}

int session_any(uint32_t flag)
{
	for (uint32_t i = 0; i < ESPY_AGENT_SESSIONS; i++)
		if (agent.sessions[i].open && (!flag || (agent.sessions[i].flags & flag)))
			return 1;
	return 0;
}

// Is there a session that espy will come to look for, and was not called for?
int session_awaits_holder(void)
{
	for (uint32_t i = 0; i < ESPY_AGENT_SESSIONS; i++) {
		const struct session *s = &agent.sessions[i];

		if (__atomic_load_n(&s->open, __ATOMIC_RELAXED) && __atomic_load_n(&s->inherited, __ATOMIC_RELAXED) &&
		    !(s->flags & ESPY_AGENT_CALL))
			return 1;
	}
	return 0;
}

// In a forked child, by its new helper: the parent's rings are not there any more. Sessions that follow get new ones.
void session_after_fork(void)
{
	for (uint32_t i = 0; i < ESPY_AGENT_SESSIONS; i++) {
		struct session *s = &agent.sessions[i];
		struct ring *old = s->ring;

		s->ring = NULL;
		mem_grace_end(s->leaving);
		s->leaving = NULL;
		if (old)
			mem_free(old, sizeof(*old));
		s->asked.flags |= ESPY_AGENT_LAZY; // fork waits for this, and most children use little of it
		if (s->open && (!(s->flags & ESPY_AGENT_FOLLOW) || ring_make(&s->ring, &s->asked, i))) {
			s->open = 0;
			s->nrules = 0;
		}
		if (!s->open) {
			probe_forget(i);
			continue;
		}
		s->inherited = 1;
		s->deadline_ns = now_ns() + ESPY_AGENT_INHERIT_MS * 1000000ull;
		slot_at(i)->state = ESPY_SLOT_INHERITED;
		slot_at(i)->nrules = s->nrules;
		slot_at(i)->nplaces = probe_count(i);
		show_ring(i);
		if (s->flags & ESPY_AGENT_CALL)
			call_born(i);
	}
	for (uint32_t i = 0; i < agent.ndefs; i++)
		agent.defs[i].changed = 1;
	defs_apply();
	probe_apply(1);
}

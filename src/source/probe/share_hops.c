/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the agent and the kernel have places beside each other, and where several jumps want the same padding.
 *
 * Many jumps may want the same padding. Each gets a hop of its own, if there is a way to share them so: a place that
 * finds all of its hops taken asks the places that have them to take others (augmenting paths). Probes of one place
 * share.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "source/probe/probe_impl.h"
#include "symbols/jump_place.h"

#define DEPTH_MAX 64u /* places that are asked one by another */
#define NEAR 128u     /* bytes from a place of the kernel to a jump for the same function, at most */

struct wanted_hop {
	int fd;
	uint64_t addr;
	size_t owner; /* place; SIZE_MAX: none */
	size_t asked; /* the last place for which its owner was asked */
};
struct sharing {
	struct espy_probes *all;
	struct wanted_hop *v; /* by file and address */
	size_t cnt;
	size_t now; /* the place that wants a hop now */
};

static uint64_t hop_addr(const struct espy_jump_place *j, unsigned i)
{
	return j->addr + ESPY_SHORT_JUMP_SZ + (uint64_t)(int64_t)j->hops[i].by;
}

static int compare_hops(const void *a, const void *b)
{
	const struct wanted_hop *x = a, *y = b;

	if (x->fd != y->fd)
		return x->fd < y->fd ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static struct wanted_hop *find(const struct sharing *s, int fd, uint64_t addr)
{
	const struct wanted_hop key = { .fd = fd, .addr = addr };

	return bsearch(&key, s->v, s->cnt, sizeof(*s->v), compare_hops);
}

/* The agent takes the first of a place's hops that is free. */
static void prefer(struct espy_jump_place *j, unsigned i)
{
	const struct espy_hop first = j->hops[i];

	for (; i > 0; i--)
		j->hops[i] = j->hops[i - 1];
	j->hops[0] = first;
}

static bool take(struct sharing *s, size_t place, unsigned depth)
{
	struct espy_jump_place *j = (struct espy_jump_place *)s->all->places[place].jump;
	const int fd = s->all->places[place].fd;

	for (unsigned i = 0; i < j->hop_cnt; i++) {
		struct wanted_hop *hop = find(s, fd, hop_addr(j, i));

		if (!hop || hop->asked == s->now)
			continue;
		hop->asked = s->now;
		if (hop->owner != SIZE_MAX && (depth == DEPTH_MAX || !take(s, hop->owner, depth + 1)))
			continue;
		hop->owner = place;
		prefer(j, i);
		return true;
	}
	return false;
}

/* Does an earlier place have this jump? Then it has its hop. */
static size_t same_jump(const struct espy_probes *all, size_t place)
{
	for (size_t i = place; i-- > 0 && all->places[i].fd == all->places[place].fd;) {
		const struct espy_jump_place *j = all->places[i].jump;

		if (j && j->addr == all->places[place].jump->addr)
			return i;
		if (all->places[i].offset + ESPY_DISPLACED_MAX * 8 < all->places[place].offset)
			break;
	}
	return place;
}

static int gather(struct sharing *s)
{
	size_t cap = 0, kept = 0;

	for (size_t i = 0; i < s->all->place_cnt; i++) {
		const struct espy_jump_place *j = s->all->places[i].jump;

		for (unsigned k = 0; j && k < j->hop_cnt; k++) {
			if (!espy_array__grow(s->v, s->cnt, cap))
				return -ENOMEM;
			s->v[s->cnt++] = (struct wanted_hop){
				.fd = s->all->places[i].fd, .addr = hop_addr(j, k), .owner = SIZE_MAX, .asked = SIZE_MAX
			};
		}
	}
	if (s->cnt)
		qsort(s->v, s->cnt, sizeof(*s->v), compare_hops);
	for (size_t i = 0; i < s->cnt; i++)
		if (!kept || compare_hops(&s->v[kept - 1], &s->v[i]))
			s->v[kept++] = s->v[i];
	s->cnt = kept;
	return 0;
}

/* ---- places that the kernel has to have after all */

static void yield(struct espy_probe_place *place)
{
	free((void *)place->jump);
	place->jump = NULL;
}

/*
 * Would a probe of the kernel write into the jump? Each would put back what it has found there, and leave the other's
 * half. (One of a return stands where the function begins. Then its entry is the kernel's, too, for the sake of order.)
 */
static bool is_in(const struct espy_jump_place *j, uint64_t offset)
{
	return offset - (j->offset - j->behind) < j->behind + (uint64_t)espy_jump_place__len(j);
}

/* Would a probe of the kernel at this place write into the other's jump? */
static bool is_in_way(const struct espy_probe_place *p, const struct espy_probe_place *kernel)
{
	return !kernel->jump && !kernel->agent_only && is_in(p->jump, kernel->offset);
}

/* Would another jump write into the bytes that this one borrows? */
static bool is_borrowed(const struct espy_probe_place *p, const struct espy_probe_place *other)
{
	return other->jump && other->jump->addr - (p->jump->addr + 1) < espy_jump_place__len(p->jump) - 1;
}

/* Tells whether a place with a jump meets any other of its file. By offset: none that is farther away than `near` can. */
static bool meets(const struct espy_probes *all, size_t place, uint64_t near,
		  bool (*met)(const struct espy_probe_place *p, const struct espy_probe_place *other))
{
	const struct espy_probe_place *v = all->places, *p = &v[place];

	for (size_t i = place; i-- > 0 && v[i].fd == p->fd && v[i].offset + near >= p->offset;)
		if (met(p, &v[i]))
			return true;
	for (size_t i = place + 1; i < all->place_cnt && v[i].fd == p->fd && v[i].offset <= p->offset + near; i++)
		if (met(p, &v[i]))
			return true;
	return false;
}

/* Returns whether one has yielded: then others may have to. */
static bool yield_to_kernel(struct espy_probes *all, size_t *cnt)
{
	const size_t before = *cnt;

	for (size_t i = 0; i < all->place_cnt; i++)
		if (all->places[i].jump && meets(all, i, NEAR, is_in_way)) {
			yield(&all->places[i]);
			++*cnt;
		}
	return *cnt != before;
}

/* A place has found no hop. Borrows its jump, or gives it and the others of the same jump to the kernel. */
static size_t give_up(struct sharing *s, size_t place, const struct espy_rec_probe_def **first, bool is_first)
{
	struct espy_jump_place *j = (struct espy_jump_place *)s->all->places[place].jump;

	if (j->known) {
		j->hop_cnt = 0;
		return 0;
	}
	yield(&s->all->places[place]);
	if (is_first)
		*first = s->all->places[place].def;
	return 1;
}

/* Returns how many places have found no hop. *first: the first of them. */
static size_t share(struct sharing *s, const struct espy_rec_probe_def **first)
{
	size_t refused = 0, other;

	for (size_t i = 0; i < s->all->place_cnt; i++) {
		struct espy_probe_place *place = &s->all->places[i];

		if (!place->jump || !place->jump->hop_cnt)
			continue;
		other = same_jump(s->all, i);
		if (other != i) {
			if (!s->all->places[other].jump->hop_cnt)
				give_up(s, i, first, false);
			continue;
		}
		s->now = i;
		if (take(s, i, 0))
			continue;
		refused += give_up(s, i, first, refused == 0);
	}
	for (size_t i = 0; i < s->all->place_cnt; i++)
		if (s->all->places[i].jump && meets(s->all, i, 2 * NEAR, is_borrowed)) {
			*first = refused++ ? *first : s->all->places[i].def;
			yield(&s->all->places[i]);
		}
	return refused;
}

/* The places are sorted by file and offset. */
int espy_probe_places__share_hops(struct espy_probe_places *p)
{
	struct sharing s = { .all = &p->probes };
	const struct espy_rec_probe_def *first = NULL;
	size_t refused, yielded = 0;
	int err;

	if (!espy_probes__any_by_agent(s.all))
		return 0;
	while (yield_to_kernel(s.all, &yielded))
		;
	err = gather(&s);
	if (err) {
		free(s.v);
		return err;
	}
	refused = share(&s, &first);
	free(s.v);
	while (yield_to_kernel(s.all, &yielded))
		;
	if (!p->targets->say_kernel)
		return 0;
	if (yielded)
		espy_probe_say(p, false, "%zu place%s through the kernel, since it has another probe there", yielded,
			       yielded > 1 ? "s go" : " goes");
	if (refused) {
		const char *provider = (const char *)(first + 1) + first->nargs;

		espy_probe_say(p, false,
			       "%zu place%s through the kernel, since others have taken the padding near %s: %s:%s%s",
			       refused, refused > 1 ? "s go" : " goes", refused > 1 ? "them" : "it", provider,
			       provider + first->provider_sz, refused > 1 ? ", for example" : "");
	}
	return 0;
}

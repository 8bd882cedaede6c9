// SPDX-License-Identifier: LGPL-2.1-or-later
// Marks that other tools watch. Each mark's USDT note has a semaphore, a number that bpftrace, perf and SystemTap have the
// kernel raise (and gdb raises by itself) while they have a probe there; but the probe is only hit while the mark is on.
// The kernel's write gives no event, so the agent looks once a second: a few microseconds, without a system call that it
// would not make anyway, and without touching anything but the semaphores while all of them are 0.
#include "inside.h"

#include <link.h>

#define RANGES 256u // objects with semaphores; of more, all marks are looked at each time

// The semaphores of an object lie together. Right as long as nothing is loaded or unloaded.
static struct {
	uint64_t adds, subs;
	uint32_t n;
	struct {
		const uint16_t *start, *end;
	} v[RANGES];
} known;
static uint32_t watched; // marks with semaphores that are not 0, when they were last looked at

static const uint16_t *semaphore_of(const struct dl_phdr_info *info, const struct espy_mark *m)
{
	uint64_t addr = sites_relative(&m->semaphore);

	return m->size == sizeof(*m) && m->semaphore && !(addr & 1) && sites_segment(info, addr, sizeof(uint16_t))
		       ? (const uint16_t *)addr
		       : NULL;
}

static int raised_in(const uint16_t *start, const uint16_t *end)
{
	for (; start < end; start++)
		if (__atomic_load_n(start, __ATOMIC_RELAXED))
			return 1;
	return 0;
}

// Returns whether one of the object's semaphores may be raised.
static int add_range(const struct dl_phdr_info *info)
{
	const struct espy_mark_note *note = sites_note(info);
	const uint16_t *start = NULL, *end = NULL;
	uint64_t marks, marks_end;

	if (!note || note->layout != ESPY_MARK_LAYOUT)
		return 0;
	marks = sites_relative(&note->marks);
	marks_end = sites_relative(&note->marks_end);
	if (marks_end < marks || !sites_segment(info, marks, marks_end - marks))
		return 0;
	for (; marks_end - marks >= sizeof(struct espy_mark); marks += sizeof(struct espy_mark)) {
		const uint16_t *s = semaphore_of(info, (const void *)marks);

		if (!s)
			continue;
		if (!start || s < start)
			start = s;
		if (s >= end)
			end = s + 1;
	}
	// they may be far from each other in an object that was made by other means: all between is in its segment, or it
	// counts as raised, and the long way is gone
	if (start && (known.n == RANGES || !sites_segment(info, (uint64_t)start, (uint64_t)end - (uint64_t)start))) {
		known.adds = 0;
		return 1;
	}
	if (start) {
		known.v[known.n].start = start;
		known.v[known.n++].end = end;
	}
	return raised_in(start, end);
}

struct look {
	int first, raised;
};

static int look_one(struct dl_phdr_info *info, size_t size, void *data)
{
	struct look *look = data;

	if (look->first) {
		look->first = 0;
		if (known.adds == info->dlpi_adds && known.subs == info->dlpi_subs) {
			for (uint32_t i = 0; i < known.n && !look->raised; i++)
				look->raised = raised_in(known.v[i].start, known.v[i].end);
			return 1;
		}
		known.adds = info->dlpi_adds;
		known.subs = info->dlpi_subs;
		known.n = 0;
	}
	look->raised |= add_range(info);
	return 0;
}

static int mark_watched(struct dl_phdr_info *info, size_t size, void *data)
{
	for (struct object *o = sites_object(info, NULL); o; o = sites_object(info, o))
		for (uint32_t i = 0; i < o->nmarks; i++) {
			const uint16_t *s = o->defs[i] == ~0u ? NULL : semaphore_of(info, &o->marks[i]);

			if (s && __atomic_load_n(s, __ATOMIC_RELAXED)) {
				agent.defs[o->defs[i]].watched_now = 1;
				watched++;
			}
		}
	return 0;
}

static int same_name(const struct def *a, const struct def *b)
{
	return a->name_len == b->name_len &&
	       !__builtin_memcmp(agent.text + a->name_off, agent.text + b->name_off, a->name_len);
}

// MARK_INLINE and MARK_ENABLED have no note: they go with the events of their name.
static void mark_by_name(void)
{
	for (uint32_t i = 0; i < agent.ndefs; i++) {
		struct def *d = &agent.defs[i];

		for (uint32_t k = 0; d->what != ESPY_MARK_EVENT && !d->watched_now && k < agent.ndefs; k++)
			d->watched_now = agent.defs[k].watched_now && same_name(d, &agent.defs[k]);
	}
}

int usdt_look(void)
{
	struct look look = { .first = 1 };
	int changed;

	dl_iterate_phdr(look_one, &look);
	if (!look.raised && !watched)
		return 0;
	changed = sites_scan(0);
	watched = 0;
	for (uint32_t i = 0; i < agent.ndefs; i++)
		agent.defs[i].watched_now = 0;
	dl_iterate_phdr(mark_watched, NULL);
	if (watched)
		mark_by_name();
	for (uint32_t i = 0; i < agent.ndefs; i++) {
		struct def *d = &agent.defs[i];

		if (d->watched == d->watched_now)
			continue;
		d->watched = d->watched_now;
		d->changed = 1;
		changed = 1;
	}
	if (changed)
		defs_apply();
	return watched != 0;
}

int usdt_raised(void)
{
	struct look look = { .first = 1 };

	pthread_mutex_lock(&agent.lock);
	dl_iterate_phdr(look_one, &look);
	pthread_mutex_unlock(&agent.lock);
	return look.raised;
}

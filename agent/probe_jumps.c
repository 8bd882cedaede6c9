// SPDX-License-Identifier: LGPL-2.1-or-later
// Jumps of probes and their trampolines.
//
// A jump takes the place of one whole instruction, and one store of 8 aligned bytes writes it, as at a mark's site: a
// thread runs the instruction or the jump, and no thread can be in the middle of either. A short jump leads to a hop in
// padding that nobody executes. A hop is written before any jump leads to it, and stays as it is until its object is
// gone, since a thread may be on it when the jump is switched off. So does the trampoline. A jump that borrows bytes
// (arch/borrow.h) leads to a hop in memory of the agent's own.
#include "probe_inside.h"

#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "arch/borrow.h"
#include "arch/displace.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#define PAGE 4096ull
#define RUN_GAP (16 * PAGE) // jumps nearer to each other than this share one mprotect
#define REACH 0x7f000000ull // of a jump, with a margin for what is behind a trampoline's beginning
#define ARENA_SZ (64u << 10)
#define SLOT_SZ 128u
#define STEP (1ull << 20)
#define TRIES 2048u

_Static_assert(ESPY_CODE_TRAMPOLINE_SZ + ESPY_COPY_MAX + ESPY_JUMP_SZ <= SLOT_SZ, "");

// Trampolines near an object. The first slot holds the address that all of them jump to.
struct arena {
	struct arena *next;
	uint8_t *mem;
	uint32_t used;
	uint8_t writable;
};

static uint8_t *try_at(uint64_t at)
{
	uint8_t *p = mmap((void *)at, ARENA_SZ, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	if ((uint64_t)p == at)
		return p;
	munmap(p, ARENA_SZ); // a kernel before 4.17 takes the address as advice only
	return NULL;
}

// Below the object: above it the heap of a program may want to grow.
static uint8_t *map_near(const struct probe_object *o)
{
	const uint64_t lowest = o->high > REACH ? o->high - REACH : PAGE * 16;
	uint64_t at = (o->low - ARENA_SZ) & ~(uint64_t)(ARENA_SZ - 1);
	uint8_t *p = NULL;

	for (unsigned i = 0; i < TRIES && !p && at >= lowest && at < o->low; i++, at -= i < 64 ? ARENA_SZ : STEP)
		p = try_at(at);
	at = (o->high + (REACH - (o->high - o->low)) / 2) & ~(uint64_t)(ARENA_SZ - 1);
	for (; !p && o->high - o->low < REACH && at + ARENA_SZ < o->low + REACH; at += STEP)
		p = try_at(at);
	return p;
}

static struct arena *arena_of(struct probe_object *o)
{
	struct arena *a = o->arenas;

	if (a && a->used + SLOT_SZ <= ARENA_SZ)
		return a;
	a = mem_alloc(sizeof(*a));
	if (!a)
		return NULL;
	a->mem = map_near(o);
	if (!a->mem) {
		mem_free(a, sizeof(*a));
		return NULL;
	}
	*(uint64_t *)a->mem = (uint64_t)&espy_agent_probe_enter;
	a->used = SLOT_SZ;
	a->writable = 1;
	a->next = o->arenas;
	o->arenas = a;
	return a;
}

int jump_encode(uint8_t *bytes, uint64_t at, uint64_t to)
{
	const int64_t distance = (int64_t)(to - (at + ESPY_JUMP_SZ));
	const int32_t d = (int32_t)distance;

	bytes[0] = ESPY_CODE_JUMP;
	__builtin_memcpy(bytes + 1, &d, sizeof(d));
	return d == distance;
}

int jump_prepare(struct probe_object *o, struct jump *j)
{
	const struct espy_agent_place *p = &j->plan;
	struct arena *a;
	uint8_t *to, *copy;
	int fits;

	if (j->trampoline)
		return p->known ? far_prepare(o, j) : 0;
	a = arena_of(o);
	if (!a)
		return ESPY_PROBE_NO_MEMORY;
	if (!a->writable && mprotect(a->mem, ARENA_SZ, PROT_READ | PROT_WRITE | PROT_EXEC))
		return ESPY_PROBE_DENIED;
	a->writable = 1;
	to = a->mem + a->used;
	espy_code_trampoline(to, (uint64_t)j, (const uint64_t *)a->mem);
	copy = to + ESPY_CODE_TRAMPOLINE_SZ;
	__builtin_memcpy(copy, p->copy, p->copy_len);
	fits = espy_copy__fill(p->gaps, p->gap_cnt, copy, (uint64_t)copy, j->addr);
	if (!(p->flags & ESPY_PLACE_ENDS))
		fits = fits && jump_encode(copy + p->copy_len, (uint64_t)copy + p->copy_len, j->addr + p->taken);
	if (!fits)
		return ESPY_PROBE_NO_MEMORY;
	a->used += SLOT_SZ;
	j->trampoline = to;
	j->resume = (uint64_t)to + ESPY_CODE_TRAMPOLINE_RESUME;
	return p->known ? far_prepare(o, j) : 0;
}

void jumps_prepared(struct probe_object *o)
{
	for (struct arena *a = o->arenas; a; a = a->next)
		if (a->writable && !mprotect(a->mem, ARENA_SZ, PROT_READ | PROT_EXEC))
			a->writable = 0;
	far_prepared(o);
}

// Its object is gone, so no thread can be on a trampoline: it would come back to nothing.
void jumps_free(struct probe_object *o)
{
	for (struct arena *a = o->arenas, *next; a; a = next) {
		next = a->next;
		munmap(a->mem, ARENA_SZ);
		mem_free(a, sizeof(*a));
	}
	o->arenas = NULL;
	far_free(o);
}

// ---- switching

static int same(const void *a, const void *b, size_t n)
{
	return !__builtin_memcmp(a, b, n);
}

static int text_of(const struct probe_object *o, uint64_t addr, uint64_t size)
{
	for (uint32_t i = 0; i < o->ntext; i++)
		if (addr >= o->text_start[i] && addr + size <= o->text_end[i])
			return (int)i;
	return -1;
}

// Makes a hop of padding, which another place may have by now. Returns whether it is one; its page is writable.
static int make_hop(const struct probe_object *o, struct jump *j, uint64_t at, const struct espy_hop *hop)
{
	uint8_t jump[ESPY_JUMP_SZ];

	if (text_of(o, at, ESPY_JUMP_SZ) < 0 || !jump_encode(jump, at, (uint64_t)j->trampoline))
		return 0;
	if (!same((const void *)at, jump, ESPY_JUMP_SZ)) { // it is ours already
		if (!same((const void *)at, hop->code, ESPY_JUMP_SZ))
			return 0;
		__builtin_memcpy((void *)at, jump, sizeof(jump));
	}
	j->hop = at;
	return 1;
}

// For those that are to be switched on. A hop stays where it was: a thread may be on it.
static void make_hops(const struct probe_object *o, struct jump **v, uint32_t n)
{
	uint32_t made = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct jump *j = v[i];
		const struct espy_agent_place *p = &j->plan;
		int done = 0;

		if (!j->now || !p->hop_cnt)
			continue;
		for (uint32_t k = 0; k < p->hop_cnt && !done; k++) {
			const uint64_t at = j->addr + ESPY_CODE_SHORT_JUMP_SZ + (uint64_t)(int64_t)p->hops[k].by;

			if (!j->hop || j->hop == at)
				done = make_hop(o, j, at, &p->hops[k]);
		}
		made += (uint32_t)done;
		if (!done)
			j->state = ESPY_PROBE_NO_HOP;
		else if (j->state == ESPY_PROBE_NO_HOP)
			j->state = JUMP_OFF;
	}
	// no processor has older bytes in its pipeline when a jump leads there
	if (made)
		sys(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0, 0, 0, 0);
}

// The bytes of the jump, as they stand in the text; returns where those end that are written.
static uint32_t jump_bytes(const struct jump *j, uint8_t *bytes)
{
	if (j->plan.known)
		return far_bytes(j, bytes);
	if (j->plan.hop_cnt) {
		bytes[0] = ESPY_CODE_SHORT_JUMP;
		bytes[1] = (uint8_t)(j->hop - (j->addr + ESPY_CODE_SHORT_JUMP_SZ));
		return ESPY_CODE_SHORT_JUMP_SZ;
	}
	jump_encode(bytes, j->addr, (uint64_t)j->trampoline);
	return ESPY_JUMP_SZ;
}

// Bytes from the place on that the jump depends on.
static uint32_t jump_len(const struct jump *j)
{
	return j->plan.known > j->plan.taken ? j->plan.known : j->plan.taken;
}

// Switches one jump; its pages are writable. Returns whether it has written.
static int switch_jump(const struct probe_object *o, struct jump *j, int on)
{
	const uint32_t kept = j->plan.known ? j->plan.kept : 0, len = jump_len(j);
	uint64_t *word = (uint64_t *)((j->addr + kept) & ~7ull), old = __atomic_load_n(word, __ATOMIC_RELAXED),
		 new = old;
	uint8_t jump[ESPY_BORROW_KNOWN], *there = (uint8_t *)&new + ((j->addr + kept) & 7);
	const uint8_t *text = (const uint8_t *)j->addr, *code = j->plan.code;
	uint32_t end;

	if (on && j->state == ESPY_PROBE_NO_HOP)
		return 0;
	end = jump_bytes(j, jump);
	// the rest of the instruction, and what is borrowed, is never changed
	if ((on && probe_is_borrowed(j->addr, end)) || !same(text, code, kept) ||
	    !same(text + end, code + end, len - end) ||
	    (!same(text + kept, jump + kept, end - kept) && !same(text + kept, code + kept, end - kept))) {
		j->state = ESPY_PROBE_FOREIGN;
		return 0;
	}
	__builtin_memcpy(there, (on ? jump : code) + kept, end - kept);
	if (new != old && !__atomic_compare_exchange_n(word, &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
		j->state = ESPY_PROBE_FOREIGN;
		return 0;
	}
	j->state = on ? JUMP_ON : JUMP_OFF;
	return new != old;
}

static void bounds(const struct jump *j, uint64_t *low, uint64_t *high)
{
	*low = j->addr;
	*high = j->addr + j->plan.taken;
	for (uint32_t i = 0; i < j->plan.hop_cnt; i++) {
		const uint64_t at = j->addr + ESPY_CODE_SHORT_JUMP_SZ + (uint64_t)(int64_t)j->plan.hops[i].by;

		*low = at < *low ? at : *low;
		*high = at + ESPY_JUMP_SZ > *high ? at + ESPY_JUMP_SZ : *high;
	}
	*low &= ~(PAGE - 1);
	*high = (*high + PAGE - 1) & ~(PAGE - 1);
}

uint32_t jumps_switch(struct probe_object *o, struct jump **v, uint32_t n)
{
	uint32_t changed = 0;

	for (uint32_t i = 0, j; i < n; i = j) {
		const int t = text_of(o, v[i]->addr, jump_len(v[i]));
		uint64_t low, high, next_low, next_high;

		bounds(v[i], &low, &high);
		for (j = i + 1; j < n && text_of(o, v[j]->addr, jump_len(v[j])) == t; j++) {
			bounds(v[j], &next_low, &next_high);
			if (next_low > high + RUN_GAP)
				break;
			low = next_low < low ? next_low : low;
			high = next_high > high ? next_high : high;
		}
		// a hop is not looked for outside of the segment
		if (t >= 0 && low < (o->text_start[t] & ~(PAGE - 1)))
			low = o->text_start[t] & ~(PAGE - 1);
		if (t >= 0 && high > ((o->text_end[t] + PAGE - 1) & ~(PAGE - 1)))
			high = (o->text_end[t] + PAGE - 1) & ~(PAGE - 1);
		if (t < 0 || mprotect((void *)low, high - low, PROT_READ | PROT_WRITE | PROT_EXEC)) {
			for (; i < j; i++)
				v[i]->state = ESPY_PROBE_DENIED;
			continue;
		}
		make_hops(o, v + i, j - i);
		for (; i < j; i++)
			changed += (uint32_t)switch_jump(o, v[i], v[i]->now != NULL);
		mprotect((void *)low, high - low, o->text_prot[t]);
	}
	return changed;
}

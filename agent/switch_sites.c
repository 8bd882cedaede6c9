// SPDX-License-Identifier: LGPL-2.1-or-later
// Switching sites while other threads run through them.
//
// The five bytes of a site that mark.h makes never cross a multiple of 8, so one aligned store changes it whole;
// membarrier then makes every running thread fetch anew before we go on. Other sites are changed in parts, see there.
// All of this happens inside dl_iterate_phdr: its lock is the one that dlclose holds while it unmaps, so nothing can be
// unloaded under our hands.
#include "inside.h"
#include "arch/machine_code.h"

#include <link.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE 4096ull
#define NOP5 ESPY_CODE_NOP5
#define FIVE 0xffffffffffull
#define RUN_GAP (16 * PAGE) // sites nearer to each other than this share one mprotect

static uint64_t jump_of(const struct site *s)
{
	return ESPY_CODE_JUMP | (uint64_t)(uint32_t)(s->cold - (s->addr + ESPY_CODE_SITE_SZ)) << 8;
}

static void set_state(struct object *o, struct site *s, unsigned int state)
{
	struct def *d = &agent.defs[s->def];

	d->sites_on += (state == ESPY_SITE_ON) - (s->state == ESPY_SITE_ON);
	agent.refused += (state != ESPY_SITE_ON && s->want) && s->state != state;
	s->state = (uint8_t)state;
	site_publish(s);
}

// Switches one site; its page is writable. Bytes that are neither our NOP nor our JMP belong to a breakpoint or a
// uprobe.
static int switch_site(struct object *o, struct site *s)
{
	uint64_t *word = (uint64_t *)(s->addr & ~7ull);
	unsigned int shift = 8 * (s->addr & 7);
	uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED), bytes = old >> shift & FIVE;
	uint64_t jump = jump_of(s), to = s->want ? jump : NOP5;

	if (bytes != NOP5 && bytes != jump) {
		set_state(o, s, ESPY_SITE_FOREIGN);
		return 0;
	}
	if (bytes != to && !__atomic_compare_exchange_n(word, &old, (old & ~(FIVE << shift)) | to << shift, 0,
							__ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
		set_state(o, s, ESPY_SITE_FOREIGN);
		return 0;
	}
	set_state(o, s, s->want ? ESPY_SITE_ON : ESPY_SITE_OFF);
	return bytes != to;
}

// Returns whether the site is as wanted. Under a breakpoint there may still be our JMP, so FOREIGN is tried again.
static int is_right(const struct site *s)
{
	return s->want ? s->state == ESPY_SITE_ON : s->state != ESPY_SITE_ON && s->state != ESPY_SITE_FOREIGN;
}

static int is_to_switch(const struct site *s)
{
	return s->def != ~0u && !is_right(s) && (!site_in_parts(s) || agent.sync_core);
}

static uint64_t page_behind(const struct site *s)
{
	return ((s->addr + 4) & ~(PAGE - 1)) + PAGE;
}

// ---- sites that cross a multiple of 8 ----
//
// No store changes all five bytes at once. In between the first one is the opcode of `test $imm32, %eax`, five bytes
// long as well: whatever the other four are, it does nothing but set flags, which are dead at a site (abi.h). So a
// thread always finds one of three whole instructions there, none of which traps, and no event is lost. Each step is
// fetched by every thread before the next one is made.
#define TEST_IMM32 ESPY_CODE_TEST

static uint64_t load_five(const struct site *s)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < 5; i++)
		bytes |= (uint64_t)__atomic_load_n((const uint8_t *)s->addr + i, __ATOMIC_RELAXED) << 8 * i;
	return bytes;
}

static int replace_first(struct site *s, uint8_t from, uint8_t to)
{
	return __atomic_compare_exchange_n((uint8_t *)s->addr, &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

static int begin_parts(struct object *o, struct site *s)
{
	uint64_t bytes = load_five(s), to = s->want ? jump_of(s) : NOP5;

	if (s->parting) // it was left so, when there was no membarrier or by a fork
		return (uint8_t)bytes == TEST_IMM32;
	if (bytes == to) {
		set_state(o, s, s->want ? ESPY_SITE_ON : ESPY_SITE_OFF);
		return 0;
	}
	if ((bytes != NOP5 && bytes != jump_of(s)) || !replace_first(s, (uint8_t)bytes, TEST_IMM32)) {
		set_state(o, s, ESPY_SITE_FOREIGN);
		return 0;
	}
	s->parting = 1;
	return 1;
}

static void write_rest(const struct site *s)
{
	uint64_t to = s->want ? jump_of(s) : NOP5;

	for (unsigned int i = 1; i < 5; i++)
		__atomic_store_n((uint8_t *)s->addr + i, (uint8_t)(to >> 8 * i), __ATOMIC_RELAXED);
}

static int end_parts(struct object *o, struct site *s)
{
	if (!replace_first(s, TEST_IMM32, s->want ? (uint8_t)jump_of(s) : (uint8_t)NOP5)) {
		set_state(o, s, ESPY_SITE_FOREIGN);
		return 0;
	}
	s->parting = 0;
	set_state(o, s, s->want ? ESPY_SITE_ON : ESPY_SITE_OFF);
	return 1;
}

static int sync_core(void)
{
	return !sys(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0, 0, 0, 0);
}

// Those of the n sites that are not what they should be, step by step for all together. Their pages are writable.
static int switch_in_parts(struct object *o, struct site *sites, uint32_t n)
{
	uint32_t begun = 0;
	int changed = 0, synced;

	for (uint32_t i = 0; i < n; i++) {
		struct site *s = &sites[i];

		s->step = is_to_switch(s) && site_in_parts(s) && begin_parts(o, s);
		begun += s->step;
	}
	if (!begun)
		return 0;
	synced = sync_core();
	for (uint32_t i = 0; i < n && synced; i++)
		if (sites[i].step)
			write_rest(&sites[i]);
	synced = synced && sync_core();
	for (uint32_t i = 0; i < n; i++) {
		if (!sites[i].step)
			continue;
		if (synced)
			changed += end_parts(o, &sites[i]);
		else
			set_state(o, &sites[i], ESPY_SITE_UNALIGNED);
	}
	return changed;
}

// Sites are in the order of the text. Each run of near pages is made writable, changed, and made what it was.
static int switch_object(struct object *o)
{
	int changed = 0;

	for (uint32_t i = 0; i < o->nsites;) {
		uint64_t start, end;
		uint32_t j;
		int t;

		if (!is_to_switch(&o->sites[i])) {
			i++;
			continue;
		}
		t = site_text(o, o->sites[i].addr, 5);
		start = o->sites[i].addr & ~(PAGE - 1);
		end = page_behind(&o->sites[i]);
		for (j = i + 1; j < o->nsites; j++) {
			uint64_t addr = o->sites[j].addr;

			if (addr < start || addr > end + RUN_GAP || site_text(o, addr, 5) != t)
				break;
			if (is_to_switch(&o->sites[j]) && page_behind(&o->sites[j]) > end)
				end = page_behind(&o->sites[j]);
		}
		if (mprotect((void *)start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC)) {
			for (; i < j; i++)
				if (is_to_switch(&o->sites[i]))
					set_state(o, &o->sites[i], ESPY_SITE_DENIED);
			continue;
		}
		changed += switch_in_parts(o, &o->sites[i], j - i);
		for (; i < j; i++)
			if (is_to_switch(&o->sites[i]) && !site_in_parts(&o->sites[i]))
				changed += switch_site(o, &o->sites[i]);
		mprotect((void *)start, end - start, o->text_prot[t]);
	}
	return changed;
}

struct switching {
	int changed;
};

static int switch_one(struct dl_phdr_info *info, size_t size, void *data)
{
	struct switching *sw = data;

	for (struct object *o = sites_object(info, NULL); o; o = sites_object(info, o)) {
		int dirty = o->changed;

		for (uint32_t i = 0; i < o->nmarks; i++)
			if (o->defs[i] != ~0u && (dirty || agent.defs[o->defs[i]].changed) &&
			    agent.defs[o->defs[i]].hooks)
				__atomic_store_n(&o->marks[i].state, (uint64_t)agent.defs[o->defs[i]].hooks,
						 __ATOMIC_RELEASE);
		for (uint32_t i = 0; i < o->nsites; i++)
			if (o->sites[i].def != ~0u)
				o->sites[i].want = agent.defs[o->sites[i].def].sessions != 0;
		sw->changed += switch_object(o);
		for (uint32_t i = 0; i < o->nmarks; i++)
			if (o->defs[i] != ~0u && (dirty || agent.defs[o->defs[i]].changed) &&
			    !agent.defs[o->defs[i]].hooks)
				__atomic_store_n(&o->marks[i].state, 0, __ATOMIC_RELEASE);
		o->changed = 0;
	}
	return 0;
}

void sites_switch(void)
{
	struct switching sw = { 0 };

	dl_iterate_phdr(switch_one, &sw);
	if (sw.changed)
		sync_core();
}

// SPDX-License-Identifier: LGPL-2.1-or-later
// Hops of jumps that borrow bytes: in memory of the agent's own, in the windows into which such jumps lead (arch/borrow.h).
// Nothing of the program is there, and nothing may come there that it needs: its heap and its stack have room to grow.
#include "probe_inside.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "arch/borrow.h"
#include "arch/displace.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#define PAGE 4096ull
#define LOWEST (1ull << 20)
#define HIGHEST (1ull << 47)
#define HEAP (32ull << 20)   // above what the heap has now
#define STACK (256ull << 20) // below the beginning of the first thread's stack
#define TRIES 64u
#define PAGES_MAX 4096u // a process has 65530 mappings at most

struct far_page {
	struct far_page *next;
	uint8_t *mem;
	uint8_t writable;
	uint64_t used[PAGE / 64]; // bit per byte
};
static uint32_t npages;

static int is_used(const struct far_page *p, uint64_t at)
{
	for (uint64_t i = at; i < at + ESPY_JUMP_SZ; i++)
		if (p->used[i / 64] >> i % 64 & 1)
			return 1;
	return 0;
}

// Takes bytes for a hop that begins in [first, last]. 0: there are none in this page.
static uint64_t take_in(struct far_page *p, uint64_t first, uint64_t last)
{
	const uint64_t begin = (uint64_t)p->mem, end = begin + PAGE - ESPY_JUMP_SZ;

	for (uint64_t at = first > begin ? first : begin; at <= last && at <= end; at++) {
		if (is_used(p, at - begin))
			continue;
		for (uint64_t i = at - begin; i < at - begin + ESPY_JUMP_SZ; i++)
			p->used[i / 64] |= 1ull << i % 64;
		return at;
	}
	return 0;
}

static int is_left_alone(uint64_t page, uint64_t heap)
{
	const uint64_t stack = getauxval(AT_RANDOM); // lies at its beginning

	return page < LOWEST || page >= HIGHEST || page + HEAP - heap < 2 * HEAP || stack - page < STACK;
}

static struct far_page *map_page(struct probe_object *o, uint64_t page)
{
	struct far_page *p = mem_alloc(sizeof(*p));

	if (!p)
		return NULL;
	p->mem = mmap((void *)page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		      0);
	if ((uint64_t)p->mem != page) {
		if (p->mem != MAP_FAILED)
			munmap(p->mem, PAGE); // a kernel before 4.17 takes the address as advice only
		mem_free(p, sizeof(*p));
		return NULL;
	}
	p->writable = 1;
	p->next = o->far;
	o->far = p;
	npages++;
	return p;
}

// Maps a page of the window: in its middle, so that others' windows have it, too.
static uint64_t take_new(struct probe_object *o, uint64_t first, uint64_t last, struct far_page **page)
{
	const uint64_t begin = first & ~(PAGE - 1), pages = ((last & ~(PAGE - 1)) - begin) / PAGE + 1;
	const uint64_t step = pages > TRIES ? pages / TRIES : 1, heap = (uint64_t)sys(SYS_brk, 0, 0, 0, 0, 0, 0);

	for (uint64_t i = 0, at; i < pages; i += step) {
		const uint64_t addr = begin + (pages / 2 + i) % pages * PAGE;

		if (npages >= PAGES_MAX || is_left_alone(addr, heap) || last - first > HIGHEST)
			continue;
		*page = map_page(o, addr);
		at = *page ? take_in(*page, first, last) : 0;
		if (at)
			return at;
	}
	return 0;
}

static uint64_t take(struct probe_object *o, uint64_t first, uint64_t last, struct far_page **page)
{
	uint64_t at = 0;

	for (struct far_page *p = o->far; p && !at; p = p->next) {
		*page = p;
		at = take_in(p, first, last);
	}
	return at ? at : take_new(o, first, last, page);
}

// Makes a hop that begins in [first, last]. Returns where; 0: nowhere.
static uint64_t make_hop(struct probe_object *o, const struct jump *j, uint64_t first, uint64_t last)
{
	struct far_page *page = NULL;
	const uint64_t at = take(o, first, last, &page);
	uint8_t jump[ESPY_JUMP_SZ];

	if (!at || !jump_encode(jump, at, (uint64_t)j->trampoline))
		return 0;
	if (!page->writable && mprotect(page->mem, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		return 0;
	page->writable = 1;
	__builtin_memcpy((void *)at, jump, sizeof(jump));
	return at;
}

// Others may put a breakpoint at an instruction of which bytes are borrowed. Then the jump goes elsewhere, and is to find a
// hop there, too, as far as there is free memory: the breakpoint waits behind the displaced instruction.
static void expect_breakpoints(struct probe_object *o, const struct jump *j, uint32_t len)
{
	const uint32_t from = j->plan.written, begin = j->plan.starts & ((1u << len) - 1) & ~((1u << from) - 1);
	uint8_t bytes[ESPY_BORROW_KNOWN];
	int32_t distance;

	for (uint32_t set = begin; set; set = (set - 1) & begin) {
		far_bytes(j, bytes);
		for (uint32_t i = from; i < len; i++)
			if (set >> i & 1)
				bytes[i] = ESPY_CODE_BREAKPOINT;
		__builtin_memcpy(&distance, bytes + len - sizeof(distance), sizeof(distance));
		const uint64_t to = j->addr + len + (uint64_t)(int64_t)distance;

		make_hop(o, j, to, to);
	}
}

int far_prepare(struct probe_object *o, struct jump *j)
{
	uint64_t first, last;

	for (uint32_t n = 0; n <= ESPY_BORROW_PREFIXES && !j->hop; n++) {
		const uint32_t len = espy_borrow__window(j->plan.code, j->plan.written, j->plan.known, n, j->addr, &first, &last);

		if (!len)
			continue;
		j->hop = make_hop(o, j, first, last);
		j->prefixes = (uint8_t)n;
		if (j->hop)
			expect_breakpoints(o, j, len);
	}
	return j->hop ? 0 : ESPY_PROBE_NO_MEMORY;
}

uint32_t far_bytes(const struct jump *j, uint8_t *bytes)
{
	__builtin_memcpy(bytes, j->plan.code, ESPY_BORROW_KNOWN);
	for (uint32_t i = 0; i < j->prefixes; i++)
		bytes[i] = ESPY_BORROW_PREFIX;
	// the bytes behind `written` are what the window was counted from
	jump_encode(bytes + j->prefixes, j->addr + j->prefixes, j->hop);
	return j->plan.written;
}

void far_prepared(struct probe_object *o)
{
	for (struct far_page *p = o->far; p; p = p->next)
		if (p->writable && !mprotect(p->mem, PAGE, PROT_READ | PROT_EXEC))
			p->writable = 0;
}

void far_free(struct probe_object *o)
{
	for (struct far_page *p = o->far, *next; p; p = next) {
		next = p->next;
		munmap(p->mem, PAGE);
		mem_free(p, sizeof(*p));
		npages--;
	}
	o->far = NULL;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
// Hops of jumps that borrow bytes, or the addresses that such jumps find: in memory of the agent's own, in the windows
// into which they lead (arch/borrow.h). Nothing of the program is there, and nothing may come there that it needs: its
// heap and its stack have room to grow.
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

static int is_used(const struct far_page *p, uint64_t at, uint32_t size)
{
	for (uint64_t i = at; i < at + size; i++)
		if (p->used[i / 64] >> i % 64 & 1)
			return 1;
	return 0;
}

// Takes `size` bytes that begin in the window. 0: there are none in this page.
static uint64_t take_in(struct far_page *p, const struct espy_borrow_window *w, uint32_t size)
{
	const uint64_t begin = (uint64_t)p->mem, over = (begin - w->first) % w->step;
	// counted round 2^64: the page begins in the window, or the window in the page
	uint64_t at = begin - w->first <= w->last - w->first ? (over ? w->step - over : 0) : w->first - begin;

	for (; at <= PAGE - size && begin + at - w->first <= w->last - w->first; at += w->step) {
		if (is_used(p, at, size))
			continue;
		for (uint64_t i = at; i < at + size; i++)
			p->used[i / 64] |= 1ull << i % 64;
		return begin + at;
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
static uint64_t take_new(struct probe_object *o, const struct espy_borrow_window *w, uint32_t size,
			 struct far_page **page)
{
	const uint64_t unit = w->step > PAGE ? w->step : PAGE,
		       first = w->step > PAGE ? w->first : w->first & ~(PAGE - 1);
	const uint64_t cnt = (w->last - first) / unit + 1, step = cnt > TRIES ? cnt / TRIES : 1;
	const uint64_t heap = (uint64_t)sys(SYS_brk, 0, 0, 0, 0, 0, 0);

	for (uint64_t i = 0, at; i < cnt; i += step) {
		const uint64_t addr = (first + (cnt / 2 + i) % cnt * unit) & ~(PAGE - 1);

		if (npages >= PAGES_MAX || is_left_alone(addr, heap))
			continue;
		*page = map_page(o, addr);
		at = *page ? take_in(*page, w, size) : 0;
		if (at)
			return at;
	}
	return 0;
}

static uint64_t take(struct probe_object *o, const struct espy_borrow_window *w, uint32_t size, struct far_page **page)
{
	uint64_t at = 0;

	for (struct far_page *p = o->far; p && !at; p = p->next) {
		*page = p;
		at = take_in(p, w, size);
	}
	return at ? at : take_new(o, w, size, page);
}

// Makes a hop in the window, or the address of the trampoline. Returns where; 0: nowhere.
static uint64_t make_hop(struct probe_object *o, const struct jump *j, uint32_t form,
			 const struct espy_borrow_window *w)
{
	const uint64_t trampoline = (uint64_t)j->trampoline;
	const uint32_t size = form == ESPY_BORROW_BY_MEMORY ? sizeof(trampoline) : ESPY_JUMP_SZ;
	struct far_page *page = NULL;
	uint8_t bytes[sizeof(trampoline)];
	uint64_t at;

	if (form != ESPY_BORROW_BY_MEMORY && trampoline - w->first <= w->last - w->first &&
	    !((trampoline - w->first) % w->step))
		return trampoline;
	at = take(o, w, size, &page);
	__builtin_memcpy(bytes, &trampoline, sizeof(trampoline));
	if (!at || (form != ESPY_BORROW_BY_MEMORY && !jump_encode(bytes, at, trampoline)))
		return 0;
	if (!page->writable && mprotect(page->mem, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		return 0;
	page->writable = 1;
	__builtin_memcpy((void *)at, bytes, size);
	return at;
}

static struct espy_borrow borrow_of(const struct jump *j)
{
	return (struct espy_borrow){ j->plan.code, j->plan.kept, j->plan.written, j->plan.known };
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
		const uint64_t at = j->form == ESPY_BORROW_BY_MEMORY ? (uint32_t)to : to;

		make_hop(o, j, j->form, &(struct espy_borrow_window){ at, at, 1, len });
	}
}

int far_prepare(struct probe_object *o, struct jump *j)
{
	const struct espy_borrow b = borrow_of(j);
	struct espy_borrow_window w;

	for (uint32_t form = 0; form < ESPY_BORROW_FORMS && !j->hop; form++) {
		if (!espy_borrow__window(&b, form, j->addr, &w))
			continue;
		j->hop = make_hop(o, j, form, &w);
		j->form = (uint8_t)form;
		if (j->hop)
			expect_breakpoints(o, j, w.len);
	}
	return j->hop ? 0 : ESPY_PROBE_NO_MEMORY;
}

uint32_t far_bytes(const struct jump *j, uint8_t *bytes)
{
	const struct espy_borrow b = borrow_of(j);
	const uint32_t head = espy_borrow__head(&b, j->form), distance = (uint32_t)(j->hop - (j->addr + head + 4));

	__builtin_memcpy(bytes, j->plan.code, ESPY_BORROW_KNOWN);
	espy_borrow__put_head(&b, j->form, bytes);
	// the bytes that are not written are what the window was counted from
	__builtin_memcpy(bytes + head, &distance, sizeof(distance));
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

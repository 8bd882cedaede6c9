/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/jump_place.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include "arch/insn.h"
#include "symbols/borrowed.h"
#include "symbols/entry_place.h"

#define SHORT_REACH 128u     /* no short jump goes farther */
#define WALK_MAX (64u << 10) /* bytes of code before a place to look at */
#define AROUND 320u	     /* bytes before and behind a place in which targets of short jumps matter */
#define GAPS_MAX 64u
#define BEHIND_MAX 64u /* bytes behind which a jump may stand */

/* The neighbourhood of a place. */
struct around {
	uint64_t addr, from, to; /* the code [from, to) is known */
	uint8_t *bytes;
	bool target[2 * AROUND]; /* a short jump goes to the byte addr - AROUND + i */
	struct gap {
		uint64_t from, to;
	} gaps[GAPS_MAX]; /* filling that execution does not come to from above */
	unsigned gap_cnt;
};

static void add_gap(struct around *a, uint64_t from, uint64_t to)
{
	if (to - from >= ESPY_JUMP_SZ && a->gap_cnt < GAPS_MAX)
		a->gaps[a->gap_cnt++] = (struct gap){ from, to };
}

static bool is_start(const struct espy_functions *functions, uint64_t addr)
{
	uint64_t start;

	return espy_functions__start(functions, addr, &start) && start == addr;
}

static void note_target(struct around *a, uint64_t target)
{
	const uint64_t i = target - (a->addr - AROUND);

	if (i < 2 * AROUND)
		a->target[i] = true;
}

/* Walks through the instructions. What is none (data, between functions) is passed over up to the next function. */
static void walk(struct around *a, const struct espy_functions *functions)
{
	uint64_t gap = 0, next; /* 0: no gap */
	int64_t jump;
	size_t n;

	for (uint64_t at = a->from; at < a->to; at = next) {
		const enum espy_insn_flow flow =
			espy_insn_flow(a->bytes + (at - a->from), a->to - at + ESPY_INSN_MAX, &n, &jump);

		next = at + (n ? n : 1);
		if (!n)
			while (next < a->to && !is_start(functions, next))
				next++;
		if (jump)
			note_target(a, at + n + (uint64_t)jump);
		if (gap && (flow != ESPY_INSN_FLOW_FILL || is_start(functions, at))) {
			add_gap(a, gap, at);
			gap = 0;
		}
		if (n && flow == ESPY_INSN_FLOW_END)
			gap = next;
	}
}

static const char *look_around(struct around *a, const struct espy_functions *functions, const struct espy_elf *e,
			       uint64_t addr, uint64_t function)
{
	const struct espy_elf_segment *s = espy_elf__segment_at(e, addr);
	const uint64_t reach = 2 * SHORT_REACH + 8;

	*a = (struct around){ .addr = addr, .from = function };
	if (!s || !(s->flags & PF_X))
		return "there is no code";
	if (addr - s->vaddr <= reach || !espy_functions__start(functions, addr - reach, &a->from))
		for (a->from = s->vaddr; a->from < function && !is_start(functions, a->from); a->from++)
			;
	if (a->from > function || a->from < s->vaddr || addr - a->from > WALK_MAX)
		a->from = function;
	if (addr - a->from > WALK_MAX)
		return "it lies far behind the beginning of its function";
	a->to = s->file_sz - (addr - s->vaddr) < reach ? s->vaddr + s->file_sz : addr + reach;
	a->bytes = calloc(1, a->to - a->from + ESPY_INSN_MAX);
	if (!a->bytes || espy_elf__read_vaddr(e, a->from, a->bytes, a->to - a->from))
		return "its code cannot be read";
	walk(a, functions);
	return NULL;
}

/* Tells whether no jump goes to an address in [first, end). */
static bool is_clear(const struct around *a, const struct espy_branches *b, uint64_t first, uint64_t end)
{
	for (uint64_t addr = first; addr < end; addr++)
		if (addr - (a->addr - AROUND) >= 2 * AROUND || a->target[addr - (a->addr - AROUND)])
			return false;
	return !espy_branches__may_reach(b, first, end);
}

static void find_hops(const struct around *a, const struct espy_branches *b, struct espy_jump_place *p)
{
	const uint64_t from = p->addr + ESPY_SHORT_JUMP_SZ;

	for (unsigned i = 0; i < a->gap_cnt; i++)
		for (uint64_t at = a->gaps[i].from; at + ESPY_JUMP_SZ <= a->gaps[i].to; at += ESPY_JUMP_SZ) {
			const int64_t by = (int64_t)(at - from);

			if (by < ESPY_SHORT_JUMP_MIN || by > ESPY_SHORT_JUMP_MAX || p->hop_cnt == ESPY_HOPS ||
			    !is_clear(a, b, at, at + ESPY_JUMP_SZ))
				continue;
			p->hops[p->hop_cnt].by = (int8_t)by;
			memcpy(p->hops[p->hop_cnt++].code, a->bytes + (at - a->from), ESPY_JUMP_SZ);
		}
}

/* Finds out whether a jump can take the place of the instruction at p->addr. */
static const char *take(struct espy_jump_place *p, const struct around *a, const struct espy_branches *b)
{
	const uint8_t *code = a->bytes + (p->addr - a->from);
	const unsigned in_word = p->addr % 8;
	const enum espy_displace_no no = espy_displace(&p->copy, code, a->to - p->addr + ESPY_INSN_MAX, 1);
	const bool fits = p->copy.taken >= ESPY_JUMP_SZ && in_word + ESPY_JUMP_SZ <= 8;

	p->hop_cnt = p->known = 0;
	if (no) {
		p->copy.taken = 0;
		return espy_displace_words(no);
	}
	memcpy(p->code, code, p->copy.taken);
	if (p->copy.taken < ESPY_SHORT_JUMP_SZ)
		return p->copy.ends ? "the function is shorter than a jump"
				    : "its first instruction is shorter than a jump";
	if (!fits && in_word + ESPY_SHORT_JUMP_SZ > 8)
		return "no single store can write a jump there";
	if (!is_clear(a, b, p->addr + 1, p->addr + (fits ? ESPY_JUMP_SZ : ESPY_SHORT_JUMP_SZ)))
		return "a jump goes to the middle of its first instruction";
	if (fits)
		return NULL;
	find_hops(a, b, p);
	return p->hop_cnt ? NULL : "there is no padding near it for a second jump";
}

struct search {
	const struct espy_functions *functions;
	const struct espy_elf *e;
	struct espy_branches *b;
	const struct espy_function *f;
	struct around a;
	struct espy_jump_place *out, borrows; /* borrows: the best that borrows */
	unsigned best;			      /* 0: none */
};

/* Finds out whether a jump can stand at s->out->addr. Notes if one can that borrows. */
static const char *look(struct search *s, uint64_t from)
{
	struct espy_jump_place *p = s->out;
	const char *why = take(p, &s->a, s->b);
	unsigned borrows = 0;

	if (why || p->hop_cnt) {
		if (p->copy.taken &&
		    is_clear(&s->a, s->b, p->addr + 1, p->addr + (p->copy.taken < 8 ? p->copy.taken : 8)))
			borrows = espy_borrowed__plan(p, s->functions, s->e, s->a.bytes + (p->addr - s->a.from),
						      s->a.to - p->addr);
	}
	if (why && borrows <= s->best)
		return why;
	if (p->addr != from &&
	    !espy_entry__leads_to(s->functions, s->e, s->b, s->f, p->addr, espy_insn_is_push(p->code, p->copy.taken)))
		return "the program comes by other ways to what stands behind its first instruction";
	if (why) {
		s->best = borrows;
		s->borrows = *p;
	}
	return why;
}

const char *espy_jump_place(const struct espy_functions *functions, const struct espy_elf *e, struct espy_branches *b,
			    const struct espy_function *f, uint64_t addr, uint32_t keep, struct espy_jump_place *out)
{
	struct search s = { .functions = functions, .e = e, .b = b, .f = f, .out = out };
	uint64_t start = addr;
	const char *why, *first;

	*out = (struct espy_jump_place){ .addr = addr };
	if (espy_branches__read(b, e))
		return "its code cannot be read";
	espy_functions__start(functions, addr, &start);
	why = look_around(&s.a, functions, e, addr, start);
	first = why = why ? why : look(&s, addr);
	/* Behind what the function begins with: that neither goes elsewhere nor changes what is fetched. */
	while (why && s.a.bytes && f && addr == f->addr && out->addr - addr < f->size &&
	       out->addr - addr < BEHIND_MAX) {
		const uint8_t *code = s.a.bytes + (out->addr - s.a.from);
		const size_t room = s.a.to - out->addr;
		const bool push = espy_insn_is_push(code, room);
		uint32_t writes = 0;
		const size_t n = push ? espy_insn_length(code, room) : espy_insn_passed(code, room, &writes);

		if (!n || writes & (keep | ESPY_INSN_SP) || out->addr + n >= s.a.to)
			break;
		out->addr += n;
		out->pushed += push ? 8 : 0;
		why = look(&s, addr);
	}
	free(s.a.bytes);
	if (why && s.best) {
		*out = s.borrows;
		why = NULL;
	}
	out->behind = (uint8_t)(out->addr - addr);
	if (!why && !espy_elf__offset_of(e, out->addr, &out->offset))
		return "there is no code";
	return why ? first : NULL;
}

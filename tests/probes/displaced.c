/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * displaced FILE...: plans a jump at every function of real files, and looks at each plan with other eyes. The copy of
 * what a jump displaces, decoded, must say what the original says. A walk through the whole file must find no jump into
 * what is overwritten, and nothing but padding in a hop. Ends with 1 if a plan is wrong, or if there are few.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <Zydis/Zydis.h>
#include "arch/borrow.h"
#include "arch/insn.h"
#include "symbols/jump_place.h"

#define FAR 0x12345000ull

static unsigned long wrong, by_form[ESPY_BORROW_FORMS + 1]; /* the last: behind bytes that are kept */

static bool text_of(const uint8_t *code, size_t room, uint64_t addr, size_t *len, char text[256])
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;
	ZydisFormatter formatter;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code, room, &i, operands)))
		return false;
	*len = i.length;
	return ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &i, operands, i.operand_count_visible, text,
							    256, addr, NULL));
}

/* Writes what a call's copy does, as a call. */
static void as_call(const uint8_t *copy, uint64_t at, uint64_t returns, char text[256])
{
	uint64_t low, high;
	char jump[256];
	size_t len;
	int32_t v;

	memcpy(&v, copy + 1, 4);
	low = (uint64_t)(int64_t)v;
	memcpy(&v, copy + 9, 4);
	high = (uint32_t)v;
	snprintf(text, 256, "no call");
	if (copy[0] == 0x68 && copy[5] == 0xc7 && ((low & 0xffffffff) | high << 32) == returns &&
	    text_of(copy + 13, 5, at + 13, &len, jump) && !strncmp(jump, "jmp ", 4))
		snprintf(text, 256, "call %.200s", jump + 4);
}

/* A copy that is not here and there the same: says where. */
static bool is_same(const struct espy_copy *c, const uint8_t *code, uint64_t from)
{
	uint8_t bytes[ESPY_COPY_MAX + 16] = { 0 };
	char a[256], b[256];
	size_t i = 0, k = 0, n, m;

	memcpy(bytes, c->bytes, c->len);
	if (!espy_copy__fill(c->gaps, c->gap_cnt, bytes, from + FAR, from))
		return false;
	while (i < c->taken) {
		if (!text_of(code + i, 16, from + i, &n, a))
			return false;
		if (!strncmp(a, "call ", 5)) {
			as_call(bytes + k, from + FAR + k, from + i + n, b);
			m = 18;
		} else if (!text_of(bytes + k, sizeof(bytes) - k, from + FAR + k, &m, b)) {
			return false;
		}
		if (strcmp(a, b)) {
			printf("%#llx: '%s' became '%s'\n", (unsigned long long)from, a, b);
			return false;
		}
		i += n;
		k += m;
	}
	return i == c->taken && k == c->len;
}

/* ---- a walk through all functions */

struct all {
	uint64_t first, end;
	uint8_t *begins; /* an instruction other than filling begins here */
	uint8_t *target; /* a jump goes here */
};

static void note(const struct all *all, uint8_t *marks, uint64_t addr)
{
	if (addr >= all->first && addr < all->end)
		marks[addr - all->first] = 1;
}

static void walk(struct all *all, const struct espy_elf *e, uint64_t from, uint64_t to)
{
	uint8_t *code = calloc(1, to - from + ESPY_INSN_MAX);
	int64_t jump;
	size_t n;

	if (!code || espy_elf__read_vaddr(e, from, code, to - from)) {
		free(code);
		return;
	}
	for (uint64_t at = from; at < to; at += n) {
		const enum espy_insn_flow flow = espy_insn_flow(code + (at - from), to - at + ESPY_INSN_MAX, &n, &jump);

		if (!n)
			break;
		if (flow != ESPY_INSN_FLOW_FILL)
			note(all, all->begins, at);
		if (jump || espy_insn_far_jump(code + (at - from), n, &jump) == n)
			note(all, all->target, at + n + (uint64_t)jump);
	}
	free(code);
}

static bool has_any(const struct all *all, const uint8_t *marks, uint64_t from, size_t cnt)
{
	for (uint64_t addr = from; addr < from + cnt; addr++)
		if (addr < all->first || addr >= all->end || marks[addr - all->first])
			return true;
	return false;
}

/* Decoded, the jump goes to `to`, or finds its target there, and changes nothing but what may be written. */
static bool goes_to(const struct espy_borrow *b, unsigned form, uint64_t addr, unsigned len, uint64_t to)
{
	const uint32_t by = (uint32_t)(to - (addr + len));
	uint8_t bytes[ESPY_BORROW_KNOWN + 8] = { 0 };
	char text[256], wanted[256];
	size_t decoded;

	memcpy(bytes, b->code, b->known);
	espy_borrow__put_head(b, form, bytes);
	memcpy(bytes + len - sizeof(by), &by, sizeof(by));
	snprintf(wanted, sizeof(wanted), form == ESPY_BORROW_BY_MEMORY ? "jmp [0x%016llX]" : "jmp 0x%016llX",
		 (unsigned long long)to);
	if (!memcmp(bytes, b->code, b->kept) &&
	    !memcmp(bytes + b->written, b->code + b->written, b->known - b->written) &&
	    text_of(bytes, sizeof(bytes), addr, &decoded, text) && decoded == len && !strcmp(text, wanted))
		return true;
	printf("%#llx: '%s', not '%s'\n", (unsigned long long)addr, text, wanted);
	return false;
}

/* A jump that borrows, with targets of its windows. */
static bool is_right_borrower(const struct all *all, const struct espy_elf *e, const struct espy_jump_place *p)
{
	const struct espy_borrow b = { p->code, p->kept, p->written, p->known };
	uint8_t there[ESPY_BORROW_KNOWN];
	uint64_t windows = 0;

	if ((p->addr + p->kept) % 8 + p->written - p->kept > 8 || p->written > p->copy.taken || p->kept >= p->written ||
	    p->written > p->known || p->known > ESPY_BORROW_KNOWN ||
	    has_any(all, all->target, p->addr + 1, p->written - 1u) ||
	    has_any(all, all->begins, p->addr + 1, p->written - 1u) || !is_same(&p->copy, p->code, p->addr) ||
	    espy_elf__read_vaddr(e, p->addr, there, p->known) || memcmp(there, p->code, p->known))
		return false;
	for (unsigned form = 0; form < ESPY_BORROW_FORMS; form++) {
		struct espy_borrow_window w;

		if (!espy_borrow__window(&b, form, p->addr, &w))
			continue;
		windows++;
		by_form[p->kept ? ESPY_BORROW_FORMS : form]++;
		if (!goes_to(&b, form, p->addr, w.len, w.first) || !goes_to(&b, form, p->addr, w.len, w.last) ||
		    (w.first != w.last && !goes_to(&b, form, p->addr, w.len, w.first + w.step)))
			return false;
	}
	return windows > 0;
}

static bool is_right(const struct all *all, const struct espy_elf *e, const struct espy_jump_place *p)
{
	if (!p->hop_cnt && p->known)
		return is_right_borrower(all, e, p);
	const size_t size = p->hop_cnt ? ESPY_SHORT_JUMP_SZ : ESPY_JUMP_SZ;

	if (p->addr % 8 + size > 8 || p->copy.taken < size || has_any(all, all->target, p->addr + 1, size - 1) ||
	    has_any(all, all->begins, p->addr + 1, size - 1) || !is_same(&p->copy, p->code, p->addr))
		return false;
	for (unsigned i = 0; i < p->hop_cnt; i++) {
		const uint64_t hop = p->addr + ESPY_SHORT_JUMP_SZ + (uint64_t)(int64_t)p->hops[i].by;

		if (has_any(all, all->target, hop, ESPY_JUMP_SZ) || has_any(all, all->begins, hop, ESPY_JUMP_SZ))
			return false;
	}
	return true;
}

static void look(const struct espy_elf *e, const struct espy_functions *f, const char *path)
{
	struct espy_branches b = { 0 };
	struct all all = { .first = UINT64_MAX };
	unsigned long cnt = 0, planned = 0, copies = 0;
	struct espy_jump_place p;
	struct espy_copy c;

	for (size_t i = 0; i < e->segment_cnt; i++)
		if (e->segments[i].type == PT_LOAD && e->segments[i].flags & PF_X) {
			all.first = e->segments[i].vaddr < all.first ? e->segments[i].vaddr : all.first;
			all.end = e->segments[i].vaddr + e->segments[i].file_sz;
		}
	all.begins = calloc(1, all.end - all.first + 1);
	all.target = calloc(1, all.end - all.first + 1);
	for (size_t i = 0; i < f->cnt && all.begins && all.target; i++)
		if (f->v[i].type == STT_FUNC)
			walk(&all, e, f->v[i].addr, f->v[i].addr + f->v[i].size);
	for (size_t i = 0; i < f->cnt && all.begins && all.target; i++) {
		const struct espy_function *x = &f->v[i];
		uint8_t code[64] = { 0 };

		if (x->type != STT_FUNC || (i && x->addr == f->v[i - 1].addr))
			continue;
		cnt++;
		if (!espy_elf__read_vaddr(e, x->addr, code, sizeof(code)) &&
		    !espy_displace(&c, code, sizeof(code), ESPY_JUMP_SZ) && ++copies && !is_same(&c, code, x->addr))
			wrong++;
		if (espy_jump_place(f, e, &b, x, x->addr, ESPY_INSN_ARGS, &p) &&
		    espy_jump_place(f, e, &b, x, x->addr, 0, &p))
			continue;
		planned++;
		if (!is_right(&all, e, &p)) {
			printf("%s: %s: the plan is wrong\n", path, x->name);
			wrong++;
		}
	}
	printf("%s: %lu functions, a jump fits in %lu, %lu copies of five bytes or more\n", path, cnt, planned, copies);
	if (planned * 100 < cnt * 98) {
		printf("%s: these are too few\n", path);
		wrong++;
	}
	if (copies * 10 < cnt * 8)
		wrong++;
	espy_branches__free(&b);
	free(all.begins);
	free(all.target);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct espy_functions f = { 0 };
		struct espy_elf e;

		if (espy_elf__open_path(&e, argv[i]))
			continue;
		if (!espy_functions__read(&f, &e, argv[i]) && f.cnt > 50)
			look(&e, &f, argv[i]);
		espy_functions__free(&f);
		espy_elf__close(&e);
	}
	for (unsigned form = 0; form <= ESPY_BORROW_FORMS; form++)
		printf("%lu windows of form %u\n", by_form[form], form);
	printf("%lu wrong\n", wrong);
	return wrong != 0;
}

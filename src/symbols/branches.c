/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/branches.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include "arch/insn.h"

#define CODE_MAX (2ull << 30) /* bytes of code of a file */
#define AT_ONCE (1u << 20)

static bool is_code(const struct espy_elf_segment *s)
{
	return s->type == PT_LOAD && s->flags & PF_X && s->file_sz && s->vaddr + s->file_sz > s->vaddr;
}

static void set(struct espy_branches *b, uint64_t addr)
{
	if (addr >= b->first && addr < b->end)
		b->targets[(addr - b->first) / 8] |= (uint8_t)(1u << (addr - b->first) % 8);
}

/* Notes the targets of far jumps in `len` bytes of code at addr. The next call sees the last bytes again. */
static void look_at(struct espy_branches *b, uint64_t addr, const uint8_t *code, size_t len)
{
	int64_t distance;

	for (size_t i = 0; i < len; i++) {
		const size_t n = espy_insn_far_jump(code + i, len - i, &distance);

		if (n)
			set(b, addr + i + n + (uint64_t)distance);
	}
}

static int read_segment(struct espy_branches *b, const struct espy_elf *e, const struct espy_elf_segment *s,
			uint8_t *room)
{
	int err = 0;

	for (uint64_t at = 0; at < s->file_sz && !err; at += AT_ONCE) {
		const uint64_t rest = s->file_sz - at;
		const size_t len = rest < AT_ONCE + ESPY_INSN_MAX ? (size_t)rest : AT_ONCE + ESPY_INSN_MAX;

		err = espy_elf__read(e, s->offset + at, room, len);
		if (!err)
			look_at(b, s->vaddr + at, room, len);
	}
	return err;
}

int espy_branches__read(struct espy_branches *b, const struct espy_elf *e)
{
	uint8_t *room;
	int err = 0;

	if (b->targets)
		return 0;
	b->first = UINT64_MAX;
	b->end = 0;
	for (size_t i = 0; i < e->segment_cnt; i++) {
		const struct espy_elf_segment *s = &e->segments[i];

		if (!is_code(s))
			continue;
		b->first = s->vaddr < b->first ? s->vaddr : b->first;
		b->end = s->vaddr + s->file_sz > b->end ? s->vaddr + s->file_sz : b->end;
	}
	if (b->end <= b->first || b->end - b->first > CODE_MAX)
		return -E2BIG;
	room = malloc(AT_ONCE + ESPY_INSN_MAX);
	b->targets = calloc(1, (b->end - b->first) / 8 + 1);
	if (!room || !b->targets)
		err = -ENOMEM;
	for (size_t i = 0; i < e->segment_cnt && !err; i++)
		if (is_code(&e->segments[i]))
			err = read_segment(b, e, &e->segments[i], room);
	free(room);
	if (err)
		espy_branches__free(b);
	return err;
}

bool espy_branches__may_reach(const struct espy_branches *b, uint64_t first, uint64_t end)
{
	for (uint64_t addr = first; addr < end; addr++)
		if (addr < b->first || addr >= b->end || b->targets[(addr - b->first) / 8] >> (addr - b->first) % 8 & 1)
			return true;
	return false;
}

void espy_branches__free(struct espy_branches *b)
{
	free(b->targets);
	*b = (struct espy_branches){ 0 };
}

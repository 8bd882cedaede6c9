/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An instruction taken apart. Private to this folder. */
#ifndef ESPY_ARCH_X86_64_INSN_H
#define ESPY_ARCH_X86_64_INSN_H

#include "arch/insn_length.h"

struct insn {
	const uint8_t *bytes;
	size_t at, room;					  /* at: bytes that were read */
	bool short_operand, short_address, wide, repne, short_of; /* short_of: it goes on beyond what may be read */
	bool rep, lock, fs, gs;
	uint8_t rex;		/* 0: it has none */
	uint8_t map;		/* of the opcode: 0 alone, 1 behind 0f; INSN_OTHER_MAP */
	uint8_t op, modrm, sib; /* modrm, sib: 0 if it has none */
};
#define INSN_OTHER_MAP 0xff

/* Takes the instruction at i->bytes apart, of which i->room bytes may be read. Returns its length; 0: there is none, or
 * not all of it. */
size_t espy_insn_parse(struct insn *i);

#endif

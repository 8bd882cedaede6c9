/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where in a file a jump can stand for a probe, so that a running program never sees half of it.
 *
 * The jump takes the place of one whole instruction, and one store writes it: within 8 bytes that begin at a multiple
 * of 8. So no thread can be between two displaced instructions, or find half a jump, and none needs to be stopped or
 * moved. A long jump (5 bytes) goes to the trampoline. Where it does not fit, a short one (2 bytes) goes to a hop: 5
 * bytes of the padding between functions, which no thread executes, with a long jump in them.
 *
 *     f:  sub $24, %rsp     -->   f:  jmp hop     ...   hop:  jmp trampoline
 *
 * Where there is no padding, a long jump borrows its last bytes of the instructions behind it, or its first ones of the
 * displaced instruction. They stay as they are (arch/borrow.h), and choose where it goes to. The agent maps memory
 * there.
 *
 * A function that begins with a push of one byte is taken behind it, if the program comes there from the function's
 * beginning alone.
 */
#ifndef ESPY_SYMBOLS_JUMP_PLACE_H
#define ESPY_SYMBOLS_JUMP_PLACE_H

#include "arch/displace.h"
#include "symbols/branches.h"
#include "symbols/functions.h"

struct espy_jump_place {
	uint64_t addr;	 /* of the jump, as the file numbers its memory */
	uint64_t offset; /* and in the file */
	uint8_t pushed;	 /* bytes that the function has pushed by then */
	uint8_t behind;	 /* bytes from where the probe was asked for to the jump */
	uint8_t hop_cnt; /* hops that would do; 0: the jump is a long one, or borrows */
	struct espy_hop hops[ESPY_HOPS];
	uint8_t kept, written;		  /* if the jump borrows: one store may change the bytes [kept, written), */
	uint8_t known;			  /* and so many of `code` are known, borrowed ones among them; 0: it cannot */
	uint8_t starts;			  /* bit i: an instruction begins at byte i, behind the displaced one */
	uint8_t code[ESPY_DISPLACED_MAX]; /* the displaced instruction */
	struct espy_copy copy;
};

/* Bytes that the jump depends on. */
static inline unsigned espy_jump_place__len(const struct espy_jump_place *p)
{
	return !p->hop_cnt && p->known > p->copy.taken ? p->known : p->copy.taken;
}

/*
 * Finds the place of a jump for a probe of addr. f: the function around it; NULL: none is known. keep: the registers
 * (ESPY_INSN_REG) that the probe wants as they are at addr. b is read when it is needed first. Returns NULL, or the
 * reason why there is none, which ends a sentence: "the agent cannot take it: ...".
 */
const char *espy_jump_place(const struct espy_functions *functions, const struct espy_elf *e, struct espy_branches *b,
			    const struct espy_function *f, uint64_t addr, uint32_t keep, struct espy_jump_place *out);

#endif

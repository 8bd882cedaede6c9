/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Instructions: where they begin, and what they do as far as the place of a probe depends on it. */
#ifndef ESPY_ARCH_INSN_H
#define ESPY_ARCH_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ESPY_INSN_MAX 15u

/* Bytes of the instruction at `at`, of which `room` may be read; 0: there is none, or not all of it is there. */
size_t espy_insn_length(const uint8_t *at, size_t room);
/*
 * Can a kernel that probes this instruction neither emulate it nor execute it elsewhere? Linux refuses to probe those with a LOCK
 * prefix, those encoded by VEX or EVEX, and those that only the kernel may execute. (That it takes others is not said.)
 */
bool espy_insn_unprobed(const uint8_t *at, size_t room);

/* Bits of general registers, as the machine numbers them: ax cx dx bx sp bp si di r8-r15. */
#define ESPY_INSN_REG(nr) (1u << (nr))
#define ESPY_INSN_SP ESPY_INSN_REG(4)
/* The registers of the six arguments of a function. */
#define ESPY_INSN_ARGS                                                                                                 \
	(ESPY_INSN_REG(7) | ESPY_INSN_REG(6) | ESPY_INSN_REG(2) | ESPY_INSN_REG(1) | ESPY_INSN_REG(8) |                \
	 ESPY_INSN_REG(9))

/* The bit of a register (enum espy_reg). 0: it is another one at each instruction, as ip and flags are. */
uint32_t espy_insn_bit_of(unsigned reg);

/*
 * Does every kernel emulate this instruction where it is probed? A probe of any other costs ten times as much: the
 * kernel has to execute a copy of it elsewhere, step by step. (arch/x86/kernel/uprobes.c of Linux 5.15 and later.)
 */
bool espy_insn_emulated(const uint8_t *at, size_t room);
/* Is it a push of a register? Compilers save registers so, once a call. */
bool espy_insn_is_push(const uint8_t *at, size_t room);
/*
 * Does a probe behind this instruction see what one on it sees, but for the registers *writes and the flags? So it
 * neither jumps, nor faults, nor writes memory. Returns its length; 0: it may.
 */
size_t espy_insn_passed(const uint8_t *at, size_t room, uint32_t *writes);

/* How an instruction jumps, but for espy_insn_far_jump(). */
enum espy_insn_jump {
	ESPY_INSN_GOES_ON = 0,
	ESPY_INSN_JUMPS = 1,   /* or may: to *distance behind its end */
	ESPY_INSN_CHOOSES = 2, /* where it jumps to stands in a register or in a table */
};
enum espy_insn_jump espy_insn_jump(const uint8_t *at, size_t room, int64_t *distance);
/* Do these bytes look like a jump or a call by a distance of 32 bits, whatever stands before? Returns their number; 0:
 * they do not. */
size_t espy_insn_far_jump(const uint8_t *at, size_t room, int64_t *distance);

/* Where execution goes behind an instruction. */
enum espy_insn_flow {
	ESPY_INSN_FLOW_ON = 0,	 /* to the next one, perhaps among others */
	ESPY_INSN_FLOW_FILL = 1, /* it does nothing, or is a breakpoint: compilers fill gaps with it */
	ESPY_INSN_FLOW_END = 2,	 /* never to the next one */
};
/* Takes no operand apart. *len: as espy_insn_length(). *jump: where from its end a short jump goes to; 0: it is none.
 */
enum espy_insn_flow espy_insn_flow(const uint8_t *at, size_t room, size_t *len, int64_t *jump);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0-only */
/* See arch/machine_regs.h. */
#ifndef ESPY_ARCH_X86_64_REGS_H
#define ESPY_ARCH_X86_64_REGS_H

/* In the order of the kernel's pt_regs: a number is also the place there, in words. REG(NAME, member of pt_regs). */
/* clang-format off */
#define ESPY_REGISTERS(REG) \
	REG(R15, r15) REG(R14, r14) REG(R13, r13) REG(R12, r12) REG(BP, bp) REG(BX, bx) REG(R11, r11) \
	REG(R10, r10) REG(R9, r9) REG(R8, r8) REG(AX, ax) REG(CX, cx) REG(DX, dx) REG(SI, si) REG(DI, di) \
	REG(ORIG_AX, orig_ax) REG(IP, ip) REG(CS, cs) REG(FLAGS, flags) REG(SP, sp) REG(SS, ss)

enum espy_reg {
#define REG(name, member) ESPY_REG_##name,
	ESPY_REGISTERS(REG)
#undef REG
	ESPY_REG_CNT,
	ESPY_REG_RESULT = ESPY_REG_AX, /* of a function */
};
/* Of the first arguments of a function. */
#define ESPY_REG_ARGS { ESPY_REG_DI, ESPY_REG_SI, ESPY_REG_DX, ESPY_REG_CX, ESPY_REG_R8, ESPY_REG_R9 }
/* clang-format on */
#define ESPY_REG_NAMES "ax bx cx dx si di bp sp r8-r15 ip flags" /* in messages */

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0-only */
/*
 * The registers of a program, as probes and USDT notes name them: enum espy_reg, and the names (user space only). Each
 * architecture has them in its folder.
 */
#ifndef ESPY_ARCH_MACHINE_REGS_H
#define ESPY_ARCH_MACHINE_REGS_H

#if defined(__x86_64__)
#include "arch/x86_64/regs.h"
#else
#error "a folder in src/arch is missing for this architecture"
#endif

#ifndef ESPY_BPF
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct espy_reg_part {
	uint8_t reg;   /* enum espy_reg */
	uint8_t size;  /* bytes */
	uint8_t shift; /* bits: where the part begins */
};
/* Finds the register, or the part of it, that a probe (-u) or a note of the assembler (USDT) calls so. False: there is
 * none. */
bool espy_arch__probe_register(const char *name, size_t len, struct espy_reg_part *out);
bool espy_arch__note_register(const char *name, size_t len, struct espy_reg_part *out);
/* Returns the register (enum espy_reg) that debug information calls by this number; -1: none that a probe reads. */
int espy_arch__dwarf_register(unsigned nr);
#endif

#endif

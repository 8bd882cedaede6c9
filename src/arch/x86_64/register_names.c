/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/machine_regs.h"

#include <string.h>

/* The kernel's names of whole registers, and the assembler's names that probes know. */
static const struct {
	const char *name;
	uint8_t reg, size;
} of_probes[] = {
	{ "ax", ESPY_REG_AX, 8 },   { "bx", ESPY_REG_BX, 8 },	{ "cx", ESPY_REG_CX, 8 },
	{ "dx", ESPY_REG_DX, 8 },   { "si", ESPY_REG_SI, 8 },	{ "di", ESPY_REG_DI, 8 },
	{ "bp", ESPY_REG_BP, 8 },   { "sp", ESPY_REG_SP, 8 },	{ "r8", ESPY_REG_R8, 8 },
	{ "r9", ESPY_REG_R9, 8 },   { "r10", ESPY_REG_R10, 8 }, { "r11", ESPY_REG_R11, 8 },
	{ "r12", ESPY_REG_R12, 8 }, { "r13", ESPY_REG_R13, 8 }, { "r14", ESPY_REG_R14, 8 },
	{ "r15", ESPY_REG_R15, 8 }, { "ip", ESPY_REG_IP, 8 },	{ "flags", ESPY_REG_FLAGS, 8 },
	{ "rax", ESPY_REG_AX, 8 },  { "rbx", ESPY_REG_BX, 8 },	{ "rcx", ESPY_REG_CX, 8 },
	{ "rdx", ESPY_REG_DX, 8 },  { "rsi", ESPY_REG_SI, 8 },	{ "rdi", ESPY_REG_DI, 8 },
	{ "rbp", ESPY_REG_BP, 8 },  { "rsp", ESPY_REG_SP, 8 },	{ "rip", ESPY_REG_IP, 8 },
	{ "eax", ESPY_REG_AX, 4 },  { "ebx", ESPY_REG_BX, 4 },	{ "ecx", ESPY_REG_CX, 4 },
	{ "edx", ESPY_REG_DX, 4 },  { "esi", ESPY_REG_SI, 4 },	{ "edi", ESPY_REG_DI, 4 },
	{ "ebp", ESPY_REG_BP, 4 },  { "r8d", ESPY_REG_R8, 4 },	{ "r9d", ESPY_REG_R9, 4 },
};

/* The assembler's names of parts of 8, 4, 2, 1 bytes; NULL: no argument lies there. */
static const char *const of_notes[ESPY_REG_CNT][4] = {
	[ESPY_REG_R15] = { "r15", "r15d", "r15w", "r15b" }, [ESPY_REG_R14] = { "r14", "r14d", "r14w", "r14b" },
	[ESPY_REG_R13] = { "r13", "r13d", "r13w", "r13b" }, [ESPY_REG_R12] = { "r12", "r12d", "r12w", "r12b" },
	[ESPY_REG_BP] = { "rbp", "ebp", "bp", "bpl" },	    [ESPY_REG_BX] = { "rbx", "ebx", "bx", "bl" },
	[ESPY_REG_R11] = { "r11", "r11d", "r11w", "r11b" }, [ESPY_REG_R10] = { "r10", "r10d", "r10w", "r10b" },
	[ESPY_REG_R9] = { "r9", "r9d", "r9w", "r9b" },	    [ESPY_REG_R8] = { "r8", "r8d", "r8w", "r8b" },
	[ESPY_REG_AX] = { "rax", "eax", "ax", "al" },	    [ESPY_REG_CX] = { "rcx", "ecx", "cx", "cl" },
	[ESPY_REG_DX] = { "rdx", "edx", "dx", "dl" },	    [ESPY_REG_SI] = { "rsi", "esi", "si", "sil" },
	[ESPY_REG_DI] = { "rdi", "edi", "di", "dil" },	    [ESPY_REG_IP] = { "rip", "eip" },
	[ESPY_REG_SP] = { "rsp", "esp", "sp", "spl" },
};
static const struct {
	char name[3];
	uint8_t reg;
} high_bytes[] = { { "ah", ESPY_REG_AX }, { "bh", ESPY_REG_BX }, { "ch", ESPY_REG_CX }, { "dh", ESPY_REG_DX } };

static bool is_word(const char *name, const char *s, size_t len)
{
	return name && strlen(name) == len && !memcmp(name, s, len);
}

bool espy_arch__probe_register(const char *name, size_t len, struct espy_reg_part *out)
{
	for (size_t i = 0; i < sizeof(of_probes) / sizeof(of_probes[0]); i++)
		if (is_word(of_probes[i].name, name, len)) {
			*out = (struct espy_reg_part){ of_probes[i].reg, of_probes[i].size, 0 };
			return true;
		}
	return false;
}

bool espy_arch__note_register(const char *name, size_t len, struct espy_reg_part *out)
{
	for (unsigned reg = 0; reg < ESPY_REG_CNT; reg++)
		for (unsigned k = 0; k < 4; k++)
			if (is_word(of_notes[reg][k], name, len)) {
				*out = (struct espy_reg_part){ (uint8_t)reg, (uint8_t)(8 >> k), 0 };
				return true;
			}
	for (size_t i = 0; i < sizeof(high_bytes) / sizeof(high_bytes[0]); i++)
		if (is_word(high_bytes[i].name, name, len)) {
			*out = (struct espy_reg_part){ high_bytes[i].reg, 1, 8 };
			return true;
		}
	return false;
}

int espy_arch__dwarf_register(unsigned nr)
{
	/* System V ABI of x86-64. The one behind r15 is the return address. */
	static const uint8_t regs[] = { ESPY_REG_AX,  ESPY_REG_DX,  ESPY_REG_CX,  ESPY_REG_BX,
					ESPY_REG_SI,  ESPY_REG_DI,  ESPY_REG_BP,  ESPY_REG_SP,
					ESPY_REG_R8,  ESPY_REG_R9,  ESPY_REG_R10, ESPY_REG_R11,
					ESPY_REG_R12, ESPY_REG_R13, ESPY_REG_R14, ESPY_REG_R15 };

	return nr < sizeof(regs) ? regs[nr] : -1;
}

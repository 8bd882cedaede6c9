/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/insn_effect.h"

#include <string.h>
#include "arch/machine_regs.h"
#include "arch/x86_64/insn.h"

uint32_t espy_insn_bit_of(unsigned reg)
{
	static const uint32_t bits[ESPY_REG_CNT] = {
		[ESPY_REG_AX] = ESPY_INSN_REG(0),   [ESPY_REG_CX] = ESPY_INSN_REG(1),	[ESPY_REG_DX] = ESPY_INSN_REG(2),
		[ESPY_REG_BX] = ESPY_INSN_REG(3),   [ESPY_REG_SP] = ESPY_INSN_SP,	[ESPY_REG_BP] = ESPY_INSN_REG(5),
		[ESPY_REG_SI] = ESPY_INSN_REG(6),   [ESPY_REG_DI] = ESPY_INSN_REG(7),	[ESPY_REG_R8] = ESPY_INSN_REG(8),
		[ESPY_REG_R9] = ESPY_INSN_REG(9),   [ESPY_REG_R10] = ESPY_INSN_REG(10), [ESPY_REG_R11] = ESPY_INSN_REG(11),
		[ESPY_REG_R12] = ESPY_INSN_REG(12), [ESPY_REG_R13] = ESPY_INSN_REG(13), [ESPY_REG_R14] = ESPY_INSN_REG(14),
		[ESPY_REG_R15] = ESPY_INSN_REG(15),
	};

	return reg < ESPY_REG_CNT ? bits[reg] : 0;
}

/* ---- instructions that the kernel emulates */

/* Tells whether the bytes are a nop in the form that the kernel knows, one for each length. */
static bool is_known_nop(const uint8_t *at, size_t len)
{
	static const char *const nops[] = {
		[1] = "\x90",
		[2] = "\x66\x90",
		[3] = "\x0f\x1f\x00",
		[4] = "\x0f\x1f\x40\x00",
		[5] = "\x0f\x1f\x44\x00\x00",
		[6] = "\x66\x0f\x1f\x44\x00\x00",
		[7] = "\x0f\x1f\x80\x00\x00\x00\x00",
		[8] = "\x0f\x1f\x84\x00\x00\x00\x00\x00",
	};

	return len && len < sizeof(nops) / sizeof(nops[0]) && !memcmp(at, nops[len], len);
}

static bool is_conditional(const struct insn *i)
{
	return (i->map == 0 && (i->op & 0xf0) == 0x70) || (i->map == 1 && (i->op & 0xf0) == 0x80);
}

static bool is_push(const struct insn *i, size_t len)
{
	return i->map == 0 && (i->op & 0xf8) == 0x50 && (len == 1 || (len == 2 && i->rex == 0x41));
}

bool espy_insn_is_push(const uint8_t *at, size_t room)
{
	struct insn i = { .bytes = at, .room = room };

	return is_push(&i, espy_insn_parse(&i));
}

bool espy_insn_emulated(const uint8_t *at, size_t room)
{
	struct insn i = { .bytes = at, .room = room };
	const size_t len = espy_insn_parse(&i);

	if (!len || i.lock)
		return false;
	if (is_known_nop(at, len) || is_push(&i, len))
		return true;
	if (is_conditional(&i))
		return !i.short_operand;
	if (i.map)
		return false;
	switch (i.op) {
	case 0x90:
		return !i.rex;
	case 0xe8:
	case 0xe9:
	case 0xeb:
		return !i.short_operand;
	default:
		return false;
	}
}

/* ---- instructions that may be passed over */

enum {
	RM = 0x01,  /* it writes the operand that ModRM addresses; only if that is a register */
	REG = 0x02, /* the register that ModRM names */
	LOW = 0x04, /* the register in the opcode */
	AX = 0x08,
	DX = 0x10,
	BYTE = 0x20,	  /* 8 bits of it */
	NO_MEMORY = 0x40, /* an address is computed, or not even that */
	PREFIXED = 0x80,  /* a prefix chooses another operation on registers of other kinds */
	PLAIN = 0x100,	  /* it has no ModRM */
};

struct passed {
	uint8_t map, first, last, regs; /* regs: bit per value of ModRM.reg for which this holds */
	uint16_t does;
};

static const struct passed passed[] = {
	{ 0, 0x38, 0x3b, 0xff, 0 }, /* cmp; its family is below */
	{ 0, 0x3c, 0x3d, 0xff, PLAIN },
	{ 0, 0x63, 0x63, 0xff, REG }, /* movslq */
	{ 0, 0x69, 0x69, 0xff, REG }, /* imul */
	{ 0, 0x6b, 0x6b, 0xff, REG },
	{ 0, 0x80, 0x80, 0x7f, RM | BYTE }, /* add to xor by a constant */
	{ 0, 0x81, 0x81, 0x7f, RM },
	{ 0, 0x83, 0x83, 0x7f, RM },
	{ 0, 0x80, 0x81, 0x80, 0 }, /* cmp with one */
	{ 0, 0x83, 0x83, 0x80, 0 },
	{ 0, 0x84, 0x85, 0xff, 0 },	    /* test */
	{ 0, 0x88, 0x88, 0xff, RM | BYTE }, /* mov */
	{ 0, 0x89, 0x89, 0xff, RM },
	{ 0, 0x8a, 0x8a, 0xff, REG | BYTE },
	{ 0, 0x8b, 0x8b, 0xff, REG },
	{ 0, 0x8d, 0x8d, 0xff, REG | NO_MEMORY },    /* lea */
	{ 0, 0x98, 0x98, 0xff, PLAIN | AX },	     /* cltq */
	{ 0, 0x99, 0x99, 0xff, PLAIN | DX },	     /* cqto */
	{ 0, 0xa8, 0xa9, 0xff, PLAIN },		     /* test */
	{ 0, 0xb0, 0xb7, 0xff, PLAIN | LOW | BYTE }, /* mov of a constant */
	{ 0, 0xb8, 0xbf, 0xff, PLAIN | LOW },
	{ 0, 0xc0, 0xc0, 0xbf, RM | BYTE }, /* shifts */
	{ 0, 0xc1, 0xc1, 0xbf, RM },
	{ 0, 0xc6, 0xc6, 0x01, RM | BYTE }, /* mov of a constant */
	{ 0, 0xc7, 0xc7, 0x01, RM },
	{ 0, 0xd0, 0xd0, 0xbf, RM | BYTE }, /* shifts */
	{ 0, 0xd1, 0xd1, 0xbf, RM },
	{ 0, 0xd2, 0xd2, 0xbf, RM | BYTE },
	{ 0, 0xd3, 0xd3, 0xbf, RM },
	{ 0, 0xf6, 0xf7, 0x01, 0 },	    /* test */
	{ 0, 0xf6, 0xf6, 0x0c, RM | BYTE }, /* not, neg */
	{ 0, 0xf7, 0xf7, 0x0c, RM },
	{ 0, 0xfe, 0xfe, 0x03, RM | BYTE }, /* inc, dec */
	{ 0, 0xff, 0xff, 0x03, RM },
	/* movups and movss, movaps, logic, movd and movdqu, pxor: to a vector register */
	{ 1, 0x10, 0x10, 0xff, PREFIXED },
	{ 1, 0x28, 0x28, 0xff, 0 },
	{ 1, 0x54, 0x57, 0xff, 0 },
	{ 1, 0x6e, 0x6e, 0xff, 0 },
	{ 1, 0x6f, 0x6f, 0xff, PREFIXED },
	{ 1, 0xef, 0xef, 0xff, 0 },
	{ 1, 0x1f, 0x1f, 0x01, NO_MEMORY }, /* nop */
	{ 1, 0x40, 0x4f, 0xff, REG },	    /* cmov */
	{ 1, 0x90, 0x9f, 0xff, RM | BYTE }, /* set */
	{ 1, 0xaf, 0xaf, 0xff, REG },	    /* imul */
	{ 1, 0xb6, 0xb7, 0xff, REG },	    /* movzx */
	{ 1, 0xbe, 0xbf, 0xff, REG },	    /* movsx */
};

static const struct passed *find_passed(const struct insn *i)
{
	/* add, or, adc, sbb, and, sub, xor in their six forms */
	static const struct passed arithmetic[6] = {
		{ .does = RM | BYTE }, { .does = RM },	       { .does = REG | BYTE },
		{ .does = REG },       { .does = PLAIN | AX }, { .does = PLAIN | AX },
	};

	for (size_t k = 0; k < sizeof(passed) / sizeof(passed[0]); k++) {
		const struct passed *p = &passed[k];

		if (p->map == i->map && i->op >= p->first && i->op <= p->last &&
		    (p->does & PLAIN || p->regs >> (i->modrm >> 3 & 7) & 1))
			return p;
	}
	return i->map == 0 && i->op < 0x38 && (i->op & 7) < 6 ? &arithmetic[i->op & 7] : NULL;
}

/* Tells whether a program can always read the operand in memory: near the instruction, on the stack, of the thread. */
static bool is_safe_memory(const struct insn *i)
{
	const uint8_t mod = i->modrm >> 6, rm = i->modrm & 7;

	if (i->gs)
		return false;
	if (rm == 4 && (i->sib >> 3 & 7) == 4 && !(i->rex & 2)) {
		if (mod == 0 && (i->sib & 7) == 5)
			return i->fs;
		return (i->sib & 7) == 4 && !(i->rex & 1) && !i->fs;
	}
	return mod == 0 && rm == 5 && !i->fs;
}

/* Returns the register of number `low` and REX bit `high`. Without a REX prefix, four byte registers differ. */
static uint32_t register_of(const struct insn *i, unsigned does, unsigned low, uint8_t high)
{
	if (does & BYTE && !i->rex)
		return ESPY_INSN_REG(low & 3);
	return ESPY_INSN_REG(low + (i->rex & high ? 8 : 0));
}

size_t espy_insn_passed(const uint8_t *at, size_t room, uint32_t *writes)
{
	struct insn i = { .bytes = at, .room = room };
	const size_t len = espy_insn_parse(&i);
	const struct passed *p;

	*writes = 0;
	/* endbr64 */
	if (len == 4 && !memcmp(at, "\xf3\x0f\x1e\xfa", 4))
		return len;
	p = len && !i.lock && !i.short_address ? find_passed(&i) : NULL;
	if (!p || ((i.rep || i.repne) && !(p->does & PREFIXED)))
		return 0;
	if (!(p->does & (PLAIN | NO_MEMORY)) && i.modrm < 0xc0 && (p->does & RM || !is_safe_memory(&i)))
		return 0;
	if (p->does & NO_MEMORY && i.op == 0x8d && i.modrm >= 0xc0)
		return 0;
	if (p->does & RM)
		*writes |= register_of(&i, p->does, i.modrm & 7, 1);
	if (p->does & REG)
		*writes |= register_of(&i, p->does, i.modrm >> 3 & 7, 4);
	if (p->does & LOW)
		*writes |= register_of(&i, p->does, i.op & 7, 1);
	if (p->does & AX)
		*writes |= ESPY_INSN_REG(0);
	if (p->does & DX)
		*writes |= ESPY_INSN_REG(2);
	return len;
}

/* ---- jumps */

size_t espy_insn_far_jump(const uint8_t *at, size_t room, int64_t *distance)
{
	const size_t len = at[0] == 0xe8 || at[0] == 0xe9			 ? 5
			   : room > 1 && at[0] == 0x0f && (at[1] & 0xf0) == 0x80 ? 6
										 : 0;
	int32_t by;

	if (!len || len > room)
		return 0;
	memcpy(&by, at + len - sizeof(by), sizeof(by));
	*distance = by;
	return len;
}

enum espy_insn_jump espy_insn_jump(const uint8_t *at, size_t room, int64_t *distance)
{
	struct insn i = { .bytes = at, .room = room };
	const size_t len = espy_insn_parse(&i);
	const uint8_t reg = i.modrm >> 3 & 7;

	*distance = 0;
	/* By way of an address near the instruction it leaves for another file. */
	if (len && i.map == 0 && i.op == 0xff && (reg == 4 || reg == 5) && (i.modrm & 0xc7) != 5)
		return ESPY_INSN_CHOOSES;
	if (!len || i.map || (i.op != 0xeb && !is_conditional(&i) && (i.op < 0xe0 || i.op > 0xe3)))
		return ESPY_INSN_GOES_ON;
	*distance = (int8_t)at[len - 1];
	return ESPY_INSN_JUMPS;
}

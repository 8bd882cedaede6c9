/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Instructions, as Zydis takes them apart. */
#include <string.h>
#include <Zydis/Zydis.h>
#include "arch/insn.h"
#include "arch/machine_regs.h"

struct insn {
	ZydisDecodedInstruction of;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static bool begin(ZydisDecoder *decoder)
{
	return ZYAN_SUCCESS(ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
}

/* Takes the instruction at `at` apart. Returns false if there is none, or not all of it. */
static bool decode(struct insn *i, const uint8_t *at, size_t room)
{
	ZydisDecoder decoder;

	return begin(&decoder) && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, at, room, &i->of, i->operands));
}

/* Functions are walked through by it: operands, which take most of the time, do not matter. */
size_t espy_insn_length(const uint8_t *at, size_t room)
{
	ZydisDecodedInstruction of;
	ZydisDecoder decoder;

	return begin(&decoder) && ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, at, room, &of)) ? of.length : 0;
}

uint32_t espy_insn_bit_of(unsigned reg)
{
	static const uint32_t bits[ESPY_REG_CNT] = {
		[ESPY_REG_AX] = ESPY_INSN_REG(0),   [ESPY_REG_CX] = ESPY_INSN_REG(1),
		[ESPY_REG_DX] = ESPY_INSN_REG(2),   [ESPY_REG_BX] = ESPY_INSN_REG(3),
		[ESPY_REG_SP] = ESPY_INSN_SP,	    [ESPY_REG_BP] = ESPY_INSN_REG(5),
		[ESPY_REG_SI] = ESPY_INSN_REG(6),   [ESPY_REG_DI] = ESPY_INSN_REG(7),
		[ESPY_REG_R8] = ESPY_INSN_REG(8),   [ESPY_REG_R9] = ESPY_INSN_REG(9),
		[ESPY_REG_R10] = ESPY_INSN_REG(10), [ESPY_REG_R11] = ESPY_INSN_REG(11),
		[ESPY_REG_R12] = ESPY_INSN_REG(12), [ESPY_REG_R13] = ESPY_INSN_REG(13),
		[ESPY_REG_R14] = ESPY_INSN_REG(14), [ESPY_REG_R15] = ESPY_INSN_REG(15),
	};

	return reg < ESPY_REG_CNT ? bits[reg] : 0;
}

/* ---- instructions that the kernel emulates */

bool espy_insn_unprobed(const uint8_t *at, size_t room)
{
	struct insn i;

	if (!decode(&i, at, room))
		return false;
	if (i.of.attributes & ZYDIS_ATTRIB_HAS_LOCK || i.of.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ||
	    i.of.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX)
		return true;
	/* clang-format off */
	switch (i.of.mnemonic) {
	case ZYDIS_MNEMONIC_CLI: case ZYDIS_MNEMONIC_STI: case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_IRET: case ZYDIS_MNEMONIC_IRETD: case ZYDIS_MNEMONIC_IRETQ:
		return true;
	default:
		return i.of.meta.category == ZYDIS_CATEGORY_INTERRUPT || i.of.meta.category == ZYDIS_CATEGORY_IO ||
		       i.of.meta.category == ZYDIS_CATEGORY_IOSTRINGOP;
	}
	/* clang-format on */
}

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

	return len < sizeof(nops) / sizeof(nops[0]) && !memcmp(at, nops[len], len);
}

static bool is_push(const uint8_t *at, size_t len)
{
	return (len == 1 || (len == 2 && at[0] == 0x41)) && (at[len - 1] & 0xf8) == 0x50;
}

bool espy_insn_is_push(const uint8_t *at, size_t room)
{
	return is_push(at, espy_insn_length(at, room));
}

bool espy_insn_emulated(const uint8_t *at, size_t room)
{
	struct insn i;

	if (!decode(&i, at, room))
		return false;
	if (is_known_nop(at, i.of.length) || is_push(at, i.of.length) || i.of.mnemonic == ZYDIS_MNEMONIC_PAUSE)
		return true;
	/* Of the jumps and calls over a distance not loop and jrcxz (e0 to e3), xbegin (c7), and 16-bit ones. */
	return (i.of.meta.branch_type == ZYDIS_BRANCH_TYPE_SHORT || i.of.meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR) &&
	       i.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && i.operands[0].imm.is_relative &&
	       (i.of.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT || (i.of.opcode & 0xf0) == 0x70 || i.of.opcode >= 0xe8) &&
	       !(i.of.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE);
}

/* ---- instructions that may be passed over */

/* Tells whether it neither jumps nor faults, but for operands in memory. Division and floating-point arithmetic fault. */
static bool is_harmless(const ZydisDecodedInstruction *i)
{
	/* clang-format off */
	switch (i->meta.category) {
	case ZYDIS_CATEGORY_CMOV: case ZYDIS_CATEGORY_DATAXFER: case ZYDIS_CATEGORY_LOGICAL_FP: case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_ROTATE: case ZYDIS_CATEGORY_SETCC: case ZYDIS_CATEGORY_SHIFT: case ZYDIS_CATEGORY_WIDENOP:
		return true;
	case ZYDIS_CATEGORY_LOGICAL:
		return i->mnemonic != ZYDIS_MNEMONIC_XTEST; /* many processors do not have it */
	case ZYDIS_CATEGORY_BINARY:
		return i->mnemonic != ZYDIS_MNEMONIC_DIV && i->mnemonic != ZYDIS_MNEMONIC_IDIV;
	default:
		break;
	}
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_CBW: case ZYDIS_MNEMONIC_CWDE: case ZYDIS_MNEMONIC_CDQE: case ZYDIS_MNEMONIC_CWD: case ZYDIS_MNEMONIC_CDQ:
	case ZYDIS_MNEMONIC_CQO: case ZYDIS_MNEMONIC_ENDBR64: case ZYDIS_MNEMONIC_LEA:
		return true;
	default:
		return false;
	}
	/* clang-format on */
}

/* Tells whether a program can always read the operand in memory: near the instruction, on the stack, of the thread. */
static bool is_safe_memory(const ZydisDecodedOperandMem *m)
{
	if (m->index != ZYDIS_REGISTER_NONE || m->segment == ZYDIS_REGISTER_GS)
		return false;
	if (m->segment == ZYDIS_REGISTER_FS)
		return m->base == ZYDIS_REGISTER_NONE;
	return m->base == ZYDIS_REGISTER_RIP || m->base == ZYDIS_REGISTER_RSP;
}

/* Adds the general register that the operand writes to *writes. Returns false if it does more than that and than to
 * read. */
static bool take_operand(const ZydisDecodedOperand *o, uint32_t *writes)
{
	const bool written = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

	if (o->type == ZYDIS_OPERAND_TYPE_MEMORY)
		return !o->actions || (!written && is_safe_memory(&o->mem));
	if (o->type != ZYDIS_OPERAND_TYPE_REGISTER || !written)
		return true;
	switch (ZydisRegisterGetClass(o->reg.value)) {
	case ZYDIS_REGCLASS_GPR8:
	case ZYDIS_REGCLASS_GPR16:
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR64:
		*writes |= ESPY_INSN_REG(
			ZydisRegisterGetId(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value)));
		return true;
	case ZYDIS_REGCLASS_FLAGS:
	case ZYDIS_REGCLASS_MMX:
	case ZYDIS_REGCLASS_XMM:
		return true;
	default:
		return false;
	}
}

size_t espy_insn_passed(const uint8_t *at, size_t room, uint32_t *writes)
{
	struct insn i;

	*writes = 0;
	if (!decode(&i, at, room) || !is_harmless(&i.of))
		return 0;
	for (unsigned k = 0; k < i.of.operand_count; k++) {
		const ZydisDecodedOperand *o = &i.operands[k];
		const bool no_access = o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
				       (o->mem.type == ZYDIS_MEMOP_TYPE_AGEN || i.of.mnemonic == ZYDIS_MNEMONIC_NOP);

		if (!no_access && !take_operand(o, writes))
			return 0;
	}
	return i.of.length;
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
	struct insn i;

	*distance = 0;
	if (!decode(&i, at, room))
		return ESPY_INSN_GOES_ON;
	if (i.of.meta.branch_type == ZYDIS_BRANCH_TYPE_SHORT) {
		*distance = i.operands[0].imm.value.s;
		return ESPY_INSN_JUMPS;
	}
	/* By way of an address near the instruction it leaves for another file. */
	if (i.of.mnemonic == ZYDIS_MNEMONIC_JMP && i.operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	    !(i.operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY && i.operands[0].mem.base == ZYDIS_REGISTER_RIP))
		return ESPY_INSN_CHOOSES;
	return ESPY_INSN_GOES_ON;
}

enum espy_insn_flow espy_insn_flow(const uint8_t *at, size_t room, size_t *len, int64_t *jump)
{
	ZydisDecodedInstruction of;
	ZydisDecoder decoder;

	*len = 0;
	*jump = 0;
	if (!begin(&decoder) || ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, at, room, &of)))
		return ESPY_INSN_FLOW_ON;
	*len = of.length;
	if (of.meta.branch_type == ZYDIS_BRANCH_TYPE_SHORT)
		*jump = of.raw.imm[0].value.s;
	switch (of.meta.category) {
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_UNCOND_BR:
		return ESPY_INSN_FLOW_END;
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
		return of.mnemonic == ZYDIS_MNEMONIC_NOP ? ESPY_INSN_FLOW_FILL : ESPY_INSN_FLOW_ON;
	default:
		break;
	}
	if (of.mnemonic == ZYDIS_MNEMONIC_INT3 || (of.length == 2 && at[0] == 0x66 && at[1] == 0x90))
		return ESPY_INSN_FLOW_FILL;
	return of.mnemonic == ZYDIS_MNEMONIC_UD2 || of.mnemonic == ZYDIS_MNEMONIC_HLT ? ESPY_INSN_FLOW_END
										      : ESPY_INSN_FLOW_ON;
}

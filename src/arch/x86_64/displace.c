/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Instructions of x86-64 that a jump displaces, as Zydis takes them apart. */
#include <string.h>
#include <Zydis/Zydis.h>
#include "arch/displace.h"

const char *espy_displace_words(enum espy_displace_no no)
{
	static const char *const words[ESPY_DISPLACE_CNT] = {
		[ESPY_DISPLACE_OK] = "it can",
		[ESPY_DISPLACE_NO_CODE] = "there is no instruction",
		[ESPY_DISPLACE_BREAKPOINT] = "a breakpoint stands there",
		[ESPY_DISPLACE_LOOP] = "the instruction is a jump without a long form",
		[ESPY_DISPLACE_CALL] = "the instruction calls by an address in a register or in memory",
		[ESPY_DISPLACE_ENDS] = "the function ends within the bytes of a jump",
		[ESPY_DISPLACE_FAR] = "the instruction names something 2 GB away",
		[ESPY_DISPLACE_OTHER] = "the instruction depends on where it stands",
	};

	return words[no < ESPY_DISPLACE_CNT ? no : ESPY_DISPLACE_OTHER];
}

static enum espy_displace_no add_gap(struct espy_copy *c, enum espy_gap_what what, size_t at, size_t end,
				     int64_t target)
{
	if (target != (int32_t)target)
		return ESPY_DISPLACE_FAR;
	if (c->gap_cnt == ESPY_COPY_GAPS)
		return ESPY_DISPLACE_OTHER;
	c->gaps[c->gap_cnt++] = (struct espy_copy_gap){
		.at = (uint8_t)at, .end = (uint8_t)end, .what = (uint8_t)what, .target = (int32_t)target
	};
	return ESPY_DISPLACE_OK;
}

static bool add_bytes(struct espy_copy *c, const void *bytes, size_t len)
{
	if (len > sizeof(c->bytes) - c->len)
		return false;
	memcpy(c->bytes + c->len, bytes, len);
	c->len += (uint8_t)len;
	return true;
}

/* An opcode with a distance of 32 bits behind it. */
static enum espy_displace_no add_far(struct espy_copy *c, const uint8_t *opcode, size_t len, int64_t target)
{
	static const uint8_t gap[4];

	if (!add_bytes(c, opcode, len) || !add_bytes(c, gap, sizeof(gap)))
		return ESPY_DISPLACE_OTHER;
	return add_gap(c, ESPY_GAP_DISTANCE, c->len - 4u, c->len, target);
}

/*
 * A call becomes a jump behind a push of the address where the function goes on. So whoever looks at the stack
 * meanwhile finds what would be there without us.
 */
static enum espy_displace_no add_call(struct espy_copy *c, int64_t returns_to, int64_t target)
{
	static const uint8_t push[] = { 0x68, 0, 0, 0, 0 };		       /* push $low, with its sign */
	static const uint8_t store[] = { 0xc7, 0x44, 0x24, 0x04, 0, 0, 0, 0 }; /* movl $high, 4(%rsp) */
	static const uint8_t jump[] = { 0xe9 };
	const size_t at = c->len;
	enum espy_displace_no no;

	if (!add_bytes(c, push, sizeof(push)) || !add_bytes(c, store, sizeof(store)))
		return ESPY_DISPLACE_OTHER;
	no = add_gap(c, ESPY_GAP_LOW, at + 1, 0, returns_to);
	no = no ? no : add_gap(c, ESPY_GAP_HIGH, at + sizeof(push) + 4, 0, returns_to);
	c->calls = c->ends = true;
	return no ? no : add_far(c, jump, sizeof(jump), target);
}

/* A jump or call by a distance. */
static enum espy_displace_no add_branch(struct espy_copy *c, const ZydisDecodedInstruction *i, int64_t end,
					int64_t target)
{
	static const uint8_t jump[] = { 0xe9 };
	uint8_t condition[] = { 0x0f, 0 };

	if (i->raw.imm[0].size == 16)
		return ESPY_DISPLACE_OTHER;
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_CALL:
		return add_call(c, end, target);
	case ZYDIS_MNEMONIC_JMP:
		c->ends = true;
		return add_far(c, jump, sizeof(jump), target);
	default:
		break;
	}
	if (i->meta.category != ZYDIS_CATEGORY_COND_BR)
		return ESPY_DISPLACE_OTHER; /* xbegin */
	if (i->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (i->opcode & 0xf0) != 0x70)
		return ESPY_DISPLACE_LOOP; /* loop, jrcxz */
	condition[1] = 0x80 | (i->opcode & 0xf);
	return add_far(c, condition, sizeof(condition), target);
}

/* Does an operand of it lie by a distance from it? */
static bool is_relative_operand(const ZydisDecodedInstruction *i)
{
	return i->attributes & ZYDIS_ATTRIB_HAS_MODRM && i->raw.modrm.mod == 0 && i->raw.modrm.rm == 5 &&
	       i->raw.disp.size == 32;
}

/* Adds the copy of one instruction, which begins `begin` bytes behind the first displaced one. */
static enum espy_displace_no add(struct espy_copy *c, const ZydisDecodedInstruction *i, const uint8_t *code,
				 size_t begin)
{
	const int64_t end = (int64_t)(begin + i->length);
	const size_t at = c->len;

	if (i->raw.imm[0].is_relative)
		return add_branch(c, i, end, end + i->raw.imm[0].value.s);
	switch (i->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return ESPY_DISPLACE_CALL;
	case ZYDIS_CATEGORY_INTERRUPT:
		return i->mnemonic == ZYDIS_MNEMONIC_INT3 ? ESPY_DISPLACE_BREAKPOINT : ESPY_DISPLACE_OTHER;
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_UNCOND_BR:
		c->ends = true;
		break;
	default:
		break;
	}
	if (i->mnemonic == ZYDIS_MNEMONIC_UD2 || i->mnemonic == ZYDIS_MNEMONIC_HLT)
		c->ends = true;
	if (!add_bytes(c, code, i->length))
		return ESPY_DISPLACE_OTHER;
	if (is_relative_operand(i))
		return add_gap(c, ESPY_GAP_DISTANCE, at + i->raw.disp.offset, at + i->length, end + i->raw.disp.value);
	return ESPY_DISPLACE_OK;
}

enum espy_displace_no espy_displace(struct espy_copy *c, const uint8_t *code, size_t room, size_t jump_sz)
{
	enum espy_displace_no no = ESPY_DISPLACE_OK;
	ZydisDecodedInstruction i;
	ZydisDecoder decoder;

	*c = (struct espy_copy){ 0 };
	if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return ESPY_DISPLACE_OTHER;
	for (size_t at = 0; at < jump_sz && !no; at += i.length) {
		if (c->ends)
			return ESPY_DISPLACE_ENDS;
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, code + at, room - at, &i)))
			return ESPY_DISPLACE_NO_CODE;
		no = add(c, &i, code + at, at);
		c->taken = (uint8_t)(at + i.length);
	}
	return no;
}

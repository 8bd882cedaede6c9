/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/x86_64/insn.h"

/* The parts that follow an opcode. */
enum {
	NOTHING = 0,
	MODRM = 0x01,
	IMM8 = 0x02,
	IMM16 = 0x04,
	IMMZ = 0x08, /* 4 bytes, 2 with the operand-size prefix */
	IMMV = 0x10, /* as IMMZ; 8 with REX.W */
	REL32 = 0x20,
	MOFFS = 0x40, /* an address: 8 bytes, 4 with the address-size prefix */
	BAD = 0x80,
	TEST = 0x100, /* ModRM decides: of eight instructions two have an operand behind it */
};

struct range {
	uint8_t first, last, what;
};

/* Of opcodes of one byte; prefixes and escapes are dealt with before. In no range: NOTHING. */
static const struct range one_byte[] = {
	{ 0x60, 0x62, BAD },	     { 0x63, 0x63, MODRM },	     { 0x68, 0x68, IMMZ },	   { 0x69, 0x69, MODRM | IMMZ },
	{ 0x6a, 0x6a, IMM8 },	     { 0x6b, 0x6b, MODRM | IMM8 },   { 0x70, 0x7f, IMM8 },	   { 0x80, 0x80, MODRM | IMM8 },
	{ 0x81, 0x81, MODRM | IMMZ }, { 0x82, 0x82, BAD },	     { 0x83, 0x83, MODRM | IMM8 }, { 0x84, 0x8f, MODRM },
	{ 0x9a, 0x9a, BAD },	     { 0xa0, 0xa3, MOFFS },	     { 0xa8, 0xa8, IMM8 },	   { 0xa9, 0xa9, IMMZ },
	{ 0xb0, 0xb7, IMM8 },	     { 0xb8, 0xbf, IMMV },	     { 0xc0, 0xc1, MODRM | IMM8 }, { 0xc2, 0xc2, IMM16 },
	{ 0xc6, 0xc6, MODRM | IMM8 }, { 0xc7, 0xc7, MODRM | IMMZ },  { 0xc8, 0xc8, IMM16 | IMM8 }, { 0xca, 0xca, IMM16 },
	{ 0xcd, 0xcd, IMM8 },	     { 0xce, 0xce, BAD },	     { 0xd0, 0xd3, MODRM },	   { 0xd4, 0xd6, BAD },
	{ 0xd8, 0xdf, MODRM },	     { 0xe0, 0xe7, IMM8 },	     { 0xe8, 0xe9, REL32 },	   { 0xea, 0xea, BAD },
	{ 0xeb, 0xeb, IMM8 },	     { 0xf6, 0xf7, MODRM },	     { 0xfe, 0xff, MODRM },
};

/* Of opcodes behind 0f, and in map 1 of VEX and EVEX. In no range: MODRM. */
static const struct range two_bytes[] = {
	{ 0x04, 0x04, BAD },	      { 0x05, 0x09, NOTHING },	    { 0x0a, 0x0a, BAD },	  { 0x0b, 0x0b, NOTHING },
	{ 0x0c, 0x0c, BAD },	      { 0x0e, 0x0e, NOTHING },	    { 0x0f, 0x0f, MODRM | IMM8 }, { 0x24, 0x27, BAD },
	{ 0x30, 0x37, NOTHING },      { 0x70, 0x73, MODRM | IMM8 }, { 0x77, 0x77, NOTHING },	  { 0x80, 0x8f, REL32 },
	{ 0xa0, 0xa2, NOTHING },      { 0xa4, 0xa4, MODRM | IMM8 }, { 0xa8, 0xaa, NOTHING },	  { 0xac, 0xac, MODRM | IMM8 },
	{ 0xba, 0xba, MODRM | IMM8 }, { 0xc2, 0xc2, MODRM | IMM8 }, { 0xc4, 0xc6, MODRM | IMM8 }, { 0xc8, 0xcf, NOTHING },
};

static unsigned look_up(const struct range *r, size_t cnt, uint8_t op, unsigned otherwise)
{
	for (size_t i = 0; i < cnt; i++)
		if (op >= r[i].first && op <= r[i].last)
			return r[i].what;
	return otherwise;
}

#define LOOK_UP(table, op, otherwise) look_up(table, sizeof(table) / sizeof((table)[0]), op, otherwise)

static unsigned of_one_byte(uint8_t op)
{
	static const uint8_t arithmetic[8] = { MODRM, MODRM, MODRM, MODRM, IMM8, IMMZ, BAD, BAD };

	return op < 0x40 ? arithmetic[op & 7] : LOOK_UP(one_byte, op, NOTHING);
}

/* Returns the parts behind an opcode of a map of VEX, EVEX or XOP. */
static unsigned of_map(unsigned map, uint8_t op)
{
	switch (map) {
	case 1: return LOOK_UP(two_bytes, op, MODRM) & (unsigned)~REL32;
	case 2:
	case 5:
	case 6:
	case 9: return MODRM;
	case 3:
	case 8: return MODRM | IMM8;
	case 10: return MODRM | IMMZ;
	default: return BAD;
	}
}

static uint8_t next(struct insn *i)
{
	if (i->at >= i->room || i->at >= ESPY_INSN_MAX) {
		i->short_of = true;
		return 0;
	}
	return i->bytes[i->at++];
}

static uint8_t skip_prefixes(struct insn *i)
{
	for (;;) {
		const uint8_t b = next(i);

		switch (b) {
		case 0x66: i->short_operand = true; break;
		case 0x67: i->short_address = true; break;
		case 0xf2: i->repne = true; break;
		case 0xf3: i->rep = true; break;
		case 0xf0: i->lock = true; break;
		case 0x64: i->fs = true; break;
		case 0x65: i->gs = true; break;
		case 0x26: case 0x2e: case 0x36: case 0x3e: break;
		default: return b;
		}
		if (i->short_of)
			return 0;
	}
}

/* Reads the opcode behind a prefix of VEX, EVEX or XOP, with `more` bytes behind the one that names the map. */
static unsigned read_vector_opcode(struct insn *i, unsigned mask, unsigned more)
{
	const uint8_t map = next(i) & mask;

	while (more--)
		next(i);
	i->op = next(i);
	return of_map(map, i->op);
}

/* Reads the opcode. Returns the parts that follow it. */
static unsigned read_opcode(struct insn *i)
{
	uint8_t b = skip_prefixes(i);

	if ((b & 0xf0) == 0x40) {
		i->rex = b;
		i->wide = b & 8;
		b = next(i);
	}
	i->map = INSN_OTHER_MAP;
	switch (b) {
	case 0xc5:
		next(i);
		i->op = next(i);
		return of_map(1, i->op);
	case 0xc4: return read_vector_opcode(i, 0x1f, 1);
	case 0x62: return read_vector_opcode(i, 7, 2);
	case 0x8f:
		/* XOP where it is no pop. */
		if (i->at < i->room && (i->bytes[i->at] & 0x1f) >= 8)
			return read_vector_opcode(i, 0x1f, 1);
		break;
	case 0x0f:
		i->op = next(i);
		if (i->op == 0x38 || i->op == 0x3a) {
			const bool imm = i->op == 0x3a;

			i->op = next(i);
			return imm ? MODRM | IMM8 : MODRM;
		}
		i->map = 1;
		if (i->op == 0x78 && (i->short_operand || i->repne))
			return MODRM | IMM16;
		return LOOK_UP(two_bytes, i->op, MODRM);
	}
	i->map = 0;
	i->op = b;
	return of_one_byte(b) | (b == 0xf6 || b == 0xf7 ? TEST : 0u);
}

bool espy_insn_unprobed(const uint8_t *at, size_t room)
{
	struct insn i = { .bytes = at, .room = room };
	const uint8_t b = skip_prefixes(&i);

	return i.lock || b == 0xc4 || b == 0xc5 || b == 0x62 || b == 0xcc || b == 0xcd || b == 0xcf || b == 0xf1 || b == 0xf4 || b == 0xfa ||
	       b == 0xfb || (b >= 0x6c && b <= 0x6f) || (b >= 0xe4 && b <= 0xe7) || (b >= 0xec && b <= 0xef);
}

static void skip_modrm(struct insn *i)
{
	const uint8_t m = next(i), mod = m >> 6;
	size_t disp = mod == 1 ? 1 : mod == 2 ? 4 : 0;

	i->modrm = m;
	if (mod == 3)
		return;
	if ((m & 7) == 4) {
		i->sib = next(i);
		if (!mod && (i->sib & 7) == 5)
			disp = 4;
	} else if (!mod && (m & 7) == 5) {
		disp = 4;
	}
	i->at += disp;
}

size_t espy_insn_parse(struct insn *i)
{
	const unsigned what = read_opcode(i);

	if (what & BAD || i->short_of)
		return 0;
	if (what & MODRM)
		skip_modrm(i);
	if (i->short_of)
		return 0;
	i->at += (what & IMM8 ? 1 : 0) + (what & IMM16 ? 2 : 0) + (what & REL32 ? 4 : 0);
	if (what & IMMZ)
		i->at += i->short_operand ? 2 : 4;
	if (what & IMMV)
		i->at += i->wide ? 8 : i->short_operand ? 2 : 4;
	if (what & MOFFS)
		i->at += i->short_address ? 4 : 8;
	/* test has an operand that its neighbours do not have. */
	if (what & TEST && !(i->modrm & 0x30))
		i->at += i->op == 0xf6 ? 1 : i->short_operand ? 2 : 4;
	return i->at <= i->room && i->at <= ESPY_INSN_MAX ? i->at : 0;
}

size_t espy_insn_length(const uint8_t *at, size_t room)
{
	struct insn i = { .bytes = at, .room = room };

	return espy_insn_parse(&i);
}

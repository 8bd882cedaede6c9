/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads what objdump -d -w says of instructions, and compares it with what ours says that they do: which are emulated,
 * which register one writes that a probe may be put behind, where one jumps to. Ends with 1 if one differs.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arch/insn.h"

/* A bit per register that a name means; 0: it is none of the general ones. */
static uint32_t bit_of(const char *name)
{
	static const char *const names[16] = {
		"rax eax ax al ah",   "rcx ecx cx cl ch",   "rdx edx dx dl dh",	  "rbx ebx bx bl bh",
		"rsp esp sp spl",     "rbp ebp bp bpl",	    "rsi esi si sil",	  "rdi edi di dil",
		"r8 r8d r8w r8b",     "r9 r9d r9w r9b",	    "r10 r10d r10w r10b", "r11 r11d r11w r11b",
		"r12 r12d r12w r12b", "r13 r13d r13w r13b", "r14 r14d r14w r14b", "r15 r15d r15w r15b",
	};
	char all[64], *rest;

	for (unsigned i = 0; i < 16; i++) {
		snprintf(all, sizeof(all), "%s", names[i]);
		for (char *word = strtok_r(all, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
			if (!strcmp(word, name))
				return 1u << i;
	}
	return 0;
}

static bool begins(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (!strncmp(text, *words, strlen(*words)))
			return true;
	return false;
}

/* The last operand: the one that is written, if any is. */
static const char *last_operand(char *text)
{
	char *operands = strchr(text, ' '), *last;
	int depth = 0;

	if (!operands)
		return "";
	operands += strspn(operands, " ");
	last = operands;
	operands[strcspn(operands, "#<")] = 0;
	for (char *p = operands; *p; p++) {
		depth += (*p == '(') - (*p == ')');
		if (*p == ',' && !depth)
			last = p + 1;
	}
	last[strcspn(last, " ")] = 0;
	return last;
}

static bool is_right_passed(char *text, uint32_t writes)
{
	static const char *const reading[] = {
		"cmp", "test", "endbr", "nop", "cs nop", "data16 cs nop", "data16 nop", "vptest", "xchg   %ax,%ax", NULL
	};
	/* The product stands in ax, and in dx where it has more than 16 bits. */
	static const char *const products[] = { "mul", "imul", NULL }, *const exchanges[] = { "xchg ", NULL };
	const bool ax = !strncmp(text, "cltq", 4) || !strncmp(text, "cwtl", 4) || !strncmp(text, "cbtw", 4),
		   dx = !strncmp(text, "cqto", 4) || !strncmp(text, "cltd", 4) || !strncmp(text, "cwtd", 4);
	const char *last;

	if (ax || dx)
		return writes == (ax ? 1u : 4u);
	if (begins(text, reading))
		return !writes;
	last = last_operand(text);
	if (begins(text, products) && !strchr(text, ','))
		return writes == (!strncmp(text, "mulb", 4) || strchr("lhb", last[strlen(last) - 1]) ? 1u : 5u);
	if (*last != '%' || strchr(last, '('))
		return false;
	if (begins(text, exchanges)) {
		const char *first = strchr(text, '%') + 1;
		char name[8];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(first, ","), first);
		return writes == (bit_of(name) | bit_of(last + 1));
	}
	return bit_of(last + 1) ? writes == bit_of(last + 1)
				: !writes && (!strncmp(last, "%xmm", 4) || !strncmp(last, "%mm", 3));
}

/* Of what jumps, where to: a number behind its name. */
static bool is_right_jump(const char *text, uint64_t addr, const uint8_t *code, size_t len)
{
	static const char *const jumps[] = {
		"j", "call", "bnd j", "bnd call", "notrack j", "notrack call", "loop", NULL
	};
	const char *to = strrchr(text, ' ');
	int64_t distance;
	const enum espy_insn_jump jump = espy_insn_jump(code, len, &distance);
	bool direct = jump == ESPY_INSN_JUMPS;

	/* Prefixes may stand in front of one that goes far. */
	for (size_t i = 0; i < len && !direct && jump == ESPY_INSN_GOES_ON; i++)
		direct = espy_insn_far_jump(code + i, len - i, &distance) == len - i && begins(text, jumps);
	if (direct)
		return begins(text, jumps) && to && strtoull(to, NULL, 16) == addr + len + (uint64_t)distance;
	if (!begins(text, jumps) || strchr(text, '*') == NULL)
		return jump == ESPY_INSN_GOES_ON && (!begins(text, jumps) || strstr(text, "call"));
	return (jump == ESPY_INSN_CHOOSES) == (!strstr(text, "call") && !strstr(text, "(%rip)"));
}

static bool is_right(char *text, uint64_t addr, const uint8_t *code, size_t len)
{
	static const char *const emulated[] = { "push",	    "j",	"call",	 "bnd j",
						"bnd call", "nop",	"pause", "xchg   %ax,%ax",
						"data16",   "repz nop", NULL };
	char *symbol = strstr(text, " <");
	uint32_t writes;

	if (symbol)
		*symbol = 0;
	for (size_t end = strlen(text); end && text[end - 1] == ' ';)
		text[--end] = 0;
	if (espy_insn_emulated(code, len) && (!begins(text, emulated) || strchr(text, '*') || strchr(text, '$')))
		return false;
	if (espy_insn_is_push(code, len) !=
	    (!strncmp(text, "push ", 5) && strstr(text, " %r") && len <= 2 && (len == 1 || code[0] == 0x41)))
		return false;
	if (!is_right_jump(text, addr, code, len))
		return false;
	const size_t n = espy_insn_passed(code, len, &writes);

	return !n || (n == len && is_right_passed(text, writes));
}

int main(void)
{
	unsigned long cnt = 0, wrong = 0, passed = 0;
	char line[1024], text[1024];
	uint32_t writes;

	while (fgets(line, sizeof(line), stdin)) {
		char *bytes = strchr(line, '\t'), *what = bytes ? strchr(bytes + 1, '\t') : NULL;
		uint8_t code[16];
		size_t len = 0;

		/* What is data between functions is none. */
		if (!what || strstr(what, "(bad)") || strstr(what, ".byte") || !strncmp(what + 1, "rex", 3))
			continue;
		*what = 0;
		for (unsigned v, used; len < sizeof(code) && sscanf(bytes, " %2x%n", &v, (int *)&used) == 1;
		     bytes += used)
			code[len++] = (uint8_t)v;
		snprintf(text, sizeof(text), "%s", what + 1);
		text[strcspn(text, "\n")] = 0;
		cnt++;
		passed += espy_insn_passed(code, len, &writes) != 0;
		if (is_right(text, strtoull(line, NULL, 16), code, len))
			continue;
		if (wrong++ < 5)
			fprintf(stderr, "%s\t%s\n", line, what + 1);
	}
	printf("%lu instructions, %lu of them passed over, %lu wrong\n", cnt, passed, wrong);
	return wrong || cnt < 100 || passed < 10;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads what objdump -d -w says of instructions, and compares their lengths with ours. Ends with 1 if one differs. */
#include <stdio.h>
#include <string.h>
#include "arch/insn.h"

int main(void)
{
	unsigned long cnt = 0, wrong = 0;
	char line[1024];

	while (fgets(line, sizeof(line), stdin)) {
		char *bytes = strchr(line, '\t'), *text = bytes ? strchr(bytes + 1, '\t') : NULL;
		uint8_t code[16];
		size_t len = 0;

		/* What is data between functions is none. */
		if (!text || strstr(text, "(bad)") || strstr(text, ".byte") || !strncmp(text + 1, "rex", 3))
			continue;
		*text = 0;
		for (unsigned v, used; len < sizeof(code) && sscanf(bytes, " %2x%n", &v, (int *)&used) == 1; bytes += used)
			code[len++] = (uint8_t)v;
		cnt++;
		if (espy_insn_length(code, len) == len)
			continue;
		if (wrong++ < 5)
			fprintf(stderr, "%zu, not %zu: %s\n", espy_insn_length(code, len), len, line);
	}
	printf("%lu instructions, %lu wrong\n", cnt, wrong);
	return wrong || cnt < 100;
}

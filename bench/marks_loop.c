// SPDX-License-Identifier: LGPL-2.1-or-later
// A hot loop with and without a mark that is off, for marks.sh to have its instructions counted. Use:
// marks_loop with|without N
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "espy/mark.h"

static unsigned table[256];

__attribute__((noinline)) static unsigned long without(unsigned n)
{
	unsigned long sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum = (sum << 1) ^ (sum >> 7) ^ table[(sum + i) % 256];
	return sum;
}

__attribute__((noinline)) static unsigned long with(unsigned n)
{
	unsigned long sum = 0;

	for (unsigned i = 0; i < n; i++) {
		sum = (sum << 1) ^ (sum >> 7) ^ table[(sum + i) % 256];
		MARK(loop_step, "i=%u sum=%lu", i, sum);
	}
	return sum;
}

int main(int argc, char **argv)
{
	const unsigned n = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;

	for (unsigned i = 0; i < 256; i++)
		table[i] = i * 2654435761u;
	printf("%lx\n", argc > 1 && !strcmp(argv[1], "with") ? with(n) : without(n));
	return 0;
}

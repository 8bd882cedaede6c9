// SPDX-License-Identifier: LGPL-2.1-or-later
// counted N [WAIT-FILE]: passes N marks of each of two kinds, in a leaf function that keeps its variables in the red zone, and one of
// another name. Variables that a probe harms are found: then the status is 1. With WAIT-FILE it begins when that is there.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "../../wait.h" /* also built by tools.sh, which has no such path */
#include "espy/mark.h"

__attribute__((noinline)) static int leaf(int i, const char *text)
{
	volatile int a = i, b = 3 * i, c = 5 * i, d = 7 * i;

	MARK(counted_leaf, "i=%d triple=%d text=%s", i, b, text);
	return a + b + c + d;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000;
	const char *text = argc > 0 ? argv[0] : "";

	if (argc > 2 && !WAIT_UNTIL(!access(argv[2], F_OK)))
		return 2;
	for (int i = 0; i < n; i++) {
		MARK(counted_loop, "i=%d", i);
		if (leaf(i, text) != 16 * i) {
			printf("round %d: variables were harmed\n", i);
			return 1;
		}
	}
	MARK(counted_end, "");
	return 0;
}

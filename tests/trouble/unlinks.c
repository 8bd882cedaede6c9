/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * unlinks DIR: makes and removes the file DIR/x again and again, with a pause of 20 ms, until there is DIR/stop. It counts in DIR/count: each
 * number is written over the one before, and is never shorter.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "../wait.h"

int main(int argc, char **argv)
{
	const int dir = argc > 1 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;
	const int count = openat(dir, "count", O_WRONLY | O_CREAT, 0600);
	char text[24];

	if (dir < 0 || count < 0)
		return 2;
	for (unsigned n = 1; faccessat(dir, "stop", F_OK, 0); n++) {
		close(openat(dir, "x", O_WRONLY | O_CREAT, 0600));
		unlinkat(dir, "x", 0);
		const int len = snprintf(text, sizeof(text), "%u\n", n);

		if (pwrite(count, text, (size_t)len, 0) != len)
			return 1;
		wait_moment_us(20000); /* sleeps: a program that is watched */
	}
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A library that is loaded for as long as its test wants: it writes to one pipe, and reads from another ($SLOW_PIPES, both numbers). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static __attribute__((constructor)) void loaded(void)
{
	const char *pipes = getenv("SLOW_PIPES");
	int told, go;
	char c = 'l';

	if (!pipes || sscanf(pipes, "%d,%d", &told, &go) != 2)
		return;
	if (write(told, &c, 1) == 1)
		while (read(go, &c, 1) < 0 && errno == EINTR)
			;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* spin_calls PIDFILE SECONDS: makes calls for so long and says that all is well. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	FILE *f = argc > 2 ? fopen(argv[1], "w") : NULL;
	time_t end = time(NULL) + (argc > 2 ? atoi(argv[2]) : 0);

	if (!f)
		return 2;
	fprintf(f, "%d\n", getpid());
	fclose(f);
	while (time(NULL) < end)
		if (syscall(SYS_getpid) != getpid())
			return 1;
	puts("all is well");
	return 0;
}

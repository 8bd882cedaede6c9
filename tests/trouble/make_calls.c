/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * make_calls N [FILE [PEER]]: N calls of each kind, each recognisable by its arguments. FILE is there when they have been made. With
 * PEER it begins together with the make_calls whose FILE that is.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "../wait.h"

static void begin_with(const char *own, const char *peer)
{
	char here[4096], there[4096];

	snprintf(here, sizeof(here), "%s.begins", own);
	snprintf(there, sizeof(there), "%s.begins", peer);
	close(open(here, O_WRONLY | O_CREAT, 0600));
	WAIT_UNTIL(!access(there, F_OK));
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1;
	int null = open("/dev/null", O_RDWR);
	struct iovec v[3] = { { "one", 3 }, { "two", 3 }, { "three", 5 } };
	struct stat st;

	if (argc > 3)
		begin_with(argv[2], argv[3]);
	for (long i = 0; i < n; i++) {
		syscall(SYS_getppid);
		syscall(SYS_lseek, null, 4242, SEEK_SET);
		syscall(SYS_write, null, "marker", 6);
		syscall(SYS_fstat, 4242, &st);
		syscall(SYS_openat, AT_FDCWD, "/nonexistent/marker", O_RDONLY);
		syscall(SYS_writev, null, v, 3);
	}
	if (argc > 2)
		close(open(argv[2], O_WRONLY | O_CREAT, 0600));
	return 0;
}

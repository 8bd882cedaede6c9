/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An exec that is not shown closes descriptors, too: their numbers have no files then. */
#include "truth.h"
#include <fcntl.h>

#define FD 77

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-y -e trace=lseek");
	if (argc == 1) {
		if (dup3(open("/dev/null", O_RDONLY), FD, O_CLOEXEC) != FD)
			return 2;
		line(call(SYS_lseek, FD, 0, JUNK(SEEK_CUR)), "lseek(%d</dev/null>, 0, SEEK_CUR)", FD);
		fflush(stdout);
		execl("/proc/self/exe", argv[0], "again", NULL);
		return 2;
	}
	line(call(SYS_lseek, FD, 0, JUNK(SEEK_CUR)), "lseek(%d, 0, SEEK_CUR)", FD);
	return dup2(0, FD) == FD ? 0 : 2;
}

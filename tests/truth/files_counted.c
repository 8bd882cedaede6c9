/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* -P: which descriptors of a call count. The limit leaves no room for a line of one that does not. */
#include "truth.h"
#include <fcntl.h>

#ifndef SYS_fsconfig
#define SYS_fsconfig 431
#endif

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-y -P /dev/full -e trace=fsconfig --syscall-limit=2");
	const int fd = open("/dev/full", O_RDONLY);

	if (fd < 0)
		truth_skip("no /dev/full");
	/* the context that is configured does not count */
	call(SYS_fsconfig, JUNK(fd), JUNK(0), tail_copy("key", 4), 0L, 0L);
	call(SYS_fsconfig, JUNK(fd), JUNK(99), 0L, 0L, 0L);
	line(call(SYS_fsconfig, JUNK(-1), JUNK(5), tail_copy("key", 4), 0L, JUNK(fd)),
	     "fsconfig(-1, FSCONFIG_SET_FD, \"key\", NULL, %d</dev/full>)", fd);
	line(call(SYS_fsconfig, JUNK(-1), JUNK(3), tail_copy("key", 4), tail_copy("x", 2), JUNK(fd)),
	     "fsconfig(-1, FSCONFIG_SET_PATH, \"key\", \"x\", %d</dev/full>)", fd);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* AT_FDCWD is the directory only where a call takes one; as any other descriptor it is a number. */
#include "truth.h"
#include <fcntl.h>

int main(int argc, char **argv)
{
	char cwd[4096];

	truth_begin(argc, argv, "-y");
	if (!getcwd(cwd, sizeof(cwd)))
		return 2;
	line(call(SYS_fsync, JUNK(AT_FDCWD)), "fsync(-100)");
	line(call(SYS_unlinkat, JUNK(AT_FDCWD), "", JUNK(0)), "unlinkat(AT_FDCWD<%s>, \"\", 0)", cwd);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Strings of which a call reads no more than some bytes: without their NUL they are shown up to there, cut short. */
#include <linux/reboot.h>
#include "truth.h"

static char *letters(size_t len)
{
	char *s = tail_alloc(len);

	for (size_t i = 0; i < len; i++)
		s[i] = (char)('a' + i % 26);
	return s;
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-s 300 -e trace=memfd_create,reboot");
	char *name = letters(250), *arg = letters(255);

	line(call(SYS_memfd_create, name, JUNK(0)), "memfd_create(\"%.250s\"..., 0)", name);
	line(call(SYS_memfd_create, name + 1, JUNK(0)), "memfd_create(%s, 0)", ptr(name + 1));
	line(call(SYS_reboot, JUNK(0), JUNK(LINUX_REBOOT_MAGIC2), JUNK(LINUX_REBOOT_CMD_RESTART2), arg),
	     "reboot(0 /* LINUX_REBOOT_MAGIC1??? */, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_RESTART2, \"%.255s\"...)", arg);
	line(call(SYS_reboot, JUNK(0), JUNK(LINUX_REBOOT_MAGIC2), JUNK(LINUX_REBOOT_CMD_RESTART2), arg + 1),
	     "reboot(0 /* LINUX_REBOOT_MAGIC1??? */, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_RESTART2, %s)", ptr(arg + 1));
	return 0;
}

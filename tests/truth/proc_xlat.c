/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Numbers instead of names: decimal where the value of the name is decimal. */
#include "truth.h"

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-Xraw");

	line(call(SYS_quotactl, JUNK(0x80000102), tail_str("/nope"), JUNK(5), NULL), "quotactl(2147483906, \"/nope\")");
	line(call(SYS_prctl, 0x59616d61L, ~0ul, 0L, 0L, 0L), "prctl(0x59616d61, -1)");
	line(call(SYS_fanotify_mark, JUNK(-1), JUNK(1), 1L, JUNK(-1), NULL), "fanotify_mark(-1, 0x1, 0x1, -1, NULL)");
	return 0;
}

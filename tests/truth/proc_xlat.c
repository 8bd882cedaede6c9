/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Numbers instead of names: decimal where the value of the name is decimal. A date is no name. */
#include "truth.h"

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-Xraw");

	line(call(SYS_quotactl, JUNK(0x80000102), tail_str("/nope"), JUNK(5), NULL), "quotactl(2147483906, \"/nope\")");
	line(call(SYS_prctl, 0x59616d61L, ~0ul, 0L, 0L, 0L), "prctl(0x59616d61, -1)");
	line(call(SYS_fanotify_mark, JUNK(-1), JUNK(1), 1L, JUNK(-1), NULL), "fanotify_mark(-1, 0x1, 0x1, -1, NULL)");
	const int64_t times[4] = { 1, 999999999, 0, 0x3fffffff };
	line(call(SYS_utimensat, JUNK(-1), tail_str("f"), tail_copy(times, sizeof(times)), JUNK(0)),
	     "utimensat(-1, \"f\", [{tv_sec=1, tv_nsec=999999999} /* 1970-01-01T00:00:01.999999999+0000 */, "
	     "{tv_sec=0, tv_nsec=1073741823}], 0)");
	line(call(SYS_utime, tail_str("/nope"), tail_copy(times, 16)),
	     "utime(\"/nope\", {actime=1 /* 1970-01-01T00:00:01+0000 */, modtime=999999999 /* 2001-09-09T01:46:39+0000 */})");
	text("personality(0xffffffff) = %s", call(SYS_personality, JUNK(-1)) == 0 ? "0 (0)" : "0x40000 (0|0x40000)");
	line(call(SYS_shmctl, JUNK(-1), JUNK(0x100), NULL), "shmctl(-1, 0x100|0, NULL)");
	line(call(SYS_msgctl, JUNK(-1), JUNK(0x102), NULL), "msgctl(-1, 0x100|0x2, NULL)");
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* -Y names tasks. The number of a group or a session is no task's. */
#include "truth.h"
#include <sys/ioctl.h>
#include <sys/prctl.h>

#define NAME "a name"

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-Y -e trace=getpgid,setpgid,getsid,kill,ioctl,prctl,perf_event_open");
	prctl(PR_SET_NAME, NAME);
	const int self = getpid(), group = getpgrp(), session = getsid(0);

	text("getpgid(%d<" NAME ">) = %d", self, group);
	call(SYS_getpgid, self);
	text("getsid(%d<" NAME ">) = %d", self, session);
	call(SYS_getsid, self);
	line(call(SYS_setpgid, JUNK(-1), self), "setpgid(-1, %d)", self);
	line(call(SYS_kill, self, JUNK(0)), "kill(%d<" NAME ">, 0)", self);
	line(call(SYS_ioctl, JUNK(-1), JUNK(TIOCSPGRP), tail_copy(&self, 4)), "ioctl(-1, TIOCSPGRP, [%d])", self);
	line(call(SYS_ioctl, JUNK(-1), JUNK(0x8902), tail_copy(&self, 4)), "ioctl(-1, SIOCSPGRP, [%d])", self);
	line(call(SYS_prctl, JUNK(62), JUNK(9), JUNK(self), JUNK(1), 0L),
	     "prctl(PR_SCHED_CORE, 0x9 /* PR_SCHED_CORE_??? */, %d<" NAME ">, 0x1 /* PIDTYPE_TGID */, NULL)", self);
	line(call(SYS_prctl, JUNK(62), JUNK(9), JUNK(self), JUNK(2), 0L),
	     "prctl(PR_SCHED_CORE, 0x9 /* PR_SCHED_CORE_??? */, %d, 0x2 /* PIDTYPE_PGID */, NULL)", self);
	line(call(SYS_perf_event_open, NULL, JUNK(self), JUNK(-1), JUNK(-1), 0L),
	     "perf_event_open(NULL, %d, -1, -1, 0)", self);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/inherited_children.h"

#include <sys/wait.h>
#include <unistd.h>
#include "base/small_file.h"

pid_t espy_inherited_children__reap(pid_t command)
{
	siginfo_t ended = { 0 };

	/* the status stays, because it may be for the source */
	if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) < 0 || !ended.si_pid || ended.si_pid == command ||
	    espy_status_pid(ended.si_pid, "TracerPid") == getpid())
		return 0;
	return waitpid(ended.si_pid, NULL, WNOHANG) == ended.si_pid ? ended.si_pid : 0;
}

bool espy_inherited_children__is_zombie(pid_t child)
{
	siginfo_t ended = { 0 };

	return child > 0 && !waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) && ended.si_pid;
}

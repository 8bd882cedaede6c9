/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/task_list.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/proc_pid.h"

DIR *espy_task_list__open(pid_t pid)
{
	char path[64] = "/proc";

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/task", (int)espy_proc_pid(pid));
	return opendir(path);
}

pid_t espy_task_list__next(DIR *list)
{
	for (struct dirent *e; list && (e = readdir(list));) {
		const long number = strtol(e->d_name, NULL, 10); /* other entries are words */
		const pid_t pid = number > 0 ? espy_proc_pid__ours((pid_t)number) : -1;

		if (pid > 0)
			return pid;
	}
	return 0;
}

void espy_task_list__close(DIR *list)
{
	if (list)
		closedir(list);
}

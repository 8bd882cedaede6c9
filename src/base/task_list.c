/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/task_list.h"

#include <stdio.h>
#include <stdlib.h>

DIR *espy_task_list__open(pid_t pid)
{
	char path[64] = "/proc";

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return opendir(path);
}

pid_t espy_task_list__next(DIR *list)
{
	struct dirent *e = list ? readdir(list) : NULL;

	/* Other entries are words. */
	while (e && strtol(e->d_name, NULL, 10) <= 0)
		e = readdir(list);
	return e ? (pid_t)strtol(e->d_name, NULL, 10) : 0;
}

void espy_task_list__close(DIR *list)
{
	if (list)
		closedir(list);
}

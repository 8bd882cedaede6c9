/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tasks of a process, and all processes, as /proc lists them. */
#ifndef ESPY_BASE_TASK_LIST_H
#define ESPY_BASE_TASK_LIST_H

#include <dirent.h>
#include <sys/types.h>

/* Opens the list of a process's tasks; pid 0: of all processes. Returns NULL with errno set. */
DIR *espy_task_list__open(pid_t pid);
/* Returns the next number in a list; 0: there is no more, or no list. */
pid_t espy_task_list__next(DIR *list);
/* NULL is let be. */
void espy_task_list__close(DIR *list);

#endif

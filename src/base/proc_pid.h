/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The number by which /proc knows a task. In a new pid namespace whose /proc was not mounted anew, the files of /proc
 * are those of an outer namespace, and a number of ours names another process there.
 */
#ifndef ESPY_BASE_PROC_PID_H
#define ESPY_BASE_PROC_PID_H

#include <stdbool.h>
#include <sys/types.h>

/* Tells whether /proc is of another pid namespace. It is looked at once. */
bool espy_proc_is_foreign(void);
/*
 * Returns the number of a task in /proc: mostly its own. -1: the task is gone, or is a thread other than the first and
 * the kernel is older than 6.9. It allocates nothing and takes no lock.
 */
pid_t espy_proc_pid(pid_t tid);
/* The other way: our number of the task that /proc lists as pid, or -1 if it is in no namespace of ours. */
pid_t espy_proc_pid__ours(pid_t pid);

#endif

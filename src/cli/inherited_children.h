/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Children that espy did not begin. A tracee's clone() with CLONE_PARENT gives one to the tracee's parent, and a shell
 * that becomes espy leaves its own. They stay zombies, and their parents-to-be may wait for them to go, until espy takes
 * their status.
 */
#ifndef ESPY_CLI_INHERITED_CHILDREN_H
#define ESPY_CLI_INHERITED_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Takes the status of one such child that has ended: its number, or 0 if there is none now. The command and tracees are
 * left to the source, and espy's own processes send no SIGCHLD. A zombie of the command hides others until the source
 * has taken it.
 */
pid_t espy_inherited_children__reap(pid_t command);
/* Tells whether a child has ended, and its status has not been taken. */
bool espy_inherited_children__is_zombie(pid_t child);

#endif

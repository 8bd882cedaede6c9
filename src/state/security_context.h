/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Asks the system for the contexts that SELinux gives to tasks and files: user:role:type:level. The functions are
 * lookups (lookups.h). A file has its context as an extended attribute, which is there without SELinux, too.
 */
#ifndef ESPY_STATE_SECURITY_CONTEXT_H
#define ESPY_STATE_SECURITY_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t espy_task_context_ask(uint32_t tid, char *to, size_t size);
size_t espy_file_context_ask(uint32_t tid, int fd, const char *path, bool expected, char *to, size_t size);

#endif

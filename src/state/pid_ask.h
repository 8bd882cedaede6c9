/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Numbers of tasks in pid namespaces, asked of /proc and the kernel. See struct espy_lookups. */
#ifndef ESPY_STATE_PID_ASK_H
#define ESPY_STATE_PID_ASK_H

#include <stddef.h>
#include <stdint.h>
#include "record/record.h"

size_t espy_pid_numbers_ask(uint32_t tid, struct espy_pid_number *to, size_t max);
uint32_t espy_pid_find(struct espy_pid_number number);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How long instructions are: enough to find where they begin, and nothing of what they do. */
#ifndef ESPY_ARCH_INSN_LENGTH_H
#define ESPY_ARCH_INSN_LENGTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ESPY_INSN_MAX 15u

/* Bytes of the instruction at `at`, of which `room` may be read; 0: there is none, or not all of it is there. */
size_t espy_insn_length(const uint8_t *at, size_t room);
/*
 * Can a kernel that probes this instruction neither emulate it nor execute it elsewhere? Linux refuses to probe those with a LOCK
 * prefix, those encoded by VEX or EVEX, and those that only the kernel may execute. (That it takes others is not said.)
 */
bool espy_insn_unprobed(const uint8_t *at, size_t room);

#endif

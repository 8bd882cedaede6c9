/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The registers of a task that stands in a stop of ptrace(2), by what they are for. Each architecture has them in its
 * folder. */
#ifndef ESPY_ARCH_MACHINE_STOPPED_H
#define ESPY_ARCH_MACHINE_STOPPED_H

#if defined(__x86_64__)
#include "arch/x86_64/stopped_regs.h"
#else
#error "a folder in src/arch is missing for this architecture"
#endif

#endif

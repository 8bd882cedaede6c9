/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Instructions that the agent runs itself. Each architecture has them in its folder. */
#ifndef ESPY_ARCH_MACHINE_AGENT_H
#define ESPY_ARCH_MACHINE_AGENT_H

#if defined(__x86_64__)
#include "arch/x86_64/agent_asm.h"
#else
#error "a folder in src/arch is missing for this architecture"
#endif

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Instructions of this machine that we write into programs, or recognize there. Each architecture has them in its
 * folder. */
#ifndef ESPY_ARCH_MACHINE_CODE_H
#define ESPY_ARCH_MACHINE_CODE_H

#if defined(__x86_64__)
#include "arch/x86_64/code.h"
#else
#error "a folder in src/arch is missing for this architecture"
#endif

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers of the few calls that we make in other processes, or must know there, where no description is at hand. Each
 * architecture has them in its folder: ESPY_NR_* of its 64-bit ABI, and ESPY_LOCKED_CALLS.
 */
#ifndef ESPY_ARCH_MACHINE_CALLS_H
#define ESPY_ARCH_MACHINE_CALLS_H

#if defined(__x86_64__)
#include "arch/x86_64/calls.h"
#else
#error "a folder in src/arch is missing for this architecture"
#endif

#endif

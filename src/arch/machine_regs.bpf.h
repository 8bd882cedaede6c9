/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What BPF programs know of registers: struct pt_regs, struct thread_info and struct thread_struct with the members
 * that are used, and what stands in them of calls and functions. Each architecture has it in its folder. Included
 * behind the types of types.bpf.h.
 */
#ifndef ESPY_ARCH_MACHINE_REGS_BPF_H
#define ESPY_ARCH_MACHINE_REGS_BPF_H

#if defined(__x86_64__)
#include "arch/x86_64/regs.bpf.h"
#else
#error "a folder in src/arch is missing for this architecture"
#endif

#endif

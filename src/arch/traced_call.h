/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The call that a task is in which we trace by ptrace: what of it depends on the architecture. */
#ifndef ESPY_ARCH_TRACED_CALL_H
#define ESPY_ARCH_TRACED_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "arch/call_abi.h"

/* The kernel's audit architectures: of each the ABI, and the one whose numbers bear ESPY_ABI_TAG; ESPY_ABI_CNT: there is none. */
enum { ESPY_AUDIT_NATIVE, ESPY_AUDIT_COMPAT, ESPY_AUDIT_CNT };
struct espy_arch_audit {
	uint32_t audit;
	enum espy_abi abi, tagged;
};
extern const struct espy_arch_audit espy_arch_audits[ESPY_AUDIT_CNT];
/* ABI and table number from an audit architecture and the number that the kernel was given. */
enum espy_abi espy_arch__abi(uint32_t audit_arch, uint64_t *nr);

/* The call in whose first stop the task stands becomes another one of its ABI; UINT32_MAX: none. 0, or -errno. */
int espy_arch__set_call(pid_t tid, enum espy_abi abi, uint32_t nr);
/* What the call returns in whose second stop the task stands. 0, or -errno. */
int espy_arch__set_result(pid_t tid, int64_t result);
/* Reads number and first argument of the call that a stopped task is in from its registers. 0, or -errno. */
int espy_arch__get_call(pid_t tid, enum espy_abi *abi, uint64_t *nr, uint64_t *arg0);

/* A call that the kernel's code for probes makes, in a program that has called something else? By its number; others may make it, too. */
bool espy_arch__is_probe_call(enum espy_abi abi, uint32_t nr);

/* Where the flags stand with which a call makes a task. */
enum espy_arch_flags_in {
	ESPY_FLAGS_CONST,   /* *flags: it makes them so, or 0: it is not known to make tasks */
	ESPY_FLAGS_IN_ARG0, /* in its first argument */
	ESPY_FLAGS_AT_ARG0, /* in the 8 bytes that its first argument points to */
};
enum espy_arch_flags_in espy_arch__task_flags(enum espy_abi abi, uint64_t nr, uint64_t *flags);

/* The calls that install seccomp filters, and the first argument that matters (UINT32_MAX: any); ends with nr
 * UINT32_MAX. */
struct espy_arch_call {
	uint32_t nr, arg0;
};
const struct espy_arch_call *espy_arch__filter_calls(enum espy_abi abi);
/* Is this one of them, and did its arguments say so? */
bool espy_arch__installs_filter(enum espy_abi abi, uint32_t nr, const uint64_t args[6], bool *all_threads);

#endif

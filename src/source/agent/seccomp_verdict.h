/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the seccomp filters of a task say about a call, found without making the call. The filters are read from the
 * kernel and run here, on arguments of which some bits may be unknown.
 */
#ifndef ESPY_SOURCE_AGENT_SECCOMP_VERDICT_H
#define ESPY_SOURCE_AGENT_SECCOMP_VERDICT_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct espy_seccomp {
	struct espy_seccomp_filter {
		struct sock_filter *insns;
		unsigned cnt;
	} * v; /* in the order in which they were installed */
	size_t cnt;
};

/* A call of the native ABI. */
struct espy_seccomp_call {
	uint32_t nr;
	uint64_t args[6];
	uint64_t unknown[6]; /* bits of args that may be anything; they are 0 in args */
};

/*
 * The filters of a task that the calling thread traces and that is stopped. -EACCES: the reader may not (it takes
 * CAP_SYS_ADMIN, and a reader without filters of its own); -EMEDIUMTYPE: one of them is not of this kind; -EIO,
 * -EINVAL: this kernel does not show them, or there are none.
 */
int espy_seccomp__read(struct espy_seccomp *s, pid_t tid);
void espy_seccomp__free(struct espy_seccomp *s);
bool espy_seccomp__same(const struct espy_seccomp *a, const struct espy_seccomp *b);

/*
 * What one filter returns for the call (SECCOMP_RET_*). Where that depends on unknown bits, the strictest answer that
 * any value of them could lead to, or a stricter one. What the kernel would not have taken for a filter kills.
 */
uint32_t espy_seccomp__run(const struct sock_filter *insns, unsigned cnt, const struct espy_seccomp_call *call);
/* What all of them together come to: the strictest; of two that are as strict, the younger one's. */
uint32_t espy_seccomp__verdict(const struct espy_seccomp *s, const struct espy_seccomp_call *call);

/* Is the call made? */
bool espy_seccomp__allows(uint32_t verdict);

#endif

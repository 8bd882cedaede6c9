/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How functions of this kernel can be probed. */
#ifndef ESPY_SOURCE_KERNEL_PROBES_H
#define ESPY_SOURCE_KERNEL_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of uapi/linux/bpf.h as of Linux 5.18; the headers of the build may be older. */
#define ESPY_ATTACH_KPROBE_MULTI 42
#define ESPY_KPROBE_MULTI_RETURN 1u
struct espy_kprobe_multi { /* union bpf_attr of BPF_LINK_CREATE */
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint32_t multi_flags, cnt;
	uint64_t syms, addrs, cookies;
};

struct espy_kernel_probes {
	bool multi;	    /* many functions at once (kprobe_multi) */
	uint32_t pmu;	    /* one place by a perf event of this type; 0: not so */
	uint32_t at_return; /* the bit of its config that means the return of a function */
};

/* Looks at this kernel. -EOPNOTSUPP with a reason in why: none can be probed. The caller may load BPF programs, or gets
 * -EPERM. */
int espy_kernel_probes__find(struct espy_kernel_probes *out, char *why, size_t why_sz);
/* Asks whether this kernel lets a program stand at a function by the kernel's types (fentry). Returns 0, or -errno. */
int espy_kernel_probes__try_fentry(void);
/* Opens a place as a perf event, disabled. function: its name, unless addr is known. Returns a descriptor or -errno. */
int espy_kernel_probes__open(const struct espy_kernel_probes *k, const char *function, uint64_t addr, uint64_t offset,
			     bool at_return);

#endif

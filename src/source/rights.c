/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The owner of espy's capabilities. They may be the user's own (root, an ambient set, a service manager), or those of
 * its file (setcap). Every user of the machine has the latter, so they must reach no further than ptrace(2) would let
 * that user. The program at exec asks the same of each new image (bpf/kernel/rights.bpf.h).
 */
#include <errno.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "source/rights.h"

bool espy_rights__are_borrowed(void)
{
	return getauxval(AT_SECURE) || getuid() != geteuid();
}

int espy_rights__check(pid_t pid)
{
	char path[64], target[64];

	if (!espy_rights__are_borrowed())
		return 0;
	/* The kernel follows this link only for a process that has PTRACE_MODE_READ access; CAP_BPF and CAP_PERFMON give none. */
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return readlink(path, target, sizeof(target)) < 0 ? -errno : 0;
}

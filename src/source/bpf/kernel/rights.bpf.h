/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rights of a user whose espy has its capabilities from its file (setcap). The user may see a program that
 * ptrace(2) would let the user trace. Source: credentials(7), and ptrace(2), "Ptrace access mode checking".
 */
#ifndef ESPY_RIGHTS_BPF_H
#define ESPY_RIGHTS_BPF_H

#include "maps.bpf.h"

#define BINPRM_ENFORCE_NONDUMP 1 /* the user may execute the file, not read it */

/*
 * Tells whether the user may trace the new image: all its ids are the user's, it has no capabilities, it lives in the
 * user namespace of espy, and the user may read its file. Credentials grow at an exec only.
 */
static __always_inline bool may_trace_image(struct task_struct *task, struct linux_binprm *image)
{
	const struct cred *cred = BPF_CORE_READ(task, cred);
	u64 capabilities = 1;

	bpf_core_read(&capabilities, sizeof(capabilities), &cred->cap_permitted);
	return !capabilities && BPF_CORE_READ(cred, user_ns, ns.inum) == conf.user.ns &&
	       BPF_CORE_READ(cred, uid.val) == conf.user.uid && BPF_CORE_READ(cred, euid.val) == conf.user.uid &&
	       BPF_CORE_READ(cred, suid.val) == conf.user.uid && BPF_CORE_READ(cred, gid.val) == conf.user.gid &&
	       BPF_CORE_READ(cred, egid.val) == conf.user.gid && BPF_CORE_READ(cred, sgid.val) == conf.user.gid &&
	       !(BPF_CORE_READ(image, interp_flags) & BINPRM_ENFORCE_NONDUMP);
}

#endif

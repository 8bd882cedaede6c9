/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/hold.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include "arch/machine_code.h"
#include "arch/machine_stopped.h"
#include "source/auxv.h"

int espy_hold__child(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? -errno : 0;
}

/* Waits for the next stop, and passes signals on. -ESRCH: the process has ended (and is still to be waited for). */
static int next_stop(pid_t pid)
{
	siginfo_t info;
	int status;

	for (;;) {
		/* A status that the owner of the child wants to see is left for him. */
		memset(&info, 0, sizeof(info));
		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOWAIT)) {
			if (errno == EINTR)
				continue;
			return -ESRCH;
		}
		if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
			return -ESRCH;
		if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
			return -ESRCH;
		if (WSTOPSIG(status) == SIGTRAP)
			return 0;
		if (ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)WSTOPSIG(status)))
			return -ESRCH;
	}
}

int espy_hold__to_entry(pid_t pid)
{
	struct user_regs_struct regs;
	int err = next_stop(pid); /* the trap that follows an execve */

	if (err)
		return err;
	/* If we die, it must not be left with our breakpoint in its code. */
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(uintptr_t)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)))
		err = -errno;
	err = err ? err : espy_stopped__get(pid, &regs);
	uint64_t entry = err ? 0 : espy_auxv(pid, AT_ENTRY);
	if (!err && (!espy_stopped__is_native(&regs) || !entry))
		err = -EOPNOTSUPP;
	if (!err) {
		errno = 0;
		const long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)(uintptr_t)entry, NULL);

		if (errno ||
		    ptrace(PTRACE_POKETEXT, pid, (void *)(uintptr_t)entry,
			   (void *)((word & ~((1l << 8 * ESPY_CODE_BREAKPOINT_SZ) - 1)) | ESPY_CODE_BREAKPOINT)))
			err = -EIO;
		if (!err && ptrace(PTRACE_CONT, pid, NULL, NULL))
			err = -errno;
		err = err ? err : next_stop(pid);
		if (err == -ESRCH)
			return err;
		if (!err && ptrace(PTRACE_POKETEXT, pid, (void *)(uintptr_t)entry, (void *)word))
			err = -errno;
		err = err ? err : espy_stopped__get(pid, &regs);
		if (!err && espy_stopped__ip(&regs) == entry + ESPY_CODE_BREAKPOINT_SZ) {
			espy_stopped__set_ip(&regs, entry);
			err = espy_stopped__set(pid, &regs);
		}
		/* From here on it can do without us. */
		ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD);
	}
	if (err)
		espy_hold__release(pid);
	return err;
}

void espy_hold__release(pid_t pid)
{
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

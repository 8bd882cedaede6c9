/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A thread of another process: seized, stopped, looked at, let go of. What it is made to do: remote_call.c. */
#include "source/agent/remote.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/restart.h"
#include "source/agent/inject_parts.h"
#include "source/agent/remote_parts.h"

#define STOP_TIMEOUT_NS 200000000ull
#define PROCESSOR_TIMEOUT_NS 10000000000ull
#define DETACH_TIMEOUT_NS 50000000ull

long espy_remote__trace(int request, pid_t tid, uintptr_t addr, const void *data)
{
	return ptrace(request, tid, (void *)addr, (void *)(uintptr_t)data);
}

size_t espy_remote__read(struct espy_late_pages *late, pid_t pid, uint64_t addr, void *buf, size_t len)
{
	const struct iovec local = { buf, len };
	size_t got = 0;

	/* Page by page at the end: a read that meets a hole gives what is before it. */
	while (got < len) {
		size_t n = 4096 - ((addr + got) & 4095);
		const struct iovec from = { (void *)(uintptr_t)(addr + got), n < len - got ? n : len - got };
		const struct iovec to = { (char *)local.iov_base + got, from.iov_len };

		if (!espy_late_pages__all_ready(late, pid, addr + got, from.iov_len) ||
		    process_vm_readv(pid, &to, 1, &from, 1, 0) != (ssize_t)from.iov_len)
			break;
		got += from.iov_len;
	}
	return got;
}

/* Nothing of its stop holds any more. */
static void forget_stop(struct espy_remote *r)
{
	r->stopped = r->known = false;
	if (r->mem_fd >= 0)
		close(r->mem_fd);
	r->mem_fd = -1;
}

/*
 * There is no such thread any more. If it has executed a program, it goes on under the number of its process, and is still
 * traced: then r is that one. (The kernel gives it that number when it has ended all others.)
 */
static void follow(struct espy_remote *r)
{
	struct espy_inject_status s;

	forget_stop(r);
	r->attached = r->tid != r->pid && !espy_inject__read_status(r->pid, &s) && s.tracer == gettid();
	if (r->attached)
		r->tid = r->pid;
}

/* Collects the end of the thread, unless it is a child of ours: another part of this process waits for that. */
static void bury(struct espy_remote *r)
{
	struct espy_inject_status s;
	int status;

	if (espy_inject__read_status(r->tid, &s) || s.tgid != r->tid || s.parent != getpid())
		waitpid(r->tid, &status, __WALL | WNOHANG);
	forget_stop(r);
	r->attached = false;
}

int espy_remote__wait_stop(struct espy_remote *r, int *status, uint64_t timeout_ns)
{
	const uint64_t until = espy_now_ns() + timeout_ns;
	unsigned looks = 0;

	for (;;) {
		siginfo_t now = { 0 };

		if (waitid(P_PID, (id_t)r->tid, &now, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL)) {
			if (errno == EINTR)
				continue;
			follow(r);
			return -ESRCH;
		}
		if (now.si_pid && now.si_code != CLD_TRAPPED && now.si_code != CLD_STOPPED) {
			bury(r);
			return -ESRCH;
		}
		if (now.si_pid && waitpid(r->tid, status, __WALL | WNOHANG) == r->tid) {
			if (!WIFSTOPPED(*status)) { /* killed at this very moment */
				forget_stop(r);
				r->attached = false;
				return -ESRCH;
			}
			r->stopped = true;
			return 0;
		}
		if (espy_now_ns() >= until)
			return -ETIMEDOUT;
		/* It mostly takes some microseconds: sleep only if it takes longer. */
		if (++looks > 50) {
			const struct timespec nap = { .tv_nsec = looks > 200 ? 200000 : 20000 };

			nanosleep(&nap, NULL);
		}
	}
}

struct espy_remote espy_remote__traced(pid_t pid, pid_t tid)
{
	return (struct espy_remote){ .pid = pid, .tid = tid, .mem_fd = -1, .attached = true };
}

int espy_remote__attach(struct espy_remote *r, pid_t pid, pid_t tid)
{
	*r = (struct espy_remote){ .pid = pid, .tid = tid, .mem_fd = -1 };
	for (unsigned i = 0; espy_remote__trace(PTRACE_SEIZE, tid, 0, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD); i++) {
		const struct timespec nap = { .tv_nsec = 1000000 };

		/* Another espy may hold it, for less than this. */
		if (errno != EPERM || i >= 3)
			return -errno;
		nanosleep(&nap, NULL);
	}
	r->attached = true;
	return 0;
}

int espy_remote__go(struct espy_remote *r, int request, int sig)
{
	if (espy_remote__trace(request, r->tid, 0, (void *)(uintptr_t)sig))
		return -errno;
	forget_stop(r);
	return 0;
}

void espy_remote__forbid_restart(struct espy_remote *r)
{
	r->restart_forbidden = true;
	if (r->known && (int64_t)r->regs.orig_rax >= 0 && (int64_t)r->regs.rax == -ESPY_ERESTART_RESTARTBLOCK) {
		r->regs.rax = (uint64_t)-ESPY_ERESTARTNOHAND;
		r->changed = true;
	}
}

int espy_remote__read_regs(struct espy_remote *r)
{
	if (espy_remote__trace(PTRACE_GETREGS, r->tid, 0, &r->regs))
		return -errno;
	/*
	 * Some calls end with EINTR when their thread is stopped, and the program would see it. They are begun again
	 * unless a handler runs, which is what the program would have seen without us.
	 */
	r->changed = (int64_t)r->regs.orig_rax >= 0 && (int64_t)r->regs.rax == -EINTR;
	if (r->changed)
		r->regs.rax = (uint64_t)-ESPY_ERESTARTNOHAND;
	r->known = true;
	r->whole = false;
	if (r->restart_forbidden)
		espy_remote__forbid_restart(r);
	return 0;
}

int espy_remote__read_rest(struct espy_remote *r)
{
	struct iovec io = { r->xstate, sizeof(r->xstate) };

	if (r->whole)
		return 0;
	if (espy_remote__trace(PTRACE_GETREGSET, r->tid, NT_X86_XSTATE, &io) ||
	    espy_remote__trace(PTRACE_GETSIGMASK, r->tid, sizeof(r->sigmask), &r->sigmask))
		return -errno;
	r->xstate_sz = io.iov_len;
	r->whole = true;
	return 0;
}

/* Waits for the stop that was asked for. A thread that waits for a processor cannot come to it yet, and gets more time. */
static int wait_for_stop(struct espy_remote *r, int *status)
{
	const uint64_t until = espy_now_ns() + PROCESSOR_TIMEOUT_NS;
	struct espy_inject_status s;
	int err;

	do
		err = espy_remote__wait_stop(r, status, STOP_TIMEOUT_NS);
	while (err == -ETIMEDOUT && espy_now_ns() < until && !espy_inject__read_status(r->tid, &s) && s.state == 'R');
	return err;
}

int espy_remote__stop(struct espy_remote *r)
{
	int status, err;

	if (espy_remote__trace(PTRACE_INTERRUPT, r->tid, 0, NULL))
		return -errno;
	for (;;) {
		err = wait_for_stop(r, &status);
		if (err)
			return err;
		if (status >> 16 == PTRACE_EVENT_STOP)
			break;
		/* A signal on its way is passed on; the stop that was asked for comes behind it. */
		err = espy_remote__go(r, PTRACE_CONT, status >> 16 ? 0 : WSTOPSIG(status));
		if (err)
			return err;
	}
	if (WSTOPSIG(status) != SIGTRAP)
		return -EBUSY; /* the whole process is stopped (SIGSTOP) */
	return espy_remote__read_regs(r);
}

int espy_remote__adopt(struct espy_remote *r, pid_t tid)
{
	*r = espy_remote__traced(tid, tid);
	r->stopped = true;
	if (espy_remote__trace(PTRACE_SETOPTIONS, tid, 0, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD))
		return -errno;
	return espy_remote__read_regs(r);
}

int espy_remote__resume(struct espy_remote *r)
{
	if (espy_remote__trace(PTRACE_SETREGS, r->tid, 0, &r->regs))
		return -errno;
	return espy_remote__go(r, PTRACE_CONT, 0);
}

/* The signal that it was stopped for: it shall have it when it goes on. */
static int signal_of(int status)
{
	return status >> 16 || WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
}

bool espy_remote__detach(struct espy_remote *r)
{
	const uint64_t until = espy_now_ns() + DETACH_TIMEOUT_NS;

	while (r->attached) {
		int status, sig = 0;

		if (!r->stopped) {
			const uint64_t now = espy_now_ns();

			/* Only a stopped thread can be let go of. This fails for one that dies; then its end is waited for. */
			espy_remote__trace(PTRACE_INTERRUPT, r->tid, 0, NULL);
			switch (espy_remote__wait_stop(r, &status, until > now ? until - now : 0)) {
			case 0:
				break;
			case -ETIMEDOUT:
				return false;
			default:
				continue;
			}
			sig = signal_of(status);
			if (status >> 16 == PTRACE_EVENT_STOP)
				espy_remote__read_regs(r);
		}
		if (r->known && r->changed)
			espy_remote__trace(PTRACE_SETREGS, r->tid, 0, &r->regs);
		/* This fails for a thread that was killed where it stood. */
		r->attached = espy_remote__trace(PTRACE_DETACH, r->tid, 0, (void *)(uintptr_t)sig) != 0;
		forget_stop(r);
	}
	return true;
}

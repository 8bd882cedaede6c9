/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds the meaning of each stop of a task, and lets the task go on.
 *
 * The order in which the kernel tells of a child is not fixed: its first stop may come before the event of its
 * parent. Such a child is an embryo, and stands still until FORK was sent. If its parent was killed before it could
 * tell, espy adopts the child after a while, with the facts of /proc. If even those name no task of ours, the FORK
 * record names the child itself as its maker.
 *
 * A child begins with FORK: the 0 that fork, vfork or clone returns in it is no record of its own, as its
 * call was made by the parent. A call that was begun before we attached is not shown either when it ends.
 */
#include "ptrace_source.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mapping.h"
#include "base/restart.h"
#include "base/small_file.h"

#define SYSCALL_STOP (SIGTRAP | 0x80)

long espy_ptrace__options(const struct espy_ptrace *p, bool filtered)
{
	long o = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;

	if (p->opts.follow)
		o |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
	if (filtered)
		o |= PTRACE_O_TRACESECCOMP;
	if (p->opts.stops.kill_on_exit)
		o |= PTRACE_O_EXITKILL;
	return o;
}

static void let_go(struct espy_ptrace *p, struct espy_ptask *t, int sig)
{
	if (!t->starting && !t->embryo)
		espy_ptrace__emit_bare(p, t, ESPY_REC_DETACHED, ESPY_DETACHED_ASKED);
	if (t->filtered && !p->warned_filter) {
		p->warned_filter = true;
		espy_ptrace__report(
			p, ESPY_REPORT_WARN,
			"task %d goes on with the seccomp filter it was started under: calls that were traced fail "
			"with ENOSYS in it and its children; do not use --seccomp-bpf for programs that outlive the "
			"trace",
			(int)t->tid);
	}
	/* ESRCH: it was killed just now; its end is still reported to its own parent. */
	ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(long)sig);
	espy_ptask__remove(p, t);
}

void espy_ptrace__resume(struct espy_ptrace *p, struct espy_ptask *t, int sig)
{
	bool all = !t->filtered || t->plain || t->in_call;

	if (t->detaching) {
		let_go(p, t, sig);
		return;
	}
	if (t->delayed_until_ns) {
		t->delayed_signal = sig;
		return;
	}
	t->stopped = t->listening = false;
	/* A failure is ESRCH: killed in its stop. Its end will be told. */
	ptrace(all ? PTRACE_SYSCALL : PTRACE_CONT, t->tid, NULL, (void *)(long)sig);
}

static bool syscall_info(const struct espy_ptask *t, struct __ptrace_syscall_info *info)
{
	memset(info, 0, sizeof(*info));
	return ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, (void *)sizeof(*info), info) > 0;
}

/* Tells whether an address lies in code of the kernel for probes: "[uprobes]", "[uprobes-trampoline]". */
static bool in_probe_code(pid_t tid, uint64_t at)
{
	struct espy_mapping m;

	return espy_mapping__at(&m, tid, at) && !strncmp(m.name, "[uprobes", strlen("[uprobes"));
}

/* Tells whether the kernel's code for a probe makes the call. The program runs a function then, which must go on. */
static bool made_by_probe(struct espy_ptask *t, const struct __ptrace_syscall_info *info)
{
	if (!espy_arch__is_probe_call(t->regs.abi, t->regs.nr))
		return false;
	if (t->probe_ip != info->instruction_pointer && in_probe_code(t->tid, info->instruction_pointer))
		t->probe_ip = info->instruction_pointer;
	return t->probe_ip == info->instruction_pointer;
}

/* Returns a signal that the task is to be sent, or 0. */
static int call_entered(struct espy_ptrace *p, struct espy_ptask *t, const struct __ptrace_syscall_info *info)
{
	/* the first members of entry and seccomp are the same */
	uint64_t nr = info->entry.nr;

	t->regs = (struct espy_call_regs){ .abi = espy_arch__abi(info->arch, &nr),
					   .sp = info->stack_pointer,
					   .tid = (uint32_t)t->tid,
					   .tgid = (uint32_t)t->tgid,
					   .time_ns = p->now_ns,
					   .enter_ns = p->opts.needs.enter_ns ? p->now_ns : 0,
					   .has_cpu = p->opts.needs.cpu_ns,
					   .cpu_ns = p->opts.needs.cpu_ns ? espy_ptrace__cpu_ns(t) : 0, /* so far */
					   .ip = p->opts.needs.ip ? info->instruction_pointer : 0 };
	t->regs.nr = (uint32_t)nr;
	memcpy(t->regs.args, info->entry.args, sizeof(t->regs.args));
	espy_call_set__enter_inner(espy_ptrace__set(p, t->regs.abi), &t->regs,
				   &(struct espy_mem){ .read = espy_task_mem__read, .ctx = &t->mem });
	t->in_call = true;
	t->has_enter = false;
	t->wanted = espy_call_set__wants(espy_ptrace__set(p, t->regs.abi), t->regs.nr) && !made_by_probe(t, info);
	t->tamper_flags = 0;
	/* The command's way to its execve is ours, not the program's. */
	const int sig = t->wanted && p->opts.stops.tamper_cnt && !t->starting ? espy_ptrace__tamper_enter(p, t) : 0;

	if (t->wanted)
		espy_ptrace__emit_enter(p, t);
	return sig;
}

/* Stops at all calls from now on: a program's own filter may hide calls from ours, whose TRACE is the weaker answer. */
static void go_plain(struct espy_ptrace *p, struct espy_ptask *t, void *tgid)
{
	if (!t->filtered || t->plain || (tgid && t->tgid != *(pid_t *)tgid))
		return;
	t->plain = true;
	if (!t->stopped)
		ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
}

/*
 * Tells whether our own interruption has ended the call: the kernel makes it again once the task is let go of. The reader
 * is told of no end then, since the program sees none.
 */
static bool is_interrupted_by_us(const struct espy_ptask *t, int64_t result)
{
	return t->detaching && espy_is_restart(-result);
}

static void call_left(struct espy_ptrace *p, struct espy_ptask *t, const struct __ptrace_syscall_info *info)
{
	bool all_threads;

	if (!t->in_call)
		return; /* began before we came */
	if (is_interrupted_by_us(t, info->exit.rval))
		return;
	t->in_call = false;
	t->regs.ret = info->exit.rval;
	espy_ptrace__tamper_exit(p, t);
	if (t->filtered && !info->exit.is_error &&
	    espy_arch__installs_filter(t->regs.abi, t->regs.nr, t->regs.args, &all_threads)) {
		pid_t tgid = t->tgid;

		go_plain(p, t, NULL);
		if (all_threads)
			espy_ptask__each(p, go_plain, &tgid);
	}
	if (t->wanted && !t->starting) {
		espy_ptrace__emit_exit(p, t, true);
		espy_ptrace__emit_stack(p, t);
	}
	t->has_enter = false;
}

/* Ends the call of a task that does not come back from it. */
static void call_cut(struct espy_ptrace *p, struct espy_ptask *t)
{
	if (t->in_call && t->wanted && !t->starting)
		espy_ptrace__emit_exit(p, t, false);
	t->in_call = t->has_enter = false;
}

static void died(struct espy_ptrace *p, struct espy_ptask *t, int status)
{
	if (t->embryo) {
		t->embryo_status = status; /* FORK must come first */
		return;
	}
	call_cut(p, t);
	if (t->tid == p->command) {
		p->command_ended = true;
		p->command_status = status;
	}
	if (!t->starting)
		espy_ptrace__emit_task_exit(p, t, status);
	if (t->last_stack)
		espy_ptrace__emit(p, t->last_stack);
	if (t->tid == t->tgid)
		espy_ptrace__forget_stacks(p, t->tgid);
	espy_ptask__remove(p, t);
}

/*
 * FORK, and if the first stop of the child (or its end) came before: that, now. It ceases to be an embryo first, as
 * the receiver of the record may let go of everything.
 */
static void announce(struct espy_ptrace *p, const struct espy_ptask *parent, struct espy_ptask *t, uint64_t flags)
{
	bool was_embryo = t->embryo;
	int status = t->embryo_status;
	pid_t tid = t->tid;

	if (was_embryo) {
		t->embryo = false;
		p->embryo_cnt--;
	}
	espy_ptrace__emit_fork(p, parent, tid, t->tgid, flags);
	if (was_embryo)
		espy_ptrace__handle(p, tid, status);
}

static void child_born(struct espy_ptrace *p, struct espy_ptask *parent, pid_t tid, uint64_t flags)
{
	struct espy_ptask *t = espy_ptask__find(p, tid);
	pid_t tgid = flags & CLONE_THREAD ? parent->tgid : tid;

	if (t && t->adopted) { /* the event is late, not lost */
		t->adopted = false;
		return;
	}
	if (t && !t->embryo) { /* an earlier task had the number, and the kernel did not tell its end */
		espy_ptask__remove(p, t);
		t = NULL;
	}
	/* Adopted and dead by now, or let go of: it is not ours any more, and would never show itself. */
	if (!t && p->early && espy_status_pid(tid, "TracerPid") != getpid())
		return;
	if (!t)
		t = espy_ptask__add(p, tid, tgid);
	if (!t)
		return; /* it will be adopted from /proc at its first stop */
	t->tgid = tgid;
	t->filtered = parent->filtered;
	t->plain = parent->plain;
	t->detaching = parent->detaching;
	announce(p, parent, t, flags);
}

/* Returns the flags with which a task in a fork, vfork or clone event made its child; 0: not known. */
static uint64_t clone_flags(struct espy_ptask *t)
{
	enum espy_abi abi;
	uint64_t nr, arg0, flags, memory;

	if (espy_arch__get_call(t->tid, &abi, &nr, &arg0))
		return 0;
	/* A 64-bit program may use int 0x80, too: the entry stop is surer than the width of the registers. */
	if (t->in_call) {
		abi = t->regs.abi;
		nr = t->regs.nr;
		arg0 = t->regs.args[0];
	}
	switch (espy_arch__task_flags(abi, nr, &flags)) {
	case ESPY_FLAGS_IN_ARG0:
		return arg0;
	case ESPY_FLAGS_AT_ARG0:
		return espy_task_mem__read(&t->mem, arg0, &memory, sizeof(memory)) == sizeof(memory) ? memory : 0;
	default:
		return flags;
	}
}

static void forked(struct espy_ptrace *p, struct espy_ptask *t, int event)
{
	unsigned long child;
	uint64_t flags;

	/* Fails if the parent was killed in its stop: the child is adopted as an orphan then. */
	if (ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &child))
		return;
	flags = clone_flags(t);
	if (!flags && event == PTRACE_EVENT_CLONE && espy_status_pid((pid_t)child, "Tgid") == t->tgid)
		flags = CLONE_THREAD | CLONE_VM | CLONE_SIGHAND; /* no thread is without them */
	child_born(p, t, (pid_t)child, flags);
}

static void adopt_orphan(struct espy_ptrace *p, struct espy_ptask *t)
{
	struct espy_ptask *parent;
	long tgid, ppid;
	uint64_t flags = 0;

	tgid = espy_status_pid(t->tid, "Tgid");
	ppid = espy_status_pid(t->tid, "PPid");
	t->tgid = tgid > 0 ? (pid_t)tgid : t->tid;
	if (t->tgid != t->tid) {
		ppid = tgid;
		flags = CLONE_THREAD | CLONE_VM | CLONE_SIGHAND;
	}
	parent = espy_ptask__find(p, (pid_t)ppid);
	if (parent) {
		t->filtered = parent->filtered;
		t->plain = parent->plain;
	} else {
		/* Its parent is dead: it may have our filter or not; at all calls it stops either way. */
		t->filtered = espy_ptrace__filter_useful(p) && p->command;
		t->plain = true;
	}
	t->adopted = p->early = true;
	t->detaching = p->leaving || (parent && parent->detaching);
	announce(p, parent ? parent : t, t, flags);
}

static void find_overdue(struct espy_ptrace *p, struct espy_ptask *t, void *found)
{
	(void)p;
	if (t->embryo && espy_now_ns() - t->embryo_ns >= ESPY_EMBRYO_NS)
		*(struct espy_ptask **)found = t;
}

void espy_ptrace__adopt_orphans(struct espy_ptrace *p)
{
	struct espy_ptask *t;

	/* One at a time: the receiver of its records may let go of others. */
	while (p->embryo_cnt) {
		t = NULL;
		espy_ptask__each(p, find_overdue, &t);
		if (!t)
			break;
		adopt_orphan(p, t);
	}
}

static struct espy_ptask *image_replaced(struct espy_ptrace *p, struct espy_ptask *t)
{
	struct espy_ptask *caller = NULL;
	unsigned long old = 0;

	if (ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &old))
		old = (unsigned long)t->tid;
	if ((pid_t)old != t->tid)
		caller = espy_ptask__find(p, (pid_t)old);
	if (caller) {
		/* Another thread called: it has taken the leader's number, and its call goes on under that. */
		unsigned char *enter = t->enter;
		size_t cap = t->enter_cap;

		t->regs = caller->regs;
		t->regs.tid = (uint32_t)t->tid;
		t->in_call = caller->in_call;
		t->wanted = caller->wanted;
		t->has_enter = caller->has_enter;
		t->filtered = caller->filtered;
		t->plain = caller->plain;
		t->detaching |= caller->detaching;
		t->enter = caller->enter;
		t->enter_cap = caller->enter_cap;
		caller->enter = enter;
		caller->enter_cap = cap;
		espy_ptask__remove(p, caller);
	}
	t->probe_ip = 0;
	espy_ptrace__forget_stacks(p, t->tgid);
	espy_task_mem__close(&t->mem); /* an open /proc/PID/mem shows the old image */
	if (t->starting) {
		t->starting = false;
		if (t->in_call && t->wanted)
			espy_ptrace__emit_held_enter(p, t);
	}
	espy_ptrace__emit_exec(p, t, (pid_t)old);
	return t;
}

static bool is_stop_signal(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

static void job_control_stop(struct espy_ptrace *p, struct espy_ptask *t, int sig)
{
	if (t->detaching) {
		let_go(p, t, 0); /* the kernel puts it back into its stop */
		return;
	}
	if (!t->listening)
		espy_ptrace__emit_bare(p, t, ESPY_REC_STOPPED, sig);
	if (t->detaching) {
		let_go(p, t, 0);
		return;
	}
	t->stopped = false;
	t->listening = true;
	ptrace(PTRACE_LISTEN, t->tid, NULL, NULL);
}

/* Returns a signal that the task is to be sent, or 0. */
static int syscall_stop(struct espy_ptrace *p, struct espy_ptask *t, bool by_filter)
{
	struct __ptrace_syscall_info info;

	if (!syscall_info(t, &info))
		return 0;
	if (info.op == PTRACE_SYSCALL_INFO_EXIT)
		call_left(p, t, &info);
	else if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		return call_entered(p, t, &info);
	else if (info.op == PTRACE_SYSCALL_INFO_SECCOMP && by_filter && !t->in_call)
		return call_entered(p, t, &info);
	return 0;
}

/* Lets go of a task that nobody wants: without follow only clone() with CLONE_PTRACE gives us one. */
static void refuse(const struct espy_ptrace *p, pid_t tid)
{
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	espy_ptrace__report(p, ESPY_REPORT_TASK, "Detached unknown pid %d", (int)tid);
}

void espy_ptrace__handle(struct espy_ptrace *p, pid_t tid, int status)
{
	struct espy_ptask *t = espy_ptask__find(p, tid);
	int sig = WSTOPSIG(status), event = status >> 16;

	if (!t) {
		if (!WIFSTOPPED(status))
			return;
		if (!p->opts.follow && event != PTRACE_EVENT_EXEC) {
			refuse(p, tid);
			return;
		}
		t = espy_ptask__add(p, tid, 0);
		if (!t)
			return;
		/* A thread that is watched alone has called execve: now it has the number of its leader. */
		if (event == PTRACE_EVENT_EXEC)
			t->tgid = tid;
	}
	if (!t->tgid && !t->embryo) {
		t->embryo = t->stopped = true;
		t->embryo_status = status;
		t->embryo_ns = espy_now_ns();
		p->embryo_cnt++;
		return;
	}
	/* A delayed task stays in its stop. If it reports another one, it was killed there. */
	if (t->delayed_until_ns) {
		t->delayed_until_ns = 0;
		p->delayed_cnt--;
	}
	p->now_ns = p->opts.needs.times || p->opts.needs.enter_ns ? espy_now_ns() : 0;
	if (!WIFSTOPPED(status)) {
		died(p, t, status);
		return;
	}
	t->stopped = true;
	if (!event) {
		if (sig == SYSCALL_STOP) {
			sig = syscall_stop(p, t, false);
		} else if (!t->starting) {
			espy_ptrace__emit_signal(p, t, sig);
		}
		espy_ptrace__resume(p, t, sig);
		return;
	}
	sig = 0;
	switch (event) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		forked(p, t, event);
		break;
	case PTRACE_EVENT_EXEC:
		t = image_replaced(p, t);
		break;
	case PTRACE_EVENT_EXIT:
		if (t->in_call && t->wanted && !t->starting)
			espy_ptrace__keep_stack(p, t);
		call_cut(p, t);
		break;
	case PTRACE_EVENT_SECCOMP:
		sig = syscall_stop(p, t, true);
		break;
	case PTRACE_EVENT_STOP:
		if (is_stop_signal(WSTOPSIG(status))) {
			job_control_stop(p, t, WSTOPSIG(status));
			return;
		}
		break;
	default:
		break;
	}
	espy_ptrace__resume(p, t, sig);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attaching to tasks that run, letting go of them, and the words for it when the kernel says no. */
#include "ptrace_source.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/proc_pid.h"
#include "base/small_file.h"
#include "base/task_list.h"

static int yama_scope(void)
{
	char line[16];

	return espy_read_small("/proc/sys/kernel/yama/ptrace_scope", line, sizeof(line)) < 0 ? 0 : atoi(line);
}

static char state_of(pid_t pid)
{
	struct espy_proc_stat stat;

	return espy_read_proc_stat(pid, &stat) ? stat.state : 0;
}

static void user_name(long uid, char *buf, size_t sz)
{
	struct passwd pw, *res = NULL;
	char mem[1024];

	if (!getpwuid_r((uid_t)uid, &pw, mem, sizeof(mem), &res) && res)
		snprintf(buf, sz, "%s", res->pw_name);
	else
		snprintf(buf, sz, "uid %ld", uid);
}

static void explain_eperm(pid_t pid, char *text, size_t text_sz)
{
	long tracer = espy_status_pid(pid, "TracerPid"), uid = espy_status_field(pid, "Uid");
	char path[40], comm[32], user[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)espy_proc_pid(pid));
	if (tracer > 0) {
		espy_read_comm((pid_t)tracer, comm, sizeof(comm));
		snprintf(text, text_sz, "it is traced by process %ld (%s) already; end that first, or use --source bpf",
			 tracer, comm);
	} else if (pid == getpid() || espy_status_pid(pid, "Tgid") == getpid()) {
		snprintf(text, text_sz, "a process cannot trace itself");
	} else if (state_of(pid) == 'Z') {
		snprintf(text, text_sz, "it has ended and waits for its parent to take note (a zombie)");
	} else if (espy_status_field(pid, "VmSize") < 0) {
		snprintf(text, text_sz, "it is a kernel thread");
	} else if (yama_scope() >= 3) {
		snprintf(text, text_sz,
			 "kernel.yama.ptrace_scope is 3: ptrace is off until the next boot; use --source bpf as root");
	} else if (geteuid() && uid >= 0 && (uid_t)uid != geteuid()) {
		user_name(uid, user, sizeof(user));
		snprintf(text, text_sz, "it belongs to %s; run as that user or as root", user);
	} else if (geteuid() && yama_scope() == 2) {
		snprintf(text, text_sz, "kernel.yama.ptrace_scope is 2: only CAP_SYS_PTRACE may trace; run as root");
	} else if (geteuid() && !stat(path, &st) && st.st_uid != geteuid()) {
		snprintf(text, text_sz,
			 "it has made itself not dumpable, or runs a program that may not be read; run as root");
	} else if (geteuid() && yama_scope() == 1) {
		snprintf(
			text, text_sz,
			"kernel.yama.ptrace_scope is 1: only own children may be traced; start the program under espy, "
			"run as root, or set the scope to 0");
	} else {
		snprintf(text, text_sz,
			 "not permitted: it has capabilities that we lack, or a security module or a sandbox forbids "
			 "ptrace; "
			 "run as root outside of the container");
	}
}

void espy_ptrace__explain(pid_t pid, int err, char *text, size_t text_sz)
{
	if (err == -EPERM)
		explain_eperm(pid, text, text_sz);
	else if (err == -ESRCH)
		snprintf(text, text_sz, "there is no such process, or it has just ended");
	else if (err == -EIO)
		snprintf(text, text_sz, "the kernel does not know PTRACE_SEIZE (it is older than 3.4, or not Linux)");
	else
		snprintf(text, text_sz, "%s", strerror(-err));
}

/* Seizes a task. Returns 1: seized now; 0: it was ours; -errno. */
static int seize(struct espy_ptrace *p, pid_t tid, pid_t tgid)
{
	struct espy_ptask *t = espy_ptask__find(p, tid);

	if (t && !t->embryo)
		return 0;
	if (t) { /* born to a thread that we had seized: its first stop is in hand */
		t->tgid = tgid;
		t->embryo = false;
		t->adopted = true;
		p->embryo_cnt--;
		espy_ptrace__resume(p, t, 0);
		return 1;
	}
	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)espy_ptrace__options(p, false))) {
		int err = -errno;

		/* A thread that one of ours has made since is ours already and will show itself. */
		if (err == -EPERM && espy_status_pid(tid, "TracerPid") == getpid())
			return 0;
		return err;
	}
	t = espy_ptask__add(p, tid, tgid);
	if (!t) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL); /* fails, as it is not stopped; goes with the process */
		return -ENOMEM;
	}
	/* Its calls stop only after it has stopped once. */
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return 1;
}

/* Walks over the threads once. Returns the number of new ones, or -errno if it could seize none at all. */
static int seize_threads(struct espy_ptrace *p, pid_t tgid)
{
	DIR *d = espy_task_list__open(tgid);
	int n = 0, err = -ESRCH;

	if (!d)
		return errno == ENOENT ? -ESRCH : -errno;
	for (pid_t tid; (tid = espy_task_list__next(d));) {
		const int r = seize(p, tid, tgid);

		if (r > 0)
			n++;
		if (r >= 0)
			err = 0;
		else if (err == -ESRCH)
			err = r;
	}
	espy_task_list__close(d);
	return err ? err : n;
}

int espy_ptrace__add_target(struct espy_source *s, const struct espy_target *target)
{
	struct espy_ptrace *p = (struct espy_ptrace *)s;
	char text[400];
	long tgid;
	int r;

	p->leaving = false;
	if (target->kind != ESPY_TARGET_PID) {
		espy_ptrace__report(
			p, ESPY_REPORT_ERROR,
			"the ptrace source watches processes, not the system or a cgroup; use --source bpf as root");
		return -EOPNOTSUPP;
	}
	tgid = espy_status_pid(target->pid, "Tgid");
	if (tgid <= 0) {
		r = -ESRCH;
	} else if (target->single_task) {
		r = seize(p, target->pid, (pid_t)tgid);
	} else {
		int again;

		r = seize_threads(p, (pid_t)tgid);
		/*
		 * New threads may have come meanwhile. With follow the kernel gives espy the children of known
		 * threads.
		 */
		for (again = r; again > 0;)
			again = seize_threads(p, (pid_t)tgid);
	}
	if (r < 0) {
		espy_ptrace__explain(target->pid, r, text, sizeof(text));
		espy_ptrace__report(p, ESPY_REPORT_ERROR, "cannot attach to %d: %s", (int)target->pid, text);
		return r;
	}
	return 0;
}

struct selection {
	pid_t pid;
	size_t cnt;
};

static void mark_detaching(struct espy_ptrace *p, struct espy_ptask *t, void *ctx)
{
	struct selection *sel = ctx;

	if (sel->pid && t->tid != sel->pid && t->tgid != sel->pid)
		return;
	sel->cnt++;
	if (t->detaching)
		return;
	t->detaching = true;
	if (t->embryo) {
		/*
		 * Its stop is in hand. FORK was not sent, so the session does not know it; its parent will tell of it
		 * yet.
		 */
		p->early = true;
		espy_ptrace__resume(p, t, 0);
		return;
	}
	/* A task whose stop is being handled goes when that is done (the receiver of a record has called this). */
	if (!t->stopped)
		ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
}

int espy_ptrace__remove_target(struct espy_source *s, pid_t pid)
{
	struct espy_ptrace *p = (struct espy_ptrace *)s;
	struct selection sel = { .pid = pid };

	if (!pid)
		p->leaving = true;
	espy_ptask__each(p, mark_detaching, &sel);
	return sel.cnt || !pid ? 0 : -ESRCH;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Seccomp filters of the threads of a process against the calls that the agent takes. The agent's thread inherits the
 * filters of the thread through which it is loaded; all others must be able to come to a mark that is on.
 */
#include "source/agent/inject_parts.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/search.h"
#include "base/task_list.h"
#include "source/agent_control.h"
#include "source/agent/seccomp_requirements.h"
#include "source/agent/remote.h"
#include "source/agent/seccomp_verdict.h"

struct look {
	struct espy_inject_target *t;
	struct espy_seccomp_requirements needed;
	bool held;
	struct espy_inject_result *r;
	/* Of the last thread that was looked at: most have the same. */
	struct espy_seccomp filters;
	bool any, restart, loads;
	size_t usable;
	char why[128]; /* not through the first one that it cannot be loaded through */
	/* One that must not come to a mark, or not fork. */
	pid_t in_danger;
	bool by_fork;
	char danger[128];
};

const struct espy_inject_thread *espy_inject__thread(const struct espy_inject_target *t, pid_t tid)
{
	size_t at;

	ESPY_SEARCH(at, t->thread_cnt, t->threads[at].tid >= tid);
	return at < t->thread_cnt && t->threads[at].tid == tid ? &t->threads[at] : NULL;
}

bool espy_inject__may_use(const struct espy_inject_target *t, pid_t tid)
{
	const struct espy_inject_thread *f = espy_inject__thread(t, tid);

	return !f || !f->forbids;
}

bool espy_inject__same_filters(const struct espy_inject_target *t, pid_t tid)
{
	const struct espy_inject_thread *f = espy_inject__thread(t, tid);
	struct espy_inject_status s;

	return !espy_inject__read_status(tid, &s) && s.seccomp == (f ? 2 : 0) && s.filters == (f ? f->filters : 0);
}

/* What can be known without stopping anybody. */
static int may_read(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) > 0 || syscall(SYS_capget, &header, data) ||
	    !(data[CAP_SYS_ADMIN / 32].effective >> CAP_SYS_ADMIN % 32 & 1))
		return -EACCES;
	return 0;
}

static int refuse_unread(pid_t pid, int err, struct espy_inject_result *r)
{
	const char *who = err == -EACCES ? "espy may not read (it takes root, and an espy under no filter itself)"
			  : err == -EIO || err == -EINVAL
				  ? "this kernel does not let be read (it takes CONFIG_CHECKPOINT_RESTORE)"
				  : "cannot be read";

	return espy_inject__refuse(
		r, -EPERM,
		"process %d runs under a seccomp filter that %s; it might be killed for the calls that "
		"loading the agent takes. Start it with LD_PRELOAD, or use --via kernel",
		(int)pid, who);
}

/* The filters of one thread, which is stopped for it. */
static int read_filters(struct look *l, pid_t tid, struct espy_seccomp *s)
{
	struct espy_remote r;
	int err;

	if (l->held)
		return espy_seccomp__read(s, tid);
	err = espy_remote__attach(&r, l->t->pid, tid);
	if (err)
		return err == -EPERM ? -EBUSY : err;
	err = espy_remote__stop(&r);
	const uint64_t since = espy_now_ns();

	if (!err)
		err = espy_seccomp__read(s, tid);
	else if (err == -EBUSY || err == -ETIMEDOUT)
		err = -EAGAIN;
	/* The kernel would go on with a sleep by a call that its filter may forbid. A thread that stops too late may be
	 * in such a sleep. */
	if (err || !espy_seccomp_requirements__restart(s))
		espy_remote__forbid_restart(&r);
	if (!espy_remote__detach(&r))
		espy_inject__let_all_go(l->t->pid, l->r);
	espy_inject__paused(l->r, since);
	return err;
}

static int look_at(struct look *l, struct espy_inject_thread *f)
{
	struct espy_seccomp s;
	char why[128];
	int err = read_filters(l, f->tid, &s);

	switch (err) {
	case 0:
		break;
	case -ESRCH:
		return err;
	case -EBUSY:
		return espy_inject__refuse_trace(l->t->pid, l->r);
	case -EAGAIN:
		return espy_inject__refuse(l->r, err,
					   "thread %d of process %d does not come to a stop: its seccomp "
					   "filter cannot be read; try again",
					   (int)f->tid, (int)l->t->pid);
	default:
		return refuse_unread(l->t->pid, err, l->r);
	}
	if (l->any && espy_seccomp__same(&s, &l->filters)) {
		espy_seccomp__free(&s);
	} else {
		espy_seccomp__free(&l->filters);
		l->filters = s;
		l->any = true;
		l->restart = espy_seccomp_requirements__restart(&l->filters);
		l->loads = !espy_seccomp_requirements__to_load(&l->needed, &l->filters, why, sizeof(why));
		if (!l->loads && !l->why[0])
			strcpy(l->why, why);
		if (!l->in_danger) {
			const bool hit = espy_seccomp_requirements__to_hit(&l->needed, &l->filters, l->danger,
									   sizeof(l->danger));

			l->by_fork = !hit && espy_seccomp_requirements__to_fork(&l->needed, &l->filters, l->danger,
										sizeof(l->danger));
			if (hit || l->by_fork)
				l->in_danger = f->tid;
		}
	}
	f->forbids = !l->loads;
	f->restart_forbidden = !l->restart;
	l->usable += l->loads;
	return 0;
}

static int by_tid(const void *a, const void *b)
{
	const struct espy_inject_thread *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* The threads that have filters. Returns how many there are in all, or -errno. */
static long find_filtered(struct espy_inject_target *t, bool held, struct espy_inject_result *r)
{
	DIR *d = espy_task_list__open(t->pid);
	size_t room = 0;
	long all = 0;

	if (!d)
		return espy_inject__refuse(r, -ESRCH, "process %d has ended", (int)t->pid);
	for (pid_t tid; all >= 0 && (tid = espy_task_list__next(d));) {
		struct espy_inject_status s;

		if (espy_agent__is_helper(tid) || espy_inject__read_status(tid, &s))
			continue;
		all++;
		/* Another espy's own thread perhaps: then the library that is in the maps may still be half loaded. */
		if (s.tracer && !held)
			all = espy_inject__refuse_traced(t->pid, s.tracer, r);
		else if (s.seccomp == 1)
			all = espy_inject__refuse(r, -EPERM,
						  "process %d is in strict seccomp mode, where opening a file kills it",
						  (int)t->pid);
		if (s.seccomp != 2)
			continue;
		if (!espy_array__grow(t->threads, t->thread_cnt, room)) {
			all = -ENOMEM;
			break;
		}
		t->threads[t->thread_cnt++] = (struct espy_inject_thread){ .tid = tid, .filters = s.filters };
	}
	closedir(d);
	if (t->thread_cnt)
		qsort(t->threads, t->thread_cnt, sizeof(*t->threads), by_tid);
	return all;
}

int espy_inject__check_filters(struct espy_inject_target *t, const struct espy_inject_status *s, bool held,
			       struct espy_inject_result *r)
{
	struct look l = { .t = t,
			  .held = held,
			  .r = r,
			  .needed = { .own_pid = s->own_pid ? s->own_pid : t->pid,
				      .bell = t->code.bell,
				      .libc_fstat = t->libc_fstat,
				      .by_memfd = t->library_fd >= 0 } };
	const long all = find_filtered(t, held, r);
	int err = all < 0 ? (int)all : 0;

	if (err || !t->thread_cnt)
		return err;
	if (t->libc_other)
		return espy_inject__refuse(
			r, -EPERM,
			"process %d runs under a seccomp filter, and which calls its libc (%s) makes to "
			"load a library espy does not know; use --via kernel",
			(int)t->pid, t->libc_path);
	err = may_read();
	if (err)
		return refuse_unread(t->pid, err, r);
	for (size_t i = 0; i < t->thread_cnt && !err; i++) {
		err = look_at(&l, &t->threads[i]);
		if (err == -ESRCH) { /* it has ended meanwhile */
			t->threads[i].forbids = true;
			err = 0;
		}
	}
	espy_seccomp__free(&l.filters);
	if (err)
		return err;
	if (!l.usable && (size_t)all == t->thread_cnt)
		return espy_inject__refuse(r, -EPERM,
					   "process %d runs under a seccomp filter that forbids %s, which the agent "
					   "needs; use --via kernel",
					   (int)t->pid, l.why[0] ? l.why : "to look at it");
	if (l.in_danger)
		return espy_inject__refuse(r, -EPERM,
					   "thread %d of process %d runs under a seccomp filter that forbids %s, which "
					   "%s; use --via kernel",
					   (int)l.in_danger, (int)t->pid, l.danger,
					   l.by_fork ? "the agent does in each child that the thread forks"
						     : "the agent does in each thread that comes to a mark");
	return 0;
}

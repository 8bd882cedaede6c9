/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The targets: a command started here, running processes and tasks, a cgroup, or all tasks. None of them is stopped. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/task_list.h"
#include "source/bpf/bpf_source.h"
#include "source/command.h"
#include "source/rights.h"

static void set_task(struct bpf_source *s, uint32_t tid)
{
	uint64_t bit = 1ull << (tid & 63);

	if (tid >= ESPY_BPF_PID_LIMIT)
		return;
	if (!(__atomic_fetch_or(&s->shared->bits[tid >> 6], bit, __ATOMIC_SEQ_CST) & bit)) {
		__atomic_store_n(&s->shared->high,
				 espy_bpf_high(bpf_source_room(s), s->tables.longest + s->tables.stack,
					       __atomic_add_fetch(&s->shared->live, 1, __ATOMIC_SEQ_CST)),
				 __ATOMIC_RELAXED);
		bpf_tasks__add(&s->tasks, tid, 0);
		s->stats.tasks++;
		bpf_source_check_compat(s, tid);
	}
}

static void clear_task(struct bpf_source *s, uint32_t tid)
{
	uint64_t bit = 1ull << (tid & 63);

	if (tid >= ESPY_BPF_PID_LIMIT)
		return;
	if (__atomic_fetch_and(&s->shared->bits[tid >> 6], ~bit, __ATOMIC_SEQ_CST) & bit)
		__atomic_fetch_sub(&s->shared->live, 1, __ATOMIC_SEQ_CST);
	bpf_tasks__remove(&s->tasks, tid);
}

/* Calls fn for each task of a process. Returns their number, or -errno. */
static int each_task(struct bpf_source *s, pid_t pid, void (*fn)(struct bpf_source *, uint32_t))
{
	DIR *d = espy_task_list__open(pid);
	int cnt = 0;

	if (!d)
		return errno == ENOENT ? -ESRCH : -errno;
	for (pid_t tid; (tid = espy_task_list__next(d)); cnt++)
		fn(s, (uint32_t)tid);
	espy_task_list__close(d);
	return cnt;
}

static bool alive(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	return !access(path, F_OK);
}

static int add_pid(struct bpf_source *s, const struct espy_target *t)
{
	uint64_t before;
	int err;

	if (t->pid <= 0)
		return -EINVAL;
	/* The kernel gives no task a number from the limit on. */
	if ((uint32_t)t->pid >= ESPY_BPF_PID_LIMIT || !alive(t->pid))
		return -ESRCH;
	err = espy_rights__check(t->pid);
	if (err)
		return err == -EACCES ? -EPERM : err;
	err = bpf_source_load(s, ESPY_BPF_MODE_BITS, 0, 0);
	if (!err && !s->opts.follow)
		err = bpf_probes__attach(s, t->pid);
	if (err)
		return err;
	if (t->single_task) {
		set_task(s, (uint32_t)t->pid);
		/* It may have died before its bit could be cleared by its death. */
		if (!alive(t->pid))
			clear_task(s, (uint32_t)t->pid);
		if (espy_rights__check(t->pid)) {
			clear_task(s, (uint32_t)t->pid);
			return -EPERM;
		}
		return 0;
	}
	/* A thread that a new thread creates while the list is read is found by the next reading. */
	do {
		before = s->stats.tasks;
		err = each_task(s, t->pid, set_task);
	} while (err > 0 && s->stats.tasks != before);
	/* An image that began between the check and the bits was not seen by the program at exec. */
	if (err > 0 && espy_rights__check(t->pid)) {
		each_task(s, t->pid, clear_task);
		return -EPERM;
	}
	return err < 0 ? err : 0;
}

static int add_cgroup(struct bpf_source *s, const char *path)
{
	char at[4096], probe[4200];
	struct stat st, up;
	struct statfs fs;
	uint32_t level = 0;
	uint64_t id;

	if (statfs(path, &fs) || stat(path, &st))
		return -errno;
	if (fs.f_type != CGROUP2_SUPER_MAGIC || !S_ISDIR(st.st_mode)) {
		bpf_source_report(s, ESPY_REPORT_ERROR, "%s is not a directory of cgroup version 2", path);
		return -ENOTDIR;
	}
	id = st.st_ino;
	if (!realpath(path, at))
		return -errno;
	/* The root of the hierarchy is the one without cgroup.events. */
	for (;;) {
		char *slash = strrchr(at, '/');

		snprintf(probe, sizeof(probe), "%s/cgroup.events", at);
		if (access(probe, F_OK))
			break;
		if (!slash || slash == at)
			return -EINVAL;
		*slash = '\0';
		level++;
		if (stat(at, &up) || statfs(at, &fs))
			return -errno;
		if (fs.f_type != CGROUP2_SUPER_MAGIC) {
			bpf_source_report(s, ESPY_REPORT_ERROR,
					  "the root of the cgroup hierarchy is not visible here (a cgroup "
					  "namespace?); %s",
					  "run espy outside of it");
			return -EXDEV;
		}
	}
	return bpf_source_load(s, ESPY_BPF_MODE_CGROUP, id, level);
}

int bpf_source_add_target(struct espy_source *src, const struct espy_target *t)
{
	struct bpf_source *s = to_bpf(src);
	int err = -EINVAL;

	if (t->kind != ESPY_TARGET_PID && espy_rights__are_borrowed()) {
		bpf_source_report(s, ESPY_REPORT_ERROR,
				  "the capabilities of this espy are those of its file, and reach only what its user may trace; "
				  "for a cgroup or the whole system, the user needs CAP_BPF and CAP_PERFMON");
		return -EPERM;
	}
	switch (t->kind) {
	case ESPY_TARGET_PID:
		err = add_pid(s, t);
		break;
	case ESPY_TARGET_CGROUP:
		err = s->has_target ? -EBUSY : add_cgroup(s, t->path);
		break;
	case ESPY_TARGET_ALL:
		err = s->has_target ? -EBUSY : bpf_source_load(s, ESPY_BPF_MODE_ALL, 0, 0);
		break;
	}
	if (err == -EBUSY)
		bpf_source_report(s, ESPY_REPORT_ERROR,
				  "processes, a cgroup and the whole system cannot be watched together");
	if (!err)
		s->has_target = true;
	return err;
}

int bpf_source_remove_target(struct espy_source *src, pid_t pid)
{
	struct bpf_source *s = to_bpf(src);

	if (!s->loaded)
		return 0;
	if (pid) {
		if (s->mode != ESPY_BPF_MODE_BITS)
			return -EOPNOTSUPP;
		each_task(s, pid, clear_task);
		clear_task(s, (uint32_t)pid);
		if (pid == s->command)
			s->released = true;
		return 0;
	}
	bpf_source_detach(s);
	memset(s->shared->bits, 0, sizeof(s->shared->bits));
	__atomic_store_n(&s->shared->live, 0, __ATOMIC_SEQ_CST);
	s->mode = ESPY_BPF_MODE_BITS;
	s->released = true;
	return 0;
}

int bpf_source_start_command(struct espy_source *src, const struct espy_command *cmd, pid_t *pid)
{
	struct bpf_source *s = to_bpf(src);
	int go[2], fail[2], err, child_err = 0;
	ssize_t got;
	pid_t child;
	char c;

	if (s->command)
		return -EBUSY;
	err = bpf_source_load_for_command(s);
	if (err)
		return err;
	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(fail, O_CLOEXEC)) {
		err = -errno;
		close(go[0]);
		close(go[1]);
		return err;
	}
	child = fork();
	if (!child) {
		close(go[1]);
		close(fail[0]);
		if (espy_command__hear(cmd, go[0], &c, 1) != 1) /* it waits until espy watches it */
			_exit(127);
		close(go[0]);
		espy_command__run(cmd, fail[1]);
	}
	err = child < 0 ? -errno : 0;
	close(go[0]);
	close(fail[1]);
	if (!err) {
		if (!s->opts.follow)
			err = bpf_probes__attach(s, child);
		__atomic_store_n(&s->shared->start_pid, (uint32_t)child, __ATOMIC_SEQ_CST);
		if (!err && write(go[1], "g", 1) != 1)
			err = -EPIPE;
		close(go[1]);
		go[1] = -1;
		got = err ? 0 : espy_command__hear(cmd, fail[0], &child_err, sizeof(child_err));
		if (got == sizeof(child_err))
			err = child_err;
		if (got == -EINTR) {
			kill(child, SIGKILL);
			err = -EINTR;
		}
	}
	if (go[1] >= 0)
		close(go[1]);
	close(fail[0]);
	if (err) {
		if (child > 0)
			waitpid(child, NULL, 0);
		__atomic_store_n(&s->shared->start_pid, 0, __ATOMIC_SEQ_CST);
		return err;
	}
	s->command = child;
	s->has_target = true;
	s->stats.tasks++;
	bpf_tasks__add(&s->tasks, (uint32_t)child, 0);
	*pid = child;
	return 0;
}

int bpf_source_command_status(struct espy_source *src, int *status)
{
	struct bpf_source *s = to_bpf(src);
	pid_t r;

	if (!s->command)
		return -ECHILD;
	if (!s->reaped) {
		/* When its last task's end was seen, it is about to become waitable: waiting takes no time. */
		bool over = s->shared && !s->released && s->mode == ESPY_BPF_MODE_BITS &&
			    !__atomic_load_n(&s->shared->live, __ATOMIC_SEQ_CST);

		do
			r = waitpid(s->command, &s->status, over ? 0 : WNOHANG);
		while (r < 0 && errno == EINTR);
		if (r < 0)
			return -errno;
		if (!r)
			return -EAGAIN;
		s->reaped = true;
	}
	*status = s->status;
	return 0;
}

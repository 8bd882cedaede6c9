/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The targets of a session: a program that it starts, processes, a cgroup, everything. */
#include "lib/session_impl.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "base/clock.h"
#include "base/small_file.h"
#include "base/task_list.h"
#include "source/agent_control.h"

/* A source needs some descriptors of its own; the command shall have the limit that the user gave. */
#define ENOUGH_FILES 256
#define ENOUGH_FILES_MARKS 16384 /* one for each process with an agent */

void espy_session__raise_file_limit(struct espy_session *s)
{
	const rlim_t enough = s->marks.cnt ? ENOUGH_FILES_MARKS : ENOUGH_FILES;
	struct rlimit more;

	if (getrlimit(RLIMIT_NOFILE, &s->targets.user_files) < 0 || s->targets.user_files.rlim_cur >= enough)
		return;
	more.rlim_cur = enough;
	more.rlim_max = s->targets.user_files.rlim_max > enough ? s->targets.user_files.rlim_max : enough;
	if (setrlimit(RLIMIT_NOFILE, &more) < 0) { /* beyond the hard limit only with CAP_SYS_RESOURCE */
		more.rlim_max = s->targets.user_files.rlim_max;
		more.rlim_cur = more.rlim_max < enough ? more.rlim_max : enough;
		if (setrlimit(RLIMIT_NOFILE, &more) < 0)
			return;
	}
	s->targets.files_raised = true;
}

struct start {
	const struct espy_session *s;
	uint64_t *exec_ns; /* shared with the child; NULL if there was no memory for it */
};

/* Runs in the child, just before its execve. */
static int child_setup(void *ctx)
{
	const struct start *start = ctx;
	const struct espy_session *s = start->s;

	if (s->targets.files_raised && setrlimit(RLIMIT_NOFILE, &s->targets.user_files) < 0)
		return -errno;
	int err = s->targets.command.child_setup ? s->targets.command.child_setup(s->targets.command.child_ctx) : 0;
	if (!err && start->exec_ns)
		*start->exec_ns = espy_now_ns();
	return err;
}

/* Makes a record of a task that was there before the stream. It goes the way of all records. */
static void attached(struct espy_session *s, uint32_t tid, uint32_t tgid, unsigned flags, uint64_t time_ns)
{
	const struct espy_rec_attached a = { .rec = { .size = sizeof(a),
						      .type = ESPY_REC_ATTACHED,
						      .flags = (uint16_t)flags,
						      .tid = tid,
						      .tgid = tgid,
						      .time_ns = time_ns } };

	espy_session__record(s, &a.rec);
}

/* Makes the tasks of a running process known. Returns their number. */
static unsigned seed(struct espy_session *s, pid_t pid, bool all_threads)
{
	DIR *d = espy_task_list__open(pid);
	unsigned n = 0;

	for (pid_t tid; (tid = espy_task_list__next(d));) {
		if ((!all_threads && tid != pid) || espy_agent__is_helper(tid))
			continue;
		attached(s, (uint32_t)tid, (uint32_t)pid, 0, espy_now_ns());
		n++;
	}
	espy_task_list__close(d);
	return n;
}

/* Tells of the process's tasks that a signal had stopped before: a passive source sees no event of that. */
static void tell_stopped(struct espy_session *s, pid_t pid)
{
	DIR *d = s->src_ops->caps & ESPY_SRC_PASSIVE ? espy_task_list__open(pid) : NULL;
	struct espy_proc_stat stat;

	for (pid_t tid; (tid = espy_task_list__next(d));) {
		if (!espy_state__task(s->pipe.state, (uint32_t)tid) || !espy_read_proc_stat(tid, &stat) ||
		    stat.state != 'T')
			continue;
		const struct espy_rec rec = { .size = sizeof(rec),
					      .type = ESPY_REC_STOPPED,
					      .nr = stat.stop_signal && stat.stop_signal <= 64 ? stat.stop_signal
											       : SIGSTOP,
					      .tid = (uint32_t)tid,
					      .tgid = (uint32_t)pid,
					      .time_ns = espy_now_ns() };

		espy_session__record(s, &rec);
	}
	espy_task_list__close(d);
}

int espy_session__add_pid(struct espy_session *s, pid_t pid, bool single_task)
{
	/* A user means the process by its number. */
	const bool all_threads = s->o.follow || !single_task;
	const struct espy_target t = { .kind = ESPY_TARGET_PID, .pid = pid, .single_task = !all_threads };
	int err;

	s->run.reported = false;
	err = s->src_ops->add_target(s->src, &t);
	if (err) {
		if (err != -EINTR && (!s->marks.cnt || !s->run.reported)) /* else the source has said more, or espy is to end */
			espy_log__say(&s->log, ESPY_LOG_ERROR, ESPY_TOPIC_TARGET, "attach: %s(%d): %s",
				      s->src_ops->name, pid, strerror(-err));
		return err;
	}
	unsigned n = seed(s, pid, all_threads);
	if (s->follow_fds)
		espy_state__seed(s->pipe.state, (uint32_t)pid);
	if (n > 1)
		espy_session__say(s, ESPY_TOPIC_TASKS, "Process %d attached with %u threads", pid, n);
	else
		espy_session__say(s, ESPY_TOPIC_TASKS, "Process %d attached", pid);
	tell_stopped(s, pid);
	return 0;
}

static int add_wide(struct espy_session *s)
{
	struct espy_target t = { .kind = ESPY_TARGET_CGROUP, .path = s->o.cgroup };
	int err = s->o.cgroup ? s->src_ops->add_target(s->src, &t) : 0;

	if (err) {
		espy_session__error(s, "cgroup '%s': %s (a directory of the cgroup v2 tree is expected)", s->o.cgroup,
				    strerror(-err));
		return err;
	}
	if (!s->o.all)
		return 0;
	t = (struct espy_target){ .kind = ESPY_TARGET_ALL };
	err = s->src_ops->add_target(s->src, &t);
	if (err)
		espy_session__error(s, "--all: %s", strerror(-err));
	return err;
}

static int start_command(struct espy_session *s)
{
	void *page = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct start start = { .s = s, .exec_ns = page == MAP_FAILED ? NULL : page };
	struct espy_command command = s->targets.command;
	pid_t *pid = &s->targets.command_pid;

	command.child_setup = child_setup;
	command.child_ctx = &start;
	command.stop = &s->run.stop_asked;
	s->run.reported = false;
	int err = s->src_ops->start_command(s->src, &command, pid);
	/* The command has run for a while by now. A trace begins with its first call, not behind it. */
	const uint64_t exec_ns = start.exec_ns && *start.exec_ns ? *start.exec_ns : espy_now_ns();
	if (start.exec_ns)
		munmap(page, sizeof(uint64_t));
	if (err) {
		if (!s->run.reported && err != -EINTR) /* else the source could not begin, and has said why: the program is not to blame */
			espy_log__say(&s->log, ESPY_LOG_ERROR, ESPY_TOPIC_TARGET, "exec: %s: %s", command.path,
				      strerror(-err));
		*pid = 0;
		return err;
	}
	attached(s, (uint32_t)*pid, (uint32_t)*pid, ESPY_ATTACHED_COMMAND, exec_ns);
	if (s->follow_fds)
		espy_state__inherit(s->pipe.state, (uint32_t)*pid);
	return 0;
}

int espy_session__add_targets(struct espy_session *s)
{
	size_t good = 0;
	int err = 0;

	for (size_t i = 0; i < s->o.pid_count; i++) {
		int e = espy_session__add_pid(s, s->o.pids[i], s->o.single_task);

		if (e)
			err = e;
		else
			good++;
	}
	/* As with strace, one target that is gone does not hinder the others. */
	if (err && !good)
		return err;
	err = add_wide(s);
	return err || !s->targets.command.path ? err : start_command(s);
}

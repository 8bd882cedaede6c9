/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Marks of the whole system or of a cgroup: of every process that has an agent. It is found by its thread in /proc;
 * nothing is loaded into processes that have none. Forked children call (callers.c), what other sources tell of
 * programs that were executed is followed up (source.c), and from time to time everything is looked through again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/task_list.h"
#include "source/agent/agent_source.h"

#define DEPTH_MAX 64u     /* of cgroups in each other */
#define EVERY_NS 1000000000ull
#define EVERY_MAX_NS 4000000000ull
#define SHARE 25u /* of our time, one part in so many is spent on looking, until that makes it too seldom */

static void try_pid(struct espy_agent_source *s, pid_t pid)
{
	if (pid <= 0 || pid == getpid())
		return;
	s->quiet = true;
	int err = espy_agent_process__begin(s, pid, ESPY_AGENT_FIND);

	s->quiet = false;
	if (err == -EACCES || err == -EPERM)
		s->closed_to_us++;
}

static void look_at_all(struct espy_agent_source *s)
{
	DIR *d = espy_task_list__open(0);

	for (pid_t pid; (pid = espy_task_list__next(d));)
		try_pid(s, pid);
	espy_task_list__close(d);
}

/* fd: a directory of the cgroup tree, closed here. */
static int look_at_cgroup(struct espy_agent_source *s, int fd, unsigned depth)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	char line[32];

	if (!d) {
		const int err = fd < 0 ? fd : -errno;

		if (fd >= 0)
			close(fd);
		return err;
	}
	int procs = openat(fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *f = procs < 0 ? NULL : fdopen(procs, "r");

	while (f && fgets(line, sizeof(line), f))
		try_pid(s, (pid_t)strtol(line, NULL, 10));
	if (f)
		fclose(f);
	else if (procs >= 0)
		close(procs);
	for (struct dirent *e; depth < DEPTH_MAX && (e = readdir(d));)
		if (e->d_type == DT_DIR && e->d_name[0] != '.')
			look_at_cgroup(s, openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), depth + 1);
	closedir(d);
	return f ? 0 : -ENOENT;
}

int espy_agent_wide__look(struct espy_agent_source *s)
{
	const uint64_t begun = espy_now_ns();
	int err = 0;

	s->closed_to_us = 0;
	if (s->cgroup) {
		int fd = open(s->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		err = look_at_cgroup(s, fd < 0 ? -errno : fd, 0);
	} else {
		look_at_all(s);
	}
	const uint64_t took = espy_now_ns() - begun;
	const uint64_t pause = took * SHARE < EVERY_NS ? EVERY_NS : took * SHARE > EVERY_MAX_NS ? EVERY_MAX_NS : took * SHARE;

	s->next_wide_ns = begun + took + pause;
	return err;
}

int espy_agent_wide__begin(struct espy_agent_source *s, const struct espy_target *t)
{
	if (t->kind == ESPY_TARGET_CGROUP) {
		s->cgroup = strdup(t->path);
		if (!s->cgroup)
			return -ENOMEM;
	}
	s->wide = s->follow = true;
	int err = espy_agent_wide__look(s);

	if (err)
		return err;
	if (s->closed_to_us)
		espy_agent_source__report(s, ESPY_REPORT_WARN,
					  "%u process%s cannot be looked into by this user: their marks are not seen",
					  s->closed_to_us, s->closed_to_us == 1 ? "" : "es");
	if (!s->processes)
		espy_agent_source__report(s, ESPY_REPORT_NOTE,
					  "no process has an agent now; those that begin with one (linked with -lespy-agent, or "
					  "by LD_PRELOAD) will be seen");
	return 0;
}

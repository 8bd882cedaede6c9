/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command that is traced: its file, its environment, its user. */
#include "cli/trace_command.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

static bool names_var(const char *entry, const char *edit, size_t name_len)
{
	return !strncmp(entry, edit, name_len) && entry[name_len] == '=';
}

/* Returns the environment after -E: VAR=VAL puts, VAR removes. The last word about a variable counts. */
static char **make_env(const struct espy_words *edits)
{
	size_t cnt = 0;

	while (environ[cnt])
		cnt++;
	char **env = calloc(cnt + edits->cnt + 1, sizeof(*env));
	if (!env)
		return NULL;
	memcpy(env, environ, cnt * sizeof(*env));
	for (size_t e = 0; e < edits->cnt; e++) {
		const char *edit = edits->v[e];
		size_t name_len = strcspn(edit, "="), i = 0;

		while (i < cnt && !names_var(env[i], edit, name_len))
			i++;
		if (edit[name_len]) {
			env[i] = (char *)edit;
			cnt += i == cnt;
		} else if (i < cnt) {
			memmove(env + i, env + i + 1, (cnt - i) * sizeof(*env));
			cnt--;
		}
	}
	env[cnt] = NULL;
	return env;
}

/* Takes UID:GID: the numbers as they are, no group list. Returns 1 if taken, 0 if not of this form. */
static int numeric_user(struct espy_launch *l, const char *user)
{
	char *end;
	unsigned long uid, gid;

	if (user[0] < '0' || user[0] > '9')
		return 0;
	errno = 0;
	uid = strtoul(user, &end, 10);
	if (*end != ':' || end[1] < '0' || end[1] > '9')
		return 0;
	gid = strtoul(end + 1, &end, 10);
	if (errno || *end || uid >= UINT_MAX || gid >= UINT_MAX)
		return 0;
	l->uid = (uid_t)uid;
	l->gid = (gid_t)gid;
	return 1;
}

static int find_user(struct espy_launch *l, const struct espy_trace_args *a)
{
	if (getuid() || geteuid()) {
		espy_cli__say(a->cli, "You must be root to use the -u option");
		return -EPERM;
	}
	l->switch_user = true;
	if (!numeric_user(l, a->run.user)) {
		const struct passwd *pw = getpwnam(a->run.user);
		int cnt = 64;

		if (!pw) {
			espy_cli__say(a->cli, "Cannot find user '%s'", a->run.user);
			return -ENOENT;
		}
		l->uid = pw->pw_uid;
		l->gid = pw->pw_gid;
		for (;;) {
			int room = cnt;
			gid_t *groups = realloc(l->groups, (size_t)room * sizeof(*groups));

			if (!groups)
				return -ENOMEM;
			l->groups = groups;
			if (getgrouplist(pw->pw_name, pw->pw_gid, groups, &cnt) >= 0)
				break;
			if (cnt <= room)
				cnt = room * 2;
		}
		l->group_cnt = cnt;
	}
	return 0;
}

static void child_say(const struct espy_launch *l, const char *what)
{
	const char *parts[] = { l->cli->name, ": ", what, ": ", strerrordesc_np(errno), "\n" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
			return;
}

/*
 * Finds the program as the user would: root's way through directories is not the user's. Returns an O_PATH descriptor with
 * the file's state in *st, or -1.
 */
static int find_as_user(const struct espy_launch *l, struct stat *st)
{
	int fd = -1;

	if (setresgid((gid_t)-1, l->gid, (gid_t)-1) || setresuid((uid_t)-1, l->uid, (uid_t)-1))
		return -1;
	fd = open(l->path, O_PATH | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, st)) {
		close(fd);
		fd = -1;
	}
	if (setresuid((uid_t)-1, 0, (uid_t)-1) || setresgid((gid_t)-1, 0, (gid_t)-1))
		_exit(126);
	return fd;
}

/* Tells whether the kernel ignores set-id bits of the file: on file systems mounted nosuid, and of scripts. */
static bool ignores_set_id(int found)
{
	char name[40], begin[2] = "";
	struct statvfs fs;
	int fd;

	if (fstatvfs(found, &fs) || fs.f_flag & ST_NOSUID)
		return true;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 || read(fd, begin, 2) != 2 || !memcmp(begin, "#!", 2);
}

/*
 * Becomes the user. ptrace keeps a set-id program from becoming its owner, so such a program gets these ids before.
 * espy executes that very file by its descriptor, since the name may lead to another file by then.
 */
static int become_user(struct espy_launch *l)
{
	struct stat st;
	/* The groups come before the search, since they open directories. */
	const int err = setgroups((size_t)l->group_cnt, l->groups);
	const int found = err ? -1 : find_as_user(l, &st);
	uid_t euid = l->uid;
	gid_t egid = l->gid;

	if (found < 0) {
		child_say(l, l->path);
		return -1;
	}
	if (S_ISREG(st.st_mode) && st.st_mode & (S_ISUID | S_ISGID) && !ignores_set_id(found)) {
		euid = st.st_mode & S_ISUID ? st.st_uid : euid;
		/* Without the group's execute bit S_ISGID means mandatory locking. */
		egid = (st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) ? st.st_gid : egid;
	}
	if (setregid(l->gid, egid) < 0 || setreuid(l->uid, euid) < 0) {
		child_say(l, "changing to the user of -u");
		return -1;
	}
	if (euid == l->uid && egid == l->gid) {
		close(found);
		return 0; /* the program gets no more rights than the user has */
	}
	syscall(SYS_execveat, found, "", l->argv, l->envp, AT_EMPTY_PATH);
	child_say(l, l->path);
	return -1;
}

/* Runs between fork and execve, so it makes nothing but system calls. */
static int child_setup(void *ctx)
{
	struct espy_launch *l = ctx;

	*l->shared_pid = getpid();
	espy_signals__restore();
	return l->switch_user ? become_user(l) : 0;
}

int espy_launch__init(struct espy_launch *l, const struct espy_trace_args *a)
{
	const char *name = a->run.command[0];
	struct stat st;
	char path[PATH_MAX];
	size_t argc = 0;
	int err;

	*l = (struct espy_launch){ .cli = a->cli };
	err = espy_find_program(name, path, sizeof(path));
	if (!err && stat(path, &st))
		err = -errno;
	if (!err) {
		l->path = strdup(path);
		err = l->path ? 0 : -ENOMEM;
	}
	if (err) {
		if (err == -ENOENT && !strchr(name, '/'))
			espy_cli__say(a->cli, "Cannot find executable '%s'", name);
		else if (err == -ENAMETOOLONG)
			espy_cli__say(a->cli, "exec: %s", strerror(-err));
		else
			espy_cli__say(a->cli, "Cannot stat '%s': %s", name, strerror(-err));
		return err;
	}
	while (a->run.command[argc])
		argc++;
	l->argv = calloc(argc + 1, sizeof(*l->argv));
	l->envp = make_env(&a->lists.env_edits);
	l->shared_pid = mmap(NULL, sizeof(*l->shared_pid), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (l->shared_pid == MAP_FAILED)
		l->shared_pid = NULL;
	if (!l->argv || !l->envp || !l->shared_pid)
		err = -ENOMEM;
	if (!err && a->run.user)
		err = find_user(l, a);
	if (err) {
		if (err == -ENOMEM)
			espy_cli__say(a->cli, "out of memory");
		espy_launch__free(l);
		return err;
	}
	memcpy(l->argv, a->run.command, argc * sizeof(*l->argv));
	if (a->run.argv0)
		l->argv[0] = (char *)a->run.argv0;
	l->program = (struct espy_program){
		.size = sizeof(l->program),
		.path = l->path,
		.argv = l->argv,
		.envp = l->envp,
		.child_setup = child_setup,
		.child_ctx = l,
	};
	return 0;
}

void espy_launch__free(struct espy_launch *l)
{
	if (l->shared_pid)
		munmap(l->shared_pid, sizeof(*l->shared_pid));
	free(l->path);
	free(l->argv);
	free(l->envp);
	free(l->groups);
	*l = (struct espy_launch){ 0 };
}

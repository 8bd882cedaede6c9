/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command that is traced: which file it is, its environment, whose it runs as. */
#include "cli/trace.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* As execvp() looks: a name with a slash is a file; else the first executable regular file of that name in PATH. */
static char *find_file(const char *name, struct stat *st)
{
	const char *path = getenv("PATH");
	char *file;

	if (strchr(name, '/'))
		return stat(name, st) ? NULL : strdup(name);
	if (!*name) {
		errno = ENOENT;
		return NULL;
	}
	for (const char *dir = path ? path : "/bin:/usr/bin";; dir++) {
		size_t len = strcspn(dir, ":");

		/* An empty entry is the current directory. */
		if (asprintf(&file, "%.*s%s%s", (int)len, dir, len && dir[len - 1] != '/' ? "/" : "", name) < 0)
			return NULL;
		if (!stat(file, st) && S_ISREG(st->st_mode) && (st->st_mode & 0111))
			return file;
		free(file);
		dir += len;
		if (!*dir)
			break;
	}
	errno = ENOENT;
	return NULL;
}

static bool names_var(const char *entry, const char *edit, size_t name_len)
{
	return !strncmp(entry, edit, name_len) && entry[name_len] == '=';
}

/* The environment with -E done: VAR=VAL puts, VAR removes; the last word about a variable counts. */
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

/* UID:GID: the numbers as they are, no group list. 1 taken, 0 not of this form. */
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

static int find_user(struct espy_launch *l, const struct espy_trace_args *a, const struct stat *st)
{
	if (getuid() || geteuid()) {
		espy_cli__say(a->cli, "You must be root to use the -u option");
		return -EPERM;
	}
	l->switch_user = true;
	if (!numeric_user(l, a->user)) {
		const struct passwd *pw = getpwnam(a->user);
		int cnt = 64;

		if (!pw) {
			espy_cli__say(a->cli, "Cannot find user '%s'", a->user);
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
	/* A set-user-id program that is traced by ptrace would not become its owner: give it these ids before. */
	l->euid = st->st_mode & S_ISUID ? st->st_uid : l->uid;
	l->egid = st->st_mode & S_ISGID ? st->st_gid : l->gid;
	return 0;
}

static void child_say(const struct espy_launch *l, const char *what)
{
	const char *parts[] = { l->cli->name, ": ", what, ": not permitted\n" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
			return;
}

/* Between fork and execve: nothing but system calls. */
static int child_setup(void *ctx)
{
	struct espy_launch *l = ctx;

	*l->shared_pid = getpid();
	espy_signals__restore();
	if (!l->switch_user)
		return 0;
	if (setgroups((size_t)l->group_cnt, l->groups) < 0) {
		child_say(l, "setgroups");
		return -1;
	}
	if (setregid(l->gid, l->egid) < 0) {
		child_say(l, "setregid");
		return -1;
	}
	if (setreuid(l->uid, l->euid) < 0) {
		child_say(l, "setreuid");
		return -1;
	}
	return 0;
}

int espy_launch__init(struct espy_launch *l, const struct espy_trace_args *a)
{
	const char *name = a->command[0];
	struct stat st;
	size_t argc = 0;
	int err = 0;

	*l = (struct espy_launch){ .cli = a->cli };
	l->path = find_file(name, &st);
	if (!l->path) {
		err = -errno;
		if (err == -ENOENT && !strchr(name, '/'))
			espy_cli__say(a->cli, "Cannot find executable '%s'", name);
		else
			espy_cli__say(a->cli, "Can't stat '%s': %s", name, strerror(-err));
		return err;
	}
	while (a->command[argc])
		argc++;
	l->argv = calloc(argc + 1, sizeof(*l->argv));
	l->envp = make_env(&a->env_edits);
	l->shared_pid = mmap(NULL, sizeof(*l->shared_pid), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (l->shared_pid == MAP_FAILED)
		l->shared_pid = NULL;
	if (!l->argv || !l->envp || !l->shared_pid)
		err = -ENOMEM;
	if (!err && a->user)
		err = find_user(l, a, &st);
	if (err) {
		if (err == -ENOMEM)
			espy_cli__say(a->cli, "out of memory");
		espy_launch__free(l);
		return err;
	}
	memcpy(l->argv, a->command, argc * sizeof(*l->argv));
	if (a->argv0)
		l->argv[0] = (char *)a->argv0;
	l->command = (struct espy_command){
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

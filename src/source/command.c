/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "source/source_report.h"

void espy_command__run(const struct espy_command *cmd, int fail)
{
	/* child_setup may rearrange 0 to 2. */
	const int up = fcntl(fail, F_DUPFD_CLOEXEC, 10);
	int err = cmd->child_setup ? cmd->child_setup(cmd->child_ctx) : 0;

	if (!err) {
		execve(cmd->path, cmd->argv, cmd->envp);
		err = -errno;
	} else if (err > 0) {
		err = -ECANCELED;
	}
	if (write(up < 0 ? fail : up, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

ssize_t espy_command__hear(const struct espy_command *cmd, int fd, void *buf, size_t size)
{
	size_t got = 0;

	while (got < size) {
		const ssize_t n = read(fd, (char *)buf + got, size - got);

		if (n < 0 && espy_command__waits(cmd))
			continue;
		if (n < 0 && errno == EINTR)
			return -EINTR;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

int espy_command__start(const struct espy_command *cmd, pid_t *pid)
{
	int fail[2], err = 0;

	if (pipe2(fail, O_CLOEXEC))
		return -errno;
	*pid = fork();
	if (!*pid)
		espy_command__run(cmd, fail[1]);
	if (*pid < 0)
		err = -errno;
	close(fail[1]);
	if (!err && espy_command__hear(cmd, fail[0], &err, sizeof(err)) == -EINTR) {
		kill(*pid, SIGKILL);
		err = -EINTR;
	}
	close(fail[0]);
	if (err && *pid > 0)
		waitpid(*pid, NULL, 0);
	return err;
}

static const char *env_value(char *const *env, const char *name)
{
	const size_t len = strlen(name);

	for (; *env; env++)
		if (!strncmp(*env, name, len) && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

char **espy_command__env(char *const *env, char *const *words, size_t word_cnt)
{
	size_t cnt = 0, n = 0;

	while (env[cnt])
		cnt++;
	char **out = calloc(cnt + word_cnt + 1, sizeof(*out));

	for (size_t i = 0; out && i < cnt; i++) {
		size_t w = 0;

		while (w < word_cnt && strncmp(env[i], words[w], strcspn(words[w], "=") + 1))
			w++;
		if (w == word_cnt)
			out[n++] = env[i];
	}
	for (size_t w = 0; out && w < word_cnt; w++)
		out[n++] = words[w];
	return out;
}

int espy_command__preload(const struct espy_source_opts *o, const struct espy_inside_ops *inside, char *const *env,
			  char **word)
{
	const char *more = env_value(env, "LD_PRELOAD");
	char library[PATH_MAX];
	int err = inside->library(library, sizeof(library));

	if (err) {
		espy_source_report(
			o, ESPY_REPORT_ERROR,
			"the agent's library (libespy-agent.so) was not found; ESPY_AGENT=/PATH tells where it is");
		return err;
	}
	return asprintf(word, "LD_PRELOAD=%s%s%s", library, more && *more ? ":" : "", more ? more : "") < 0 ? -ENOMEM : 0;
}

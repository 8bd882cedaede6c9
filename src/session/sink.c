/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void espy_sink__init_fd(struct espy_sink *s, int fd)
{
	*s = (struct espy_sink){ .fd = fd };
}

static int open_command(struct espy_sink *s, const char *cmd)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid < 0) {
		int err = -errno;

		close(p[0]);
		close(p[1]);
		return err;
	}
	if (pid == 0) {
		sigset_t none;

		/* Blocked and ignored signals pass through execve: the command shall start with none of ours. */
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGPIPE, SIG_DFL);
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		signal(SIGHUP, SIG_DFL);
		signal(SIGQUIT, SIG_DFL);
		dup2(p[0], STDIN_FILENO);
		execl("/bin/sh", "sh", "-c", cmd, (char *)NULL);
		_exit(127);
	}
	close(p[0]);
	s->fd = p[1];
	s->command = pid;
	return 0;
}

int espy_sink__open(struct espy_sink *s, const char *name, bool append)
{
	*s = (struct espy_sink){ .fd = -1 };
	if (name[0] == '|' || name[0] == '!')
		return open_command(s, name + 1);
	s->fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0666);
	return s->fd < 0 ? -errno : 0;
}

/* The first `end` bytes of buf. */
static int write_out(struct espy_sink *s, size_t end)
{
	size_t done = 0;

	while (done < end && !s->error) {
		ssize_t n = write(s->fd, s->buf.data + done, end - done);

		if (n > 0) {
			done += (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			/* The user's terminal or pipe may be non-blocking: somebody else set it so. */
			struct pollfd p = { .fd = s->fd, .events = POLLOUT };

			poll(&p, 1, -1);
		} else if (n == 0 || errno != EINTR) {
			s->error = n == 0 ? EIO : errno;
		}
	}
	if (end > s->line_start)
		s->flushed_cols += end - s->line_start;
	if (end < s->buf.len)
		memmove(s->buf.data, s->buf.data + end, s->buf.len - end);
	s->buf.len -= end;
	s->line_start = 0;
	return -s->error;
}

int espy_sink__flush(struct espy_sink *s)
{
	return write_out(s, s->whole_lines ? s->line_start : s->buf.len);
}

size_t espy_sink__column(const struct espy_sink *s)
{
	return s->flushed_cols + (s->buf.len - s->line_start);
}

void espy_sink__end_line(struct espy_sink *s)
{
	espy_buf__putc(&s->buf, '\n');
	espy_sink__whole_lines(s);
}

void espy_sink__whole_lines(struct espy_sink *s)
{
	if (s->muted || s->hidden)
		s->buf.len = s->line_start;
	s->line_start = s->buf.len;
	s->flushed_cols = 0;
}

int espy_sink__close(struct espy_sink *s)
{
	int err = write_out(s, s->buf.len);

	if (s->fd > STDERR_FILENO && close(s->fd) < 0 && !err)
		err = -errno;
	s->fd = -1;
	espy_buf__free(&s->buf);
	while (s->command && waitpid(s->command, NULL, 0) < 0 && errno == EINTR)
		;
	s->command = 0;
	return err;
}

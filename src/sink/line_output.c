/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/line_output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <espy/espy.h>
#include "base/json.h"
#include "base/own_process.h"
#include "sink/colors.h"
#include "sink/sink.h"

/* Text is written at the latest when so much has gathered. */
#define WRITE_BYTES (256u << 10)

static struct espy_output *make(void)
{
	struct espy_output *o = calloc(1, sizeof(*o));

	if (o)
		*o = (struct espy_output){ .users = 1, .fd = -1 };
	return o;
}

int espy_line_output__fd(struct espy_output **out, int fd)
{
	struct espy_output *o = make();

	if (!o)
		return -ENOMEM;
	o->fd = fd;
	o->keep_fd = true;
	o->name = strdup(fd == STDOUT_FILENO ? "standard output" : fd == STDERR_FILENO ? "stderr" : "the output");
	*out = o;
	return 0;
}

/* Takes the output of a sink's options, with one user more; NULL: standard error. 0 or -ENOMEM. */
static int take_given(struct espy_output **out, struct espy_output *given)
{
	if (!given)
		return espy_line_output__fd(out, STDERR_FILENO);
	__atomic_fetch_add(&given->users, 1, __ATOMIC_RELAXED);
	*out = given;
	return 0;
}

/* Tells whether a file of that name can be made: 0 or -errno. A program whose lines have no place need not begin. */
static int look_at_folder(const char *name)
{
	const char *slash = strrchr(name, '/');
	char *folder = slash ? strndup(name, (size_t)(slash - name) + 1) : strdup(".");
	const int err = !folder ? -ENOMEM : faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) ? -errno : 0;

	free(folder);
	return err;
}

int espy_line_output__per_task(struct espy_output **out, const char *name, bool append)
{
	const int err = strlen(name) + sizeof(".4294967295") >= PATH_MAX ? -ENAMETOOLONG : look_at_folder(name);
	struct espy_output *o = err ? NULL : make();

	if (err)
		return err;
	if (!o || !(o->per_task = strdup(name))) {
		free(o);
		return -ENOMEM;
	}
	o->append = append;
	o->name = strdup(name);
	*out = o;
	return 0;
}

static int open_command(struct espy_output *o, const char *cmd)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	/* no SIGCHLD: the tool takes the status of each child that would raise one and is not its command */
	const pid_t pid = espy_own_process__begin();

	if (pid < 0) {
		close(p[0]);
		close(p[1]);
		return pid;
	}
	if (pid == 0) {
		sigset_t none;

		/* Blocked and ignored signals pass through execve: the command shall start without ours. */
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
	o->fd = p[1];
	o->command = pid;
	return 0;
}

int espy_line_output__open(struct espy_output **out, const char *name, bool append)
{
	struct espy_output *o = make();
	int err = 0;

	if (!o)
		return -ENOMEM;
	if (name[0] == '|' || name[0] == '!') {
		err = open_command(o, name + 1);
	} else {
		o->fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0666);
		if (o->fd < 0)
			err = -errno;
	}
	if (err) {
		free(o);
		return err;
	}
	o->name = strdup(name);
	*out = o;
	return 0;
}

int espy_line_output__colors(struct espy_output *o, const char *spec)
{
	espy_colors__free(o->colors);
	o->colors = espy_colors__new(spec);
	return o->colors ? 0 : -ENOMEM;
}

static void write_bytes(struct espy_output *o, const char *data, size_t size)
{
	size_t done = 0;

	while (done < size && !o->error) {
		ssize_t n = write(o->fd, data + done, size - done);

		if (n > 0) {
			done += (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			/* Another process may have made the user's terminal or pipe non-blocking. */
			struct pollfd p = { .fd = o->fd, .events = POLLOUT };

			poll(&p, 1, -1);
		} else if (n == 0 || errno != EINTR) {
			o->error = n == 0 ? EIO : errno;
		}
	}
}

/* Writes the first `end` bytes of buf. */
static int write_out(struct espy_output *o, size_t end)
{
	if (o->colors) {
		o->painted.len = 0;
		espy_colors__paint(o->colors, &o->painted, o->buf.data, end);
		write_bytes(o, o->painted.data, o->painted.len);
	} else {
		write_bytes(o, o->buf.data, end);
	}
	if (end > o->line_start)
		o->flushed_cols += end - o->line_start;
	if (end < o->buf.len)
		memmove(o->buf.data, o->buf.data + end, o->buf.len - end);
	o->buf.len -= end;
	o->line_start = 0;
	return -o->error;
}

int espy_line_output__flush(struct espy_output *o)
{
	if (!o->buf.len)
		return -o->error;
	return write_out(o, o->whole_lines ? o->line_start : o->buf.len);
}

void espy_line_output__flush_much(struct espy_output *o)
{
	if (o->buf.len > WRITE_BYTES)
		espy_line_output__flush(o);
}

size_t espy_line_output__column(const struct espy_output *o)
{
	return o->flushed_cols + (o->buf.len - o->line_start);
}

void espy_line_output__begin_json(struct espy_output *o)
{
	struct espy_json j = { .b = &o->buf };

	o->hidden = false;
	if (o->json_begun)
		return;
	o->json_begun = true;
	o->muted = false;
	espy_json__open(&j, '{');
	espy_json__key_str(&j, "kind", "begin");
	espy_json__key_str(&j, "format", "espy");
	espy_json__key_u64(&j, "version", ESPY_JSON_VERSION);
	espy_json__close(&j, '}');
	espy_line_output__end_line(o);
}

void espy_line_output__end_line(struct espy_output *o)
{
	espy_buf__putc(&o->buf, '\n');
	espy_line_output__whole_lines(o);
}

void espy_line_output__whole_lines(struct espy_output *o)
{
	if (o->muted || o->hidden)
		o->buf.len = o->line_start;
	o->line_start = o->buf.len;
	o->flushed_cols = 0;
}

int espy_line_output__close(struct espy_output *o)
{
	if (!o || __atomic_sub_fetch(&o->users, 1, __ATOMIC_ACQ_REL))
		return 0;
	int err = write_out(o, o->buf.len);

	if (o->fd >= 0 && !o->keep_fd && close(o->fd) < 0 && !err)
		err = -errno;
	espy_buf__free(&o->buf);
	espy_buf__free(&o->painted);
	espy_colors__free(o->colors);
	while (o->command && waitpid(o->command, NULL, __WALL) < 0 && errno == EINTR)
		;
	free(o->per_task);
	free(o->name);
	free(o);
	return err;
}

void espy_buf__dashes(struct espy_buf *b, const unsigned *widths, unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++) {
		if (i)
			espy_buf__putc(b, ' ');
		for (unsigned n = 0; n < widths[i]; n++)
			espy_buf__putc(b, '-');
	}
	espy_buf__putc(b, '\n');
}

int espy_line_sink__open(struct espy_sink **out, struct espy_sink *s, struct espy_output *given)
{
	const int err = take_given(&s->output, given);

	if (err)
		free(s);
	else
		*out = s;
	return err;
}

void espy_line_sink__flush(struct espy_sink *s)
{
	espy_sink__fail(s, espy_line_output__flush(s->output));
}

int espy_line_sink__close(struct espy_sink *s)
{
	espy_sink__fail(s, espy_line_output__close(s->output));
	const int err = -s->error;

	free(s);
	return err;
}

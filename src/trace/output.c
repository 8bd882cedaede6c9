/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "trace/trace_format.h"

static char *name_in_set(const char *path, uint32_t number)
{
	char *name;

	return asprintf(&name, "%s.%u", path, number) < 0 ? NULL : name;
}

/* Returns N if name is BASE.N; else -1. */
static long number_of(const char *name, const char *base)
{
	const size_t n = strlen(base);

	if (strncmp(name, base, n) || name[n] != '.')
		return -1;
	const char *digits = name + n + 1;

	if (!*digits || strlen(digits) > 9 || strspn(digits, "0123456789") != strlen(digits) ||
	    (digits[0] == '0' && digits[1]))
		return -1;
	return strtol(digits, NULL, 10);
}

static bool is_trace(const char *path)
{
	uint8_t magic[8];
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	struct stat st;
	bool yes = false;

	if (fd >= 0) {
		yes = !fstat(fd, &st) && S_ISREG(st.st_mode) && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
		      !memcmp(magic, ESPY_TRACE_MAGIC, sizeof(magic));
		close(fd);
	}
	return yes;
}

int espy_output_each(const char *path, int (*each)(void *ctx, const char *path, uint32_t number), void *ctx)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int err = 0;

	if (!dir)
		return -ENOMEM;
	DIR *d = opendir(dir);

	free(dir);
	if (!d)
		return errno == EACCES ? 0 : -errno; /* a folder that cannot be listed may yet be written to */
	for (struct dirent *e; !err && (e = readdir(d));) {
		const long number = number_of(e->d_name, base);

		if (number >= 0)
			err = each(ctx, path, (uint32_t)number);
	}
	closedir(d);
	return err;
}

/* Refuses a set if a file of an older one of that name is there. */
static int refuse(void *ctx, const char *path, uint32_t number)
{
	return -EEXIST;
}

/* Removes a file of an old set: a trace, but not number 0, which is new. Other files of such a name stay. */
static int remove_one(void *ctx, const char *path, uint32_t number)
{
	char *name = number ? name_in_set(path, number) : NULL;

	if (name && is_trace(name))
		unlink(name);
	free(name);
	return 0;
}

/* Creates the file under another name until its beginning is written: a failure leaves the old file as it is. */
static int create_beside(struct espy_output *o, const char *name)
{
	if (asprintf(&o->made, "%s.XXXXXX", name) < 0) {
		o->made = NULL;
		return -ENOMEM;
	}
	o->fd = mkostemp(o->made, O_CLOEXEC); /* mode 0600 */
	if (o->fd < 0) {
		const int err = -errno;

		free(o->made);
		o->made = NULL;
		return err;
	}
	o->name = strdup(name);
	return o->name ? 0 : -ENOMEM;
}

static int create(struct espy_output *o, const char *name, bool force)
{
	struct stat st;

	o->regular = true;
	if (!stat(name, &st) && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))) {
		o->regular = false;
		o->fd = open(name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		return o->fd < 0 ? -errno : 0;
	}
	o->fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (o->fd >= 0) {
		o->made = strdup(name);
		return o->made ? 0 : -ENOMEM;
	}
	if (errno != EEXIST || !force)
		return -errno;
	if (!lstat(name, &st) && S_ISDIR(st.st_mode))
		return -EISDIR;
	return create_beside(o, name);
}

int espy_output__open(struct espy_output *o, const char *path, bool force, bool rotates)
{
	int err;

	*o = (struct espy_output){ .fd = STDOUT_FILENO };
	if (!strcmp(path, "-"))
		return 0;
	o->fd = -1;
	if (!*path)
		return -ENOENT;
	o->path = strdup(path);
	if (!o->path)
		return -ENOMEM;
	o->rotates = rotates;
	err = rotates && !force ? espy_output_each(path, refuse, NULL) : 0;
	if (!err) {
		char *name = rotates ? name_in_set(path, 0) : o->path;

		err = name ? create(o, name, force) : -ENOMEM;
		if (name != o->path)
			free(name);
	}
	o->own_fd = o->fd >= 0;
	if (err)
		espy_output__close(o);
	return err;
}

int espy_output__keep(struct espy_output *o)
{
	if (o->name && rename(o->made, o->name) < 0)
		return -errno;
	/* The older set of that name was refused, or it shall go. */
	if (o->rotates && !o->number)
		espy_output_each(o->path, remove_one, NULL);
	free(o->made);
	free(o->name);
	o->made = o->name = NULL;
	return 0;
}

/* Waits until a pipe or a terminal takes more. */
static int wait_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

int espy_output__write(struct espy_output *o, const void *head, size_t head_sz, const void *body, size_t body_sz)
{
	struct iovec v[2] = { { (void *)head, head_sz }, { (void *)body, body_sz } };
	size_t left = head_sz + body_sz;
	int err = 0;

	while (left && !err) {
		struct iovec *first = v[0].iov_len ? v : v + 1;
		const ssize_t n = writev(o->fd, first, first == v ? 2 : 1);

		if (n <= 0) {
			err = !n ? -EIO : errno == EINTR ? 0 : errno == EAGAIN ? wait_writable(o->fd) : -errno;
			continue;
		}
		left -= (size_t)n;
		const size_t of_head = (size_t)n < v[0].iov_len ? (size_t)n : v[0].iov_len;

		v[0].iov_base = (uint8_t *)v[0].iov_base + of_head;
		v[0].iov_len -= of_head;
		if (body_sz) {
			v[1].iov_base = (uint8_t *)v[1].iov_base + ((size_t)n - of_head);
			v[1].iov_len -= (size_t)n - of_head;
		}
	}
	if (!err) {
		o->offset += head_sz + body_sz;
	} else if (o->regular && ftruncate(o->fd, (off_t)o->offset) < 0) {
		/* It can do no more: readers find the torn section by its checksum. */
		return err;
	}
	return err;
}

int espy_output__next(struct espy_output *o, unsigned keep)
{
	struct espy_output next = { .fd = -1, .number = o->number + 1 };
	char *name = name_in_set(o->path, next.number);

	if (!name)
		return -ENOMEM;
	/* An older set was refused or deleted at the beginning, so a file of this name has come meanwhile. */
	int err = create(&next, name, false);

	free(name);
	if (err) {
		next.own_fd = next.fd >= 0;
		espy_output__close(&next);
		return err;
	}
	err = close(o->fd) < 0 ? -errno : 0;
	o->fd = next.fd;
	o->regular = next.regular;
	o->offset = 0;
	o->number = next.number;
	free(next.made);
	if (keep && o->number >= keep) {
		name = name_in_set(o->path, o->number - keep);
		if (name)
			unlink(name);
		free(name);
	}
	return err;
}

int espy_output__close(struct espy_output *o)
{
	int err = o->own_fd && close(o->fd) < 0 ? -errno : 0;

	if (o->made && o->own_fd)
		unlink(o->made);
	free(o->made);
	free(o->name);
	free(o->path);
	*o = (struct espy_output){ .fd = -1 };
	return err;
}
